"""Many problems in one call, beside the fit of each."""

import pickle
import threading

import numpy as np
import pytest

import manymeans


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(12, 30, 4)).astype(np.float32)


def digests_one_by_one(problems, k=3, **options):
    return [manymeans.fit(problem, k, **options).digest for problem in problems]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int64, ">f4"])
def test_three_dimensions(X, dtype):
    X = (10 * X).astype(dtype)
    result = manymeans.fit_each(X, 3, seed=5)
    assert result.digests == digests_one_by_one(X, seed=5)
    assert result.labels_.shape == (12, 30) and result.labels_.dtype == np.int32
    assert result.cluster_centers_.shape == (12, 3, 4)
    assert result.inertia_.shape == result.n_iter_.shape == (12,)
    for b, one in enumerate(result):
        model = one.best()
        assert np.array_equal(result.labels_[b], model.labels)
        assert np.array_equal(result.cluster_centers_[b], model.cluster_centers)
        assert result.cluster_centers_.dtype == model.cluster_centers.dtype
        assert (result.inertia_[b], result.n_iter_[b]) == (model.inertia, model.n_iter)


def test_fit_takes_them_too(X):
    assert manymeans.fit(X, 3, seed=5).digests == digests_one_by_one(X, seed=5)
    rows = X.reshape(-1, X.shape[2])
    groups = [0, 40, len(rows)]
    found = manymeans.fit(rows, 3, groups=groups, sample_weight=np.ones(len(rows)))
    assert found.digests == manymeans.fit_each(rows, 3, groups=groups, sample_weight=np.ones(len(rows))).digests
    broken = X.copy()
    broken[2, 0, 0] = np.nan
    assert list(manymeans.fit(broken, 3, errors="skip").errors) == [2]


def test_fit_of_one_problem_refuses_what_is_of_many(X):
    with pytest.raises(manymeans.UsageError, match="errors"):
        manymeans.fit(X[0], 3, errors="skip")
    with pytest.raises(manymeans.BadDataError, match="picture"):
        manymeans.fit(np.zeros((5, 5, 3), np.uint8), 3)


def test_memory_is_not_copied_where_it_is_contiguous(X):
    view = np.moveaxis(np.ascontiguousarray(np.moveaxis(X, 2, 0)), 0, 2)  # strides
    assert manymeans.fit_each(view, 3).digests == manymeans.fit_each(X, 3).digests
    assert manymeans.fit_each(X.tolist(), 3).digests == digests_one_by_one(X.astype(np.float64))


def test_groups(X):
    rows = X.reshape(-1, 4)
    groups = [0, 3, 50, 51, 360]
    weights = np.random.default_rng(1).random(360)
    parts = list(zip(groups[:-1], groups[1:], strict=True))
    result = manymeans.fit_each(rows, groups=groups, k_each=[3, 10, 1, 7], seed_each=[1, 2, 3, 2**64 - 1],
                                sample_weight=weights)  # fmt: skip
    assert result.digests == [
        manymeans.fit(rows[first:last], k, seed=seed, sample_weight=weights[first:last]).digest
        for (first, last), k, seed in zip(parts, [3, 10, 1, 7], [1, 2, 3, 2**64 - 1], strict=True)
    ]
    assert result.labels_.shape == (360,)
    assert [centers.shape for centers in result.cluster_centers_] == [(3, 4), (10, 4), (1, 4), (7, 4)]
    assert np.array_equal(result.groups, groups)
    assert "360 rows" in repr(result)


def test_groups_of_frames_and_sparse_points(X):
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    rows = X.reshape(-1, 4)
    expected = manymeans.fit_each(X, 3).digests
    groups = np.arange(13) * 30
    frame = pandas.DataFrame(rows, columns=list("abcd"))
    result = manymeans.fit_each(frame, 3, groups=pandas.Series(groups))
    assert result.digests == expected
    assert result[3].column_names == list("abcd")
    assert manymeans.fit_each(sparse.csr_matrix(rows), 3, groups=groups).digests == expected
    frame.loc[35, "c"] = np.nan
    with pytest.raises(manymeans.BadDataError, match=r"^\[problem 1\] \[X\] row 5, column 'c'") as raised:
        manymeans.fit_each(frame, 3, groups=groups)
    assert raised.value.problem == 1


