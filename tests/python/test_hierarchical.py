"""HierarchicalKMeans: one answer, hard sizes, nodes, and the lists of faiss."""

import copy
import os
import pickle
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
import sklearn.base
from sklearn.exceptions import ConvergenceWarning

import manymeans
from manymeans import HierarchicalKMeans


def same(one, two):
    assert one.answer_ == two.answer_ and one.inertia_ == two.inertia_ and one.moved_ == two.moved_
    for name in ("cluster_centers_", "labels_", "vectors_", "parents_", "levels_", "level_inertias_", "sizes_"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@pytest.mark.parametrize("sizes", [{}, {"max_size": 120, "min_size": 80, "quota": "inertia"}])
def test_same_bits_however_it_is_computed(sizes, mixture):
    def fit(**options):
        return HierarchicalKMeans(50, random_state=7, **sizes, **options).fit(mixture)

    expected = fit(n_threads=1)
    for options in {"n_threads": 2}, {"n_threads": 5}, {"backend": "cpu"}, {"backend": "reference"}:
        same(fit(**options), expected)
    same(pickle.loads(pickle.dumps(expected)), expected)
    same(copy.deepcopy(expected), expected)
    same(sklearn.base.clone(expected).fit(mixture), expected)
    assert HierarchicalKMeans(50, random_state=8, **sizes).fit(mixture).answer_ != expected.answer_


def test_a_tree_goes_on_from_its_checkpoint(mixture, tmp_path):
    def fit(X=mixture, **options):
        return HierarchicalKMeans(**({"n_clusters": 300, "random_state": 7, "max_size": 30} | options)).fit(X)

    code = (
        "import signal, sys, numpy as np, manymeans\n"
        "X = np.load(sys.argv[1])\n"
        "signal.setitimer(signal.ITIMER_REAL, float(sys.argv[3]))\n"
        "manymeans.HierarchicalKMeans(300, random_state=7, max_size=30, checkpoint=sys.argv[2], checkpoint_every=1,\n"
        "                             resume=True).fit(X)\n"
    )
    np.save(tmp_path / "x.npy", mixture)
    path = tmp_path / "c.ckpt"
    for power in 3 * list(range(12)):  # SIGALRM kills the process after 0.1 to 9 seconds; the first fit starts slowly
        run = [sys.executable, "-c", code, tmp_path / "x.npy", path, str(0.1 * 1.5**power)]
        if subprocess.run(run, check=False).returncode == -signal.SIGALRM and path.exists():
            break
    assert path.exists()
    whole = fit()
    same(fit(checkpoint=path, resume=True, n_threads=3), whole)
    same(fit(checkpoint=os.fsencode(path), checkpoint_every=5), whole)
    with pytest.raises(manymeans.UsageError, match="seed was 7 and is 8"):
        fit(checkpoint=path, resume=True, random_state=8)
    with pytest.raises(manymeans.UsageError, match="max_size was 30 and is 0"):
        fit(checkpoint=path, resume=True, max_size=None)
    with pytest.raises(manymeans.BadDataError, match="other values"):
        fit(mixture + 1, checkpoint=path, resume=True)
    with pytest.raises(manymeans.UsageError, match="need checkpoint"):
        fit(resume=True)
    manymeans.fit(mixture, 3, checkpoint=path)
    with pytest.raises(manymeans.UsageError, match="branching was unknown and is 0"):
        fit(checkpoint=path, resume=True)


def test_the_leaves_are_a_model(mixture, tmp_path):
    tree = HierarchicalKMeans(64, random_state=0).fit(mixture)
    assert (tree.predict(mixture) == tree.labels_).all() and tree.moved_ == 0
    assert tree.score(mixture) == -tree.inertia_
    assert tree.transform(mixture).shape == (5000, 64)
    assert np.array_equal(np.bincount(tree.labels_, minlength=64), tree.sizes_)
    tree.save(tmp_path / "leaves.npz")
    loaded = manymeans.KMeans.load(tmp_path / "leaves.npz")
    assert loaded.answer_ == tree.answer_ == tree.result_.digest
    assert np.array_equal(loaded.predict(mixture), tree.labels_)
    options = tree.provenance_["options"]
    assert (options["refine"], options["sample"], options["max_iter"], options["quota"]) == (2, None, 5, "rows")
    assert tree.to_faiss().dtype == np.float32 and tree.to_faiss().flags.c_contiguous
    assert (HierarchicalKMeans(64, random_state=0).fit_predict(mixture) == tree.labels_).all()


def test_nodes(mixture):
    tree = HierarchicalKMeans(60, branching=4, random_state=0).fit(mixture)
    assert tree.levels_.tolist() == sorted(tree.levels_) and tree.levels_[-1] == 3
    assert (tree.levels_[tree.parents_[1:]] == tree.levels_[1:] - 1).all() and tree.parents_[0] == -1
    assert np.array_equal(tree.vectors_[-60:], tree.cluster_centers_)
    # VectorChord requires one root, and one height of all nodes without children.
    childless = np.setdiff1d(np.arange(len(tree.parents_)), tree.parents_)
    assert (tree.parents_[1:] >= 0).all() and set(tree.levels_[childless]) == {3} and len(childless) == 60
    assert tree.vectors_[0] == pytest.approx(mixture.mean(axis=0), rel=1e-5)
    assert (np.diff(tree.level_inertias_) < 0).all() and tree.inertia_ < tree.level_inertias_[-1]


def test_a_sample_has_rows_of_init_random(mixture):
    tree = HierarchicalKMeans(10, sample=500, refine=0, random_state=3).fit(mixture)
    ones = np.zeros((5000, 1), np.uint8)
    rows = manymeans._manymeans.initialise(ones, False, None, {"k": [500], "init": "random", "seed": 3})[1]
    alone = HierarchicalKMeans(10, refine=0, random_state=3).fit(mixture[np.sort(rows)])
    assert np.array_equal(tree.cluster_centers_, alone.cluster_centers_)
    assert len(tree.labels_) == 5000 and tree.provenance_["options"]["sample"] == 500


def test_a_quota_of_inertia_serves_few_far_rows():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(5000, 4)), 100 * random.normal(size=(100, 4))]).astype(np.float32)
    rows, inertia = (HierarchicalKMeans(100, quota=quota, random_state=0).fit(X) for quota in ("rows", "inertia"))
    assert inertia.inertia_ < 0.2 * rows.inertia_
    assert inertia.sizes_.std() > rows.sizes_.std()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i1"])
