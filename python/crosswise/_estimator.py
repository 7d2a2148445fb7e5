"""Recommenders on sparse matrices, with the signatures and conventions of implicit 0.7.

Users and items are rows and columns.  Estimators follow scikit-learn: parameters are kept as they
were given, ``fit`` makes the attributes that end in an underscore.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ._data import Dataset, Interactions, StrPath, check_matrix
from ._errors import CrosswiseError, InvalidArgument, OutOfRange, Unsupported
from ._ids import Ids
from ._model import Model, Ready, Room, Rules, open_recommender, train
from ._native import Event, context, lib

if TYPE_CHECKING:
    import scipy.sparse as sp

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Answer = tuple[Ints, Floats]
Self = TypeVar("Self", bound="BaseRecommender")

_LOWEST = np.finfo(np.float32).min  # the score of what is left out, where a list has room for it


class _Readable(Protocol):
    def read(self) -> bytes: ...


class _Writable(Protocol):
    def write(self, data: bytes, /) -> object: ...


class NotFitted(CrosswiseError, ValueError, AttributeError):
    """The recommender was asked before it was fitted."""


# Names of implicit and of scikit-learn, and the options that they are.
_OPTION = {
    "factors": "dim",
    "learning_rate": "lr",
    "regularization": "reg",
    "iterations": "epochs",
    "random_state": "seed",
}

_NAMED: dict[str, object] = {
    "factors": None,
    "learning_rate": None,
    "regularization": None,
    "iterations": None,
    "random_state": None,
    "num_threads": 0,
    "use_gpu": False,
    "dtype": np.float32,
    "refit": True,
    "split": None,
}


class BaseRecommender:
    """What all recommenders share; see :class:`Recommender` for the parameters."""

    #: Parameters of the class that ``**options`` come beside, with their defaults.
    _defaults: ClassVar[Mapping[str, object]] = _NAMED
    _params: dict[str, Any]
    model_: Model
    _dial: float = 0.0  # of a model that tune made
    dataset_shape_: tuple[int, int]

    def _set(self, values: Mapping[str, object]) -> None:
        self._params = {**self._defaults, **values}

    # ---- parameters, as scikit-learn has them --------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter by name."""
        return dict(self._params)

    def set_params(self: Self, **params: Any) -> Self:
        """Change parameters; they count from the next ``fit`` on."""
        self._params.update(params)
        return self

    def __getattr__(self, name: str) -> Any:
        params: dict[str, Any] = self.__dict__.get("_params", {})
        if name in params:
            return params[name]
        is_missing = "model_" not in self.__dict__ and hasattr(type(self), name)
        if name == "model_" or is_missing:
            raise NotFitted(f"this {type(self).__name__} is not fitted yet; call fit first")
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        shown = [
            f"{name}={value!r}"
            for name, value in self._params.items()
            if name not in self._defaults or value != self._defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_ready", None)
        return state

    def _train_options(self) -> dict[str, object]:
        given = dict(self._params)
        if np.dtype(given.pop("dtype")) != np.float32:
            raise InvalidArgument("dtype must be float32, the only kind of number models have")
        given.pop("split")
        if given.pop("use_gpu"):
            given["device"] = "cuda"
        options: dict[str, object] = {}
        for name, value in given.items():
            if name == "num_threads":
                options["threads"] = int(value or 0)
            elif name == "random_state":
                options["seed"] = _seed_of(value)
            else:
                options[_OPTION.get(name, name)] = value
        return options

    # ---- fitting -------------------------------------------------------------------------

    def fit(
        self: Self,
        user_items: sp.csr_matrix,
        y: object = None,
        show_progress: bool = True,
        callback: Callable[..., object] | None = None,
        *,
        validation: Any = None,
    ) -> Self:
        """Learn from a sparse matrix whose rows are users and whose columns are items.

        Every entry above 0 is a like; its size does not matter.  A part of the entries is held out
        to choose the number of steps, and then the model is trained once more on all of them
        (``refit=False`` leaves it).  ``validation`` gives that part as a matrix of its own.
        ``callback(epoch, elapsed, loss)`` is called after every epoch; when it raises, the fit
        stops.
        """
        if isinstance(y, bool):  # implicit has show_progress in this place
            show_progress = y
        options = self._train_options()
        seed = options.get("seed")
        with Interactions.from_csr(user_items, valid=validation) as log:
            split = dict(self._params["split"] or {})
            if seed is not None:
                split.setdefault("seed", seed)
            data = log.prepare(**split)
        if validation is not None:
            options["refit"] = False if self._params["refit"] is True else self._params["refit"]
        self._learn(data, options, show_progress, callback)
        self.dataset_shape_ = (data.n_users, data.n_items)
        data.close()
        return self

    def _learn(
        self,
        data: Dataset,
        options: dict[str, object],
        show_progress: bool,
        callback: Callable[..., object] | None,
    ) -> None:
        begin = time.monotonic()

        def tell(event: Event) -> None:
            if callback is not None and event.get("epoch", 0) > 0:
                callback(event["epoch"], time.monotonic() - begin, event.get("loss"))

        if not lib.cw_method_name(0):
            raise CrosswiseError("the library knows no method")
        self._use(train(data, on_event=tell, show_progress=show_progress, **options))

    def _use(self, model: Model) -> None:
        self.model_ = model
        self._shape = (model.n_users, model.n_items)
        self._dial = model.dial
        self._ready: Ready = open_recommender(model, self._threads)

    @property
    def _threads(self) -> int:
        return int(self._params.get("num_threads") or 0)

    @property
    def _recommender(self) -> Ready:
        ready = self.__dict__.get("_ready")
        if ready is None or ready._handle is None:
            ready = self._ready = open_recommender(self.model_, self._threads)
        return ready

    @property
    def n_users_(self) -> int:
        """Rows of the matrix, and users that were folded in."""
        return self._fitted_shape[0]

    @property
    def _fitted_shape(self) -> tuple[int, int]:
        if "model_" not in self.__dict__:
            raise NotFitted(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self._shape

    @property
    def n_items_(self) -> int:
        """Columns of the matrix."""
        return self._fitted_shape[1]

    @property
    def n_features_in_(self) -> int:
        """Columns of the matrix, as scikit-learn calls them."""
        return self._fitted_shape[1]

    @property
    def run_(self) -> Any:
        """The record of the training."""
        return self.model_.run

    @property
    def user_factors(self) -> Floats:
        """Vectors of users: a view of the model's memory, not to be written to."""
        return self._vectors("cw_recommender_users", self.n_users_)

    @property
    def item_factors(self) -> Floats:
        """Vectors of items, likewise."""
        return self._vectors("cw_recommender_items", self.n_items_)

    def _vectors(self, call: str, rows: int) -> Floats:
        found = self._recommender.vectors(call, rows)
        if found is None:
            raise Unsupported(f"backbone {self.model_.backbone} has no such vectors")
        return found

    # ---- lists ---------------------------------------------------------------------------

    def recommend(
        self,
        userid: Any,
        user_items: Any = None,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: Any = None,
        recalculate_user: bool = False,
        items: Any = None,
    ) -> Answer:
        """The N best items for a user, or for each of an array of users.

        Returns item numbers (int32) and scores (float32), of shape (N,) for one user and (users, N)
        for many.  ``user_items`` has a row for each user asked for: what they have now, which is
        left out of their lists, and what ``recalculate_user`` folds them in from.  Where it is
        missing, what they had in training is left out.
        Where a list has more places than candidates, what was left out follows with the lowest
        score there is, and then zeros, as implicit does.
        """
        single = np.isscalar(userid) or getattr(userid, "ndim", 1) == 0
        users = _numbers(userid, "userid")
        rows = None
        if user_items is not None and (filter_already_liked_items or recalculate_user):
            rows = _rows(user_items, len(users), self.n_items_)
        if recalculate_user and rows is None:
            raise InvalidArgument("user_items is needed to recalculate users")
        if items is not None and filter_items is not None and len(_numbers(filter_items, "")):
            raise InvalidArgument("items and filter_items cannot both be given")
        wanted = None if items is None else np.unique(_numbers(items, "items"))
        barred = None if filter_items is None else _numbers(filter_items, "filter_items")
        rules = Rules(self._dial, not filter_already_liked_items, barred, wanted)
        k = N if wanted is None else min(N, max(len(wanted), 1))
        room = Room(len(users), k)
        if len(users):
            self._ask(users, rows, rules, room, recalculate_user)
        if len(users) == 1 and room.counts[0] == k:
            ids, scores = room.items, room.scores
        else:
            ids, scores = _Pads(self.n_items_ if wanted is None else wanted).fill(room)
        return (ids[0], scores[0]) if single else (ids, scores)

    def _ask(
        self, users: Ints, rows: _Rows | None, rules: Rules, room: Room, recalculate: bool
    ) -> None:
        lists = ctypes.byref(room.struct)
        recommender = self._recommender._pointer
        if recalculate and rows is not None:
            _check_range(users, "userid", None)
            context(self._threads).work(
                "cw_recommend_histories",
                recommender,
                rows.start.ctypes.data,
                rows.items.ctypes.data,
                len(users),
                rules.pointer,
                lists,
            )
            return
        if rows is not None:
            rules.own(rows.start, rows.items)
        arguments = (recommender, users.ctypes.data, len(users), rules.pointer, lists)
        if len(users) <= 64:  # soon done: no callbacks, and no threads to be woken
            context(1).call("cw_recommend", *arguments)
        else:
            context(self._threads).work("cw_recommend", *arguments)

    def similar_items(
        self,
        itemid: Any,
        N: int = 10,
        recalculate_item: bool = False,
        item_users: Any = None,
        filter_items: Any = None,
        items: Any = None,
    ) -> Answer:
        """The N items most alike to an item, or to each of many, by cosine; itself comes first."""
        if recalculate_item:
            raise Unsupported("items cannot be recalculated")
        return self._similar("item", itemid, N, filter_items, items)

    def similar_users(
        self, userid: Any, N: int = 10, filter_users: Any = None, users: Any = None
    ) -> Answer:
        """The N users most alike to a user, or to each of many, likewise."""
        return self._similar("user", userid, N, filter_users, users)

    def _similar(self, what: str, which: Any, N: int, barred: Any, only: Any) -> Answer:
        single = np.isscalar(which) or getattr(which, "ndim", 1) == 0
        asked = _numbers(which, f"{what}id")
        total = self.n_items_ if what == "item" else self.n_users_
        if barred is not None and only is not None:
            raise InvalidArgument(f"{what}s and filter_{what}s cannot both be given")
        left_out = None if barred is None else _numbers(barred, f"filter_{what}s")
        wanted = None if only is None else _numbers(only, f"{what}s")
        for given, name in ((left_out, f"filter_{what}s"), (wanted, f"{what}s")):
            if given is not None:
                _check_range(given, name, total)
        # Those of users know no rules: ask for enough, and take out afterwards.
        rules = Rules(0.0, False, left_out, wanted) if what == "item" else None
        extra = 0 if rules or left_out is None else len(left_out)
        depth = total if rules is None and wanted is not None else min(N + extra, total)
        room = Room(len(asked), max(depth, 1))
        if len(asked):
            arguments: list[Any] = [self._recommender._pointer, asked.ctypes.data, len(asked)]
            if what == "item":
                arguments.append(rules.pointer if rules else None)
            call = f"cw_similar_{what}s"
            context(self._threads).work(call, *arguments, ctypes.byref(room.struct))
        return _put_first(asked, room, N, left_out, wanted, total, single)

    # ---- users that change ---------------------------------------------------------------

    def partial_fit_users(self, userids: Any, user_items: Any) -> None:
        """Give users the items of the rows of ``user_items``, and vectors that suit them.  Numbers
        of users beyond the last add users."""
        users = _numbers(userids, "userids")
        rows = _rows(user_items, len(users), self.n_items_)
        out = ctypes.c_void_p()
        context(self._threads).work(
            "cw_model_fold_users",
            self._recommender._pointer,
            users.ctypes.data,
            rows.start.ctypes.data,
            rows.items.ctypes.data,
            len(users),
            ctypes.byref(out),
        )
        self._use(Model(out.value, Ids("integer"), Ids("integer"), self.model_.run))

    def score(self, user_items: Any, y: object = None, k: int = 10) -> float:
        """NDCG@k for people who were not there at training, for scikit-learn's searches: of every
        row the fifth item, the tenth, ... is hidden and looked for from the others."""
        csr = check_matrix(user_items)
        start, hidden_start, shown, hidden = _hide(csr)
        if not len(start) - 1:
            raise InvalidArgument("no row has the five items that a score needs")
        room = Room(len(start) - 1, k)
        context(self._threads).work(
            "cw_recommend_histories",
            self._recommender._pointer,
            start.ctypes.data,
            shown.ctypes.data,
            len(start) - 1,
            None,
            ctypes.byref(room.struct),
        )
        total = 0.0
        gain = 1.0 / np.log2(np.arange(2, k + 2))
        for row, listed in enumerate(room.items):
            wanted = hidden[hidden_start[row] : hidden_start[row + 1]]
            total += float(gain[np.isin(listed, wanted)].sum() / gain[: len(wanted)].sum())
        return total / len(room.items)

    # ---- files ---------------------------------------------------------------------------

    def save(self, fileobj_or_path: StrPath | _Writable) -> None:
        """Write the model as a safetensors file, which ``crosswise`` reads, too."""
        if isinstance(fileobj_or_path, (str, os.PathLike)):
            self.model_.save(fileobj_or_path)
        else:
            fileobj_or_path.write(self.model_.to_bytes())

    @classmethod
    def load(cls: type[Self], fileobj_or_path: StrPath | _Readable) -> Self:
        """A recommender from what :meth:`save` or ``crosswise train`` wrote."""
        if isinstance(fileobj_or_path, (str, os.PathLike)):
            model = Model.load(fileobj_or_path)
        else:
            model = Model.from_bytes(fileobj_or_path.read())
        found = cls._of(model)
        found._use(model)
        found.dataset_shape_ = (model.n_users, model.n_items)
        return found

    @classmethod
    def _of(cls: type[Self], model: Model) -> Self:
        raise NotImplementedError


class Recommender(BaseRecommender):
    """Any method on any backbone.

    Parameters are implicit's ``factors``, ``learning_rate``, ``regularization``, ``iterations`` (at
    most so many epochs), ``random_state``, ``num_threads``, ``use_gpu``, or the library's own
    (``dim``, ``lr``, ``reg``, ``epochs``, ``seed``, ...) with under_scores for hyphens.  What is
    not given suits the data.  ``split`` has options of ``prepare`` for the part that is held out.

    >>> import scipy.sparse as sp
    >>> likes = sp.random(60, 40, 0.2, "csr", random_state=1)
    >>> model = Recommender("bpr", factors=8, iterations=4, random_state=1)
    >>> ids, scores = model.fit(likes, show_progress=False).recommend(0, likes[0], N=3)
    >>> ids.shape, ids.dtype.name
    ((3,), 'int32')
    """

    _defaults: ClassVar[Mapping[str, object]] = {"method": "cpr", "backbone": None, **_NAMED}

    def __init__(self, method: str = "cpr", backbone: str | None = None, **options: Any) -> None:
        self._set({"method": method, "backbone": backbone, **options})

    @classmethod
    def _of(cls: type[Self], model: Model) -> Self:
        return cls(method=model.method, backbone=model.backbone)  # type: ignore[call-arg]


class _Method(BaseRecommender):
    """A class for one method."""

    _method: ClassVar[str] = ""

    def __init__(
        self,
        factors: int | None = None,
        learning_rate: float | None = None,
        regularization: float | None = None,
        **options: Any,
    ) -> None:
        options.pop("verify_negative_samples", None)  # of implicit: always so here
        self._set(
            {
                "factors": factors,
                "learning_rate": learning_rate,
                "regularization": regularization,
                **options,
            }
        )

    def _train_options(self) -> dict[str, object]:
        return {**super()._train_options(), "method": self._method}

    @classmethod
    def _of(cls: type[Self], model: Model) -> Self:
        own = cls._method  # type: ignore[attr-defined]
        if model.method != own:
            raise InvalidArgument(
                f"the model was trained by {model.method}, not {own}; Recommender.load reads any"
            )
        return cls(backbone=model.backbone)  # type: ignore[call-arg]


class CPR(_Method):
    """Cross pairwise ranking: the bias of past exposure cancels in the loss."""

    _method = "cpr"


class BPR(_Method):
    """A liked item above an item drawn uniformly from the others."""

    _method = "bpr"


class Cross(_Method):
    """Every pair of a batch crossed with every other."""

    _method = "cross"


class DICE(_Method):
    """Interest and conformity in two halves of the vectors."""

    _method = "dice"


class UBPR(_Method):
    """BPR weighted by inverse propensities."""

    _method = "ubpr"


class RelMF(_Method):
    """Single pairs with labels over propensities."""

    _method = "rel-mf"


class MultVAE(_Method):
    """A user's items from the same items, by an autoencoder."""

    _method = "mult-vae"


class IALS(_Method):
    """Alternating least squares on all pairs."""

    _method = "ials"

    def __init__(
        self, factors: int | None = None, regularization: float | None = None, **options: Any
    ) -> None:
        if "alpha" in options:
            raise InvalidArgument("alpha is implicit's: say unseen_weight, the weight of all pairs")
        for name in ("use_native", "use_cg", "calculate_training_loss"):
            options.pop(name, None)  # of implicit: how, and not what
        super().__init__(factors, None, regularization, **options)


class EASE(_Method):
    """A linear map from items to items, in closed form."""

    _method = "ease"

    def __init__(self, regularization: float | None = None, **options: Any) -> None:
        super().__init__(None, None, regularization, **options)


class ItemKNN(_Method):
    """What is like the items that a user has."""

    _method = "itemknn"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)


class Pop(_Method):
    """The most popular items."""

    _method = "pop"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)


