"""Every example of docs/python.md runs, in the order of the page, on data made for it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from making import make_likes

import crosswise

PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_the_reference_run(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(0)
    n = 3000
    frame = pandas.DataFrame(
        {
            "user": r.choice(["ann", "bob", *(f"u{k}" for k in range(60))], n),
            "item": r.integers(60, size=n),
            "stars": r.integers(1, 6, size=n),
            "at": r.integers(10**9, size=n),
        }
    )
    frame["customer"], frame["sku"] = frame["user"], frame["item"]
    frame[["user", "item", "stars", "at"]].rename(columns={"stars": "rating", "at": "time"}).to_csv(
        "ratings.csv.gz", index=False
    )
    likes = make_likes(90, 40, 4)
    new = {"user": [10**6, 10**6], "item": [1, 2]}
    names = {
        "frame": frame[["user", "item", "stars", "at", "customer", "sku"]],
        "user_items": likes,
        "userids": np.arange(5),
        "rows": likes[[1, 2]],
        "new_log": crosswise.Interactions.from_frame(new),
    }
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        if "implicit" in block:
            pytest.importorskip("implicit")
            block = block.replace("from implicit.bpr", "from implicit.cpu.bpr")
        quick = block.replace('budget="10m"', 'trials=1, methods="pop"')
        quick = quick.replace('method="cpr",', 'method="cpr", epochs=2, min_epochs=0,')
        quick = quick.replace('"quick", "results"', 'PLAN, "results"')
        names["PLAN"] = {"title": "Q", "tables": [{"title": "T", "methods": ["pop", "itemknn"]}]}
        if "a.run.json" in quick:
            for word, method in (("a", "pop"), ("b", "itemknn")):
                made = crosswise.train(crosswise.simulate(seed=1), method=method)
                made.save(f"{word}.safetensors", record=f"{word}.run.json")
        exec(compile(quick, str(PAGE), "exec"), names)
