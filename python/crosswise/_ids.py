"""Raw ids: text in the library, whatever they were outside."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from ._errors import InvalidArgument, UnknownId
from ._native import text_bytes

IdKind = Literal["auto", "integer", "text", "binary"]


def _is_whole(text: str) -> bool:
    """Is this how an integer is printed?  Then nothing is lost when it becomes one."""
    digits = text.removeprefix("-")
    return (digits.isdecimal() and digits.isascii() and not digits.startswith("0")) or text == "0"


class Ids:
    """How raw ids go in and come out: as integers, as text, as bytes, or from a list of objects.

    ``auto`` is for files, which do not say: integers when every id is printed like one.
    """

    def __init__(self, kind: IdKind = "auto", objects: Sequence[Any] | None = None) -> None:
        self.kind = kind
        self.objects = objects
        self._code = {value: k for k, value in enumerate(objects)} if objects is not None else None
        self._listed: tuple[int, list[Any]] | None = None

    def encode(self, value: Any) -> bytes:
        """The id as the library has it."""
        if self._code is not None:
            try:
                code = self._code.get(value)
            except TypeError:
                code = None
            if code is None:
                raise UnknownId(f"there is no id {value!r}")
            return b"%d" % code
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return text_bytes(value)
        try:
            return b"%d" % int(value.__index__())
        except AttributeError:
            raise InvalidArgument(f"{value!r} is no id: ids are integers or text") from None

    def decode(self, data: bytes) -> Any:
        """An id as it went in; those of ``auto`` are text until all are known."""
        if self.objects is not None:
            return self.objects[int(data)]
        if self.kind == "integer":
            return int(data)
        if self.kind == "binary":
            return data
        return data.decode("utf-8", "surrogateescape")

    def list(self, count: int, at: Callable[[int], bytes]) -> list[Any]:
        """All ids, once made; ``auto`` is settled by them."""
        if self._listed is None or self._listed[0] != count:
            raw = [at(k) for k in range(count)]
            if self.kind == "auto":
                whole = all(_is_whole(data.decode("utf-8", "replace")) for data in raw)
                self.kind = "integer" if raw and whole else "text"
            self._listed = (count, [self.decode(data) for data in raw])
        return self._listed[1]

    def copy(self) -> Ids:
        """The same way for another holder of ids."""
        other = Ids(self.kind)
        other.objects, other._code = self.objects, self._code
        return other


class ArrowSchema(ctypes.Structure):
    """What the C data interface of Arrow says of a column or table."""


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))),
    ("private_data", ctypes.c_void_p),
]


class ArrowStream(ctypes.Structure):
    """A stream of record batches, of which only the schema is asked for here."""


ArrowStream._fields_ = [
    (
        "get_schema",
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowStream), ctypes.POINTER(ArrowSchema)),
    ),
    ("get_next", ctypes.c_void_p),
    ("get_last_error", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def stream_pointer(capsule: object) -> int:
    """The stream in a capsule, which stays the capsule's until somebody releases it."""
    return int(_capsule_pointer(capsule, b"arrow_array_stream"))


def column_formats(pointer: int) -> list[tuple[str, str]]:
    """Name and Arrow format of every column; of a dictionary that of its words."""
    stream = ArrowStream.from_address(pointer)
    schema = ArrowSchema()
    if stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) != 0:
        return []  # reading it will say why
    try:
        found = []
        for k in range(schema.n_children):
            column = schema.children[k].contents
            words = column.dictionary.contents if column.dictionary else column
            name = (column.name or b"").decode("utf-8", "replace")
            found.append((name, (words.format or b"").decode("ascii", "replace")))
        return found
    finally:
        if schema.release:
            schema.release(ctypes.byref(schema))


def kind_of_format(name: str) -> IdKind:
    """What ids of a column of that Arrow format are in Python."""
    if name in tuple("cCsSiIlL"):
        return "integer"
    return "binary" if name in ("z", "Z", "vz") else "text"


def number_objects(values: Iterable[Any], what: str) -> tuple[list[int], list[Any]]:
    """Numbers for ids of any kind, in order of appearance, and the ids."""
    code: dict[Any, int] = {}
    numbers = []
    for row, value in enumerate(values):
        missing = value is None or value != value  # NaN, NaT
        if missing:
            raise InvalidArgument(f"row {row}: the {what} is missing")
        try:
            numbers.append(code.setdefault(value, len(code)))
        except TypeError:
            raise InvalidArgument(f"row {row}: {what} {value!r} is no id: it has no hash") from None
    return numbers, list(code)
