"""Models by raw ids: train, look at, ask, save."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native as native
from ._data import Dataset, Interactions, StrPath, borrow
from ._errors import InvalidArgument, UnknownId
from ._ids import Ids
from ._native import Handle, OnEvent, Options, context, lib
from ._progress import Bar
from ._results import Recommendations, Result, Run

_P = ctypes.c_void_p
Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


def _is_many(value: object) -> bool:
    """Several ids, and not one that is text, bytes or a tuple."""
    return isinstance(value, (list, set, frozenset, range, np.ndarray)) or (
        hasattr(value, "__iter__") and not isinstance(value, (str, bytes, tuple))
    )


class Rules:
    """What may be in lists, and the arrays that say so."""

    def __init__(
        self,
        dial: float = 0.0,
        with_seen: bool = False,
        exclude: Int32s | None = None,
        only: Int32s | None = None,
        boosts: tuple[Int32s, Floats] | None = None,
        diversity: float = 0.0,
    ) -> None:
        self.struct = native.Rules(with_seen, dial)
        self.struct.diversity = diversity
        self._kept: list[Any] = []
        if boosts is not None and len(boosts[0]):
            self.struct.boosted, self.struct.boosts = map(self._keep, boosts)
            self.struct.n_boosted = len(boosts[0])
        if exclude is not None and len(exclude):
            self.struct.exclude, self.struct.n_exclude = self._keep(exclude), len(exclude)
        if only is not None:
            self.struct.only, self.struct.n_only = self._keep(only, at_least_one=True), len(only)

    def _keep(self, array: npt.NDArray[Any], at_least_one: bool = False) -> int:
        if at_least_one and len(array) == 0:
            array = np.zeros(1, array.dtype)  # an empty list must not be NULL, which is all
        self._kept.append(array)
        return int(array.ctypes.data)

    def own(self, start: npt.NDArray[np.int64], items: Int32s) -> None:
        """Rows of items, one for each list, instead of what its user had."""
        self.struct.own_start = self._keep(start)
        self.struct.own = self._keep(items, at_least_one=True)

    @property
    def pointer(self) -> int:
        """For a call."""
        return ctypes.addressof(self.struct)


class Room:
    """Arrays that a call fills with lists."""

    def __init__(self, n: int, k: int) -> None:
        if not 1 <= k <= 2**31 - 1:
            raise InvalidArgument(f"the length of a list is {k}; it must be at least 1")
        self.items = np.empty((n, k), np.int32)
        self.scores = np.empty((n, k), np.float32)
        self.counts = np.empty(n, np.int32)
        self.struct = native.Lists(
            k, self.items.ctypes.data, self.scores.ctypes.data, self.counts.ctypes.data
        )


class Ready(Handle):
    """A model made ready to be asked.  It does not change: any number of threads may ask."""

    _noun = "recommender"
    _free = "cw_recommender_close"

    def vectors(self, call: str, rows: int) -> Floats | None:
        """Vectors of users or items where there are any: a view."""
        width = ctypes.c_int32()
        address = getattr(lib, call)(self._pointer, ctypes.byref(width))
        if not address:
            return None
        return borrow(address, ctypes.c_float, (rows, width.value), self)


def open_recommender(model: Model, threads: int = 0) -> Ready:
    """What a model needs to be asked; the model stays as long as it is needed."""
    out = _P()
    context(threads).work("cw_recommender_open", model._pointer, ctypes.byref(out))
    return Ready(out.value)


class Model(Handle):
    """What training made: parameters, raw ids, what users had, and how it was trained.

    >>> log = {"user": [1, 1, 2, 2, 3, 3], "item": ["a", "b", "a", "c", "a", "b"]}
    >>> model = train(Dataset.from_frame(log, core=1, holdout=0.1), method="pop")
    >>> model.recommend(2, n=1)[0][0]
    'b'
    """

    _noun = "model"
    _free = "cw_model_free"

    def __init__(self, pointer: int | None, users: Ids, items: Ids, run: Run | None = None) -> None:
        super().__init__(pointer)
        self._users, self._items = users, items
        self._ready: Ready | None = None
        self._ids: dict[str, list[Any]] = {}
        #: The record of the training that made it; empty for one that was loaded.
        self.run = run if run is not None else Run()
        #: Everything that :func:`tune` tried; empty otherwise.
        self.tuning = Result()

    # ---- files -------------------------------------------------------------------------

    @classmethod
    def load(cls, path: StrPath, *, ids: Literal["auto", "text"] = "auto") -> Model:
        """Read a model.  A file has raw ids as text: with ``auto`` they become integers where all
        of them are printed like integers."""
        out = _P()
        context().work("cw_model_load", native.path_bytes(path), ctypes.byref(out))
        return cls(out.value, Ids(ids), Ids(ids))

    def save(self, path: StrPath, *, record: StrPath | None = None, replace: bool = False) -> Path:
        """Write one safetensors file, and where it was trained here also the record of its run,
        if ``record`` names a file for it."""
        if record is None:
            context().work("cw_model_save", self._pointer, native.path_bytes(path))
            return Path(path)
        context().work(
            "cw_model_save_run",
            self._pointer,
            native.path_bytes(path),
            self.run.text.encode() if self.run.text else None,
            native.path_bytes(record),
            replace,
        )
        return Path(path)

    def to_bytes(self) -> bytes:
        """The file as bytes."""
        with tempfile.TemporaryDirectory(prefix="crosswise-") as folder:
            path = Path(folder) / "model.safetensors"
            self.save(path)
            return path.read_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """A model from the bytes of its file."""
        with tempfile.TemporaryDirectory(prefix="crosswise-") as folder:
            path = Path(folder) / "model.safetensors"
            path.write_bytes(data)
            return cls.load(path)

    def export(self, folder: StrPath, *, replace: bool = False) -> Path:
        """Write vectors as .npy and raw ids as text into a new folder."""
        context().work("cw_model_export", self._pointer, native.path_bytes(folder), replace)
        return Path(folder)

    def close(self) -> None:
        """Give the memory back, once no array that was lent is left."""
        if self._ready is not None:
            self._ready.close()
        self._ready = None
        super().close()

    # ---- what is in it -------------------------------------------------------------------

    @property
    def info(self) -> Result:
        """Method, options, tensors, provenance, metrics."""
        out = _P()
        context().call("cw_model_info", self._pointer, ctypes.byref(out))
        return Result(native.json_of(out))

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(self.info["method"])

    @property
    def backbone(self) -> str:
        """Name of the backbone."""
        return str(self.info["backbone"])

    @property
    def n_users(self) -> int:
        """Users of training."""
        return int(lib.cw_model_users(self._pointer))

    @property
    def n_items(self) -> int:
        """Items of training."""
        return int(lib.cw_model_items(self._pointer))

    def _list(self, what: str) -> list[Any]:
        """Raw ids by number, those of guests last."""
        own = self._pointer
        if what not in self._ids:
            if what == "user":
                count = self.n_users + int(lib.cw_model_guest_users(own))
                found = self._users.list(count, lambda k: lib.cw_model_user_id(own, k))
            else:
                count = self.n_items + int(lib.cw_model_guest_items(own))
                found = self._items.list(count, lambda k: lib.cw_model_item_id(own, k))
            self._ids[what] = found
        return self._ids[what]

    @property
    def user_ids(self) -> list[Any]:
        """Raw ids of users, by number.  Users that the core filter left out come last."""
        return self._list("user")

    @property
    def item_ids(self) -> list[Any]:
        """Raw ids of items, by number, likewise."""
        return self._list("item")

    @property
    def dial(self) -> float:
        """The popularity dial that it was tuned with; 0 when it was not."""
        made = ctypes.POINTER(native.Rules)()
        context().call("cw_rules_create", self._pointer, None, ctypes.byref(made))
        dial = float(made.contents.dial)
        lib.cw_rules_free(made)
        return dial

    @property
    def tensors(self) -> dict[str, Floats]:
        """Every parameter by name: views of the model's memory."""
        found: dict[str, Floats] = {}
        tensor = native.Tensor()
        while lib.cw_model_tensor(self._pointer, len(found), ctypes.byref(tensor)):
            shape = (tensor.rows, tensor.columns)
            found[tensor.name.decode()] = borrow(tensor.data, ctypes.c_float, shape, self)
        return found

    @property
    def user_vectors(self) -> Floats | None:
        """Vectors whose products with those of items are the scores; None where there are none."""
        return self.recommender.vectors("cw_recommender_users", self.n_users)

    @property
    def item_vectors(self) -> Floats | None:
        """Vectors of items."""
        return self.recommender.vectors("cw_recommender_items", self.n_items)

    @property
    def recommender(self) -> Ready:
        """What answers; made when it is first needed."""
        if self._ready is None:
            self._ready = open_recommender(self)
        return self._ready

    # ---- raw ids ----------------------------------------------------------------------------

    def _number(self, what: str, value: Any, with_guests: bool) -> int:
        ids = self._users if what == "user" else self._items
        data = ids.encode(value)
        found = int(getattr(lib, f"cw_model_find_{what}")(self._pointer, data))
        if found < 0 and with_guests:
            found = int(getattr(lib, f"cw_model_find_guest_{what}")(self._pointer, data))
        if found < 0:
            raise UnknownId(f"the model does not know the {what} {value!r}")
        return found

    def _numbers(self, what: str, values: Iterable[Any], with_guests: bool = False) -> Int32s:
        return np.array([self._number(what, v, with_guests) for v in values], np.int32)

    def _rules(
        self,
        with_seen: bool,
        popularity: float | None,
        exclude: Iterable[Any] | None,
        only: Iterable[Any] | None,
        boost: Mapping[Any, float] | None,
        diversity: float,
    ) -> Rules:
        return Rules(
            self.dial if popularity is None else float(popularity),
            with_seen,
            self._numbers("item", exclude) if exclude is not None else None,
            self._numbers("item", only) if only is not None else None,
            (self._numbers("item", boost), np.array(list(boost.values()), np.float32))
            if boost is not None
            else None,
            float(diversity),
        )

    # ---- asking -------------------------------------------------------------------------------

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        with_seen: bool = False,
        popularity: float | None = None,
        exclude: Iterable[Any] | None = None,
        only: Iterable[Any] | None = None,
        boost: Mapping[Any, float] | None = None,
        diversity: float = 0.0,
    ) -> Any:
        """The best items for a user, or for each of many, by raw ids.

        One user gives a list of pairs (item, score); many give :class:`Recommendations`.
        ``popularity`` is the dial: above 0 favours popular items, below 0 rare ones.  ``boost``
        has what is added to the scores of items, ``diversity`` from 0 to 1 passes over items that
        are like one above.
        """
        many = _is_many(users)
        keys = list(users) if many else [users]
        numbers = self._numbers("user", keys, with_guests=True)
        rules = self._rules(with_seen, popularity, exclude, only, boost, diversity)
        room = Room(len(keys), n)
        context().work(
            "cw_recommend",
            self.recommender._pointer,
            numbers.ctypes.data,
            len(keys),
            rules.pointer,
            ctypes.byref(room.struct),
        )
        ways = [self._way(int(u)) for u in numbers]
        found = Recommendations(keys, self.item_ids, room.items, room.scores, ways)
        return found if many else found[0]

    def _way(self, user: int) -> str:
        way = lib.cw_user_way(self.recommender._pointer, user)
        return str(lib.cw_way_name(way).decode())

    def recommend_history(
        self,
        items: Iterable[Any],
        n: int = 10,
        *,
        popularity: float | None = None,
        exclude: Iterable[Any] | None = None,
        only: Iterable[Any] | None = None,
        boost: Mapping[Any, float] | None = None,
        diversity: float = 0.0,
    ) -> list[tuple[Any, float]]:
        """A list for somebody new, from the items that they liked."""
        liked = self._numbers("item", items)
        start = np.array([0, len(liked)], np.int64)
        rules = self._rules(False, popularity, exclude, only, boost, diversity)
        room = Room(1, n)
        context().work(
            "cw_recommend_histories",
            self.recommender._pointer,
            start.ctypes.data,
            liked.ctypes.data,
            1,
            rules.pointer,
            ctypes.byref(room.struct),
        )
        found = Recommendations([None], self.item_ids, room.items, room.scores, ["fold-in"])
        listed: list[tuple[Any, float]] = found[0]
        return listed

    def explain(self, history: Iterable[Any], item: Any) -> list[tuple[Any, float]]:
        """What each item of a history adds to the score of an item, the largest first.

        The score is that of :meth:`recommend_history` for these items; a user who was trained has
        another one, unless the backbone has no vectors of users (ease, itemknn).
        """
        keys = list(dict.fromkeys(history))
        liked = self._numbers("item", keys)
        added = np.empty(len(keys), np.float32)
        context().work(
            "cw_explain",
            self.recommender._pointer,
            liked.ctypes.data,
            len(keys),
            self._number("item", item, False),
            added.ctypes.data,
            None,
        )
        return sorted(zip(keys, added.tolist(), strict=True), key=lambda pair: -pair[1])

    def similar_items(self, items: Any, n: int = 10) -> Any:
        """The items most alike to an item, or to each of many, by the cosine of their vectors."""
        return self._similar("item", items, n)

    def similar_users(self, users: Any, n: int = 10) -> Any:
        """The users most alike to a user, or to each of many."""
        return self._similar("user", users, n)

    def _similar(self, what: str, values: Any, n: int) -> Any:
        many = _is_many(values)
        keys = list(values) if many else [values]
        numbers = self._numbers(what, keys, with_guests=what == "item")
        room = Room(len(keys), n)
        arguments: list[object] = [self.recommender._pointer, numbers.ctypes.data, len(keys)]
        if what == "item":
            arguments.append(None)
        context().work(f"cw_similar_{what}s", *arguments, ctypes.byref(room.struct))
        ids = self.item_ids if what == "item" else self.user_ids
        ways = ["trained"] * len(keys)
        found = Recommendations(keys, ids, room.items, room.scores, ways, what)
        return found if many else found[0]

    def score(self, users: Sequence[Any], items: Sequence[Any]) -> Floats:
        """Scores of pairs of a user and an item."""
        if len(users) != len(items):
            raise InvalidArgument(f"there are {len(users)} users and {len(items)} items")
        u, i = self._numbers("user", users), self._numbers("item", items)
        out = np.empty(len(u), np.float32)
        context().work(
            "cw_score_pairs",
            self.recommender._pointer,
            u.ctypes.data,
            i.ctypes.data,
            len(u),
            out.ctypes.data,
        )
        return out

    def evaluate(self, dataset: Dataset, **options: object) -> Result:
        """How good and how biased its lists are on a held-out part (docs/metrics.md)."""
        ctx = context()
        given = Options(ctx, "evaluate", options)
        out = _P()
        ctx.work("cw_evaluate", dataset._pointer, self._pointer, given.pointer, ctypes.byref(out))
        return Result(native.json_of(out))

    def update(
        self,
        log: Interactions,
        *,
        on_event: OnEvent | None = None,
        show_progress: bool = False,
        **options: object,
    ) -> Model:
        """A new model that was trained on with new interactions, users and items."""
        ctx = context(_threads(options))
        given = Options(ctx, "update", options)
        out, run = _P(), _P()
        with Bar(show_progress, on_event) as bar:
            ctx.work(
                "cw_update",
                self._pointer,
                log._pointer,
                given.pointer,
                ctypes.byref(out),
                ctypes.byref(run),
                on_event=bar,
            )
        return Model(out.value, self._users.copy(), self._items.copy(), Run(native.text_of(run)))

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self.to_bytes(), "run": self.run, "ids": (self._users, self._items)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        other = Model.from_bytes(state["bytes"])
        self.__init__(None, state["ids"][0], state["ids"][1], state["run"])  # type: ignore[misc]
        self._handle, other._handle = other._handle, None

    def __repr__(self) -> str:
        if self._handle is None:
            return "<Model, closed>"
        return (
            f"<Model: {self.method} on {self.backbone}, {self.n_users} users, {self.n_items} items>"
        )

    def _repr_html_(self) -> str:
        return self.run._repr_html_() if self.run else self.info._repr_html_()


