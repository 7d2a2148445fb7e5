"""Results that show themselves in a notebook and become data frames where pandas is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


def _show(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"{len(value)} values"
    return str(value)


def html_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_show(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _flat(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield prefix, value


class Result(dict[str, Any]):
    """A dictionary, as the library's JSON has it."""

    def rows(self) -> list[tuple[str, object]]:
        """Every number with the path to it, such as ``test.recall@20``."""
        return list(_flat("", self))

    def to_pandas(self) -> pd.Series[Any]:
        """The same as a series."""
        import pandas as pd

        rows = self.rows()
        return pd.Series([value for _, value in rows], index=[name for name, _ in rows])

    def _repr_html_(self) -> str:
        return html_table(["", "value"], self.rows())


def line_chart(title: str, values: Sequence[float], best: int | None = None) -> str:
    """A small line as SVG."""
    width, height, edge = 480, 160, 24
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = (width - 2 * edge) / (len(values) - 1)
    place = [
        (edge + k * step, height - edge - (v - low) / span * (height - 2 * edge))
        for k, v in enumerate(values)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in place)
    mark = ""
    if best is not None and 0 <= best < len(place):
        mark = f'<circle cx="{place[best][0]:.1f}" cy="{place[best][1]:.1f}" r="4" fill="#c44"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}"><text x="{edge}" y="16" font-size="12" '
        f'fill="currentColor">{escape(title)}: {low:.4g} to {high:.4g}</text>'
        f'<polyline points="{points}" fill="none" stroke="#37a" stroke-width="2"/>{mark}</svg>'
    )


class Run(Result):
    """The record of a training: what docs/training.md lists."""

    def __init__(self, text: str | None = None) -> None:
        super().__init__(json.loads(text) if text else {})
        #: As the library wrote it, for records carry a checksum of their bytes.
        self.text = text or ""

    def __repr__(self) -> str:
        if not self:
            return "<Run: nothing is known of it>"
        return f"<Run: {self['method']} on {self['backbone']}, best epoch {self['best_epoch']}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Run, (self.text,)

    def epochs(self) -> list[tuple[int, dict[str, float]]]:
        """Every epoch after which the validation part was ranked, with its metrics."""
        return [(e["epoch"], e["valid"]) for e in self.get("epochs", []) if e.get("valid")]

    def to_pandas(self) -> pd.DataFrame:
        """The metrics of validation by epoch."""
        import pandas as pd

        found = self.epochs()
        frame = pd.DataFrame([metrics for _, metrics in found])
        frame.insert(0, "epoch", [epoch for epoch, _ in found])
        return frame

    def _repr_html_(self) -> str:
        keys = ("method", "backbone", "best_epoch", "train_s")
        rows: list[tuple[str, object]] = [(k, self[k]) for k in keys if k in self]
        for part in ("valid", "test"):
            rows += list(_flat(part, self.get(part) or {}))
        metric = str((self.get("options") or {}).get("metric", "")).split("@")[0]
        found = self.epochs()
        keys_of = list(found[0][1]) if found else []
        key = next((k for k in keys_of if k.split("@")[0] == metric), "")
        values = [metrics[key] for _, metrics in found] if key else []
        best = [epoch for epoch, _ in found]
        at = best.index(self["best_epoch"]) if self.get("best_epoch") in best else None
        return line_chart(f"{key} on validation", values, at) + html_table(["", "value"], rows)


class Recommendations(Sequence[list[tuple[Any, float]]]):
    """Lists of raw ids with their scores, best first: one for each of those asked for.

    ``numbers`` and ``scores`` are arrays [lists, n]; where a list ends early, numbers are -1.
    ``ways`` says of every list where it comes from: trained, fold-in or popularity.
    """

    def __init__(
        self,
        keys: Sequence[Any],
        ids: Sequence[Any],
        numbers: npt.NDArray[np.int32],
        scores: npt.NDArray[np.float32],
        ways: Sequence[str],
        noun: str = "item",
    ) -> None:
        self.keys = list(keys)
        self.numbers = numbers
        self.scores = scores
        self.ways = list(ways)
        self._ids = ids
        self._noun = noun

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        numbers = self.numbers[index].tolist()
        scores = self.scores[index].tolist()
        return [(self._ids[n], s) for n, s in zip(numbers, scores, strict=True) if n >= 0]

    @property
    def items(self) -> list[list[Any]]:
        """The raw ids alone."""
        return [[found for found, _ in listed] for listed in self]

    def _rows(self) -> list[tuple[Any, int, Any, float, str]]:
        return [
            (key, rank + 1, found, score, way)
            for key, way, listed in zip(self.keys, self.ways, self, strict=True)
            for rank, (found, score) in enumerate(listed)
        ]

    def to_pandas(self) -> pd.DataFrame:
        """One row for each place of a list."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=["for", "rank", self._noun, "score", "way"])

    def _repr_html_(self) -> str:
        return html_table(["for", "rank", self._noun, "score", "way"], self._rows()[:50])

    def __repr__(self) -> str:
        shown = ", ".join(f"{key!r}: {found!r}" for key, found in list(zip(self.keys, self))[:3])
        return f"<Recommendations {shown}{', ...' if len(self) > 3 else ''}>"
