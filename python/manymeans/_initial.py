"""Initial centres that a caller gives: of one model, or of each model of an ensemble."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _manymeans
from ._errors import BadDataError, UsageError
from ._input import on_host, plain_centers, plain_numbers
from ._labelling import is_scaled
from ._opening import NAMES_OF_FILES
from ._reading import read
from ._result import FitResult, Model
from ._tables import Dataset


class Initial(NamedTuple):
    """Centres of all models, one below the other, and the numbers that they decide; None: the options do."""

    rows: npt.NDArray[Any]
    k: list[int] | None = None
    models: int | None = None

    def in_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options of the library with these numbers, and without a method.

        Raises
        ------
        UsageError
            Where options ask for others.

        """
        options = options | {"init": None}
        if self.k is None:
            return options
        for name, found in (("k", self.k), ("models", self.models)):
            asked = options.get(name)
            if asked not in (None, found):
                raise UsageError(f"[init] {name} is {_listed(asked)}, init has {_listed(found)}; use the same")
        return options | {"models": self.models}


def initial_of_fit(init: Any, columns: list[str] | None, options: dict[str, Any]) -> Initial | None:
    """Return initial centres, also of the models in a `FitResult` or in a file; None: `init` is a method.

    Raises
    ------
    UsageError
        Where models are of another metric, or were fitted to scaled points; as `initial_models`.

    """
    if isinstance(init, str):
        methods = {method["name"] for method in _manymeans.info(devices=False)["inits"]}
        if init in methods or not os.path.isfile(init):
            return None
    if isinstance(init, NAMES_OF_FILES):
        try:
            init = FitResult.load(init)
        except BadDataError:  # no model file
            init = read(init, dtype="float64")  # exact; the fit rounds once to the type of the points
    if isinstance(init, FitResult):
        if init.models[0].linear:
            raise UsageError("[init] these are linear models; a FitResult of centres is right")
        init = _models_of(init, options)
    return initial_models(init, columns, options["metric"])


def initial_models(init: Any, columns: list[str] | None, metric: str) -> Initial:
    """Return the centres in an array, a frame or a `Model`, or of several models in a list or in three dimensions.

    Raises
    ------
    UsageError, BadDataError
        As `plain_centers`; where models of one k are not next to each other, or there are not as many of each k.

    """
    if isinstance(init, (list, tuple)) and init and _is_matrix(init[0]):
        names = [f"init[{i}]" if len(init) > 1 else "init" for i in range(len(init))]
        given = zip(init, names, strict=True)
        return _stacked([plain_centers(_centers(one, metric), name, columns) for one, name in given])
    if getattr(init, "ndim", 0) == 3:
        return _stacked(list(plain_numbers(on_host(init), "init")))
    return Initial(plain_centers(_centers(init, metric), "init", columns))


def _models_of(result: FitResult, options: dict[str, Any]) -> list[Model]:
    """Return the models of these k, in their order; for models=1 the best of each."""
    models: list[Model] = []
    for k in options["k"]:
        of_k = [model for model in result.models if model.begun and model.k == k]
        if not of_k:
            known = ", ".join(map(str, dict.fromkeys(model.k for model in result.models if model.begun)))
            raise UsageError(f"[k] k is {k}; init has models for k = {known}")
        models += [min(of_k, key=lambda model: model.inertia)] if options.get("models") == 1 else of_k
    return models


def _is_matrix(one: Any) -> bool:
    rows = isinstance(one, (list, tuple)) and len(one) > 0 and isinstance(one[0], (list, tuple, np.ndarray))
    return rows or isinstance(one, Model) or getattr(one, "ndim", 0) == 2 or hasattr(one, "column_names")


def _centers(one: Any, metric: str) -> Any:
    """Return the centres of a model with the names of their columns, and anything else as it is."""
    if not isinstance(one, Model):
        return one
    if is_scaled(one._scaling):
        raise UsageError("[init] this model was fitted to scaled points; its centres are in other units than X")
    if one._metric != metric:
        raise UsageError(f"[init] this model is of metric {one._metric}, this fit of {metric}; use the same")
    return Dataset(one.cluster_centers, list(one._column_names), None, [])


def _stacked(models: list[npt.NDArray[Any]]) -> Initial:
    each = [len(centers) for centers in models]
    ks = list(dict.fromkeys(each))
    count = len(models) // max(1, len(ks))
    if not models or each != [k for k in ks for _ in range(count)]:
        raise UsageError(
            f"[init] it has models of k = {_listed(each)}; as many models of each k are right, those of one k together"
        )
    if len({centers.shape[1] for centers in models}) > 1:
        raise BadDataError("[init] its models have different numbers of columns; they must agree")
    return Initial(np.ascontiguousarray(np.concatenate(models)), ks, count)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