def test_weights_and_initial_centres(X):
    weights = np.random.default_rng(1).random((12, 30))
    init = X[:, 4:7]
    result = manymeans.fit_each(X, 3, sample_weight=weights, init=init)
    assert result.digests == [manymeans.fit(X[b], 3, sample_weight=weights[b], init=init[b]).digest for b in range(12)]
    ks = [1 + b % 3 for b in range(12)]
    ragged = manymeans.fit_each(X, k_each=ks, init=[X[b, :k] for b, k in enumerate(ks)])
    assert ragged.digests == [manymeans.fit(X[b], k, init=X[b, :k]).digest for b, k in enumerate(ks)]
    with pytest.raises(
        manymeans.UsageError, match=r"^\[problem 2\] \[init\] has the shape \(3, 4\); \(4, 4\)"
    ) as raised:
        manymeans.fit_each(X, k_each=[3, 3, 4, *[3] * 9], init=init)
    assert raised.value.problem == 2
    for wrong in (init[2, :2], init[2, :, :1], init[2, 0], [["a"]]):
        skipped = manymeans.fit_each(X, 3, init=[*init[:2], wrong, *init[3:]], errors="skip")
        assert list(skipped.errors) == [2] and "NaN" not in skipped.errors[2] and "init" in skipped.errors[2]
        assert skipped.digests[3] == manymeans.fit(X[3], 3, init=init[3]).digest
    with pytest.raises(manymeans.UsageError, match=r"\[init\] is None; a method, or initial centres"):
        manymeans.fit_each(X, 3, init=None)
    with pytest.raises(manymeans.UsageError, match=r"\[init\] has centres of 11 problems; there are 12"):
        manymeans.fit_each(X, 3, init=init[1:])
    with pytest.raises(manymeans.UsageError, match="one model of each problem"):
        manymeans.fit_each(X, 3, init=init, models=2)


def test_ensembles(X):
    best = manymeans.fit_each(X, 3, models=4)
    assert best.digests == digests_one_by_one(X, models=4)
    assert best.inertia_[5] == min(model.inertia for model in best[5].models)
    several = manymeans.fit_each(X, [2, 4], models=2)
    assert several.digests == digests_one_by_one(X, [2, 4], models=2)
    assert several[1].best(4).k == 4
    for name in ("labels_", "cluster_centers_", "inertia_", "n_iter_"):
        with pytest.raises(manymeans.UsageError, match=r"use result\[b\].best"):
            getattr(several, name)


def test_errors_name_the_problem(X):
    X[7, 11, 2] = np.nan
    with pytest.raises(manymeans.BadDataError, match=r"^\[problem 7\] \[X\] row 11, column 2"):
        manymeans.fit_each(X, 3)
    with pytest.raises(manymeans.UsageError, match=r"^\[problem 4\] \[k\] 31 clusters were asked for") as raised:
        manymeans.fit_each(X, k_each=[3, 3, 3, 3, 31, *[3] * 7])
    assert raised.value.problem == pickle.loads(pickle.dumps(raised.value)).problem == 4
    with pytest.raises(manymeans.OutOfMemoryError, match=r"^\[problem 3\] \[memory\]") as raised:
        many = np.random.default_rng(2).random((200_060, 64), dtype=np.float32)
        manymeans.fit_each(many, groups=[0, 20, 40, 60, len(many)], k_each=[3, 3, 3, 5000], memory="13MiB")
    assert raised.value.problem == 3


@pytest.mark.parametrize("errors", ["raise", "skip"])
@pytest.mark.parametrize("wrong", [{"k": 0}, {"algorithm": "x"}, {"init": "foo"}, {"memory": 1}, {"backend": "x"}])
def test_options_that_no_problem_can_have_are_errors_of_the_call(X, errors, wrong):
    X[:, 0] = 0
    with pytest.raises((manymeans.UsageError, manymeans.OutOfMemoryError), match=rf"^\[{list(wrong)[0]}\]") as raised:
        manymeans.fit_each(X, **{"k": 3} | wrong, errors=errors)
    assert raised.value.problem is None


def test_a_call_goes_on_from_its_checkpoint(X, tmp_path):
    expected = digests_one_by_one(X)
    saved = {"checkpoint": tmp_path / "c.ckpt", "checkpoint_every": 1}
    stopped = manymeans.fit_each(X, 3, n_threads=1, callback=lambda progress: progress.iteration < 5, **saved)
    assert stopped.interrupted and stopped.digests[5] is None
    assert manymeans.fit(X, 3, resume=True, **saved).digests == expected
    assert manymeans.fit_each(X, 3, resume=True, **saved).digests == expected
    with pytest.raises(manymeans.UsageError, match="k was 3 and is 4"):
        manymeans.fit_each(X, 4, resume=True, **saved)
    with pytest.raises(manymeans.BadDataError, match="other values"):
        manymeans.fit_each(X + 1, 3, resume=True, **saved)
    with pytest.raises(manymeans.UsageError, match="groups was 13 numbers"):
        manymeans.fit_each(X.reshape(6, 60, 4), 3, resume=True, **saved)