# ---- arguments -----------------------------------------------------------------------


class _Rows:
    """Rows of a sparse matrix as the library takes them."""

    def __init__(self, start: npt.NDArray[np.int64], items: Ints) -> None:
        self.start, self.items = start, items


def _rows(user_items: Any, n: int, n_items: int) -> _Rows:
    if not hasattr(user_items, "indptr") or getattr(user_items, "format", "csr") != "csr":
        raise InvalidArgument("user_items needs to be a CSR sparse matrix")
    if user_items.shape[0] != n:
        raise InvalidArgument(
            f"user_items has {user_items.shape[0]} rows for {n} users; it must contain 1 row for "
            "every user in userids"
        )
    if user_items.shape[1] > n_items:
        raise InvalidArgument(
            f"user_items has {user_items.shape[1]} columns; the model has {n_items} items"
        )
    indices, indptr = user_items.indices, user_items.indptr
    if indices.dtype != np.int32:
        indices = indices.astype(np.int32)
    return _Rows(indptr.astype(np.int64), np.ascontiguousarray(indices))


def _numbers(values: Any, name: str) -> Ints:
    if type(values) is int and -(2**31) <= values < 2**31:
        return np.array((values,), np.int32)
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1:
        raise InvalidArgument(f"{name} has {array.ndim} dimensions; it must have 1")
    if array.dtype.kind not in "iu":
        if array.size == 0:
            return np.empty(0, np.int32)
        raise InvalidArgument(f"{name} must be whole numbers, not {array.dtype}")
    if array.dtype == np.int32:
        return np.ascontiguousarray(array)
    if array.size and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
        raise OutOfRange(f"{name} has a number beyond {2**31 - 1}")
    return array.astype(np.int32)


