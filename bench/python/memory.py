"""memory.py - the most memory that fit needs, beside the command's on the same rows.

    build/python/bin/python bench/python/memory.py [ROWS [USERS ITEMS FACTORS]]

Each is a process of its own, told by the system how much it held at once.  The command trains on a
file of the rows; fit takes a sparse matrix.  Both train MF by BPR for a few steps.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS, USERS, ITEMS, FACTORS = 20_000_000, 400_000, 50_000, 16

STEPS = {"preset": "paper", "epoch-steps": "20", "epochs": "1", "min-epochs": "0", "batch": "2048"}

FIT = """
import sys
import numpy as np, scipy.sparse as sp
from crosswise import BPR
rows, users, items, factors = [int(word) for word in sys.argv[1:]]
indices = np.fromfile("indices.i4", np.int32)
indptr = np.fromfile("indptr.i8", np.int64).astype(np.int32 if rows < 2**31 else np.int64)
data = np.ones(len(indices), np.float32)
matrix = sp.csr_matrix((data, indices, indptr), shape=(users, items), copy=False)
BPR(factors=factors, preset="paper", epoch_steps=20, epochs=1, min_epochs=0, batch=2048,
    random_state=0).fit(matrix, show_progress=False)
"""


def make_rows(folder, rows, users, items):
    import numpy as np

    r = np.random.default_rng(0)
    each = rows // users
    with (folder / "log.csv").open("w") as log, (folder / "indices.i4").open("wb") as indices:
        log.write("user,item\n")
        for first in range(0, users, 5000):
            n = min(5000, users - first)
            own = np.sort(r.integers(items - each, size=(n, each)), axis=1) + np.arange(each)
            own = own.astype(np.int32)  # ascending and distinct
            indices.write(own.tobytes())
            for k in range(n):
                log.write("".join(f"{first + k},{i}\n" for i in own[k].tolist()))
    (np.arange(users + 1, dtype=np.int64) * each).tofile(folder / "indptr.i8")


def peak(command, folder):
    """Gigabytes at the most."""
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, said = child.communicate()[0], child.stderr
    if child.returncode:
        sys.exit(f"{command[0]} failed: {said}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6


def main():
    given = [int(word) for word in sys.argv[1:]]
    rows, users, items, factors = [*given, *[ROWS, USERS, ITEMS, FACTORS][len(given) :]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_rows(folder, rows, users, items)
        flags = [word for key, value in STEPS.items() for word in (f"--{key}", value)]
        command = [sys.executable, "-m", "crosswise", "train", "log.csv", "--core", "1"]
        command += ["--method", "bpr", "--dim", str(factors), "--out", "m.safetensors", "--quiet"]
        words = [str(n) for n in (rows, users, items, factors)]
        for what, work in (
            ("fit", [sys.executable, "-c", FIT, *words]),
            ("train", command + flags),
        ):
            child = os.fork()
            if child == 0:  # so that each has children of its own
                print(f"{what}: {peak(work, folder):.2f} GB at most", flush=True)
                os._exit(0)
            os.waitpid(child, 0)


main()
