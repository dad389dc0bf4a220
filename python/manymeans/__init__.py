"""manymeans: k-means for ensembles of models; many models, many cores, one answer.

`KMeans`, `BisectingKMeans` and `MiniBatchKMeans` are drop-ins for scikit-learn's. `EnsembleKMeans` fits many models at
once. `HierarchicalKMeans` fits very many clusters. The clusters of `RegressionClustering` are linear models.
`ProductQuantizer` and `ResidualQuantizer` fit codebooks.
Functions without estimators: `fit`, `fit_each`, `search`, `predict`, `compare`, `criteria`, `choose_k`, `summary`,
`cards`, `consensus`, `optimal_1d`, `report`, `kmeans_plusplus`, `multiply`, `read` and `info`.
The tutorial is docs/user/python.md.
"""

from __future__ import annotations

import atexit as _atexit
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from . import _extension  # isort: split

from . import _manymeans
from ._batch import BatchResult
from ._choose import Choice, choose_k
from ._compare import Comparison, compare
from ._consensus import Consensus, consensus
from ._criteria import Criteria, criteria
from ._describing import Card, cards, summary
from ._errors import (
    BadDataError,
    Error,
    InternalError,
    OutOfMemoryError,
    OutsideWarning,
    StoppedError,
    StoppedWarning,
    UnavailableError,
    UsageError,
)
from ._functions import fit, fit_each, info, kmeans_plusplus, predict, search
from ._imports import importing as _importing
from ._multiply import ProductCounts, multiply
from ._optimal import Optimal1d, optimal_1d
from ._progress import Progress
from ._reading import read
from ._report import report
from ._result import FitResult, Model
from ._shards import Answer, Scan, Shape, Shard, Statistics, fit_shards, merge_answers, solve
from ._tables import Dataset

if TYPE_CHECKING:
    from ._bisecting import BisectingKMeans
    from ._codebooks import ProductQuantizer, ResidualQuantizer
    from ._ensemble import EnsembleKMeans
    from ._hierarchical import HierarchicalKMeans
    from ._kmeans import KMeans
    from ._minibatch import MiniBatchKMeans
    from ._regression import RegressionClustering

__all__ = [
    "Answer",
    "BadDataError",
    "BatchResult",
    "BisectingKMeans",
    "Card",
    "Choice",
    "Comparison",
    "Consensus",
    "Criteria",
    "Dataset",
    "EnsembleKMeans",
    "Error",
    "FitResult",
    "HierarchicalKMeans",
    "InternalError",
    "KMeans",
    "MiniBatchKMeans",
    "Model",
    "Optimal1d",
    "OutOfMemoryError",
    "OutsideWarning",
    "ProductCounts",
    "ProductQuantizer",
    "Progress",
    "RegressionClustering",
    "ResidualQuantizer",
    "Scan",
    "Shape",
    "Shard",
    "Statistics",
    "StoppedError",
    "StoppedWarning",
    "UnavailableError",
    "UsageError",
    "cards",
    "choose_k",
    "compare",
    "consensus",
    "criteria",
    "fit",
    "fit_each",
    "fit_shards",
    "info",
    "kmeans_plusplus",
    "merge_answers",
    "multiply",
    "optimal_1d",
    "predict",
    "read",
    "report",
    "search",
    "solve",
    "summary",
]

__version__ = _manymeans.info(devices=False)["version"]
if _extension.missing_cuda:
    _manymeans.explain_missing_cuda(_extension.missing_cuda)


# A daemon thread that fits while Python ends would end the process by an abort.
_atexit.register(_manymeans.before_exit)


# The estimators import scikit-learn, which takes a second; the functions do without it.
_ESTIMATORS = {
    "BisectingKMeans": "_bisecting",
    "EnsembleKMeans": "_ensemble",
    "HierarchicalKMeans": "_hierarchical",
    "KMeans": "_kmeans",
    "MiniBatchKMeans": "_minibatch",
    "ProductQuantizer": "_codebooks",
    "RegressionClustering": "_regression",
    "ResidualQuantizer": "_codebooks",
}


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        with _importing:
            return getattr(_import_module("." + _ESTIMATORS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS])