def test_skipped_problems(X):
    expected = digests_one_by_one(X)
    X[7, 11, 2] = np.inf
    result = manymeans.fit_each(X, k_each=[3, 3, 3, 3, 31, *[3] * 7], errors="skip")
    assert list(result.errors) == [4, 7]
    assert "31 clusters" in result.errors[4] and "[X] row 11, column 2" in result.errors[7]
    assert [digest for b, digest in enumerate(result.digests) if b not in (4, 7)] == [
        digest for b, digest in enumerate(expected) if b not in (4, 7)
    ]
    assert result.digests[4] is None and list(result)[7] is None
    assert (result.labels_[[4, 7]] == -1).all() and (result.labels_[5] >= 0).all()
    assert np.isnan(result.cluster_centers_[4]).all() and np.isnan(result.inertia_[7])
    assert "12 problems" in repr(result) and "2 skipped" in repr(result)
    with pytest.raises(manymeans.UsageError, match=r"^\[problem 4\] \[k\] 31 clusters") as raised:
        result[4]
    assert raised.value.problem == 4
    assert np.isnan(manymeans.fit_each(X[7:8], 3, errors="skip").cluster_centers_).all()
    ragged = manymeans.fit_each(X, k_each=[2, 3, 3, 3, 31, *[3] * 7], errors="skip")
    assert ragged.cluster_centers_[4] is None and ragged.cluster_centers_[0].shape == (2, 4)


def test_indices(X):
    result = manymeans.fit_each(X, 3)
    assert len(result) == 12 and result[-1].digest == result.digests[11] == result[np.int64(11)].digest
    for wrong in (12, -13):
        with pytest.raises(IndexError, match="there are 12"):
            result[wrong]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"X": np.zeros((4, 3))}, "problems, rows and columns are needed, or rows and columns with groups"),
        ({"X": np.zeros((2, 3, 4, 5))}, r"X.reshape\(-1, 4, 5\) makes a problem of each"),
        ({"X": np.zeros((0, 3, 4))}, r"X has the shape \(0, 3, 4\): at least one problem"),
        ({"X": np.zeros((2, 3, 0))}, r"X has the shape \(2, 3, 0\): at least one problem and one column"),
        ({"X": np.zeros((2, 0, 4))}, r"\[problem 0\] \[X\]"),
        ({"X": np.zeros((4, 3)), "groups": [0, 2]}, r"\[groups\] goes from 0 to 2; offsets go from 0 to 4"),
        ({"X": np.zeros((4, 3)), "groups": [0, 0, 1, 1]}, "the group of each row is something else"),
        ({"X": np.zeros((4, 3)), "groups": [0, 3, 2, 4]}, r"\[problem 1\] \[groups\] its offsets are 3 and 2"),
        ({"X": np.zeros((4, 3)), "groups": [0, 2, 2, 4]}, r"\[problem 1\] \[X\]"),
        ({"X": np.zeros((4, 3)), "groups": [0, 9, 4]}, r"\[problem 0\] \[groups\] its offsets are 0 and 9"),
        ({"X": np.zeros((4, 3)), "groups": []}, r"\[groups\] has the shape \(0,\)"),
        ({"X": np.zeros((4, 3)), "groups": [0.0, 4.0]}, r"\[groups\] is 0.0; an integer"),
        ({"X": np.zeros((4, 3)), "groups": [[0, 4]]}, r"\[groups\]"),
        ({"X": np.zeros((4, 3)), "groups": 4}, r"\[groups\] has the shape \(\)"),
        ({"X": np.zeros((2, 3, 4)), "groups": [0, 2]}, "rows and columns"),
        (
            {"X": np.zeros((2, 3, 4)), "k": 8, "k_each": [1]},
            r"\[k_each\] has 1 numbers; one for each of the 2",
        ),
        ({"X": np.zeros((2, 3, 4)), "k": 2, "k_each": [1, 1]}, r"\[k\] stands beside k_each"),
        ({"X": np.zeros((2, 3, 4)), "seed": 2, "seed_each": [1, 1]}, r"\[seed\] stands beside seed_each"),
        ({"X": np.zeros((2, 3, 4)), "seed_each": [1, -1]}, r"\[seed_each\]"),
        ({"X": np.zeros((2, 3, 4)), "seed_each": "12"}, r"\[seed_each\]"),
        ({"X": np.zeros((2, 3, 4)), "errors": "ignore"}, r"\[errors\] is 'ignore'; 'raise' or 'skip' is right"),
        ({"X": np.zeros((2, 3, 4)), "sample_weight": np.ones(6)}, r"sample_weight has the shape \(6,\); \(2, 3\)"),
        ({"X": np.zeros((2, 3, 4)), "max_iter": -1}, r"\[max_iter\]"),
        ({"X": np.full((2, 3, 4), "a")}, "X is of type"),
    ],
)
def test_wrong_input(given, text):
    with pytest.raises((manymeans.UsageError, manymeans.BadDataError), match=text):
        manymeans.fit_each(**{"k": 1} | given)


