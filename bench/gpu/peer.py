"""peer.py - epochs of training, and an evaluation, in PyTorch on the first GPU.

    peer.py FOLDER [--dim N] [--batch N] [--layers N] [--steps N] [--tf32] [MODEL...]

FOLDER is a dataset folder of crosswise.  MODEL is one or more of mf-cpr (the default), mf-bpr, lightgcn-bpr, lightgcn-cpr,
ngcf-bpr, neumf-bpr, mult-vae, evaluate.  Prints milliseconds an epoch of the plain program (eager) and of the same step in a
CUDA graph, each the median of three after a warm-up; with --steps of so many steps, scaled to an epoch.

Everything is on the device: samples, the test for observed pairs, selection, and a fused Adam over all parameters.  What is
quicker in PyTorch than the first thing one would write is there: rows are taken by index_select, whose way back adds rows up
where indexing sorts them first; a step takes the rows of all its slots at once; margins of CPR are found without a way back, which
is taken by the selected rows alone; products with the graph go both ways by one matrix, which is symmetric and whose rows
and columns have 32-bit numbers; gradients are made anew instead of being zeroed and added to.  Products of dense matrices are in fp32,
as PyTorch has them unless told otherwise; with --tf32 by the units for small matrices, of eleven bits.
"""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F

LR, REG, RATIO, SPREAD = 3e-4, 5e-2, 3, {2: 0.75, 3: 0.25}  # CPR: three times the batch, k = 2 and 3 as 3 to 1
SIZES, KEEP, BETA = (200, 600), 0.5, 0.2  # Mult-VAE
HIDDEN = 256  # NeuMF