def _check_range(numbers: Ints, name: str, limit: int | None) -> None:
    if not len(numbers):
        return
    worst = numbers.min() if numbers.min() < 0 else numbers.max()
    if worst < 0 or (limit is not None and worst >= limit):
        bound = f"between 0 and {limit - 1}" if limit is not None else "at least 0"
        raise OutOfRange(f"{name} has {worst}; it must lie {bound}")


def _seed_of(value: Any) -> int | None:
    """A seed from what scikit-learn takes for random_state."""
    if value is None or isinstance(value, (int, np.integer)):
        return None if value is None else int(value)
    if hasattr(value, "integers"):
        return int(value.integers(2**31))
    if hasattr(value, "randint"):
        return int(value.randint(2**31 - 1))
    raise InvalidArgument(f"random_state is {value!r}; it must be a number or a generator")


def _hide(csr: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Ints, Ints]:
    """Of rows with five items or more every fifth is hidden."""
    starts, hidden_starts = [0], [0]
    shown: list[Ints] = []
    hidden: list[Ints] = []
    for row in range(csr.shape[0]):
        own = np.unique(csr.indices[csr.indptr[row] : csr.indptr[row + 1]]).astype(np.int32)
        if len(own) < 5:
            continue
        is_hidden = np.arange(len(own)) % 5 == 4
        shown.append(own[~is_hidden])
        hidden.append(own[is_hidden])
        starts.append(starts[-1] + len(shown[-1]))
        hidden_starts.append(hidden_starts[-1] + len(hidden[-1]))
    empty = np.empty(0, np.int32)
    return (
        np.array(starts, np.int64),
        np.array(hidden_starts, np.int64),
        np.concatenate([empty, *shown]),
        np.concatenate([empty, *hidden]),
    )


