"""peer.py - an epoch of CPR on matrix factorisation in PyTorch, on the first GPU.

    peer.py FOLDER [--steps N]

FOLDER is a dataset folder of crosswise.  Prints seconds an epoch of the plain program (eager) and of the
same step in a CUDA graph; the median of three, each after a warm-up.  Everything is on the device: samples,
the test for observed pairs, selection and a fused Adam over the whole table.
"""
import argparse
import time

import numpy as np
import torch

DIM, BATCH, LR, REG = 128, 2048, 3e-4, 5e-2
CANDIDATES = {2: 4608, 3: 1536}  # beta 3: three times the batch, k = 2 and 3 as 3 to 1


class Step:
    def __init__(self, folder):
        read = lambda name: np.loadtxt(f"{folder}/{name}.csv", delimiter=",", skiprows=1, dtype=np.int64)
        user, item = read("train").T
        self.count, self.n_users, self.n_items = len(user), len(read("id2idx_u")), len(read("id2idx_i"))
        self.user, self.item = torch.tensor(user).cuda(), torch.tensor(item).cuda()
        self.keys = torch.sort(self.user * self.n_items + self.item).values
        rows = self.n_users + self.n_items
        bound = (6 / (rows + DIM)) ** 0.5
        self.table = torch.nn.Parameter(torch.empty(rows, DIM, device="cuda").uniform_(-bound, bound))
        self.adam = torch.optim.Adam([self.table], lr=LR, weight_decay=2 * REG / rows, fused=True, capturable=True)
        self.loss = torch.zeros((), device="cuda")

    def has(self, user, item):
        key = user * self.n_items + item
        place = torch.searchsorted(self.keys, key).clamp(max=self.count - 1)
        return self.keys[place] == key

    def margins(self, k):
        pick = torch.randint(self.count, (CANDIDATES[k], k), device="cuda")
        user, item = self.user[pick], self.item[pick]
        crossed = item.roll(1, dims=1)
        u = self.table[user]
        apart = self.table[self.n_users + item] - self.table[self.n_users + crossed]
        margin = (u * apart).sum(-1).mean(-1)
        return torch.where(self.has(user, crossed).any(-1), torch.inf, margin)

    def __call__(self):
        self.adam.zero_grad(set_to_none=False)
        margin = torch.cat([self.margins(k) for k in CANDIDATES])
        hardest = margin[torch.topk(margin.detach(), BATCH, largest=False, sorted=False).indices]
        loss = torch.nn.functional.softplus(-hardest).mean()
        loss.backward()
        self.adam.step()
        self.loss.copy_(loss.detach())


def seconds(step, steps):
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=0, help="of an epoch; 0: all interactions once")
    given = parser.parse_args()
    step = Step(given.folder)
    steps = given.steps or step.count // BATCH
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    print(f"torch {torch.__version__} eager   {seconds(step, steps):.4f} s an epoch of {steps} steps")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(20):
        graph.replay()
    print(f"torch {torch.__version__} graph   {seconds(graph.replay, steps):.4f} s, loss {step.loss.item():.4f}")


if __name__ == "__main__":
    main()