def test_what_is_too_large_is_an_error():
    for huge in (np.broadcast_to(np.float32(1), (2**40, 2**10, 1)), np.broadcast_to(np.float32(0), (2**50, 8))):
        with pytest.raises(manymeans.OutOfMemoryError):
            manymeans.fit(huge, 2)


def test_callback_and_time_limit(X):
    seen = []
    manymeans.fit_each(X, 3, n_threads=2, callback=seen.append)
    assert [progress.iteration for progress in seen] == list(range(1, 13))
    assert {(progress.phase, progress.max_iteration) for progress in seen} == {("problems", 12)}
    thread = []
    stopped = manymeans.fit_each(X, 3, callback=lambda _: thread.append(threading.current_thread()) or False)
    assert stopped.interrupted and "interrupted" in repr(stopped)
    assert thread == [threading.current_thread()]
    assert stopped.digests[0] is not None and stopped.digests[-1] is None
    assert list(stopped)[-1] is None
    with pytest.raises(manymeans.StoppedError, match=r"^\[problem 11\] the call was stopped before it began"):
        stopped[-1]
    with pytest.raises(ZeroDivisionError):
        manymeans.fit_each(X, 3, callback=lambda _: 1 / 0)
    with pytest.warns(manymeans.StoppedWarning, match="ended the call"):
        late = manymeans.fit_each(X, 3, time_limit=1e-9)
    assert late.interrupted and all(digest is not None for digest in late.digests)


def test_warnings_name_the_problem(X):
    weights = np.ones((12, 30))
    weights[4:6, 0] = 1e-300
    with pytest.warns(UserWarning, match=r"^\[problem 4\]"):
        result = manymeans.fit_each(X, 3, sample_weight=weights)
    assert len(result.warnings) == 2 and result.warnings[1].startswith("[problem 5]")


def test_results_of_problems_can_be_kept(X, tmp_path):
    one = manymeans.fit_each(X, 3)[2]
    assert pickle.loads(pickle.dumps(one)).digest == one.digest
    one.save(tmp_path / "two.npz")
    assert np.array_equal(manymeans.FitResult.load(tmp_path / "two.npz").predict(X[2]), one.best().labels)


@pytest.mark.parametrize("size", [30, 40_000])  # also of more than 64 MiB
def test_results_describe_their_rows(size):
    X = np.random.default_rng(0).normal(size=(12, size, 4)).astype(np.float64)
    weights = np.random.default_rng(1).random((12, size))
    expected = repr(manymeans.fit(X[2], 3, sample_weight=weights[2]).summary())
    assert repr(manymeans.fit_each(X, 3, sample_weight=weights)[2].summary()) == expected
    rows, groups = X.reshape(-1, 4), np.arange(13) * size
    one = manymeans.fit_each(rows, 3, groups=groups, sample_weight=weights.reshape(-1))[2]
    assert repr(one.summary()) == repr(one.best().summary()) == expected


def test_results_of_frames_describe_their_rows(X, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.reshape(-1, 4), columns=list("abcd"))
    groups = np.arange(13) * 30
    assert repr(manymeans.fit_each(frame, 3, groups=groups)[2].summary()) == repr(
        manymeans.fit(frame[60:90], 3).summary()
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    one = manymeans.fit_each(tmp_path / "rows.csv", 3, groups=groups)[2]
    with pytest.raises(manymeans.UsageError, match=r"pass them: summary\(rows\)"):
        one.summary()


def test_errors_of_memory_are_one_type():
    from manymeans._errors import exception_of

    for text in (
        "[memory] 1",
        "[problem 3] [memory] 1",
        "[optimal_1d] there is not enough memory; do",
        "[a.npz] row 2: x",
    ):
        assert isinstance(exception_of(4, text), manymeans.OutOfMemoryError) == ("row 2" not in text)