class Data:
    def __init__(self, folder):
        read = lambda name: np.loadtxt(f"{folder}/{name}.csv", delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
        lines = lambda name: sum(1 for _ in open(f"{folder}/{name}.csv", "rb")) - 1
        user, item = read("train").T
        self.count, self.n_users, self.n_items = len(user), lines("id2idx_u"), lines("id2idx_i")
        self.rows = self.n_users + self.n_items
        self.user, self.item = torch.tensor(user).cuda(), torch.tensor(item).cuda()
        self.keys = torch.sort(self.user * self.n_items + self.item).values
        self.turns = torch.arange(3, device="cuda")[:, None]

    def has(self, user, item):
        key = user * self.n_items + item
        place = torch.searchsorted(self.keys, key).clamp(max=self.count - 1)
        return self.keys[place] == key

    def graph(self):
        """The symmetric adjacency over the roots of both degrees."""
        a, b = torch.cat([self.user, self.item + self.n_users]), torch.cat([self.item + self.n_users, self.user])
        degree = torch.bincount(a, minlength=self.rows).float().clamp(min=1)
        value = (degree[a] * degree[b]).rsqrt()
        coo = torch.sparse_coo_tensor(torch.stack([a, b]), value, (self.rows, self.rows)).coalesce().to_sparse_csr()
        start, column = coo.crow_indices().int(), coo.col_indices().int()
        return torch.sparse_csr_tensor(start, column, coo.values(), (self.rows, self.rows))


class Product(torch.autograd.Function):
    """A E for a symmetric A, whose way back is the same product."""

    @staticmethod
    def forward(ctx, graph, table):
        ctx.graph = graph
        return graph @ table

    @staticmethod
    def backward(ctx, slope):
        return None, ctx.graph @ slope


# ---- vectors of users and items ---------------------------------------------------------------------------------


class Table:
    is_product = True  # differences of scores are scores of differences

    def __init__(self, data, dim, layers):
        self.data, self.layers = data, layers
        bound = (6 / (data.rows + dim)) ** 0.5
        self.table = torch.nn.Parameter(torch.empty(data.rows, dim, device="cuda").uniform_(-bound, bound))
        self.parameters = [self.table]

    def vectors(self):
        return self.table

    def score(self, x, y):
        return (x * y).sum(-1)


class LightGCN(Table):
    def __init__(self, data, dim, layers):
        super().__init__(data, dim, layers)
        self.graph = data.graph()

    def vectors(self):
        layer = mean = self.table
        for _ in range(self.layers):
            layer = Product.apply(self.graph, layer)
            mean = mean + layer
        return mean / (self.layers + 1)


class NGCF(LightGCN):
    def __init__(self, data, dim, layers):
        super().__init__(data, dim, layers)
        self.linear = torch.nn.ModuleList(torch.nn.Linear(dim, dim) for _ in range(2 * layers)).cuda()
        self.parameters = [self.table, *self.linear.parameters()]

    def vectors(self):
        layer, blocks = self.table, [self.table]
        for k in range(self.layers):
            near = Product.apply(self.graph, layer)
            first, second = self.linear[2 * k](near), self.linear[2 * k + 1](layer * near)
            layer = F.leaky_relu(first, 0.2) + F.leaky_relu(second, 0.2)
            blocks.append(F.normalize(layer))
        return torch.cat(blocks, 1)


class NeuMF(Table):
    is_product = False

    def __init__(self, data, dim, layers):
        super().__init__(data, dim, layers)
        self.first = torch.nn.Linear(2 * dim, HIDDEN).cuda()
        self.last = torch.nn.Linear(dim + HIDDEN, 1, bias=False).cuda()
        self.parameters = [self.table, *self.first.parameters(), *self.last.parameters()]

    def score(self, x, y):
        top = F.relu(self.first(torch.cat([x, y], -1)))
        return self.last(torch.cat([x * y, top], -1)).squeeze(-1)


# ---- losses of slots --------------------------------------------------------------------------------------------


def bpr(model, data, batch):
    pick = torch.randint(data.count, (batch,), device="cuda")
    user, item = data.user[pick], data.item[pick]
    other = torch.randint(data.n_items, (3, batch), device="cuda")  # the first that was not observed
    seen = data.has(user.expand(3, -1), other)
    other = other.gather(0, (seen * 4 + data.turns).argmin(0, keepdim=True))[0]
    rows = torch.cat([user, data.n_users + item, data.n_users + other])
    x, y, z = model.vectors().index_select(0, rows).view(3, batch, -1)
    if model.is_product:
        return F.softplus(model.score(x, z - y)).mean()
    score = model.score(torch.cat([x, x]), torch.cat([y, z]))
    return F.softplus(score[batch:] - score[:batch]).mean()


def candidates(data, count, k):
    """Rows of k pairs: users, items and the items of the next pair, [3][count][k]; and whether one of those was observed."""
    pick = torch.randint(data.count, (count, k), device="cuda")
    user, item = data.user[pick], data.item[pick]
    crossed = item.roll(-1, dims=1)
    rows = torch.stack([user, data.n_users + item, data.n_users + crossed])
    return rows, data.has(user, crossed).any(-1)


def cpr(model, data, batch):
    vectors, most = model.vectors(), max(SPREAD)
    fixed, found, margin, weight = vectors.detach(), [], [], []
    for k, share in SPREAD.items():
        rows, observed = candidates(data, int(RATIO * batch * share), k)
        x, y = fixed.index_select(0, rows[:2].reshape(-1)).view(2, -1, k, fixed.shape[1])
        margin.append(torch.where(observed, torch.inf, (x * (y - y.roll(-1, dims=1))).sum(-1).mean(-1)))
        found.append(torch.cat([rows, rows[:, :, :1].expand(-1, -1, most - k)], 2))  # as many in all rows
        weight.append((torch.arange(most, device="cuda") < k).float().div(k).expand(rows.shape[1], -1))
    kept = torch.topk(torch.cat(margin), batch, largest=False, sorted=False).indices
    rows, weight = torch.cat(found, 1)[:, kept], torch.cat(weight)[kept]
    x, y, z = vectors.index_select(0, rows.reshape(-1)).view(3, batch, most, -1)
    return F.softplus(-((x * (y - z)).sum(-1) * weight).sum(-1)).mean()


class Slots:
    def __init__(self, data, model, loss, batch):
        self.data, self.model, self.loss_of, self.batch = data, model, loss, batch
        self.steps = data.count // batch
        self.adam = torch.optim.Adam(model.parameters, lr=LR, weight_decay=2 * REG / data.rows, fused=True,
                                     capturable=True)

    def __call__(self):
        self.adam.zero_grad(set_to_none=True)
        self.loss_of(self.model, self.data, self.batch).backward()
        self.adam.step()


# ---- rows of users ----------------------------------------------------------------------------------------------


class MultVAE:
    def __init__(self, data, batch):
        self.batch, self.steps, self.n_users = batch, max(1, data.n_users // batch), data.n_users
        self.rows = torch.zeros(data.n_users, data.n_items, dtype=torch.bool, device="cuda")
        self.rows[data.user, data.item] = True
        z, h = SIZES
        shapes = [(data.n_items, h), (h, 2 * z), (z, h), (h, data.n_items)]
        self.layer = torch.nn.ModuleList(torch.nn.Linear(*s) for s in shapes).cuda()
        self.adam = torch.optim.Adam(self.layer.parameters(), lr=1e-3, fused=True, capturable=True)

    def __call__(self):
        self.adam.zero_grad(set_to_none=True)
        x = self.rows[torch.randint(self.n_users, (self.batch,), device="cuda")].float()
        inside = F.dropout(F.normalize(x), 1 - KEEP)
        mean, wide = self.layer[1](torch.tanh(self.layer[0](inside))).chunk(2, -1)
        code = mean + torch.randn_like(mean) * (wide / 2).exp()
        logits = self.layer[3](torch.tanh(self.layer[2](code)))
        kl = ((wide.exp() + mean * mean - wide - 1) / 2).sum(-1)
        loss = (-(F.log_softmax(logits, -1) * x).sum(-1) + BETA * kl).mean()
        loss.backward()
        self.adam.step()


class Evaluation:
    """The best 20 of all users, less what they had."""

    steps = 1

    def __init__(self, data, dim):
        self.data = data
        self.vectors = torch.randn(data.rows, dim, device="cuda")
        order = torch.argsort(data.user)
        self.user, self.item = data.user[order], data.item[order]
        self.block, self.none = 8192, torch.tensor(-torch.inf, device="cuda")
        edges = torch.arange(0, data.n_users + self.block, self.block, device="cuda")
        self.cut = torch.searchsorted(self.user, edges).tolist()

    def __call__(self):
        d = self.data
        for b, first in enumerate(range(0, d.n_users, self.block)):
            begin, end = self.cut[b], self.cut[b + 1]
            score = self.vectors[first : min(first + self.block, d.n_users)] @ self.vectors[d.n_users :].T
            score.index_put_((self.user[begin:end] - first, self.item[begin:end]), self.none)
            self.best = torch.topk(score, 20).indices


# ---- measuring --------------------------------------------------------------------------------------------------


def milliseconds(step, steps, of):
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[1] * 1e3 * of / steps


def measure(name, step, steps):
    count = min(steps or step.steps, step.steps)
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(beside)
    eager = milliseconds(step, count, step.steps)
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        for _ in range(4):
            graph.replay()
        captured = f"{milliseconds(graph.replay, count, step.steps):.2f}"
    except RuntimeError as error:
        captured = f"not possible ({str(error).splitlines()[0]})"
    print(f"torch {torch.__version__} {name}: eager {eager:.2f} ms, graph {captured}, of {step.steps} steps", flush=True)


def make(name, data, given):
    if name == "mult-vae":
        return MultVAE(data, given.batch)
    if name == "evaluate":
        return Evaluation(data, given.dim)
    backbone, loss = name.split("-")
    kind = {"mf": Table, "lightgcn": LightGCN, "ngcf": NGCF, "neumf": NeuMF}[backbone]
    return Slots(data, kind(data, given.dim, given.layers), {"bpr": bpr, "cpr": cpr}[loss], given.batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("model", nargs="*", default=["mf-cpr"])
    for name, value in ("dim", 128), ("batch", 2048), ("layers", 3), ("steps", 0):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--tf32", action="store_true")
    given = parser.parse_intermixed_args()
    torch.backends.cuda.matmul.allow_tf32 = given.tf32
    data = Data(given.folder)
    for name in given.model:
        measure(name, make(name, data, given), given.steps)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
