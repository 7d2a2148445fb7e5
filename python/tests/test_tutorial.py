"""The notebook, run where its data is at hand."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "tutorial.ipynb"


def numbers_of(cell):
    """What it shows but for how pandas lays it out."""
    outputs = [o["data"]["text/plain"] for o in cell.get("outputs", []) if "data" in o]
    return re.findall(r"-?\d+(?:\.\d+)?", " ".join(outputs))


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_and_shows_what_it_says(data_folder, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    log = Path(data_folder) / "ml100k" / "u.data.gz"
    if not log.exists():
        pytest.skip("no ml100k among the datasets")
    (tmp_path / "u.data").write_bytes(gzip.decompress(log.read_bytes()))
    monkeypatch.setenv("ML100K", str(tmp_path / "u.data"))
    monkeypatch.setenv("LC_ALL", os.environ.get("LC_ALL", "C.UTF-8"))
    kept = nbformat.read(NOTEBOOK, as_version=4)
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(fresh, timeout=600, kernel_name="python3").execute()
    for before, after in zip(kept.cells, fresh.cells, strict=True):
        assert numbers_of(after) == numbers_of(before)  # the same seed, the same bits
