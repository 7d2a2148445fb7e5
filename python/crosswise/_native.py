"""The C library by ctypes: where it is, what its calls take, and contexts to make them with.

A context belongs to a thread, so there is one per thread and number of workers.  The interpreter is
free for other threads while a call runs.  Callbacks come from the thread that made the call.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ._errors import BY_STATUS, CrosswiseError, InvalidArgument, OutOfRange

log = logging.getLogger("crosswise")

Event = dict[str, Any]
OnEvent = Callable[[Event], object]
OnProgress = Callable[[str, int, int], object]

_P = ctypes.c_void_p
_I32 = ctypes.c_int32
_I64 = ctypes.c_int64
_SIZE = ctypes.c_size_t
_TEXT = ctypes.c_char_p
_BOOL = ctypes.c_bool

LOG_FN = ctypes.CFUNCTYPE(None, _P, ctypes.c_int, _TEXT)
PROGRESS_FN = ctypes.CFUNCTYPE(_BOOL, _P, _TEXT, _I64, _I64)
EVENT_FN = ctypes.CFUNCTYPE(None, _P, _TEXT)


class OptionInfo(ctypes.Structure):
    """cw_option_info"""

    _fields_ = [
        ("name", _TEXT),
        ("kind", ctypes.c_int),
        ("preset", _TEXT),
        ("minimum", ctypes.c_double),
        ("maximum", ctypes.c_double),
        ("minimum_is_open", _BOOL),
        ("maximum_is_open", _BOOL),
        ("choices", _TEXT),
        ("help", _TEXT),
        ("former", _TEXT),
        ("former_note", _TEXT),
        ("former_choices", _TEXT),
    ]


class Arrays(ctypes.Structure):
    """cw_arrays"""

    _fields_ = [
        ("n", _I64),
        ("user_number", _P),
        ("item_number", _P),
        ("user", _P),
        ("item", _P),
        ("rating", _P),
        ("time", _P),
        ("part", _P),
    ]


class Matrix(ctypes.Structure):
    """cw_matrix"""

    _fields_ = [
        ("n_users", _I32),
        ("n_items", _I32),
        ("index_bytes", ctypes.c_int),
        ("start", _P),
        ("item", _P),
    ]


class Rules(ctypes.Structure):
    """cw_rules"""

    _fields_ = [
        ("with_seen", _BOOL),
        ("dial", ctypes.c_double),
        ("exclude", _P),
        ("n_exclude", _SIZE),
        ("only", _P),
        ("n_only", _SIZE),
        ("boosted", _P),
        ("boosts", _P),
        ("n_boosted", _SIZE),
        ("diversity", ctypes.c_double),
        ("own_start", _P),
        ("own", _P),
    ]


class Lists(ctypes.Structure):
    """cw_lists"""

    _fields_ = [("k", _I32), ("items", _P), ("scores", _P), ("counts", _P)]


class Tensor(ctypes.Structure):
    """cw_tensor"""

    _fields_ = [("name", _TEXT), ("rows", _I64), ("columns", _I64), ("data", _P)]


# Results that are not a status.  Arguments are given so that nothing is guessed: a Python int for
# a pointer would be cut to 32 bits.
_OUT = ctypes.POINTER(_P)
_PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "cw_version": (_TEXT, []),
    "cw_context_free": (None, [_P]),
    "cw_context_error": (_TEXT, [_P]),
    "cw_context_set_log": (None, [_P, LOG_FN, _P]),
    "cw_context_set_progress": (None, [_P, PROGRESS_FN, _P]),
    "cw_context_set_event": (None, [_P, EVENT_FN, _P]),
    "cw_context_threads": (ctypes.c_int, [_P]),
    "cw_stage_name": (_TEXT, [_SIZE]),
    "cw_stage_option": (ctypes.POINTER(OptionInfo), [_TEXT, _SIZE]),
    "cw_options_free": (None, [_P]),
    "cw_method_name": (_TEXT, [_SIZE]),
    "cw_method_help": (_TEXT, [_TEXT]),
    "cw_method_backbone": (_TEXT, [_TEXT, _SIZE]),
    "cw_method_takes": (_BOOL, [_TEXT, _TEXT, _TEXT]),
    "cw_method_default": (_TEXT, [_TEXT, _TEXT, _TEXT]),
    "cw_plan_name": (_TEXT, [_SIZE]),
    "cw_plan_text": (_TEXT, [_TEXT]),
    "cw_interactions_free": (None, [_P]),
    "cw_interactions_count": (_I64, [_P]),
    "cw_interactions_users": (_I32, [_P]),
    "cw_interactions_items": (_I32, [_P]),
    "cw_interactions_are_split": (_BOOL, [_P]),
    "cw_dataset_free": (None, [_P]),
    "cw_dataset_users": (_I32, [_P]),
    "cw_dataset_items": (_I32, [_P]),
    "cw_dataset_count": (_I64, [_P, ctypes.c_int]),
    "cw_dataset_part_users": (_P, [_P, ctypes.c_int]),
    "cw_dataset_part_items": (_P, [_P, ctypes.c_int]),
    "cw_dataset_user_id": (_TEXT, [_P, _I32]),
    "cw_dataset_item_id": (_TEXT, [_P, _I32]),
    "cw_model_free": (None, [_P]),
    "cw_model_users": (_I32, [_P]),
    "cw_model_items": (_I32, [_P]),
    "cw_model_user_id": (_TEXT, [_P, _I32]),
    "cw_model_item_id": (_TEXT, [_P, _I32]),
    "cw_model_find_user": (_I32, [_P, _TEXT]),
    "cw_model_find_item": (_I32, [_P, _TEXT]),
    "cw_model_guest_users": (_I32, [_P]),
    "cw_model_guest_items": (_I32, [_P]),
    "cw_model_find_guest_user": (_I32, [_P, _TEXT]),
    "cw_model_find_guest_item": (_I32, [_P, _TEXT]),
    "cw_model_tensor": (_BOOL, [_P, _SIZE, ctypes.POINTER(Tensor)]),
    "cw_model_seen": (_P, [_P, _OUT]),
    "cw_recommender_close": (None, [_P]),
    "cw_recommender_users": (_P, [_P, ctypes.POINTER(_I32)]),
    "cw_recommender_items": (_P, [_P, ctypes.POINTER(_I32)]),
    "cw_user_way": (ctypes.c_int, [_P, _I32]),
    "cw_way_name": (_TEXT, [ctypes.c_int]),
    "cw_rules_free": (None, [_P]),
    "cw_text_free": (None, [_P]),
    "cw_checkpoint_remove": (None, [_TEXT]),
}

# Those that return a status and take a context first.
_LISTS = ctypes.POINTER(Lists)
_RULES = _P
_TEXTS = ctypes.POINTER(_TEXT)
_STATUS: dict[str, list[Any]] = {
    "cw_context_set_threads": [ctypes.c_int],
    "cw_devices": [_OUT],
    "cw_use_isa": [_TEXT],
    "cw_options_create": [_TEXT, _OUT],
    "cw_options_set": [_P, _TEXT, _TEXT],
    "cw_import": [_TEXTS, _SIZE, _P, _OUT],
    "cw_import_arrays": [ctypes.POINTER(Arrays), _P, _OUT],
    "cw_import_arrow": [_OUT, _P, _SIZE, _P, _OUT],
    "cw_import_matrix": [ctypes.POINTER(Matrix), _SIZE, _OUT],
    "cw_dataset_prepare": [_P, _P, _OUT],
    "cw_dataset_simulate": [_P, _P, _OUT],
    "cw_dataset_load_with": [_TEXT, _TEXT, _OUT],
    "cw_dataset_save": [_P, _TEXT, _BOOL],
    "cw_dataset_relevance": [_P, _I32, _P],
    "cw_dataset_describe": [_P, _OUT],
    "cw_dataset_skew": [_TEXT, _P, _BOOL, ctypes.POINTER(_I64)],
    "cw_train": [_P, _P, _OUT, _OUT],
    "cw_train_folder": [_TEXT, _TEXT, _P, _OUT, _OUT],
    "cw_update": [_P, _P, _P, _OUT, _OUT],
    "cw_model_save": [_P, _TEXT],
    "cw_model_save_run": [_P, _TEXT, _TEXT, _TEXT, _BOOL],
    "cw_model_load": [_TEXT, _OUT],
    "cw_model_info": [_P, _OUT],
    "cw_model_export": [_P, _TEXT, _BOOL],
    "cw_evaluate": [_P, _P, _P, _OUT],
    "cw_recommender_open": [_P, _OUT],
    "cw_rules_create": [_P, _P, ctypes.POINTER(ctypes.POINTER(Rules))],
    "cw_recommend": [_P, _P, _SIZE, _RULES, _LISTS],
    "cw_recommend_histories": [_P, _P, _P, _SIZE, _RULES, _LISTS],
    "cw_model_fold_users": [_P, _P, _P, _P, _SIZE, _OUT],
    "cw_similar_items": [_P, _P, _SIZE, _RULES, _LISTS],
    "cw_similar_users": [_P, _P, _SIZE, _LISTS],
    "cw_score_pairs": [_P, _P, _P, _SIZE, _P],
    "cw_explain": [_P, _P, _SIZE, _I32, _P, _P],
    "cw_experiment_run": [_TEXT, _P, _TEXT, _OUT],
    "cw_compare": [_TEXTS, _SIZE, _P, _OUT],
    "cw_tune": [_P, _P, _TEXT, _OUT, _OUT, _OUT],
    "cw_report_page": [_TEXT, _TEXT],
    "cw_report_experiment": [_TEXT, _TEXT, _BOOL],
}


def library_path() -> Path:
    """Where the library is: beside this file, or what CROSSWISE_LIBRARY says."""
    own = os.environ.get("CROSSWISE_LIBRARY")
    return Path(own) if own else Path(__file__).parent / "lib" / "libcrosswise.so"


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path()))
    for name, (result, arguments) in _PLAIN.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    for name, arguments in _STATUS.items():
        function = getattr(library, name)
        function.restype = ctypes.c_int
        function.argtypes = [_P, *arguments]
    library.cw_context_create.restype = ctypes.c_int
    library.cw_context_create.argtypes = [_OUT]
    return library


lib = _load()


def version() -> str:
    """Version of the library, such as "0.1.0"."""
    return str(lib.cw_version().decode())


def text_of(pointer: ctypes.c_void_p) -> str | None:
    """Text that a call returned, which is released."""
    if not pointer.value:
        return None
    try:
        return ctypes.string_at(pointer.value).decode("utf-8", "surrogateescape")
    finally:
        lib.cw_text_free(pointer)


def json_of(pointer: ctypes.c_void_p) -> dict[str, Any]:
    """A JSON object that a call returned, which is released."""
    text = text_of(pointer)
    result: dict[str, Any] = json.loads(text) if text else {}
    return result


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """A path for the library."""
    data = os.fsencode(path)
    if b"\0" in data:
        raise InvalidArgument("a path cannot have a zero byte")
    return data


def text_bytes(text: str) -> bytes:
    """Text for the library, which ends at a zero byte."""
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise InvalidArgument("text cannot have a zero byte")
    return data


class _Interrupt:
    """Ctrl-C while a call runs: the next callback stops the call, and then it is raised."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None
        self._installed = False

    def __enter__(self) -> _Interrupt:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._press)
                self._installed = True
        return self

    def _press(self, number: int, frame: object) -> None:
        self.pressed = True

    def __exit__(self, *unused: object) -> None:
        if not self._installed:
            return
        signal.signal(signal.SIGINT, self._before)
        if self.pressed:
            self._before(signal.SIGINT, None)


