"""lists.py - evaluation of all users in PyTorch, on the first GPU: the 20 best items of each.

    lists.py FOLDER [--dim N]

FOLDER is a dataset folder of crosswise; parameters are random, which takes as long as others.  Train items are
masked, users are taken 8,192 at a time, and the lists come to the host.  Prints milliseconds for products in
float32, in TF32 and in half precision, whose lists are not exact; the median of five after two warm-ups.
"""
import argparse
import time

import numpy as np
import torch

K, USERS_AT_ONCE = 20, 8192


def masks(folder, n_users):
    """Row and column of what users had, for each part of the users."""
    user, item = np.loadtxt(f"{folder}/train.csv", delimiter=",", skiprows=1, dtype=np.int64).T
    parts = []
    for first in range(0, n_users, USERS_AT_ONCE):
        here = (user >= first) & (user < first + USERS_AT_ONCE)
        parts.append((torch.tensor(user[here] - first).cuda(), torch.tensor(item[here]).cuda()))
    return parts


def rank(users, items, parts):
    lists = []
    for part, (row, column) in enumerate(parts):
        score = users[part * USERS_AT_ONCE : (part + 1) * USERS_AT_ONCE] @ items.T
        score[row, column] = -torch.inf
        lists.append(torch.topk(score, K).indices.int())
    return torch.cat(lists).cpu()


def milliseconds(users, items, parts):
    times = []
    for _ in range(7):
        torch.cuda.synchronize()
        start = time.perf_counter()
        rank(users, items, parts)
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times[2:])[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--dim", type=int, default=128)
    given = parser.parse_args()
    count = lambda name: len(np.loadtxt(f"{given.folder}/{name}.csv", delimiter=",", skiprows=1, dtype=np.int64))
    n_users, n_items = count("id2idx_u"), count("id2idx_i")
    torch.manual_seed(1)
    users, items = torch.randn(n_users, given.dim).cuda(), torch.randn(n_items, given.dim).cuda()
    parts = masks(given.folder, n_users)
    for name, tf32, dtype in (("float32", False, torch.float32), ("TF32", True, torch.float32),
                              ("half", False, torch.half)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        ms = milliseconds(users.to(dtype), items.to(dtype), parts)
        print(f"torch {torch.__version__} {name:8} {ms:8.2f} ms for {n_users} users, {n_items} items, d {given.dim}")


if __name__ == "__main__":
    main()