def test_types_weights_and_angles(dtype, mixture):
    X = np.clip(10 * mixture + 60, 1, 120).astype(dtype)
    weights = np.where(np.arange(5000) % 3, 1.0, 0.0)
    tree = HierarchicalKMeans(20, random_state=0, metric="cosine").fit(X, sample_weight=weights)
    assert tree.cluster_centers_.dtype == (np.float64 if dtype == "f8" else np.float32)
    assert np.linalg.norm(tree.cluster_centers_.astype("f8"), axis=1) == pytest.approx(1, rel=1e-6)
    assert (tree.predict(X) == tree.labels_).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_walks(metric, mixture):
    tree = HierarchicalKMeans(120, branching=5, random_state=0, metric=metric).fit(mixture)
    X = mixture[:700]
    exact, shares = tree.predict(X), []
    for n_probe in 1, 2, 5, 120:
        labels = tree.predict(X, n_probe=n_probe)
        assert labels.dtype == np.int32
        for other in X.astype(np.float64), np.asfortranarray(X), scipy.sparse.csr_matrix(X):
            assert np.array_equal(tree.predict(other, n_probe=n_probe), labels)
        assert np.array_equal(copy.deepcopy(tree).set_params(n_threads=3).predict(X, n_probe=n_probe), labels)
        shares.append((labels == exact).mean())
    assert 0.4 < shares[0] < shares[1] <= shares[2] <= shares[3] == 1
    out = np.empty(700, np.int32)
    assert tree.predict(X, n_probe=2, out=out) is out and np.array_equal(out, tree.predict(X, n_probe=2))


def test_walks_that_cannot_be(mixture):
    tree = HierarchicalKMeans(50, random_state=0).fit(mixture)
    for n_probe in 0, -1, 1.5, True, "all":
        with pytest.raises(manymeans.UsageError, match="n_probe"):
            tree.predict(mixture, n_probe=n_probe)
    with pytest.raises(ValueError, match="features"):
        tree.predict(mixture[:, :-1], n_probe=2)
    spoilt = mixture.copy()
    spoilt[17, 1] = np.nan
    with pytest.raises(manymeans.BadDataError, match=r"\[X\] row 17, column 1 is NaN"):
        tree.predict(spoilt, n_probe=2)