# ---- places that are left ------------------------------------------------------------


class _Pads:
    """What stands in the places of a list for which there is no candidate.

    implicit keeps the best k in a heap that the first k items fill, whether they are left out or
    not, and from which the lowest numbers go first: what is left out is then the highest of those.
    """

    def __init__(self, catalogue: int | Ints) -> None:
        self._catalogue = catalogue

    def _all(self) -> Ints:
        if isinstance(self._catalogue, int):
            return np.arange(self._catalogue, dtype=np.int32)
        return self._catalogue

    def fill(self, room: Room, score: float = float(_LOWEST)) -> Answer:
        k = room.items.shape[1]
        if not len(room.counts) or int(room.counts.min()) == k:
            return room.items, room.scores
        every = self._all()
        first = every[:k]
        for row in np.flatnonzero(room.counts < k):
            count = room.counts[row]
            barred = np.setdiff1d(first, room.items[row, :count])[::-1][: k - count]
            end = count + len(barred)
            room.items[row, count:end] = barred
            room.scores[row, count:end] = score
            room.items[row, end:] = 0 if isinstance(self._catalogue, int) else every[0]
            room.scores[row, end:] = 0.0
        return room.items, room.scores


def _put_first(
    asked: Ints,
    room: Room,
    N: int,
    left_out: Ints | None,
    wanted: Ints | None,
    total: int,
    single: bool,
) -> Answer:
    """Lists of neighbours with the asked-for one before them, as implicit has it."""
    if N < 1:
        raise InvalidArgument(f"N is {N}; it must be at least 1")
    ids = np.zeros((len(asked), N), np.int32)
    scores = np.zeros((len(asked), N), np.float32)
    barred = set() if left_out is None else set(left_out.tolist())
    allowed = None if wanted is None else set(wanted.tolist())
    if wanted is not None and len(wanted):
        ids[:] = wanted[0]
    simple = not barred and allowed is None
    for row, own in enumerate(asked.tolist()):
        if simple:
            count = min(N, int(room.counts[row]) + 1)
            ids[row, 0], scores[row, 0] = own, 1.0
            ids[row, 1:count] = room.items[row, : count - 1]
            scores[row, 1:count] = room.scores[row, : count - 1]
            continue
        found = [(own, 1.0)] if own not in barred and (allowed is None or own in allowed) else []
        for number, score in zip(room.items[row].tolist(), room.scores[row].tolist(), strict=True):
            if number >= 0 and number not in barred and (allowed is None or number in allowed):
                found.append((number, score))
        if allowed is None:
            found += [(n, -np.inf) for n in sorted(barred, reverse=True) if n < N]
        for place, (number, score) in enumerate(found[:N]):
            ids[row, place], scores[row, place] = number, score
    return (ids[0], scores[0]) if single else (ids, scores)
