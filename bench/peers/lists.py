"""lists.py - are the lists of ease, itemknn and ials those of NumPy and SciPy?

    lists.py PROGRAM FOLDER [--threads 2]

Trains each method with PROGRAM on the dataset FOLDER, whose ids are numbers, and makes the same
model anew in double from the same rows.  Prints how many of the top 20 lists of all users differ,
how many of those are no ties (scores further apart than TOLERANCE of the largest; ials: 1e-4), and
how far apart scores are.  Exits with 1 when a list differs that is no tie.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
from scipy.sparse import csr_matrix

TOP, TOLERANCE = 20, 2e-6


def read_ids(path):
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    ids = np.empty(len(rows), dtype=np.int64)
    ids[rows[:, 1]] = rows[:, 0]
    return ids


class Data:
    def __init__(self, folder):
        user, item = np.loadtxt(f"{folder}/train.csv", delimiter=",", skiprows=1, dtype=np.int64).T
        self.users, self.items = (read_ids(f"{folder}/id2idx_{side}.csv") for side in "ui")
        shape = len(self.users), len(self.items)
        self.x = csr_matrix((np.ones(len(user)), (user, item)), shape=shape)
        self.x.data[:] = 1
        self.x.sort_indices()


def run(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def lists_of(program, data, model):
    """Items and scores of the top of all users, from the command."""
    out = run(program, "recommend", model, "--all", "--k", str(TOP), "--quiet").splitlines()[1:]
    user, item, score = zip(*(line.split("\t")[:3] for line in out))
    place = {name: k for k, name in enumerate(data.items.tolist())}
    number = {name: k for k, name in enumerate(data.users.tolist())}
    lists = [[] for _ in data.users]
    for u, i, s in zip(user, item, score):
        lists[number[int(u)]].append((place[int(i)], float(s)))
    return lists


def compare(name, data, lists, score_user, tolerance=TOLERANCE):
    differ = wrong = 0
    apart = 0.0
    for u, given in enumerate(lists):
        score = np.asarray(score_user(u), dtype=np.float64)
        seen = data.x.indices[data.x.indptr[u] : data.x.indptr[u + 1]]
        masked = score.astype(np.float32)
        masked[seen] = -np.inf
        expected = np.lexsort((np.arange(len(score)), -masked))[: len(given)]
        items = np.array([i for i, _ in given])
        size = max(np.abs(score).max(), 1e-30)
        apart = max(apart, np.abs(score[items] - [s for _, s in given]).max() / size)
        if (items == expected).all():
            continue
        differ += 1
        wrong += np.abs(score[items] - score[expected]).max() > tolerance * size
    print(f"{name:28} {len(lists)} lists, {differ} differ, {wrong} beyond ties, scores within {apart:.1e}")
    return wrong


def ease(data, reg):
    gram = (data.x.T @ data.x).toarray()
    p = np.linalg.inv(gram + reg * np.eye(len(gram)))
    b = -p / np.diag(p)
    np.fill_diagonal(b, 0)
    return lambda u: b[data.x.indices[data.x.indptr[u] : data.x.indptr[u + 1]]].sum(axis=0)


def itemknn(data, kind, neighbours, shrink):
    x = data.x
    n_items = x.shape[1]
    length, degree = np.diff(x.indptr), np.asarray(x.sum(axis=0)).ravel()
    w = np.ones(len(length)) if kind == "cosine" else np.log(n_items) - np.log1p(length)
    both = (x.T @ x.multiply((w * w)[:, None]).tocsr()).toarray()
    common = (x.T @ x).toarray()
    if kind == "bm25":
        factor = 2.2 / (1 + 1.2 * (0.25 + 0.75 * degree / degree.mean()))
    else:
        norm = np.sqrt(np.diag(both))
        factor = np.divide(1, norm, out=np.zeros(n_items), where=norm > 0)
    with np.errstate(invalid="ignore"):
        like = factor[:, None] * factor * both * np.where(common > 0, common / (common + shrink), 0)
    like = like.astype(np.float32)
    np.fill_diagonal(like, 0)
    kept = np.zeros_like(like)
    for i in range(n_items):
        best = np.lexsort((np.arange(n_items), -like[i]))[:neighbours]
        kept[i, best] = like[i, best]
    rows = csr_matrix(kept.astype(np.float64))
    return lambda u: (x[u] @ rows).toarray().ravel()


def ials(data, folder, reg, unseen, power):
    """Items come last in a sweep: solved exactly from the users of the model they are its items."""
    users = np.load(f"{folder}/user_vectors.npy").astype(np.float64)
    gram, by_item = unseen * users.T @ users, data.x.T.tocsr()
    items = np.zeros((by_item.shape[0], users.shape[1]))
    for i in range(len(items)):
        own = users[by_item.indices[by_item.indptr[i] : by_item.indptr[i + 1]]]
        ridge = reg * (len(own) + unseen * len(users)) ** power
        items[i] = np.linalg.solve(gram + own.T @ own + ridge * np.eye(len(gram)), own.sum(axis=0))
    return lambda u: items @ users[u]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--threads", default="2")
    given = parser.parse_args()
    data = Data(given.folder)
    cases = [
        (["ease", "--reg", "100"], lambda: ease(data, 100)),
        (["ease", "--reg", "500"], lambda: ease(data, 500)),
        (["itemknn", "--similarity", "cosine", "--shrink", "0"], lambda: itemknn(data, "cosine", 100, 0)),
        (["itemknn", "--neighbours", "20"], lambda: itemknn(data, "bm25", 20, 10)),
        (["itemknn", "--similarity", "tfidf", "--shrink", "5"], lambda: itemknn(data, "tfidf", 100, 5)),
        (["itemknn", "--similarity", "bm25", "--shrink", "0"], lambda: itemknn(data, "bm25", 100, 0)),
    ]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.safetensors")
        for options, make in cases:
            run(given.program, "train", given.folder, "--method", *options, "--out", model, "--force", "--quiet",
                "--threads", given.threads)
            wrong += compare(" ".join(options), data, lists_of(given.program, data, model), make())
        options = ["ials", "--dim", "64", "--cg-steps", "30", "--epochs", "10", "--eval-every", "0", "--reg", "0.01",
                   "--unseen-weight", "0.1"]
        run(given.program, "train", given.folder, "--method", *options, "--out", model, "--force", "--quiet",
            "--threads", given.threads)
        run(given.program, "export", model, "--out", os.path.join(folder, "vectors"), "--quiet")
        exact = ials(data, os.path.join(folder, "vectors"), 0.01, 0.1, 1)
        wrong += compare("ials --cg-steps 30", data, lists_of(given.program, data, model), exact, 1e-4)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
