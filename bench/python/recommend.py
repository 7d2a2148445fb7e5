"""recommend.py - lists for all users of MovieLens-10M's shape beside implicit's; cost of a call.

    build/python/bin/python bench/python/recommend.py [USERS ITEMS ROWS FACTORS]

Both rank by the same vectors and leave out the same rows, in turn in one process; the lists are
compared.  The machine should have nothing else to do: ratios are of one run.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import time
import warnings

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # as implicit asks for

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from crosswise import BPR  # noqa: E402
from crosswise import _native as native  # noqa: E402

logging.getLogger("crosswise").setLevel(logging.ERROR)
warnings.simplefilter("ignore")

SHAPE = [61770, 6958, 1140000, 128]
K, REPEATS = 20, 5


def make_likes(n_users, n_items, rows):
    """Rows of which items are popular as in a log: a power of the rank."""
    r = np.random.default_rng(0)
    weight = 1 / np.arange(10, n_items + 10) ** 0.9
    items = r.choice(n_items, rows, p=weight / weight.sum())
    users = r.integers(n_users, size=rows)
    likes = sp.csr_matrix((np.ones(rows, np.float32), (users, items)), shape=(n_users, n_items))
    likes.data[:] = 1
    return likes


def once(work):
    """Seconds that pass, and of the processor, and what came out."""
    begin, used = time.perf_counter(), time.process_time()
    out = work()
    return time.perf_counter() - begin, time.process_time() - used, out


def in_turn(*works):
    """The least of several times for each, one after the other so that noise hits all."""
    rounds = [[once(work) for work in works] for _ in range(REPEATS)]
    return [
        (min(r[k][0] for r in rounds), min(r[k][1] for r in rounds), rounds[0][k][2])
        for k in range(len(works))
    ]


def overhead(model, likes):
    """Microseconds of the processor for a call for one user, in Python and in the library alone."""
    row = likes[7]
    n = 2000
    for _ in range(50):
        model.recommend(7, row, N=K)
    begin = time.thread_time()
    for _ in range(n):
        model.recommend(7, row, N=K)
    python = (time.thread_time() - begin) / n
    ctx = native.context(1)
    users = np.array([7], np.int32)
    start, own = row.indptr.astype(np.int64), row.indices
    items, scores, counts = np.empty(K, np.int32), np.empty(K, np.float32), np.empty(1, np.int32)
    lists = native.Lists(K, items.ctypes.data, scores.ctypes.data, counts.ctypes.data)
    rules = native.Rules(own_start=start.ctypes.data, own=own.ctypes.data)
    call = native.lib.cw_recommend
    arguments = (ctx.pointer, model._recommender._pointer, users.ctypes.data, 1)
    arguments += (ctypes.addressof(rules), ctypes.byref(lists))
    begin = time.thread_time()
    for _ in range(n):
        call(*arguments)
    return 1e6 * python, 1e6 * (time.thread_time() - begin) / n


def main():
    n_users, n_items, rows, factors = [int(word) for word in sys.argv[1:5]] or SHAPE
    likes = make_likes(n_users, n_items, rows)
    model = BPR(factors=factors, iterations=2, random_state=1, refit=False)
    model.fit(likes, show_progress=False)
    users = np.arange(n_users, dtype=np.int32)
    python, library = overhead(model, likes)
    print(f"one user: {python:.1f} us of Python, of which the library takes {library:.1f} us")
    try:
        from implicit.cpu.als import AlternatingLeastSquares
    except ImportError:
        sys.exit("implicit is not installed")
    other = AlternatingLeastSquares(factors=factors)
    other.user_factors = np.array(model.user_factors)
    other.item_factors = np.array(model.item_factors)
    (wall, used, mine), (wall_other, used_other, theirs) = in_turn(
        lambda: model.recommend(users, likes, N=K), lambda: other.recommend(users, likes, N=K)
    )
    print(f"all of {n_users} users, {n_items} items, {factors} factors, lists of {K}:")
    print(f"  crosswise {wall:.2f} s, {used:.2f} s of the processor")
    print(f"  implicit  {wall_other:.2f} s, {used_other:.2f} s of the processor")
    print(f"  {wall_other / wall:.1f} times as long, {used_other / used:.1f} times the processor")
    same = (mine[0] == theirs[0]).mean()
    print(f"{100 * same:.3f} % of the places are the same; the others are ties within rounding")


main()
