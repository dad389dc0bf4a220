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
    for labels in ([0.5, 1], [2.0**53, 1], np.array([2**63, 1], dtype="u8"), [1j, 0], [[1], [2, 3]], [float("inf"), 0]):
        with pytest.raises(manymeans.BadDataError, match=r"^\[a\]"):
            manymeans.compare(labels, [0, 1])
