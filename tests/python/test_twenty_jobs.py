"""The page of twenty jobs: every line is run, in its order, and prints what stands there.

`python tests/python/test_twenty_jobs.py --write` puts what is printed into the page; MANYMEANS_PROGRAM names the
program.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/user/twenty-jobs.md"
JOB = re.compile(r"^## (\d+)\. (.*?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"(?:<!-- needs (\w+) -->\n)?```(sh|python)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)

# What is another on another machine: times, and who computes.
VARIES = [
    (re.compile(r"(?:\d+m\d\ds|\d+h\d\dm|\d+(?:\.\d+)?[mu]?s)\b"), "TIME"),
    (re.compile(r"^times: .*", re.MULTILINE), "times"),
    (re.compile(r"backend \w+.*"), "backend"),
    (re.compile(r"^(options: |fitted by manymeans ).*", re.MULTILINE), r"\1"),
    (re.compile(r" +"), " "),
    (re.compile(r"-{2,}"), "--"),
]


def same_everywhere(text):
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return text


def environment(folder):
    program = pathlib.Path(os.environ.get("MANYMEANS_PROGRAM") or shutil.which("manymeans")).resolve()
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "LC_ALL": "C", "TMPDIR": str(folder)}


def make_data(folder):
    subprocess.run([sys.executable, ROOT / "examples/python/twenty_jobs.py"], cwd=folder, check=True)
    (folder / "data").symlink_to(ROOT / "data")


def is_there(feature, folder):
    """Whether this build has what a job needs."""
    if feature == "sparse":
        import numpy as np
        from scipy import sparse

        import manymeans

        with contextlib.suppress(Exception):
            manymeans.fit(sparse.csr_matrix(np.eye(4, dtype=np.float32)), 2, seed=1)
            return True
        return False
    flag = {"cosine": "--metric", "balanced": "--max-size"}[feature]
    help = subprocess.run(["manymeans", "fit", "--help"], env=environment(folder), capture_output=True, text=True)
    return f" {flag} " in help.stdout


def printed(language, code, folder, names):
    """What a block prints on both streams."""
    if language == "sh":
        done = subprocess.run(
            ["bash", "-e", "-c", code], cwd=folder, env=environment(folder), timeout=120,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout
    out, before = io.StringIO(), os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, PAGE.name, "exec"), names)
    finally:
        os.chdir(before)
    return out.getvalue()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    make_data(folder)
    return folder, {}


JOBS = JOB.findall(PAGE.read_text())


def test_there_are_twenty():
    assert [int(number) for number, _, _ in JOBS] == list(range(1, 21))
    assert all(BLOCK.search(text) for _, _, text in JOBS)


@pytest.mark.parametrize(("title", "text"), [(title, text) for _, title, text in JOBS], ids=[job[0] for job in JOBS])
def test_job(title, text, place):
    folder, names = place
    for feature, language, code, expected in BLOCK.findall(text):
        if feature and not is_there(feature, folder):
            pytest.skip(f"this build has no {feature}")
        if "pyarrow" in code or ".parquet" in code:
            pytest.importorskip("pyarrow")
        found = printed(language, code, folder, names)
        if expected or not feature:
            assert same_everywhere(found) == same_everywhere(expected), title


def test_the_big_table_at_the_size_that_was_meant(place):
    """Job 9 with 59 MB of text: its rows again and again, so that k = 4 finds the same clusters."""
    folder, _ = place
    names, rows = (folder / "big.csv").read_text().split("\n", 1)
    copies = 59_000_000 // len(rows) + 1
    with open(folder / "large.csv", "w", encoding="utf-8") as file:
        file.write(names + "\n")
        for _ in range(copies):
            file.write(rows)
    fit = "manymeans fit large.npy -k 2..6 --models 5 --seed 1 --json"
    found = json.loads(printed("sh", f"manymeans convert large.csv large.npy >/dev/null && {fit}", folder, {}))
    once = json.loads(printed("sh", "manymeans fit big.csv -k 4 --models 5 --seed 1 --json", folder, {}))
    assert found["n_rows"] == 20_000 * copies
    inertia = min(model["inertia"] for model in found["models"] if model["k"] == 4)
    assert inertia == pytest.approx(copies * min(model["inertia"] for model in once["models"]), rel=1e-4)
    for name in "large.csv", "large.npy":
        (folder / name).unlink()


def write():
    with tempfile.TemporaryDirectory() as name:
        folder, names = pathlib.Path(name), {}
        make_data(folder)

        def filled(block):
            feature, language, code, before = block.groups()
            if feature and not is_there(feature, folder):
                return block.group()
            found = printed(language, code, folder, names)
            opening = (f"<!-- needs {feature} -->\n" if feature else "") + f"```{language}\n{code}```\n"
            keep = before is not None and same_everywhere(before) == same_everywhere(found)
            return opening + (f"\n```text\n{before if keep else found}```\n" if found else "")

        PAGE.write_text(BLOCK.sub(filled, PAGE.read_text()))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