class Context:
    """Settings and the last error of one thread."""

    def __init__(self, threads: int) -> None:
        self._owner = os.getpid()
        self._on_event: OnEvent | None = None
        self._on_progress: OnProgress | None = None
        self._failure: BaseException | None = None
        self._interrupt: _Interrupt | None = None
        pointer = _P()
        if lib.cw_context_create(ctypes.byref(pointer)) != 0:
            raise MemoryError("out of memory")
        self.pointer: int | None = pointer.value
        # The library keeps these: they live as long as the context.
        self._log = LOG_FN(self._tell_log)
        self._progress = PROGRESS_FN(self._tell_progress)
        self._event = EVENT_FN(self._tell_event)
        self._no_progress = PROGRESS_FN()
        self._no_event = EVENT_FN()
        lib.cw_context_set_log(self.pointer, self._log, None)
        self.check(lib.cw_context_set_threads(self.pointer, threads))

    def __del__(self) -> None:
        # In a child process the threads of the context are those of the parent.
        pointer = getattr(self, "pointer", None)
        if pointer and self._owner == os.getpid():
            lib.cw_context_free(pointer)

    def _tell_log(self, user: object, level: int, text: bytes) -> None:
        try:
            level = logging.WARNING if level else logging.INFO
            log.log(level, "%s", text.decode("utf-8", "replace"))
        except BaseException as failure:
            self._failure = failure

    def _tell_progress(self, user: object, stage: bytes, done: int, total: int) -> bool:
        try:
            if self._on_progress:
                stop = self._on_progress(stage.decode("utf-8", "replace"), done, total) is False
                if stop:
                    return False
        except BaseException as failure:
            self._failure = failure
        if self._interrupt and self._interrupt.pressed:
            return False
        return self._failure is None

    def _tell_event(self, user: object, text: bytes) -> None:
        try:
            if self._on_event:
                self._on_event(json.loads(text))
        except BaseException as failure:
            self._failure = failure

    def check(self, status: int) -> None:
        """Raise what a status means."""
        if status == 0:
            return
        text = lib.cw_context_error(self.pointer).decode("utf-8", "replace")
        if status == 2 and "must lie between" in text and "[" in text:
            raise OutOfRange(text)
        raise BY_STATUS.get(status, CrosswiseError)(text)

    def call(self, name: str, *arguments: object) -> None:
        """A short call."""
        self.check(getattr(lib, name)(self.pointer, *arguments))

    def work(
        self,
        name: str,
        *arguments: object,
        on_event: OnEvent | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """A long call, which Ctrl-C stops."""
        if self._interrupt is not None:
            raise CrosswiseError("a callback cannot make a long call in its own thread")
        self._on_event, self._on_progress, self._failure = on_event, on_progress, None
        lib.cw_context_set_progress(self.pointer, self._progress, None)
        if on_event:
            lib.cw_context_set_event(self.pointer, self._event, None)
        try:
            with _Interrupt() as self._interrupt:
                status = getattr(lib, name)(self.pointer, *arguments)
        finally:
            self._interrupt = None
            self._on_event = self._on_progress = None
            lib.cw_context_set_progress(self.pointer, self._no_progress, None)
            lib.cw_context_set_event(self.pointer, self._no_event, None)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self.check(status)


_local = threading.local()


def _forget() -> None:
    global _local
    _local = threading.local()


os.register_at_fork(after_in_child=_forget)


def context(threads: int = 0) -> Context:
    """The context of this thread for so many workers; 0 is one for each core."""
    mine: dict[int, Context] | None = getattr(_local, "contexts", None)
    if mine is None:
        mine = _local.contexts = {}
    found = mine.get(threads)
    if found is None:
        if isinstance(threads, bool) or not isinstance(threads, int):
            raise InvalidArgument(f"threads is {threads!r}; it must be a whole number")
        found = mine[threads] = Context(threads)
    return found


def option_text(value: object) -> str:
    """The value of an option as the library reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return ",".join(option_text(part) for part in value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={option_text(part)}" for key, part in value.items())
    item = getattr(value, "item", None)  # of NumPy
    if callable(item):
        return option_text(item())
    return repr(value)


def is_given(value: object) -> bool:
    """None leaves an option to the library."""
    return value is not None


class Options:
    """Options of a stage, from keywords: under_scores stand for hyphens, None for the default."""

    def __init__(self, ctx: Context, stage: str, values: Mapping[str, object]) -> None:
        out = _P()
        self.pointer: int | None = None
        ctx.call("cw_options_create", stage.encode(), ctypes.byref(out))
        self.pointer = out.value
        for name, value in values.items():
            if is_given(value):
                text = text_bytes(option_text(value))
                ctx.call("cw_options_set", self.pointer, text_bytes(name.replace("_", "-")), text)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            lib.cw_options_free(self.pointer)


def texts(words: Iterable[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    """An array of text for the library."""
    listed = list(words)
    return (_TEXT * len(listed))(*listed)


H = TypeVar("H", bound="Handle")


class _Owner:
    """Frees something of the library with the last who uses it."""

    def __init__(self, pointer: int, free: str) -> None:
        self.pointer = pointer
        self._free = getattr(lib, free)

    def __del__(self) -> None:
        self._free(self.pointer)


class Handle:
    """Something of the library; every use of a closed one is refused."""

    _noun = "object"
    _free = ""

    def __init__(self, pointer: int | None) -> None:
        self._handle = _Owner(pointer, self._free) if pointer else None

    @property
    def _owner(self) -> _Owner:
        if self._handle is None:
            raise InvalidArgument(f"the {self._noun} is closed")
        return self._handle

    @property
    def _pointer(self) -> int:
        return self._owner.pointer

    def close(self) -> None:
        """Give the memory back, once no array that was lent is left."""
        self._handle = None

    def __enter__(self: H) -> H:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def names(kind: str, *arguments: bytes) -> list[str]:
    """What cw_<kind>_name or a call like it lists."""
    found: list[str] = []
    while True:
        word = getattr(lib, kind)(*arguments, len(found))
        if not word:
            return found
        found.append(word.decode())
