"""How alike two clusterings are: against scikit-learn and SciPy."""

import json
import os
import subprocess

import numpy as np
import pandas
import pyarrow
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

import manymeans

PROGRAM = os.environ.get("MANYMEANS_PROGRAM")


def random_labels(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 400)), int(rng.integers(1, 12))
    a = rng.integers(0, k, n)
    b = np.where(rng.random(n) < rng.random(), a, rng.integers(0, int(rng.integers(1, 15)), n))
    return a, rng.permutation(20)[b]


@pytest.mark.parametrize("seed", range(50))
def test_labels(seed):
    a, b = random_labels(seed)
    found = manymeans.compare(a, b)
    assert found.adjusted_rand == pytest.approx(adjusted_rand_score(a, b), rel=1e-13, abs=1e-15)
    table = contingency_matrix(a, b)
    stay = table[linear_sum_assignment(-table)].sum()
    assert sum(rows for _, _, rows in found.pairs) == stay and found.moved == len(a) - stay
    assert sum(rows for _, _, rows in found.moves) == found.moved
    assert [rows for _, _, rows in found.moves] == sorted((rows for _, _, rows in found.moves), reverse=True)
    for i, j, rows in [*found.pairs, *found.moves]:
        assert rows == np.sum((a == i) & (b == j))


@pytest.mark.parametrize("seed", range(20))
def test_centres(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((int(rng.integers(1, 30)), 3)), rng.standard_normal((int(rng.integers(1, 30)), 3))
    squares = ((a[:, None] - b[None]) ** 2).sum(-1)
    found = manymeans._manymeans.match_prototypes(a, b)
    assert len(found) == min(len(a), len(b))
    assert sum(distance**2 for _, _, distance in found) == pytest.approx(squares[linear_sum_assignment(squares)].sum())


def test_models(tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 2))
    a, b = manymeans.fit(X, 3, seed=1), manymeans.fit(X, 4, seed=2)
    found = manymeans.compare(a, b)
    assert found.adjusted_rand == pytest.approx(adjusted_rand_score(a.best().labels, b.best().labels))
    assert len(found.centers) == 3 and found.rows == 300
    a.save(tmp_path / "a.npz")
    loaded = manymeans.compare(manymeans.FitResult.load(tmp_path / "a.npz"), b.best())
    assert loaded.adjusted_rand is None and loaded.centers == found.centers
    same = manymeans.KMeans(3, random_state=1).fit(X)
    assert manymeans.compare(same, same.labels_).adjusted_rand == 1


def test_what_cannot_be_compared():
    with pytest.raises(manymeans.UsageError, match="3 and 2 labels"):
        manymeans.compare([0, 1, 2], [0, 1])
    with pytest.raises(manymeans.BadDataError, match="labels are whole numbers"):
        manymeans.compare([0.5, 1], [0, 1])
    with pytest.raises(manymeans.BadDataError, match="a label for each row"):
        manymeans.compare([[0, 1]], [0, 1])
    assert manymeans.compare([0, -1, 1], [0, 1, 1]).left_out == 1


