"""Choosing the number of clusters, with the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _manymeans, _threads
from ._criteria import Criteria
from ._errors import UnavailableError, warn
from ._functions import k_list
from ._imports import importing
from ._input import plain_points
from ._labelling import scaled
from ._opening import opened_without_weights
from ._page import fragment
from ._parameters import integer
from ._result import FitResult
from ._scales import scaling_of
from ._seeds import seed_of
from ._tables import Source
from ._wording import in_python, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEFAULT_K = range(2, 21)  # as the program and the library have it

# The criteria of labels, without their errors.
_CRITERIA = (
    "calinski_harabasz", "davies_bouldin", "bic", "simplified_silhouette", "squared_silhouette", "silhouette",
)  # fmt: skip


class Evidence(NamedTuple):
    """The evidence for or against one k, from the best of its models by inertia.

    Attributes
    ----------
    k : int
    model_seed : int
        ``manymeans.fit(X, k, model_seed=...)`` fits this model alone.
    inertia : float
    criteria : Criteria
    gap, gap_error : float
        Gap statistic and its standard error; NaN without references.
    agreement : float
        Mean adjusted Rand index between the labels of the best model and of the next best, at most five; NaN of one.
    prediction_strength, prediction_strength_error : float
        How well models of other rows tell which rows of a cluster belong together, for the worst cluster (Tibshirani
        and Walther 2005). It is the mean over pairs of members that see different rows, and its standard error. NaN
        without bootstraps; 1 for k = 1.
    stability, stability_error : float
        Mean adjusted Rand index of two such members, and its standard error.
    pac : float
        Share of ambiguous pairs of rows: those that more than a tenth and fewer than nine tenths of the members put
        together. The smaller, the better.
    valley, valley_error : float
        How clearly clusters are apart: by how many standard deviations rows are missing where the worst cluster of a
        member meets its neighbours. About 0 at a cut through one group.

    """

    k: int
    model_seed: int
    inertia: float
    criteria: Criteria
    gap: float
    gap_error: float
    agreement: float
    prediction_strength: float
    prediction_strength_error: float
    stability: float
    stability_error: float
    pac: float
    valley: float
    valley_error: float


# The criteria of stability, by which k is chosen.
_STABILITY = ("prediction_strength", "stability", "pac", "valley")


class DefensibleK(NamedTuple):
    """A number of clusters that can be defended.

    Attributes
    ----------
    k : int
    meaning : str
        What its clusters are.

    """

    k: int
    meaning: str


class Choice(NamedTuple):
    """What `choose_k` gives.

    Attributes
    ----------
    status : {"firm", "several", "unclear", "one"}
        One k; a few k that can be defended; no clear k; one group, without clusters.
    k : int
        The number of clusters to use. `status` says whether it is the answer.
    answer : str
        ``"k = 3"``, ``"k = 2 or 3"``, ``"no clear k"`` or ``"one group"``.
    reason : str
        A sentence.
    defensible : list of DefensibleK
        Of ``"firm"`` and ``"several"``: each k, and what its clusters are.
    votes : list of (str, int, str)
        Of each criterion: its name, the k that it chooses among all, its value there.
    evidence : list of Evidence
        For k = 1 and each k to choose from, ascending.
    interrupted : bool
        True if a time limit ended it early. The finished part is judged.
    result : FitResult
        The ensemble that was judged; ``choice.result.best(choice.k)`` is the model of the recommended k.
    left_out : list of str
        Criteria that were asked for and not made, since the time limit ended the choice before: of silhouette, gap,
        prediction_strength, stability, pac and valley.

    """

    status: str
    k: int
    answer: str
    reason: str
    defensible: list[DefensibleK]
    votes: list[tuple[str, int, str]]
    evidence: list[Evidence]
    interrupted: bool
    result: FitResult
    left_out: list[str]

    def __repr__(self) -> str:
        return f"Choice(status={self.status!r}, k={self.k}, answer={self.answer!r}, reason={self.reason!r})"

    def _repr_html_(self) -> str:
        return fragment(self.answer, self.result._of_kind(linear=False), self)

    def table(self) -> list[dict[str, float]]:
        """Give the evidence as ``pandas.DataFrame(choice.table())`` takes it.

        Returns
        -------
        rows : list of dict
            One for each k.

        """
        return [
            {"k": its.k, "inertia": its.inertia, "gap": its.gap, "gap_error": its.gap_error}
            | {name: getattr(its.criteria, name) for name in _CRITERIA}
            | {name: getattr(its, name) for name in ("agreement", *_STABILITY)}
            for its in self.evidence
        ]

    def plot(self, axes: Any = None) -> Any:
        """Draw the criteria against k, each scaled to 0 to 1, with its vote marked; by matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        axes : matplotlib.axes.Axes
            Where it was drawn.

        """
        try:
            with importing:
                import matplotlib.pyplot as plt  # type: ignore[import-not-found, unused-ignore] # noqa: PLC0415 (only who draws)
        except ImportError:
            raise UnavailableError(
                "[plot] is drawn by matplotlib, which is not installed: pip install matplotlib"
            ) from None
        axes = plt.subplots(figsize=(8, 4.5))[1] if axes is None else axes
        rows = self.table()
        for name, k, _ in self.votes:
            values = [row[name] for row in rows if row[name] == row[name]]
            ks = [row["k"] for row in rows if row[name] == row[name]]
            low, width = min(values), (max(values) - min(values)) or 1.0
            scaled = [(value - low) / width for value in values]
            (line,) = axes.plot(ks, scaled, label=f"{name.replace('_', ' ')}: {k}")
            axes.plot([k], [scaled[ks.index(k)]], "o", color=line.get_color())
        axes.axvline(self.k, color="0.7", zorder=0)
        axes.set(xlabel="k", ylabel="criterion, scaled to 0 to 1", title=f"{self.answer}: {self.reason}")
        axes.legend(loc="best", fontsize="small")
        return axes


def choose_k(
    X: Any,
    k: str | Iterable[int] = _DEFAULT_K,
    *,
    models: int = 10,
    references: int = 10,
    bootstraps: int = 20,
    sample: int = 1000,
    seed: int | Any = 0,
    init: str = "auto",
    metric: str = "euclidean",
    max_iter: int = 300,
    time_limit: float | None = None,
    backend: str = "auto",
    n_threads: int | None = None,
    scale: str = "none",
    log: str | int | Iterable[str | int] = (),
) -> Choice:
    """Choose the number of clusters: one ensemble of all k, judged by several criteria.

    The answer is firm if the clusters of one k return in other rows, valleys separate them, and all families of
    criteria choose this k. Else it is a few k that can be defended, no clear k, or one group. ``k`` is usable in every
    case: read ``status`` before you rely on it. Every machine returns the same bits.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), Dataset or path
        Points; `scale` brings columns of different units to one.
    k : iterable of int or str, default=range(2, 21)
        The numbers to choose from, or text such as ``"2..30"``. k = 1 is judged in addition. Numbers of the default
        above the number of rows are left out.
    models : int, default=10
        Models of each k.
    references : int, default=10
        Data sets without clusters. A tenth of the models is fitted to each. 0: no gap statistic.
    bootstraps : int, default=20
        Members for the stability, an even number; 0: no stability, and no clear k. The members of a pair see different
        rows, half of all each, but at most about 32,768. The best of a third of the models is fitted to these rows.
    sample : int, default=1000
        Rows for which the silhouette by Euclidean distances is computed. It is evidence without a vote.
    seed : int or numpy.random.RandomState, default=0
        Seed of models, references, members and sample.
    init : str, default="auto"
        As in `fit`.
    metric : {"euclidean", "cosine"}, default="euclidean"
        As in `fit`. With ``"cosine"`` the criteria are those of the rows of length one.
    max_iter : int, default=300
        Max iterations of a model.
    time_limit : float, optional
        Seconds for fits and judging together. After this time k is chosen by the finished criteria, and a warning names
        the others. The criteria of labels are made in any case; where not even two numbers of clusters had a model by
        then, it is a StoppedError.
    backend : str, default="auto"
        Where to compute. Never changes the answer.
    n_threads : int, optional
        Threads; by default all that are usable. Never changes the answer.
    scale, log : optional
        As in `fit`; the criteria are those of the scaled points.

    Returns
    -------
    choice : Choice
        The answer, why, and the evidence.

    Raises
    ------
    UsageError
        As `fit`; for a k above the number of rows that was asked for, too, and for points that were read with weights.

    Examples
    --------
    >>> import manymeans
    >>> X = [[float(10 * (i % 3) + i / 60)] for i in range(60)]
    >>> manymeans.choose_k(X, range(2, 7)).k
    3

    """
    points = plain_points(opened_without_weights(X, "choose_k"), keep_sparse=True)
    scaling = scaling_of(points, {"scale": scale, "log": log, "n_threads": n_threads})
    points = scaled(points, scaling, n_threads)
    columns = points.array.shape[1]
    asked = [count for count in _DEFAULT_K if count <= points.array.shape[0]] if k is _DEFAULT_K else k_list(k)
    fit = {
        "k": asked, "models": integer("models", models), "seed": seed_of(seed), "init": init, "metric": metric,
        "max_iter": integer("max_iter", max_iter), "backend": backend, "threads": _threads.effective(n_threads),
    }  # fmt: skip
    if time_limit is not None:
        fit["time_limit"] = time_limit
    wanted = {
        "references": integer("references", references), "bootstraps": integer("bootstraps", bootstraps, 0),
        "sample": integer("sample", sample),
        "column_names": [printable(name) for name in points.names or [f"column {j}" for j in range(columns)]],
    }  # fmt: skip
    hooks = {"initial": None, "checkpoint": None, "ranks": None, "callback": None}
    found = _manymeans.choose_k(points.array, points.bfloat16, fit, wanted, hooks)
    found["fit"]["warnings"] = [in_python(text) for text in found["warnings"]]
    for text in found["fit"]["warnings"]:
        warn(text)
    result = FitResult(found["fit"], points.names, (points.source or Source()).and_files_of(points.array))
    result._set_scaling(scaling)
    evidence = [Evidence(**(its | {"criteria": Criteria(**its["criteria"])})) for its in found["evidence"]]
    return Choice(
        found["status"], found["k"], found["answer"], found["reason"],
        [DefensibleK(*its) for its in found["defensible"]], found["votes"], evidence, found["interrupted"], result,
        found["left_out"],
    )  # fmt: skip
