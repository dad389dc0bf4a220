"""The extension module: the C++ library, spoken to in arrays, dicts and strings."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]

def fit(
    points: _Array,
    bfloat16: bool,
    weights: npt.NDArray[np.float64] | None,
    options: dict[str, Any],
    initial: _Array | None,
    callback: Callable[[dict[str, Any]], Any] | None,
    checkpoint: tuple[str, int, bool] | None = None,
) -> dict[str, Any]: ...
def initialise(
    points: _Array, bfloat16: bool, weights: npt.NDArray[np.float64] | None, options: dict[str, Any]
) -> tuple[_Array, npt.NDArray[np.int64], list[str]]: ...
def digest(model: dict[str, Any]) -> str: ...
def combined_digest(models: list[str]) -> str: ...
def parse_k_list(text: str) -> list[int]: ...
def predict(
    points: _Array,
    bfloat16: bool,
    prototypes: _Array,
    backend: str,
    threads: int,
    distances: bool,
    inertia: bool,
    weights: npt.NDArray[np.float64] | None,
) -> tuple[_Array, npt.NDArray[np.float64] | None, float]: ...
def transform(points: _Array, bfloat16: bool, prototypes: _Array, backend: str, threads: int) -> _Array: ...
def apply_scaling(
    points: _Array, bfloat16: bool, kind: str, offset: list[float], divisor: list[float], threads: int
) -> _Array: ...
def info() -> dict[str, Any]: ...
def points_file(path: str) -> str: ...
def read(
    path: str,
    format: str,
    dtype: str | None,
    columns: list[str],
    numeric_only: bool,
    weights: str,
    threads: int,
) -> dict[str, Any]: ...
def load_model(path: str) -> dict[str, Any]: ...
def save_model(path: str, file: dict[str, Any]) -> None: ...
def arrow_points(table: object) -> tuple[_Array, list[str], bool]: ...
def bfloat16_bits(tensor: object) -> npt.NDArray[np.uint16]: ...
def get_num_threads() -> int: ...