@pytest.mark.skipif(not PROGRAM, reason="no program")
def test_the_program_says_the_same(tmp_path):
    a, b = random_labels(3)
    np.save(tmp_path / "a.npy", a.astype("u1"))
    np.savetxt(tmp_path / "b.csv", b, fmt="%d")
    command = [PROGRAM, "compare", tmp_path / "a.npy", tmp_path / "b.csv", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["labels"]
    assert found["adjusted_rand"] == manymeans.compare(a, b).adjusted_rand
    assert found["moved"] == manymeans.compare(a, b).moved


TRUTH = [0, 0, 1, 1, 2, 2, 0, 1]
LABELS = {
    "whole floats": [1.0, 1.0, 2.0, 2.0, 0.0, 0.0, 1.0, 3.0],
    "noise": [1, 1, -1, 2, -2, 0, 1, -3],
    "gaps": [1.0, None, 2.0, 2.0, float("nan"), 0.0, 1.0, 3.0],
    "texts": ["b", "b", "a", "a", "c", "c", "b", "a"],
    "texts with gaps": ["b", "b", "", "NA", "c", None, "b", "null"],
    "texts that are numbers": ["1", "1", "-1", "2", "0", "0", "1", "2"],
    "bools": [True, True, False, False, True, False, True, False],
    "texts among numbers": ["1", "1", "x", "x", "2", "2", "1", "NA"],
}


@pytest.mark.skipif(not PROGRAM, reason="no program")
@pytest.mark.parametrize("what", LABELS)
def test_labels_of_every_type_are_those_of_the_program(what, tmp_path):
    labels = LABELS[what]
    pandas.DataFrame({"label": labels}).to_csv(tmp_path / "a.csv", index=False)
    np.save(tmp_path / "b.npy", np.array(TRUTH))
    command = [PROGRAM, "compare", tmp_path / "a.csv", tmp_path / "b.npy", "--json"]
    expected = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["labels"]
    series = pandas.Series(labels)
    given = [labels, np.array(labels, dtype=object), series, pyarrow.array(series), series.astype("category")]
    for one in given:
        found = manymeans.compare(one, TRUTH)
        assert found.adjusted_rand == expected["adjusted_rand"]
        assert (found.moved, found.left_out, found.rows) == (
            expected["moved"],
            expected["left_out"],
            expected["n_rows"],
        )
        pairs = [(pair["a"], pair["b"], pair["rows"]) for pair in expected["pairs"]]
        assert found.pairs == pairs
        assert found.classes_a == expected.get("classes_a")


@pytest.mark.parametrize(
    "kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?", "U1", "S1", "O"]
)
def test_labels_of_every_type_of_numpy(kind):
    labels = np.array([0, 0, 1, 1, 1, 0, 0, 1]).astype(kind)
    found = manymeans.compare(labels, TRUTH)
    assert found.adjusted_rand == manymeans.compare(labels.astype(str) == labels.astype(str)[0], TRUTH).adjusted_rand
    assert found.left_out == 0


def test_labels_that_are_none():
    for labels in ([0.5, 1], [1j, 0], [[1], [2, 3]], [float("inf"), 0], ["inf", "0"], [0.5, 2**70]):
        with pytest.raises(manymeans.BadDataError, match=r"^\[a\]"):
            manymeans.compare(labels, [0, 1])


LARGE = [2**64 - 1, 2**63, 2**64 - 1, 7, 2**53 + 1, 2**53]


@pytest.mark.parametrize(
    "labels",
    [
        np.array(LARGE, dtype=np.uint64),
        np.array(LARGE, dtype=np.uint64)[::-1][::-1],
        LARGE,
        pandas.Series(LARGE, dtype="UInt64"),
        pandas.Series(LARGE, dtype=object),
        pandas.Categorical(LARGE),
        pyarrow.array(LARGE, pyarrow.uint64()),
        list(map(str, LARGE)),
        [2**70 + label for label in LARGE],
        np.array([1e300, 1e299, 1e300, 1, 1e20, 1e21]),
    ],
    ids=lambda labels: f"{type(labels).__name__} {getattr(labels, 'dtype', '')}",
)
def test_large_labels(labels):
    kind = object if isinstance(labels, list) else None
    found = manymeans.compare(labels, [0, 1, 0, 2, 3, 4])
    assert found.adjusted_rand == 1 and found.left_out == 0
    assert found.classes_a == [str(label) for label in dict.fromkeys(np.asarray(labels, dtype=kind).tolist())]
    judged = manymeans.criteria(np.arange(6.0)[:, np.newaxis], labels)
    assert judged.n_clusters == 5 and judged.cluster_silhouettes.shape == (5,)


def test_large_labels_and_rows_without_one():
    for labels in ([2**62, -1, 2**62, 3], [2**70, None, 2**70, -3], [1e300, np.nan, 1e300, -2e300]):
        found = manymeans.compare(labels, [0, 0, 0, 1])
        assert found.left_out == 4 - sum(rows for _, _, rows in found.pairs) >= 1
        assert max(rows for _, _, rows in found.pairs) == 2
        assert manymeans.criteria([[0.0], [1.0], [2.0], [4.0]], labels).n_clusters == len(found.pairs)


@pytest.mark.parametrize("missing", [None, np.nan, np.float32("nan"), pandas.NA, pandas.NaT, np.ma.masked])
def test_missing_labels(missing):
    labels = np.array([0, missing, 1, 1], dtype=object)
    assert manymeans.compare(labels, [0, 0, 1, 1]).left_out == 1


def test_flags_are_labels_and_dates_are_none():
    assert manymeans.compare(np.array([True, False, True]), [0, 1, 0]).adjusted_rand == 1
    for dates in (np.array(["2020-01-01"] * 2, dtype="M8[D]"), pandas.Series(pandas.to_datetime(["2020", "2021"]))):
        with pytest.raises(manymeans.BadDataError, match=r"row 0 has .*2020"):
            manymeans.compare(dates, [0, 1])
