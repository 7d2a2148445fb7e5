"""Splits of sparse matrices and metrics of lists, with names and arguments of implicit's module.

What the library itself measures, with popularity bias beside accuracy, is
:func:`crosswise.evaluate`; this module is for scripts that were written for implicit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InvalidArgument

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = [
    "AUC_at_k",
    "mean_average_precision_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "ranking_metrics_at_k",
    "train_test_split",
]


def train_test_split(
    ratings: sp.csr_matrix, train_percentage: float = 0.8, random_state: Any = None
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Part the entries of a matrix at random into train and test.

    >>> import scipy.sparse as sp
    >>> a, b = train_test_split(sp.random(9, 9, 0.5, "csr", random_state=1), random_state=1)
    >>> a.nnz + b.nnz
    40
    """
    if not 0 < train_percentage < 1:
        raise InvalidArgument(
            f"train_percentage is {train_percentage}; it must lie between 0 and 1"
        )
    import scipy.sparse as sp

    coo = ratings.tocoo()
    if hasattr(random_state, "random_sample"):
        draws = random_state.random_sample(coo.nnz)
    else:
        draws = np.random.default_rng(random_state).random(coo.nnz)
    is_train = draws < train_percentage
    halves = [
        sp.csr_matrix(
            (coo.data[keep], (coo.row[keep], coo.col[keep])), shape=coo.shape, dtype=coo.dtype
        )
        for keep in (is_train, ~is_train)
    ]
    return halves[0], halves[1]


def ranking_metrics_at_k(
    model: Any,
    train_user_items: sp.csr_matrix,
    test_user_items: sp.csr_matrix,
    K: int = 10,
    show_progress: bool = True,
    num_threads: int = 1,
) -> dict[str, float]:
    """``precision``, ``map``, ``ndcg`` and ``auc`` of lists of K items, over the users that have
    test items.

    Precision is hits over the most that were possible, min(K, test items).  AUC takes what is not
    in the list as ranked at random.
    """
    if train_user_items.shape != test_user_items.shape:
        raise InvalidArgument(
            f"train is {train_user_items.shape} and test {test_user_items.shape}; their shapes "
            "must be equal"
        )
    test = test_user_items.tocsr()
    users = np.flatnonzero(np.diff(test.indptr)).astype(np.int32)
    gain = 1.0 / np.log2(np.arange(2, K + 2))
    ideal = np.cumsum(gain)
    hits_sum = possible = ap = ndcg = auc = 0.0
    batch = 4096
    for first in range(0, len(users), batch):
        some = users[first : first + batch]
        ids, _ = model.recommend(some, train_user_items[some], N=K)
        for row, user in enumerate(some):
            liked = test.indices[test.indptr[user] : test.indptr[user + 1]]
            hit = np.isin(ids[row], liked)
            n = len(liked)
            hits = float(hit.sum())
            most = min(K, n)
            hits_sum += hits
            possible += most
            rank = np.flatnonzero(hit)
            ap += float((np.arange(1, len(rank) + 1) / (rank + 1)).sum()) / most
            ndcg += float(gain[rank].sum() / ideal[most - 1])
            auc += _auc(hit, n, test.shape[1])
    count = max(len(users), 1)
    return {
        "precision": hits_sum / possible if possible else 0.0,
        "map": ap / count,
        "ndcg": ndcg / count,
        "auc": auc / count,
    }


def _auc(hit: Any, liked: int, n_items: int) -> float:
    """Share of pairs of a liked and another item in the right order; behind the list by chance."""
    others = n_items - liked
    if others <= 0:
        return 1.0
    misses = np.cumsum(~hit)
    hits = float(hit.sum())
    area = float((others - misses[hit]).sum())
    listed_misses = float((~hit).sum())
    area += (liked - hits) * (others - listed_misses) / 2.0
    return area / (liked * others)


def _one(name: str, *arguments: Any, **named: Any) -> float:
    return ranking_metrics_at_k(*arguments, **named)[name]


def precision_at_k(*arguments: Any, **named: Any) -> float:
    """``precision`` of :func:`ranking_metrics_at_k`."""
    return _one("precision", *arguments, **named)


def mean_average_precision_at_k(*arguments: Any, **named: Any) -> float:
    """``map`` of :func:`ranking_metrics_at_k`."""
    return _one("map", *arguments, **named)


def ndcg_at_k(*arguments: Any, **named: Any) -> float:
    """``ndcg`` of :func:`ranking_metrics_at_k`."""
    return _one("ndcg", *arguments, **named)


def AUC_at_k(*arguments: Any, **named: Any) -> float:
    """``auc`` of :func:`ranking_metrics_at_k`."""
    return _one("auc", *arguments, **named)
