"""Experiments, comparisons, reports, and what there is to choose from."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _native as native
from ._data import Dataset, Interactions, StrPath
from ._errors import InvalidArgument
from ._model import Model
from ._native import OnEvent, Options, context, lib
from ._results import Result, html_table

_P = ctypes.c_void_p


def import_log(*paths: StrPath, **options: object) -> Interactions:
    """Read a log from files: :meth:`Interactions.read`."""
    return Interactions.read(*paths, **options)


def prepare(log: Any, **options: object) -> Dataset:
    """Filter and split a log: interactions, a data frame, or the path of a file."""
    if isinstance(log, Interactions):
        return log.prepare(**options)
    if isinstance(log, (str, os.PathLike)):
        with Interactions.read(log) as read:
            return read.prepare(**options)
    return Dataset.from_frame(log, **options)


def simulate(**options: Any) -> Dataset:
    """Draw a dataset whose true relevances are known: :meth:`Dataset.simulate`."""
    return Dataset.simulate(**options)


def describe(dataset: Dataset) -> Result:
    """Counts, quantiles, concentration: :meth:`Dataset.describe`."""
    return dataset.describe()


def evaluate(dataset: Dataset, model: Model, **options: object) -> Result:
    """How good and how biased lists are: :meth:`Model.evaluate`."""
    return model.evaluate(dataset, **options)


class ExperimentResult(Result):
    """Tables of an experiment (docs/experiments.md)."""

    folder: Path

    def report(self, folder: StrPath | None = None, *, replace: bool = False) -> Path:
        """Write pages, tables and figures: :func:`report`."""
        return report(self.folder, folder, replace=replace)


def experiment(
    plan: str | Mapping[str, Any] | os.PathLike[str],
    folder: StrPath,
    *,
    datasets: Sequence[StrPath] | None = None,
    on_event: OnEvent | None = None,
    **options: object,
) -> ExperimentResult:
    """Carry out a plan: one by name (``quick``, ``compare``, ``paper``, ``beyond``), a dictionary,
    or the path of a JSON file, on the dataset folders that it or ``datasets`` names.  A call with
    the same folder goes on where the last one stopped."""
    if isinstance(plan, Mapping):
        text = json.dumps(plan).encode()
    else:
        known = lib.cw_plan_text(os.fsencode(plan))
        text = known if known else Path(plan).read_bytes()
    if datasets is not None:
        text = json.dumps({**json.loads(text), "datasets": [str(d) for d in datasets]}).encode()
    ctx = context(int(str(options.pop("threads", 0))))
    given = Options(ctx, "experiment", options)
    out = _P()
    ctx.work(
        "cw_experiment_run",
        text,
        given.pointer,
        native.path_bytes(folder),
        ctypes.byref(out),
        on_event=on_event,
    )
    result = ExperimentResult(native.json_of(out))
    result.folder = Path(folder)
    return result


def report(
    experiment_folder: StrPath, folder: StrPath | None = None, *, replace: bool = False
) -> Path:
    """Write the report of an experiment: page, tables and figures, into ``folder``
    (``<experiment>/report`` unless it is given)."""
    target = Path(folder) if folder is not None else Path(experiment_folder) / "report"
    context().work(
        "cw_report_experiment",
        native.path_bytes(experiment_folder),
        native.path_bytes(target),
        replace,
    )
    return target / "report.html"


def compare(*records: StrPath, **options: object) -> Result:
    """Compare runs by the records that training wrote: tests and intervals of the differences."""
    ctx = context()
    given = Options(ctx, "compare", options)
    words = native.texts(native.path_bytes(path) for path in records)
    out = _P()
    ctx.work("cw_compare", words, len(records), given.pointer, ctypes.byref(out))
    return Result(native.json_of(out))


def skew(folder: StrPath, *, replace: bool = False, **options: object) -> int:
    """Draw a training set of another bias from that of a dataset folder; returns its rows."""
    ctx = context()
    given = Options(ctx, "skew", options)
    rows = ctypes.c_int64()
    ctx.work(
        "cw_dataset_skew", native.path_bytes(folder), given.pointer, replace, ctypes.byref(rows)
    )
    return rows.value


def devices() -> Result:
    """Where models can be trained."""
    out = _P()
    context().call("cw_devices", ctypes.byref(out))
    return Result(native.json_of(out))


class Table(list[dict[str, Any]]):
    """Rows with the same keys."""

    def to_pandas(self) -> Any:
        """The same as a data frame."""
        import pandas as pd

        return pd.DataFrame(list(self))

    def _repr_html_(self) -> str:
        header = list(self[0]) if self else []
        return html_table(header, [list(row.values()) for row in self])


def methods() -> Table:
    """Every method with its help and the backbones that it works on.

    >>> [row["method"] for row in methods()][:2]
    ['cpr', 'cpr-rand']
    """
    return Table(
        {
            "method": name,
            "help": lib.cw_method_help(name.encode()).decode(),
            "backbones": native.names("cw_method_backbone", name.encode()),
        }
        for name in native.names("cw_method_name")
    )


_KINDS = ("integer", "real", "choice", "text", "flag")


def options(stage: str, method: str | None = None, backbone: str = "mf") -> Table:
    """The options of a stage (``import``, ``prepare``, ``train``, ``evaluate``, ...), with defaults
    and bounds; of ``train`` those that a method on a backbone takes, if that is named.

    >>> [row["option"] for row in options("skew")][:1]
    ['theta']
    """
    stages = native.names("cw_stage_name")
    if stage not in stages:
        raise InvalidArgument(f"there is no stage {stage!r}; there are {', '.join(stages)}")
    table = Table()
    at = 0
    while True:
        found = lib.cw_stage_option(stage.encode(), at)
        at += 1
        if not found:
            return table
        info = found.contents
        if method and stage == "train":
            names = (method.encode(), backbone.encode(), info.name)
            if not lib.cw_method_takes(*names):
                continue
        table.append(
            {
                "option": info.name.decode().replace("-", "_"),
                "kind": _KINDS[info.kind],
                "default": info.preset.decode(),
                "choices": info.choices.decode() if info.choices else "",
                "help": info.help.decode(),
            }
        )
