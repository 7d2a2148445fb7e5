"""Data for the tests."""

from __future__ import annotations

import numpy as np
import pytest


def make_likes(n_users: int = 60, n_items: int = 40, seed: int = 0, share: float = 0.2):
    sp = pytest.importorskip("scipy.sparse")
    r = np.random.default_rng(seed)
    dense = (r.random((n_users, n_items)) < share).astype(np.float32)
    dense[:, 0] = 1  # everybody has something
    return sp.csr_matrix(dense)
