"""The JSON of a model file. It may be damaged or come from another program, so it is checked."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from . import _manymeans
from ._errors import BadDataError

if TYPE_CHECKING:
    from collections.abc import Callable

_Key = tuple[int, int, int]


class Summary:
    """The JSON of a model file, which adds to its arrays.

    Attributes
    ----------
    digest : str
        Of all models.
    warnings : list of str
        Of the fit.
    interrupted : bool
        True if a time limit or a callback ended the fit.
    provenance : dict
        Where the answer came from; its `options` hold `k`, `models`, `max_iter` and `tol`.

    """

    def __init__(self, text: str) -> None:
        values = json.loads(text)
        self.digest: str = _digest(values["digest"])
        self.warnings = [_of(str, warning) for warning in _of(list, values["warnings"])]
        self.interrupted: bool = _of(bool, values["interrupted"])
        self.provenance: dict[str, Any] = _of(dict, values["provenance"])
        self.provenance_text = json.dumps(self.provenance)
        options = _of(dict, self.provenance["options"])
        _whole(options["max_iter"]), _whole(options["models"]), _number(options["tol"])
        for k in _of(list, options["k"]):
            _whole(k)
        for name, check in _OPTIONS.items():
            if options.get(name) is not None:
                check(options[name])
        self._models: dict[_Key, str] = {}
        for model in _of(list, values["models"]):
            key = _whole(model["k_requested"]), _whole(model["replica"]), seed_value(model["seed"])
            self._models[key] = _digest(model["digest"])

    def of_model(self, k_requested: int, replica: int, seed: int) -> str:
        """Give the digest of a model."""
        return self._models[k_requested, replica, seed]


def _of(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.60} is not of type {kind.__name__}")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r:.60} is not an integer of 0 or more")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError(f"{value!r:.60} is not a finite number")
    return float(value)


def seed_value(value: Any) -> int:
    """Return a seed of the JSON as a number: it is text, which no reader rounds; once it was a number."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,20}", value):
        return int(value)
    return _whole(value)


_SEEDS = ("seed", "model_seed")


def read_provenance(text: str) -> dict[str, Any]:
    """Read a provenance; seeds become numbers."""
    provenance: dict[str, Any] = json.loads(text)
    options = provenance["options"]
    options |= {name: seed_value(options[name]) for name in _SEEDS if options.get(name) is not None}
    return provenance


def written_provenance(provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the provenance as a JSON has it, with seeds as text."""
    options = provenance["options"]
    texts = {name: str(options[name]) for name in _SEEDS if options.get(name) is not None}
    return provenance | {"options": options | texts}


def provenance_of_answer(provenance: dict[str, Any]) -> dict[str, Any]:
    """Leave out what tells of the run, so that files and pickles of equal answers are the same bytes."""
    options = {name: value for name, value in provenance["options"].items() if _manymeans.decides_the_answer(name)}
    kept = {name: provenance[name] for name in ("version", "rows", "columns", "dtype") if name in provenance}
    return kept | {"options": options}


def _digest(value: Any) -> str:
    if not re.fullmatch("[0-9a-f]{32}", _of(str, value)):
        raise ValueError(f"{value!r:.60} is not a digest of 32 hexadecimal digits")
    return str(value)


def _text(value: Any) -> str:
    return str(_of(str, value))


def _truth(value: Any) -> bool:
    return bool(_of(bool, value))


#: Options that files of other versions or programs may lack.
_OPTIONS: dict[str, Callable[[Any], object]] = {
    "swaps": _whole, "seed": seed_value, "model_seed": seed_value, "ridge": _number,
    "init": _text, "stop": _text, "empty": _text, "gating": _text, "intercept": _truth,
}  # fmt: skip


def read_summary(path: str, file: dict[str, Any]) -> tuple[Summary, list[str]]:
    """Read the JSON of a model file that `_manymeans.load_model` gave; also the digest of each of its models.

    Raises
    ------
    BadDataError
        Whatever is wrong with it.

    """
    try:
        summary = Summary(file["json"])
        models = [summary.of_model(m["k_requested"], m["replica"], m["seed"]) for m in file["models"]]
    except KeyError as error:
        raise _damaged(path, f"there is no {error}") from None
    except RecursionError:
        raise _damaged(path, "it is nested too deeply") from None
    except (ValueError, TypeError, OverflowError) as error:  # JSONDecodeError is a ValueError
        raise _damaged(path, str(error)) from None
    return summary, models


def _damaged(path: str, what: str) -> BadDataError:
    return BadDataError(
        f"[{path}, json] {what}; what FitResult.save or 'manymeans fit --model' wrote is needed, unchanged"
    )
