"""Equal answers are equal files: every output that tells no times on purpose is the same bytes after another run."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import time

import joblib
import numpy as np
import pandas
import pytest

import manymeans
from manymeans import BisectingKMeans, EnsembleKMeans, KMeans, MiniBatchKMeans, RegressionClustering

#: How two runs may differ.
RUNS = [
    ["--threads", "1"],
    ["--threads", "3", "--strategy", "task"],
    ["--backend", "reference"],
    ["--memory", "64MiB", "--algorithm", "brute", "--time-limit", "600"],
]
#: Formats of labels and of points.
TABLES = ["npy", "csv", "parquet"]
POINTS = ["npy", "npz", "csv", "bin", "fvecs", "fbin", "parquet", "arrow", "feather", "h5"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    random = np.random.default_rng(1)
    values = random.standard_normal((600, 3)) + 5 * random.integers(3, size=(600, 1))
    np.savetxt(
        folder / "t.csv", np.column_stack([values, values @ [1, 2, 3]]), delimiter=",", header="a,b,c,t", comments=""
    )
    return folder / "t.csv"


def run(program, folder, *arguments, environment=None):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [program, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | (environment or {}),
    )
    assert done.returncode == 0, done.stderr


def same_files(folders):
    names = sorted(path.name for path in folders[0].iterdir())
    assert names
    for name in names:
        contents = [(folder / name).read_bytes() for folder in folders]
        assert all(content == contents[0] for content in contents), name


@pytest.mark.parametrize("command", ["fit", "search", "choose", "regress"])
def test_outputs_of_the_program(command, program, table, tmp_path):
    options = {
        "fit": ["-k", "2,3", "--models", "3", "--scale", "standard", "--columns", "a,b,c"],
        "search": ["-k", "3", "--rounds", "3", "--columns", "a,b,c"],
        "choose": ["-k", "2..4", "--columns", "a,b,c"],
        "regress": ["--target", "t", "-k", "2"],
    }[command]
    runs = [how for how in RUNS if command == "fit" or "--memory" not in how]
    folders = [tmp_path / str(number) for number in range(len(runs))]
    for folder, how in zip(folders, runs, strict=True):
        outputs = ["--model", "m.npz", "--labels", "l.npy"]
        if command == "fit":
            outputs += ["--summary", "s.json", "--append", "table.csv"]
        run(program, folder, command, table, *options, *how, *outputs, "--quiet")
    same_files(folders)


def test_instruction_sets(program, table, tmp_path):
    folders = []
    for number, best in enumerate(["", "portable"]):
        folders.append(tmp_path / str(number))
        run(
            program,
            folders[-1],
            "fit",
            table,
            "-k",
            "3",
            "--model",
            "m.npz",
            "--quiet",
            environment={"MANYMEANS_CPU_ISA": best} if best else None,
        )
    same_files(folders)


@pytest.mark.parametrize("ending", TABLES)
def test_labels_and_distances(ending, program, table, tmp_path):
    run(program, tmp_path, "fit", table, "-k", "3", "--model", "m.npz", "--quiet")
    folders = [tmp_path / "1", tmp_path / "2"]
    for folder, threads in zip(folders, "13", strict=True):
        outputs = [
            "--labels",
            f"l.{ending}",
            "--distances",
            f"d.{ending}",
            "--append",
            f"a.{ending.replace('npy', 'arrow')}",
        ]
        run(program, folder, "predict", tmp_path / "m.npz", table, *outputs, "--threads", threads, "--quiet")
        time.sleep(1.1)  # a clock in a file may count whole seconds
    same_files(folders)


@pytest.mark.parametrize("ending", POINTS)
def test_converted_points(ending, program, table, tmp_path):
    folders = [tmp_path / "1", tmp_path / "2"]
    for folder in folders:
        run(program, folder, "convert", table, f"p.{ending}", "--dtype", "float32")
        time.sleep(1.1)
    same_files(folders)


def test_checkpoints(program, table, tmp_path):
    points = np.loadtxt(table, delimiter=",", skiprows=1)
    for number, threads in enumerate((1, 3)):
        manymeans.fit(
            points, [2, 3], models=2, n_threads=threads, checkpoint=tmp_path / f"{number}.ckpt", checkpoint_every=2
        )
    assert (tmp_path / "0.ckpt").read_bytes() == (tmp_path / "1.ckpt").read_bytes()


PICKLED = """
import pickle, sys, time
import numpy as np
import manymeans
from manymeans import BisectingKMeans, EnsembleKMeans, KMeans, MiniBatchKMeans, RegressionClustering

points = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
kinds = {"KMeans": KMeans(3, n_init=2, random_state=0), "EnsembleKMeans": EnsembleKMeans([2, 3], random_state=0),
         "MiniBatchKMeans": MiniBatchKMeans(3, random_state=0), "BisectingKMeans": BisectingKMeans(3, random_state=0)}
for name, kind in kinds.items():
    kind.fit(points)
regression = RegressionClustering(2, random_state=0).fit(points[:, :3], points[:, 3])
result = manymeans.fit(points, [2, 3], models=2)
search = manymeans.search(points, 3, rounds=2)
choice = manymeans.choose_k(points, [2, 3])
if sys.argv[3] == "looked":  # what was asked for before is not seen
    [kind.predict(points) for kind in kinds.values() if not isinstance(kind, EnsembleKMeans)]
    result.digest, kinds["KMeans"].answer_, search.best().digest
