"""What documents and docstrings show is run; types and style of the docstrings are checked."""

import doctest
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest

import manymeans

MODULES = ["manymeans"] + [f"manymeans.{module.name}" for module in pkgutil.iter_modules(manymeans.__path__)]
ESTIMATORS = [
    manymeans.KMeans, manymeans.EnsembleKMeans, manymeans.BisectingKMeans, manymeans.MiniBatchKMeans,
    manymeans.RegressionClustering, manymeans.ProductQuantizer, manymeans.ResidualQuantizer,
    manymeans.HierarchicalKMeans,
]  # fmt: skip
PUBLIC = [getattr(manymeans, name) for name in manymeans.__all__]


def snippets(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)


PAGES = [
    "python",
    "regression",
    "search",
    "report",
    "consensus",
    "prepare-a-table",
    "more-data-than-memory",
    "from-scikit-learn",
    "from-faiss",
    "balanced",
    "codebooks",
    "trees",
    "multiply",
    "one-answer",
    "many-problems",
    "one-dimension",
    "faq",
]


@pytest.mark.parametrize("name", [f"docs/user/{page}.md" for page in PAGES] + ["README.md"])
def test_snippets(name, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["snippet"])
    (tmp_path / "data").symlink_to(root / "data")
    found = snippets(root / name)
    assert found
    namespace = {}
    for number, code in enumerate(found):
        exec(compile(code, f"{name}, snippet {number}", "exec"), namespace)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner()
    for test in finder.find(module, name):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_public_functions_and_estimators_have_examples():
    for thing in PUBLIC:
        if inspect.isfunction(thing) or thing in ESTIMATORS:
            assert ">>>" in thing.__doc__, thing


def public_callables():
    for thing in PUBLIC:
        if inspect.isfunction(thing):
            yield thing.__qualname__, thing
            continue
        for name, member in inspect.getmembers(thing):
            member = getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(member) and member.__module__.startswith("manymeans"):
                yield f"{thing.__qualname__}.{name}", inspect.unwrap(member)


@pytest.mark.parametrize(("name", "function"), list(public_callables()), ids=lambda x: x if isinstance(x, str) else "")
def test_docstrings_name_all_parameters(name, function):
    """numpydoc sections: every parameter is described, and what comes back."""
    text = inspect.getdoc(function)
    parameters = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
    if parameters:
        assert "Parameters\n----------" in text, name
    described = re.findall(r"^([\w, ]+?) : ", text, re.MULTILINE)
    described = {word.strip() for line in described for word in line.split(",")}
    assert set(parameters) <= described, name
    if inspect.signature(function).return_annotation not in (None, "None"):
        assert "Returns\n-------" in text or not parameters, name


@pytest.mark.parametrize("thing", [thing for thing in PUBLIC if inspect.isfunction(thing) or thing in ESTIMATORS])
def test_docstrings_have_the_defaults_of_signatures(thing):
    parameters = inspect.signature(thing).parameters
    for names, default in re.findall(r"^([\w, ]+?) : .*default=(.+)$", inspect.getdoc(thing), re.MULTILINE):
        for name in names.split(", "):
            assert eval(default) == parameters[name].default, name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_docstrings_of_estimators(estimator):
    text = inspect.getdoc(estimator)
    for name in inspect.signature(estimator).parameters:
        assert re.search(rf"^(\w+, )*{name}(, \w+)*( :|$)", text, re.MULTILINE), name


def test_types():
    pytest.importorskip("mypy")
    folder = pathlib.Path(manymeans.__file__).resolve().parent
    root = pathlib.Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"MYPY_CACHE_DIR": os.devnull})
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "py.typed").exists()


def test_stubs_name_what_the_extension_has():
    from manymeans import _manymeans

    stub = (pathlib.Path(manymeans.__file__).resolve().parent / "_manymeans.pyi").read_text()
    stubbed = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    assert stubbed == {name for name in dir(_manymeans) if not name.startswith("_")}


def run_example(root, folder, name, *arguments):
    command = [sys.executable, str(root / "examples" / "python" / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_example_colour_quantisation(root, tmp_path):
    image = pytest.importorskip("PIL.Image")
    output = run_example(root, tmp_path, "colour_quantisation.py")
    assert float(re.search(r"off by ([\d.]+)", output)[1]) < 15
    assert len(image.open(tmp_path / "quantised.png").getcolors()) == 16


def test_example_first_steps(root):
    output = run_example(root, root, "first_steps.py")
    assert f"```text\n{output}```" in (root / "README.md").read_text()


def test_example_mnist_digits(root, tmp_path):
    output = run_example(root, tmp_path, "mnist_digits.py", root / "data" / "mnist_train.npz")
    assert float(re.search(r"([\d.]+) % of 10,000", output)[1]) > 80


def test_example_customer_segmentation(root, tmp_path):
    run_example(root, tmp_path, "make_customers.py", tmp_path / "customers.csv")
    output = run_example(root, tmp_path, "customer_segmentation.py", tmp_path / "customers.csv")
    assert "4 segments of 1700 customers" in output


def test_example_bike_sharing(root, tmp_path):
    output = run_example(root, tmp_path, "bike_sharing.py", root / "data" / "bike_sharing.csv.gz", "picture.svg")
    assert "one line explains 16 % of the variance, three explain 87 %" in output
    picture = root / "docs" / "user" / "bike_sharing.svg"
    assert (tmp_path / "picture.svg").read_bytes() == picture.read_bytes()  # the answer is the same on every machine


def test_example_choose_k(root, tmp_path):
    output = run_example(root, tmp_path, "choose_k.py", root / "data" / "s1.txt.gz")
    table, votes = output.split("\n\n")
    lines = [line.split() for line in table.splitlines()[1:]]
    assert max(lines, key=lambda line: float(line[2]))[0] == "15"
    document = (root / "docs" / "user" / "choose-k.md").read_text()
    quoted = document[document.index("13   1.8") :].splitlines()[:5]
    assert quoted == table.splitlines()[4:9]
    assert votes in document


def test_example_gallery(root, tmp_path):
    run_example(root, tmp_path, "gallery.py", root / "data", tmp_path)
    for name in (
        "step_by_step.svg",
        "one_start.svg",
        "hundred_clusters.svg",
        "inertia_by_k.svg",
        "report_criteria.svg",
    ):
        assert (tmp_path / name).read_bytes() == (root / "docs" / "user" / name).read_bytes()


def test_examples_differ_from_scikit_learn_by_one_line(root):
    for name in ("colour_quantisation.py", "mnist_digits.py", "customer_segmentation.py"):
        text = (root / "examples" / "python" / name).read_text()
        assert "from manymeans import KMeans  # was: from sklearn.cluster import KMeans" in text