def _threads(options: dict[str, object]) -> int:
    """Threads are of the context, not of an option."""
    threads = options.pop("threads", 0)
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise InvalidArgument(f"threads is {threads!r}; it must be a whole number")
    return threads


def _as_dataset(data: Any, options: dict[str, object]) -> tuple[Dataset, bool]:
    """A dataset, and whether it was made of a log here, of which a model is to be shipped."""
    if isinstance(data, Dataset):
        return data, False
    if isinstance(data, Interactions):
        return data.prepare(), True
    if isinstance(data, (str, os.PathLike)):
        if os.path.isdir(data):
            return Dataset.load(data), False
        with Interactions.read(data) as log:
            return log.prepare(), True
    return Dataset.from_frame(data), True


def train(
    data: Any,
    *,
    on_event: OnEvent | None = None,
    show_progress: bool = False,
    **options: object,
) -> Model:
    """Train a model on a dataset, or on a log: a data frame, interactions, the path of a file.

    Options are those of ``crosswise train``: ``method``, ``backbone``, ``dim``, ``lr``, ``epochs``,
    ``seed``, ..., and ``threads``.  Of a log the model is at last trained once more on all rows
    (``refit=False`` leaves it).  ``on_event`` is told every epoch, as a dictionary.
    """
    dataset, is_log = _as_dataset(data, options)
    ctx = context(_threads(options))
    if is_log:
        options.setdefault("refit", True)
    given = Options(ctx, "train", options)
    out, run = _P(), _P()
    with Bar(show_progress, on_event) as bar:
        ctx.work(
            "cw_train",
            dataset._pointer,
            given.pointer,
            ctypes.byref(out),
            ctypes.byref(run),
            on_event=bar,
        )
    users, items = dataset._users.copy(), dataset._items.copy()
    return Model(out.value, users, items, Run(native.text_of(run)))


def tune(
    data: Any,
    folder: StrPath,
    *,
    on_event: OnEvent | None = None,
    **options: object,
) -> Model:
    """Race methods and settings within ``budget`` (such as ``"10m"``) or ``trials``, and give the
    best model; ``model.tuning`` has everything tried.  A call with the same folder goes on."""
    dataset, is_log = _as_dataset(data, options)
    ctx = context(_threads(options))
    if is_log:
        options.setdefault("refit", True)
    given = Options(ctx, "tune", options)
    out, run, told = _P(), _P(), _P()
    ctx.work(
        "cw_tune",
        dataset._pointer,
        given.pointer,
        native.path_bytes(folder),
        ctypes.byref(out),
        ctypes.byref(run),
        ctypes.byref(told),
        on_event=on_event,
    )
    users, items = dataset._users.copy(), dataset._items.copy()
    model = Model(out.value, users, items, Run(native.text_of(run)))
    model.tuning = Result(native.json_of(told))
    return model
