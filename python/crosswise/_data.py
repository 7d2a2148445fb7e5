"""Interactions and datasets: what models are trained on."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native as native
from ._errors import InvalidArgument
from ._ids import Ids, column_formats, kind_of_format, number_objects, stream_pointer
from ._native import Handle, Options, context, lib
from ._results import Result

if TYPE_CHECKING:
    import scipy.sparse as sp

Part = Literal["train", "valid", "test"]
PARTS: dict[str, int] = {"train": 0, "valid": 1, "test": 2}
StrPath = str | os.PathLike[str]

_P = ctypes.c_void_p


def _part(name: str) -> int:
    if name not in PARTS:
        raise InvalidArgument(f"{name!r} is no part; there are train, valid and test")
    return PARTS[name]


# ---- matrices ------------------------------------------------------------------------


def check_matrix(matrix: Any, name: str = "user_items") -> Any:
    """A sparse matrix in rows whose entries all count, without a copy where that is possible."""
    if not hasattr(matrix, "tocsr") or not hasattr(matrix, "shape"):
        raise InvalidArgument(f"{name} must be a sparse matrix (scipy.sparse.csr_matrix)")
    csr = matrix.tocsr()
    if len(csr.shape) != 2:
        raise InvalidArgument(f"{name} has {len(csr.shape)} dimensions; it must have 2")
    if csr.indices.dtype not in (np.int32, np.int64) or csr.indptr.dtype != csr.indices.dtype:
        raise InvalidArgument(f"the indices of {name} must be int32 or int64")
    if csr.data.dtype.kind not in "biuf":
        raise InvalidArgument(f"the values of {name} are {csr.data.dtype}; they must be numbers")
    if csr.nnz == 0 or csr.data.dtype.kind == "b":
        return csr
    least = csr.data[: csr.nnz].min()
    if least != least:
        raise InvalidArgument(f"{name} has a value that is not a number (NaN)")
    if least < 0:
        raise InvalidArgument(f"{name} has the value {least}; an entry must be above 0")
    if least == 0:
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def _matrix_struct(csr: Any) -> native.Matrix:
    rows, columns = csr.shape
    most = 2**31 - 1
    if rows > most or columns > most:
        raise InvalidArgument(f"a matrix of {rows} x {columns} has more than {most} of one")
    start = np.ascontiguousarray(csr.indptr)
    item = np.ascontiguousarray(csr.indices)
    matrix = native.Matrix(rows, columns, start.itemsize, start.ctypes.data, item.ctypes.data)
    matrix._kept = (start, item)
    return matrix


# ---- interactions ----------------------------------------------------------------------


class Interactions(Handle):
    """Distinct pairs of a user and an item with their raw ids, before they are split.

    >>> log = Interactions.from_frame({"user": ["ann", "ann", "bob"], "item": [1, 2, 2]})
    >>> len(log), log.n_users, log.n_items
    (3, 2, 2)
    """

    _noun = "log of interactions"
    _free = "cw_interactions_free"

    def __init__(self, pointer: int | None, users: Ids, items: Ids) -> None:
        super().__init__(pointer)
        self._users, self._items = users, items

    @classmethod
    def read(cls, *paths: StrPath, **options: object) -> Interactions:
        """Read files or folders, plain or compressed.  Options are those of ``prepare``'s import:
        ``format``, ``columns``, ``min_rating``, ..."""
        ctx = context()
        words = native.texts(native.path_bytes(path) for path in paths)
        given = Options(ctx, "import", options)
        out = _P()
        ctx.work("cw_import", words, len(paths), given.pointer, ctypes.byref(out))
        return cls(out.value, Ids(), Ids())

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        time: str | None = None,
        valid: Any = None,
        test: Any = None,
        **options: object,
    ) -> Interactions:
        """Take rows from a data frame: pandas, polars, a pyarrow table, a DuckDB relation, anything
        with ``__arrow_c_stream__``, or a mapping of names to arrays.

        Columns are found by the usual names unless they are named here.  With ``valid`` or ``test``
        the frames are the parts of a given split.  Options are those of import, such as
        ``min_rating``.
        """
        roles = {"user": user, "item": item, "rating": rating, "time": time}
        frames = [frame]
        parts = [0]
        for number, part in ((1, valid), (2, test)):
            if part is not None:
                frames.append(part)
                parts.append(number)
        if all(hasattr(f, "__arrow_c_stream__") and not _has_objects(f, roles) for f in frames):
            try:
                capsules = [_stream_of(f, len(frames) > 1) for f in frames]
            except ImportError:
                pass  # pandas without pyarrow
            else:
                return cls._from_streams(capsules, parts, roles, options)
        return cls._from_columns(frames, parts, roles, options)

    @classmethod
    def _from_streams(
        cls,
        capsules: Sequence[object],
        parts: Sequence[int],
        roles: Mapping[str, str | None],
        options: Mapping[str, object],
    ) -> Interactions:
        ctx = context()
        pointers = [stream_pointer(capsule) for capsule in capsules]
        columns = column_formats(pointers[0])
        chosen = _choose([name for name, _ in columns], roles)
        given = dict(options)
        if chosen:
            given["columns"] = ",".join(f"{role}={at + 1}" for role, at in chosen.items())
        listed = Options(ctx, "import", given)
        numbers = (ctypes.c_int * len(parts))(*parts) if len(parts) > 1 else None
        out = _P()
        ctx.work(
            "cw_import_arrow",
            (_P * len(pointers))(*pointers),
            numbers,
            len(pointers),
            listed.pointer,
            ctypes.byref(out),
        )
        found = chosen or _guess([name for name, _ in columns])
        kinds = [
            Ids(kind_of_format(columns[found[role]][1])) if role in found else Ids()
            for role in ("user", "item")
        ]
        return cls(out.value, kinds[0], kinds[1])

    @classmethod
    def _from_columns(
        cls,
        frames: Sequence[Any],
        parts: Sequence[int],
        roles: Mapping[str, str | None],
        options: Mapping[str, object],
    ) -> Interactions:
        names = _column_names(frames[0])
        chosen = _choose(names, roles) or _guess(names)
        for role in ("user", "item"):
            if role not in chosen:
                raise InvalidArgument(
                    f"no {role} column is known by its name; there are {', '.join(names)}: "
                    f"say {role}=..."
                )
        columns = {
            role: [np.asarray(frame[names[at]]) for frame in frames] for role, at in chosen.items()
        }
        _check_lengths(columns, [names[at] for at in chosen.values()])
        ctx = context()
        listed = Options(ctx, "import", options)
        table = _Table(columns, parts if len(parts) > 1 else None)
        out = _P()
        ctx.work("cw_import_arrays", ctypes.byref(table.struct), listed.pointer, ctypes.byref(out))
        return cls(out.value, table.users, table.items)

    @classmethod
    def from_csr(
        cls, user_items: sp.csr_matrix, *, valid: Any = None, test: Any = None
    ) -> Interactions:
        """Take the entries of a sparse matrix, whose rows are users and whose columns are items.
        Rows and columns keep their numbers, also those without entries."""
        given = [check_matrix(user_items)]
        if valid is not None or test is not None:
            empty = given[0][:0]
            empty.resize(given[0].shape)
            given.append(check_matrix(valid, "valid") if valid is not None else empty)
            if test is not None:
                given.append(check_matrix(test, "test"))
        structs = [_matrix_struct(csr) for csr in given]
        out = _P()
        array = (native.Matrix * len(structs))(*structs)
        context().work("cw_import_matrix", array, len(structs), ctypes.byref(out))
        return cls(out.value, Ids("integer"), Ids("integer"))

    def __len__(self) -> int:
        return int(lib.cw_interactions_count(self._pointer))

    @property
    def n_users(self) -> int:
        """Users that there are."""
        return int(lib.cw_interactions_users(self._pointer))

    @property
    def n_items(self) -> int:
        """Items that there are."""
        return int(lib.cw_interactions_items(self._pointer))

    @property
    def is_split(self) -> bool:
        """Were train, valid and test given?"""
        return bool(lib.cw_interactions_are_split(self._pointer))

    def prepare(self, **options: object) -> Dataset:
        """Filter and split: ``core``, ``split``, ``holdout``, ``cap``, ``seed``, ..."""
        ctx = context()
        given = Options(ctx, "prepare", options)
        out = _P()
        ctx.work("cw_dataset_prepare", self._pointer, given.pointer, ctypes.byref(out))
        return Dataset(out.value, self._users.copy(), self._items.copy())

    def __repr__(self) -> str:
        if self._handle is None:
            return "<Interactions, closed>"
        return f"<Interactions: {len(self)} of {self.n_users} users and {self.n_items} items>"


# The names that the library knows (src/import/columns.c), in small letters and without separators.
_USUAL = {
    "user": "user userid users uid username customer customerid reviewer reviewerid member "
    "memberid visitor visitorid account accountid person personid profile profileid session "
    "sessionid",
    "item": "item itemid items iid movie movieid film filmid business businessid product productid "
    "asin parentasin book bookid isbn song songid track trackid artist artistid venue venueid "
    "location locationid poi poiid place placeid gmapid news newsid article articleid game gameid "
    "app appid anime animeid video videoid outfit outfitid sku recipe recipeid",
    "rating": "rating ratings score stars star weight overall bookrating reviewrating value "
    "preference",
    "time": "timestamp time date datetime ts unixtime unixreviewtime reviewtime createdat ratedat",
}
_SEPARATORS = str.maketrans("", "", "_- .")


def _guess(names: Sequence[str]) -> dict[str, int]:
    """Columns by the usual names, the first that fits, as the library finds them."""
    found: dict[str, int] = {}
    for role, usual in _USUAL.items():
        for at, name in enumerate(names):
            if role not in found and name.lower().translate(_SEPARATORS) in usual.split():
                found[role] = at
    return found


def _choose(names: Sequence[str], roles: Mapping[str, str | None]) -> dict[str, int]:
    """Places of the columns that are named; none when the library is to find them."""
    given = {role: name for role, name in roles.items() if name is not None}
    if not given:
        return {}
    chosen = {}
    guessed = _guess(names)
    for role, name in given.items():
        if name not in names:
            raise InvalidArgument(f"there is no column {name!r}; there are {', '.join(names)}")
        chosen[role] = list(names).index(name)
    for role in ("user", "item"):
        if role not in chosen and role in guessed:
            chosen[role] = guessed[role]
        if role not in chosen:
            raise InvalidArgument(
                f"no {role} column is known by its name; there are {', '.join(names)}: "
                f"say {role}=..."
            )
    return dict(sorted(chosen.items(), key=lambda pair: list(_USUAL).index(pair[0])))


def _stream_of(frame: Any, is_one_of_several: bool) -> object:
    """A stream of a frame.  A connection of DuckDB has one result open at a time."""
    if is_one_of_several and type(frame).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        frame = frame.to_arrow_table() if hasattr(frame, "to_arrow_table") else frame.arrow()
    return frame.__arrow_c_stream__()


def _column_names(frame: Any) -> list[str]:
    if hasattr(frame, "columns"):
        return [str(name) for name in frame.columns]
    if hasattr(frame, "keys"):
        return [str(name) for name in list(frame)]
    raise InvalidArgument(
        f"{type(frame).__name__} is no table: a data frame, a table with __arrow_c_stream__, or a "
        "mapping of names to arrays is needed"
    )


def _has_objects(frame: Any, roles: Mapping[str, str | None]) -> bool:
    """Has a pandas frame ids that Arrow may not know, such as tuples or dates?"""
    dtypes = getattr(frame, "dtypes", None)
    if dtypes is None or not hasattr(dtypes, "items"):
        return False
    chosen = _choose(_column_names(frame), roles) or _guess(_column_names(frame))
    for role in ("user", "item"):
        if role in chosen:
            dtype = dtypes.iloc[chosen[role]]
            kind = getattr(dtype, "kind", "O")
            if kind in "fbMmc":
                return True
            values = frame.iloc[:, chosen[role]] if kind == "O" and str(dtype) == "object" else ()
            if not all(isinstance(value, str) for value in values):
                return True
    return False


def _check_lengths(columns: Mapping[str, Sequence[npt.NDArray[Any]]], names: Iterable[str]) -> None:
    lengths = {len(arrays[0]) for arrays in columns.values()}
    if any(array.ndim != 1 for arrays in columns.values() for array in arrays):
        raise InvalidArgument("every column must have one dimension")
    if len(lengths) > 1:
        raise InvalidArgument(f"the columns {', '.join(names)} are not of one length")


class _Table:
    """Columns as the library takes them, which it borrows."""

    def __init__(
        self, columns: Mapping[str, Sequence[npt.NDArray[Any]]], parts: Sequence[int] | None
    ) -> None:
        self._kept: list[Any] = []
        self.struct = native.Arrays()
        self.struct.n = sum(len(array) for array in columns["user"])
        self.users = self._ids("user", columns["user"])
        self.items = self._ids("item", columns["item"])
        for role in ("rating", "time"):
            if role in columns:
                setattr(self.struct, role, self._reals(role, columns[role]))
        if parts is not None:
            lengths = [len(array) for array in columns["user"]]
            self.struct.part = self._keep(np.repeat(np.array(parts, np.uint8), lengths))

    def _keep(self, array: npt.NDArray[Any]) -> int:
        self._kept.append(array)
        return int(array.ctypes.data)

    def _reals(self, role: str, arrays: Sequence[npt.NDArray[Any]]) -> int:
        array = np.concatenate(arrays)
        if array.dtype.kind == "M":
            seconds = array.astype("datetime64[us]").astype(np.int64) / 1e6
            array = np.where(np.isnat(array), np.nan, seconds)
        try:
            return self._keep(np.ascontiguousarray(array, np.float64))
        except (TypeError, ValueError):
            raise InvalidArgument(f"the {role} column is {array.dtype}, no numbers") from None

    def _ids(self, role: str, arrays: Sequence[npt.NDArray[Any]]) -> Ids:
        array = np.concatenate(arrays)
        if array.dtype.kind in "iu" and array.dtype != np.uint64:
            address = self._keep(np.ascontiguousarray(array, np.int64))
            setattr(self.struct, f"{role}_number", address)
            return Ids("integer")
        values = array.tolist()
        if all(isinstance(value, str) for value in values):
            words = native.texts(native.text_bytes(value) for value in values)
            self._kept.append(words)
            setattr(self.struct, role, ctypes.addressof(words))
            return Ids("text")
        numbers, objects = number_objects(values, role)
        setattr(self.struct, f"{role}_number", self._keep(np.array(numbers, np.int64)))
        return Ids("text", objects)


# ---- datasets --------------------------------------------------------------------------


class Description(Result):
    """Counts and shape of a dataset (docs/datasets.md)."""


class Dataset(Handle):
    """Train, valid and test interactions of users 0, 1, ... and items 0, 1, ...

    >>> data = Dataset.from_frame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9]}, core=1)
    >>> data.n_users, data.n_items, data.count("train") + data.count("valid") + data.count("test")
    (2, 3, 4)
    """

    _noun = "dataset"
    _free = "cw_dataset_free"

    def __init__(self, pointer: int | None, users: Ids, items: Ids) -> None:
        super().__init__(pointer)
        self._users, self._items = users, items

    @classmethod
    def load(
        cls,
        folder: StrPath,
        *,
        train_file: str | None = None,
        ids: Literal["auto", "text"] = "auto",
    ) -> Dataset:
        """Read a dataset folder, with another training set of it if that is named."""
        out = _P()
        name = native.text_bytes(train_file) if train_file is not None else None
        context().work("cw_dataset_load_with", native.path_bytes(folder), name, ctypes.byref(out))
        return cls(out.value, Ids(ids), Ids(ids))

    @classmethod
    def from_frame(cls, frame: Any, **arguments: Any) -> Dataset:
        """Take rows from a data frame as :meth:`Interactions.from_frame` does, and split them.
        Options of import and of ``prepare`` may be mixed."""
        return _from(Interactions.from_frame, frame, arguments)

    @classmethod
    def from_csr(cls, user_items: sp.csr_matrix, **arguments: Any) -> Dataset:
        """Split the entries of a sparse matrix; users and items are its rows and columns."""
        return _from(Interactions.from_csr, user_items, arguments)

    @classmethod
    def simulate(cls, *, split: Mapping[str, object] | None = None, **options: object) -> Dataset:
        """Draw a dataset whose true relevances are known (docs/simulator.md).  ``split`` has the
        options of ``prepare``."""
        ctx = context()
        given = Options(ctx, "simulate", options)
        halves = Options(ctx, "prepare", split or {})
        out = _P()
        ctx.work("cw_dataset_simulate", given.pointer, halves.pointer, ctypes.byref(out))
        return cls(out.value, Ids("integer"), Ids("integer"))

    def save(self, folder: StrPath, *, replace: bool = False) -> Path:
        """Write a dataset folder, whole or not at all."""
        context().work("cw_dataset_save", self._pointer, native.path_bytes(folder), replace)
        return Path(folder)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return int(lib.cw_dataset_users(self._pointer))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(lib.cw_dataset_items(self._pointer))

    @property
    def user_ids(self) -> list[Any]:
        """Raw ids of users, by number."""
        own = self._pointer
        return self._users.list(self.n_users, lambda k: lib.cw_dataset_user_id(own, k))

    @property
    def item_ids(self) -> list[Any]:
        """Raw ids of items, by number."""
        own = self._pointer
        return self._items.list(self.n_items, lambda k: lib.cw_dataset_item_id(own, k))

    def count(self, part: Part = "train") -> int:
        """Rows of a part."""
        return int(lib.cw_dataset_count(self._pointer, _part(part)))

    def part(self, part: Part = "train") -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Users and items of a part, row by row: views of the library's memory, which are not to
        be used after :meth:`close`."""
        number, count = _part(part), self.count(part)
        users = lib.cw_dataset_part_users(self._pointer, number)
        items = lib.cw_dataset_part_items(self._pointer, number)
        return (
            borrow(users, ctypes.c_int32, (count,), self),
            borrow(items, ctypes.c_int32, (count,), self),
        )

    def to_csr(self, part: Part = "train") -> sp.csr_matrix:
        """A part as a sparse matrix of ones."""
        import scipy.sparse as sp

        users, items = self.part(part)
        ones = np.ones(len(users), np.float32)
        return sp.csr_matrix((ones, (users, items)), shape=(self.n_users, self.n_items))

    def relevance(self, user: int) -> npt.NDArray[np.float64]:
        """How relevant every item truly is to a user (by number) of a simulated dataset."""
        out = np.empty(self.n_items)
        context().call("cw_dataset_relevance", self._pointer, user, out.ctypes.data)
        return out

    def describe(self) -> Description:
        """Counts, quantiles, concentration."""
        out = _P()
        context().work("cw_dataset_describe", self._pointer, ctypes.byref(out))
        return Description(native.json_of(out))

    def __repr__(self) -> str:
        if self._handle is None:
            return "<Dataset, closed>"
        parts = ", ".join(f"{self.count(part)} {part}" for part in ("train", "valid", "test"))
        return f"<Dataset: {self.n_users} users, {self.n_items} items; {parts}>"

    def _repr_html_(self) -> str:
        return self.describe()._repr_html_()


def _from(make: Any, source: Any, arguments: Mapping[str, Any]) -> Dataset:
    """Options of prepare apart from what makes the interactions."""
    of_split = {info.replace("-", "_") for info in stage_options("prepare")}
    split = {name: value for name, value in arguments.items() if name in of_split}
    rest = {name: value for name, value in arguments.items() if name not in of_split}
    with make(source, **rest) as log:
        data: Dataset = log.prepare(**split)
        return data


def stage_options(stage: str) -> list[str]:
    """The names of the options of a stage."""
    found: list[str] = []
    while True:
        info = lib.cw_stage_option(stage.encode(), len(found))
        if not info:
            return found
        found.append(info.contents.name.decode())


def borrow(
    address: int | None, kind: Any, shape: tuple[int, ...], owner: Handle
) -> npt.NDArray[Any]:
    """A read-only array over memory of the library, which lives at least as long as the array."""
    size = 1
    for length in shape:
        size *= length
    if not address or size == 0:
        return np.empty(shape, np.dtype(kind))
    buffer = (kind * size).from_address(address)
    buffer._owner = owner._owner
    array = np.frombuffer(buffer, dtype=np.dtype(kind)).reshape(shape)
    array.flags.writeable = False
    return array
