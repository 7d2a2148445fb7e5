"""How people use it, for mypy alone: `mypy --strict` must find nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import crosswise

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import scipy.sparse as sp


def from_a_frame(frame: object) -> list[list[object]]:
    data = crosswise.Dataset.from_frame(frame, user="u", item="i", min_rating=4)
    model: crosswise.Model = crosswise.train(data, method="cpr", seed=1)
    best: float = model.run["best_epoch"]
    lists = model.recommend([1, 2], n=3)
    assert best >= 0
    found: list[list[object]] = lists.items
    return found


def on_a_matrix(likes: sp.csr_matrix) -> npt.NDArray[np.int32]:
    model: crosswise.CPR = crosswise.CPR(factors=8).fit(likes, show_progress=False)
    ids, scores = model.recommend([0, 1], likes[:2], N=5)
    factors: npt.NDArray[np.float32] = model.item_factors
    assert scores.shape == ids.shape
    assert len(factors)
    again: crosswise.CPR = crosswise.CPR.load("m.safetensors")
    assert again.get_params()
    return ids


def what_goes_wrong() -> str:
    try:
        crosswise.import_log("none.csv")
    except crosswise.FileError as failure:
        return str(failure)
    return crosswise.__version__