def test_verbose(mixture, capsys):
    tree = HierarchicalKMeans(20, random_state=0, verbose=1).fit(mixture)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines[:3]] == ["Level 0: 1 nodes", "Level 1: 5 nodes", "Level 2: 20 nodes"]
    assert lines[3] == f"Leaves: inertia {tree.inertia_:g} after 2 iterations"


def test_errors_and_warnings(mixture):
    def error(match, X=mixture, **options):
        with pytest.raises(manymeans.Error, match=match):
            HierarchicalKMeans(**({"n_clusters": 50, "random_state": 0} | options)).fit(X)

    error(r"n_samples=40 should be >= n_clusters=50", X=mixture[:40])
    error(r"\[max_size\] 99 rows in each of 50 clusters are fewer .* at least 100 is right", max_size=99)
    error(r"\[min_size\] 101 rows in each of 50 clusters are more .* at most 100 is right", min_size=101)
    error(r"sample=49 should be", sample=49)
    bad = {"branching": 1}, {"branching": "many"}, {"quota": 1}, {"refine": -1}, {"init": "best"}, {"n_clusters": 0}
    for options in bad:
        with pytest.raises(ValueError, match=next(iter(options))):
            HierarchicalKMeans(**options).fit(mixture)
    spoilt = mixture.copy()
    spoilt[4321, 2] = np.nan
    error(r"\[X\] row 4321, column 2 is NaN", X=spoilt, sample=60)
    with pytest.warns(ConvergenceWarning, match="17 of 20 clusters are empty"):
        HierarchicalKMeans(20, random_state=0).fit(mixture[:3].repeat(10, axis=0))
    with pytest.warns(ConvergenceWarning, match="15 of 20 leaves have no rows"):
        sized = HierarchicalKMeans(20, max_size=6, random_state=0).fit(mixture[:1].repeat(30, axis=0))
    assert "15 of 20 leaves have no rows" in sized.result_._summary()["warnings"]
    weights = np.ones(5000)
    weights[7] = 1e-30
    with pytest.warns(ConvergenceWarning, match="counts? as 0"):  # of the run
        HierarchicalKMeans(20, random_state=0).fit(mixture, sample_weight=weights)
    error(r"\[checkpoint\] is empty; the name of a file is right", checkpoint="")


def test_the_page_names_the_tree(mixture, tmp_path):
    tree = HierarchicalKMeans(20, branching=9, random_state=0).fit(mixture)
    tree.save(tmp_path / "leaves.npz")
    for result in tree, manymeans.FitResult.load(tmp_path / "leaves.npz"):
        page = manymeans.report(result, mixture)
        assert tree.answer_ in page and "digest of the tree" in page
        for option, value in ("branching", 9), ("refine", 2), ("sample", 0):
            assert re.search(rf"{option}</t[dh]>\s*<td[^>]*>{value}<", page), option


def test_lists_of_faiss(mixture):
    faiss = pytest.importorskip("faiss")
    X = np.ascontiguousarray(mixture, np.float32)
    tree = HierarchicalKMeans(50, random_state=0).fit(X)
    quantizer = faiss.IndexFlatL2(X.shape[1])
    quantizer.add(tree.to_faiss())
    index = faiss.IndexIVFFlat(quantizer, X.shape[1], 50)
    assert index.is_trained
    index.add(X)
    assert [index.invlists.list_size(i) for i in range(50)] == tree.sizes_.tolist()
    index.nprobe = 50
    assert (index.search(X[:20], 1)[1][:, 0] == np.arange(20)).all()


def test_partitions_of_lance(mixture, tmp_path):
    lance, pyarrow = pytest.importorskip("lance"), pytest.importorskip("pyarrow")
    X = np.ascontiguousarray(mixture, np.float32)
    tree = HierarchicalKMeans(50, random_state=0).fit(X)
    vectors = pyarrow.FixedSizeListArray.from_arrays(X.ravel(), X.shape[1])
    data = lance.write_dataset(pyarrow.table({"vector": vectors}), str(tmp_path / "x.lance"))
    data = data.create_index("vector", "IVF_FLAT", num_partitions=50, ivf_centroids=tree.to_faiss())
    for row in range(20):
        found = data.to_table(nearest={"column": "vector", "q": X[row], "k": 5000, "nprobes": 1}, with_row_id=True)
        assert set(found["_rowid"].to_pylist()) == set(np.flatnonzero(tree.labels_ == tree.labels_[row]))
