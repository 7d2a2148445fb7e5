"""peer.py - what crosswise is measured against: plain PyTorch, and the package implicit.

    peer.py SUBJECT FOLDER [--threads 2]

SUBJECT is cpr (an epoch in PyTorch), evaluate (all users with validation rows, top 20, PyTorch),
bpr (an epoch of implicit), als (a sweep of implicit) or recommend (the same evaluation's lists by implicit).  FOLDER is a
dataset folder of crosswise.  Prints the best time of a few, in seconds.
"""
import argparse
import time

import numpy as np

DIM, BATCH, TOP, USERS_A_BLOCK, STEPS = 128, 2048, 20, 1024, 40
CANDIDATES = {2: 4608, 3: 1536}  # beta 3: three times the batch, k = 2 and 3 as 3 to 1


def read_pairs(path):
    return np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64).T


class Data:
    def __init__(self, folder):
        self.user, self.item = read_pairs(f"{folder}/train.csv")
        self.held = np.unique(read_pairs(f"{folder}/valid.csv")[0])
        self.n_users, self.n_items = self.user.max() + 1, self.item.max() + 1
        self.keys = np.sort(self.user * self.n_items + self.item)

    def has(self, user, item):
        key = user * self.n_items + item
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return self.keys[place] == key

    def sparse(self):
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.user), dtype=np.float32)
        return csr_matrix((ones, (self.user, self.item)), shape=(self.n_users, self.n_items))


def best_of(runs, work):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


# ---- CPR on matrix factorisation in PyTorch ----


def draw(data, rng, k, n):
    """n rows of k interactions in which no user has the item of the next one."""
    users, items, count = [], [], 0
    while count < n:
        edge = rng.integers(len(data.user), size=(n + n // 4, k))
        user, item = data.user[edge], data.item[edge]
        good = ~data.has(user, np.roll(item, -1, axis=1)).any(axis=1)
        users.append(user[good])
        items.append(item[good])
        count += good.sum()
    return np.concatenate(users)[:n], np.concatenate(items)[:n]


def margins(torch, tables, user, item):
    """Mean over the slots of a row of u . (i - next i)."""
    p, q = tables[0](user), tables[1](item)
    return (p * (q - torch.roll(q, -1, dims=1))).sum(dim=2).mean(dim=1)


def cpr_steps(torch, data, tables, adam, rng, steps):
    for _ in range(steps):
        rows = [[torch.from_numpy(x) for x in draw(data, rng, k, n)] for k, n in CANDIDATES.items()]
        with torch.no_grad():
            margin = torch.cat([margins(torch, tables, *row) for row in rows])
            hardest = margin.topk(BATCH, largest=False).indices
        loss, first = 0, 0
        for user, item in rows:
            mine = hardest[(hardest >= first) & (hardest < first + len(user))] - first
            o = margins(torch, tables, user[mine], item[mine])
            loss = loss + torch.nn.functional.softplus(-o).sum()
            first += len(user)
        adam.zero_grad()
        (loss / BATCH).backward()
        adam.step()


def make_tables(torch, data):
    tables = [torch.nn.Embedding(n, DIM) for n in (data.n_users, data.n_items)]
    for table in tables:
        torch.nn.init.xavier_uniform_(table.weight)
    return tables


def time_cpr(data, threads):
    import torch

    torch.set_num_threads(threads)
    tables = make_tables(torch, data)
    weights = [table.weight for table in tables]
    # The fused form is the fastest of Adam there is for the CPU.
    adam = torch.optim.Adam(weights, lr=1e-4, weight_decay=1e-6, fused=True)
    rng = np.random.default_rng(1)
    # Every step costs the same: some, after a first few, stand for all of the epoch.
    cpr_steps(torch, data, tables, adam, rng, 5)
    some = best_of(3, lambda: cpr_steps(torch, data, tables, adam, rng, STEPS))
    return some * (len(data.user) // BATCH) / STEPS


def evaluate(torch, data, tables, seen):
    for start in range(0, len(data.held), USERS_A_BLOCK):
        users = data.held[start : start + USERS_A_BLOCK]
        scores = tables[0].weight[torch.from_numpy(users)] @ tables[1].weight.T
        mask = seen[users].tocoo()
        scores[torch.from_numpy(mask.row).long(), torch.from_numpy(mask.col).long()] = -np.inf
        scores.topk(TOP)


def time_evaluate(data, threads):
    import torch

    torch.set_num_threads(threads)
    tables, seen = make_tables(torch, data), data.sparse()
    with torch.no_grad():
        return best_of(3, lambda: evaluate(torch, data, tables, seen))


# ---- implicit ----


def fit_implicit(data, threads, epochs):
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    # One of the factors is the bias of the item.
    model = BayesianPersonalizedRanking(
        factors=DIM - 1, iterations=epochs, num_threads=threads, random_state=1
    )
    start = time.perf_counter()
    model.fit(data.sparse(), show_progress=False)
    return model, time.perf_counter() - start


def time_bpr(data, threads):
    """Epochs alone: what one more than a few adds, on average."""
    few, many = 1, 4
    short = min(fit_implicit(data, threads, few)[1] for _ in range(2))
    return (fit_implicit(data, threads, many)[1] - short) / (many - few)


def fit_als(data, threads, sweeps):
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        factors=DIM, iterations=sweeps, alpha=10, num_threads=threads, random_state=1
    )
    seen = data.sparse()
    start = time.perf_counter()
    model.fit(seen, show_progress=False)
    return time.perf_counter() - start


def time_als(data, threads):
    """Sweeps over users and items alone; three steps of conjugate gradients, as is its default."""
    few, many = 1, 4
    short = min(fit_als(data, threads, few) for _ in range(2))
    return (min(fit_als(data, threads, many) for _ in range(2)) - short) / (many - few)


def time_recommend(data, threads):
    model, _ = fit_implicit(data, threads, 1)
    seen = data.sparse()
    lists = lambda: model.recommend(data.held, seen[data.held], N=TOP)  # noqa: E731
    return best_of(3, lists)


SUBJECTS = {
    "cpr": time_cpr,
    "evaluate": time_evaluate,
    "bpr": time_bpr,
    "als": time_als,
    "recommend": time_recommend,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    print(f"{SUBJECTS[given.subject](Data(given.folder), given.threads):.4f}")


if __name__ == "__main__":
    main()