for name, value in {**kinds, "regression": regression, "result": result, "search": search, "choice": choice}.items():
    with open(f"{sys.argv[2]}/{name}.pickle", "wb") as file:
        pickle.dump(value, file)
    if hasattr(value, "save") and name not in ("MiniBatchKMeans", "BisectingKMeans"):
        value.save(f"{sys.argv[2]}/{name}.npz")
"""


def test_pickles_and_models_of_python(table, tmp_path):
    folders = []
    for number, (threads, looked) in enumerate((("1", ""), ("3", "looked"), ("2", ""))):
        folders.append(tmp_path / str(number))
        folders[-1].mkdir()
        environment = os.environ | {"OMP_NUM_THREADS": threads, "PYTHONHASHSEED": str(number)}
        subprocess.run([sys.executable, "-c", PICKLED, table, folders[-1], looked], env=environment, check=True)
    same_files(folders)


def test_program_and_python_write_the_same_model(program, table, tmp_path):
    run(program, tmp_path, "fit", table, "-k", "2,3", "--models", "2", "--model", "program.npz", "--quiet")
    manymeans.fit(manymeans.read(table), [2, 3], models=2).save(tmp_path / "python.npz")
    files = [np.load(tmp_path / f"{name}.npz") for name in ("program", "python")]
    assert sorted(files[0]) == sorted(files[1])
    for name in set(files[0]) - {"json"}:
        assert np.array_equal(files[0][name], files[1][name]), name
    program_json, python_json = (json.loads(str(file["json"])) for file in files)
    assert program_json["provenance"] == python_json["provenance"]
    assert program_json["models"] == python_json["models"]


def test_what_is_left_of_the_run(table, tmp_path):
    """Nothing in files and pickles; results in memory tell it, and --json."""
    points = np.loadtxt(table, delimiter=",", skiprows=1)
    for fitted in KMeans(3, random_state=0).fit(points), RegressionClustering(2).fit(points[:, :3], points[:, 3]):
        assert fitted.provenance_["seconds"] and fitted.provenance_["threads"] >= 1
        fitted.save(tmp_path / "m.npz")
        for again in type(fitted).load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(fitted)):
            assert sorted(again.provenance_) == ["columns", "dtype", "options", "rows", "version"]
            assert not {"threads", "backend", "time_limit"} & set(again.provenance_["options"])
            assert again.answer_ == fitted.answer_
            assert np.isnan(again.result_.best().seconds) and fitted.result_.best().seconds >= 0
            if isinstance(again, KMeans):
                assert "threads" not in manymeans.report(again) and "threads" in manymeans.report(fitted)


def pickled(points, names):
    """Give everything that can be pickled, of points with names of columns or without."""
    frame = pandas.DataFrame(points, columns=names)
    X = points if names is None else frame
    result = manymeans.fit(X, [2, 3], models=2)
    return {
        "KMeans": KMeans(3, random_state=0, n_init=3).fit(X),
        "KMeans, one model": KMeans(3, random_state=0).fit(X),
        "KMeans, not fitted": KMeans(3, random_state=0),
        "cosine": KMeans(3, random_state=0, metric="cosine", stop="tol,strict").fit(X),
        "EnsembleKMeans": EnsembleKMeans([2, 3], random_state=0, criterion="inertia").fit(X),
        "MiniBatchKMeans": MiniBatchKMeans(3, random_state=0).fit(X),
        "BisectingKMeans": BisectingKMeans(3, random_state=0).fit(X),
        "RegressionClustering": RegressionClustering(2, random_state=0).fit(X, points[:, 0]),
        "ProductQuantizer": manymeans.ProductQuantizer(3, 4, random_state=0).fit(X),
        "HierarchicalKMeans": manymeans.HierarchicalKMeans(20, random_state=0).fit(X),
        "ResidualQuantizer": manymeans.ResidualQuantizer(2, 4, random_state=0).fit(X),
        "FitResult": result,
        "Model": result.models[1],
        "search": manymeans.search(X, 2, rounds=1),
        "Choice": manymeans.choose_k(X, [2, 3], models=2, bootstraps=2, references=2),
        "Consensus": manymeans.consensus(result, 2),
        "Comparison": manymeans.compare(result.models[0], result.models[2]),
        "Criteria": manymeans.criteria(X, result.models[0]),
        "Shard": manymeans.Shard(X, np.ones(len(points))),
        "Scan": manymeans.Shard(X).scan(manymeans.Shard(X).shape()),
    }  # fmt: skip


@pytest.mark.parametrize("names", [None, ["a", "b", "c"]])
def test_pickles_of_pickles(names):
    for name, one in pickled(np.random.default_rng(0).standard_normal((200, 3)), names).items():
        first = pickle.dumps(one)
        again = pickle.loads(first)
        assert pickle.dumps(again) == first, name
        assert joblib.hash(again) == joblib.hash(one), name


def test_pickles_of_points_of_another_file(table, tmp_path):
    """Neither the name of the file nor a memory map is part of the answer."""
    copy = tmp_path / "of another name.csv"
    shutil.copy(table, copy)
    assert pickle.dumps(manymeans.fit(copy, 3)) == pickle.dumps(manymeans.fit(table, 3))
    points = manymeans.read(table).points
    np.save(tmp_path / "points.npy", points)
    mapped = manymeans.fit(np.load(tmp_path / "points.npy", mmap_mode="r"), 3)
    assert pickle.dumps(mapped) == pickle.dumps(manymeans.fit(points, 3))
    assert pickle.dumps(pickle.loads(pickle.dumps(mapped))) == pickle.dumps(mapped)
