"""The reports of a running fit: the callback's argument and the progress bar."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from ._imports import importing


class Progress(NamedTuple):
    """Where a running fit is; what a callback receives after every pass and every step of the initialisation.

    Attributes
    ----------
    phase : str
        ``"initialise"``, ``"search"``, ``"iterate"``, or ``"sizes"`` of a tree, whose rows are counted. `fit_each` has
        ``"problems"``.
    iteration : int
        Updates done by the model that has most of them; while initialising, steps done; while searching, rounds.
    max_iteration : int
        The max of `iteration`; 0 for a search that its time ends.
    active_models : int
        Models that still iterate.
    models : int
        All models of the fit.
    inertia : float
        Lowest inertia over the active models: an estimate, not part of the answer; NaN where it is not known, as for
        models of more than 4 million centroid values. While searching, the inertia of the best model so far.
    points_per_second : float
        Rows times active models, over the last pass.
    seconds : float
        Since the fit began.

    """

    phase: str
    iteration: int
    max_iteration: int
    active_models: int
    models: int
    inertia: float
    points_per_second: float
    seconds: float


Callback = Callable[[Progress], Any]


class _Lines:
    """The output of scikit-learn's ``verbose=1``, a line a pass; all models iterate together."""

    def __init__(self) -> None:
        self._begun = False
        self._last = -1
        self._held = ""  # a line late: whether a pass was an iteration or only the last labelling is known after it

    def show(self, progress: Progress) -> None:
        if progress.phase != "iterate":
            return
        print(self._held if self._begun else "Initialization complete")
        self._begun, self._last = True, progress.iteration
        known = progress.inertia == progress.inertia
        self._held = f"Iteration {progress.iteration}" + (f", inertia {progress.inertia}." if known else ".")

    def finish(self, models: list[Any], tol: float) -> None:
        """Print how each model's iterations have ended, in scikit-learn's words for models that converged."""
        if self._begun and self._last < max(model.n_iter + (model.stop_reason == "strict") for model in models):
            print(self._held)
        ends = [_end_of(model, tol) for model in models]
        if len(models) == 1:
            print(ends[0])
        elif len(models) <= _MOST_ENDS:
            for model, end in zip(models, ends, strict=True):
                print(f"k = {model.k_requested}, model {model.replica}: {end}")
        else:
            counts = Counter(model.stop_reason for model in models).most_common()
            reasons = ", ".join(f"{count} by {name}" for name, count in counts)
            print(f"{len(models)} models have ended: {reasons}.")


_MOST_ENDS = 20  # lines that somebody reads

_REASONS = {
    "labels": "few enough labels changed",
    "shift": "the centers moved little enough",
    "inertia": "the inertia fell by little enough",
    "error": "the inertia is small enough",
    "cycle": "the labels repeat in a cycle",
    "max_iter": "max_iter is reached",
    "time_limit": "the time limit is used up",
    "callback": "the callback has ended it",
    "interrupted": "it was interrupted",
}


def _end_of(model: Any, tol: float) -> str:
    if model.stop_reason == "strict":
        return f"Converged at iteration {model.n_iter}: strict convergence."
    last = max(0, model.n_iter - 1)
    if model.stop_reason == "tol":
        return (
            f"Converged at iteration {last}: center shift is within tolerance {tol} "
            "(times the mean variance of the columns)."
        )
    if not model.begun:
        return "Not begun: the fit was stopped before."
    return f"Stopped at iteration {last}: {_REASONS.get(model.stop_reason, model.stop_reason)}."


def _state(progress: Progress) -> str:
    active = f"{progress.active_models} of {progress.models} models active"
    known = progress.inertia == progress.inertia  # not before the first pass
    return f"{active}, inertia {progress.inertia:.6g}" if known else active


class _PlainBar:
    """A replacement for tqdm: one line of a terminal, rewritten; elsewhere nothing."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K" + text)
            sys.stderr.flush()
            self._shown = True

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


class _TqdmBar:
    """A bar of tqdm: in notebooks a widget, on terminals a line, and nothing in pipes and files."""

    def __init__(self, tqdm: Any) -> None:
        in_notebook = "notebook" in tqdm.__module__ or any("notebook" in kind.__module__ for kind in tqdm.__mro__)
        self._bar = tqdm(desc="k-means", unit="pass", leave=True, disable=False if in_notebook else None)

    def update(self, progress: Progress) -> None:
        self._bar.set_description(progress.phase, refresh=False)
        if self._bar.total != progress.max_iteration:
            self._bar.total = progress.max_iteration
        self._bar.set_postfix_str(_state(progress), refresh=False)
        self._bar.n = progress.iteration
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def _find_tqdm() -> Any:
    try:
        with importing:
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


class Reporter:
    """Turns the library's reports into a bar and calls of the user's callback."""

    def __init__(self, callback: Callback | None, show: bool, verbose: bool = False) -> None:
        self._callback = callback
        self._lines = _Lines() if verbose else None
        tqdm = _find_tqdm() if show else None
        self._tqdm_bar = _TqdmBar(tqdm) if tqdm is not None else None
        self._plain_bar = _PlainBar() if show and tqdm is None else None
        self._last = -1.0
        self._undrawn: Progress | None = None

    @property
    def hook(self) -> Callable[[dict[str, Any]], Any] | None:
        """Return the callback for the library; return None if no report is required."""
        if all(part is None for part in (self._callback, self._lines, self._tqdm_bar, self._plain_bar)):
            return None
        return self._report

    def finish(self, models: list[Any], tol: float) -> None:
        """Print how the models have ended, if ``verbose`` prints every iteration."""
        if self._lines is not None:
            self._lines.finish(models, tol)

    def _report(self, values: dict[str, Any]) -> Any:
        progress = Progress(**values)
        self._undrawn = progress
        if progress.seconds - self._last >= 0.1 or self._last < 0:  # drawing costs more than a small pass
            self._draw(progress)
        if self._lines is not None:
            self._lines.show(progress)
        return None if self._callback is None else self._callback(progress)

    def _draw(self, progress: Progress) -> None:
        self._last, self._undrawn = progress.seconds, None
        if self._tqdm_bar is not None:
            self._tqdm_bar.update(progress)
        if self._plain_bar is not None:
            self._plain_bar.show(
                f"k-means: {progress.phase}, step {progress.iteration} of at most {progress.max_iteration}, "
                f"{_state(progress)}"
            )

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._undrawn is not None:
            self._draw(self._undrawn)  # how it ended
        for bar in (self._tqdm_bar, self._plain_bar):
            if bar is not None:
                bar.close()
