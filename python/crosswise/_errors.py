"""What can go wrong: every exception has the sentence of the C library."""

from __future__ import annotations


class CrosswiseError(Exception):
    """A call failed.  The text is one sentence that says why."""


class InvalidArgument(CrosswiseError, ValueError):
    """An option or argument is not allowed; the text names it, its value and what is."""


class OutOfRange(InvalidArgument, IndexError):
    """A number of a user or item is not one of the model's."""


class UnknownId(CrosswiseError, KeyError):
    """A raw id is not one of the model's."""

    __str__ = Exception.__str__


class BadData(CrosswiseError, ValueError):
    """Input is malformed."""


class FileError(CrosswiseError, OSError):
    """A file cannot be read or written."""


class OutOfMemory(CrosswiseError, MemoryError):
    """There is not enough memory."""


class Unsupported(CrosswiseError, NotImplementedError):
    """The model or this build cannot do it."""


class Cancelled(CrosswiseError):
    """A callback asked to stop."""


BY_STATUS: dict[int, type[CrosswiseError]] = {
    1: OutOfMemory,
    2: InvalidArgument,
    3: BadData,
    4: FileError,
    5: Unsupported,
    6: Cancelled,
}
