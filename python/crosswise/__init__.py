"""crosswise: recommenders that do not simply repeat what was popular.

>>> import crosswise
>>> data = crosswise.simulate(users=400, items=200, popularity=0.6, seed=1)
>>> model = crosswise.train(data, method="bpr", epochs=2, dim=8, seed=1)
>>> len(model.recommend(model.user_ids[0], n=3))
3

Modules are loaded when they are first needed, so that ``import crosswise`` is quick.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would take most of the time
if TYPE_CHECKING:
    from typing import Any

    from . import evaluation as evaluation
    from ._data import Dataset as Dataset
    from ._data import Description as Description
    from ._data import Interactions as Interactions
    from ._errors import BadData as BadData
    from ._errors import Cancelled as Cancelled
    from ._errors import CrosswiseError as CrosswiseError
    from ._errors import FileError as FileError
    from ._errors import InvalidArgument as InvalidArgument
    from ._errors import OutOfMemory as OutOfMemory
    from ._errors import OutOfRange as OutOfRange
    from ._errors import UnknownId as UnknownId
    from ._errors import Unsupported as Unsupported
    from ._estimator import BPR as BPR
    from ._estimator import CPR as CPR
    from ._estimator import DICE as DICE
    from ._estimator import EASE as EASE
    from ._estimator import IALS as IALS
    from ._estimator import UBPR as UBPR
    from ._estimator import Cross as Cross
    from ._estimator import ItemKNN as ItemKNN
    from ._estimator import MultVAE as MultVAE
    from ._estimator import NotFitted as NotFitted
    from ._estimator import Pop as Pop
    from ._estimator import Recommender as Recommender
    from ._estimator import RelMF as RelMF
    from ._lab import compare as compare
    from ._lab import describe as describe
    from ._lab import devices as devices
    from ._lab import evaluate as evaluate
    from ._lab import experiment as experiment
    from ._lab import import_log as import_log
    from ._lab import methods as methods
    from ._lab import options as options
    from ._lab import prepare as prepare
    from ._lab import report as report
    from ._lab import simulate as simulate
    from ._lab import skew as skew
    from ._model import Model as Model
    from ._model import train as train
    from ._model import tune as tune
    from ._results import Recommendations as Recommendations
    from ._results import Result as Result
    from ._results import Run as Run

    __version__: str

_HOME = {
    "_data": "Dataset Description Interactions",
    "_errors": "BadData Cancelled CrosswiseError FileError InvalidArgument OutOfMemory OutOfRange "
    "UnknownId Unsupported",
    "_estimator": "BPR CPR DICE EASE IALS UBPR Cross ItemKNN MultVAE NotFitted Pop Recommender "
    "RelMF",
    "_lab": "compare describe devices evaluate experiment import_log methods options prepare "
    "report simulate skew",
    "_model": "Model train tune",
    "_results": "Recommendations Result Run",
}

__all__ = [
    "BPR", "CPR", "DICE", "EASE", "IALS", "UBPR", "BadData", "Cancelled", "Cross",
    "CrosswiseError", "Dataset", "Description", "FileError", "Interactions", "InvalidArgument",
    "ItemKNN", "Model", "MultVAE", "NotFitted", "OutOfMemory", "OutOfRange", "Pop",
    "Recommendations", "Recommender", "RelMF", "Result", "Run", "UnknownId", "Unsupported",
    "compare", "describe", "devices", "evaluate", "evaluation", "experiment", "import_log",
    "methods", "options", "prepare", "report", "simulate", "skew", "train", "tune",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        return import_module("._native", __name__).version()
    if name == "evaluation":
        return import_module(".evaluation", __name__)
    for module, words in _HOME.items():
        if name in words.split():
            value = getattr(import_module(f".{module}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'crosswise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "__version__"])
