"""Model files that were damaged, or that nobody's fit has written: one typed error, whatever is wrong."""

import io
import json
import re
import zipfile

import numpy as np
import pytest

import manymeans
from manymeans import EnsembleKMeans, FitResult, KMeans

LOADERS = [FitResult.load, KMeans.load, EnsembleKMeans.load]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The arrays of a model file by their names."""
    path = tmp_path_factory.mktemp("models") / "model.npz"
    X = np.random.default_rng(0).standard_normal((60, 2))
    manymeans.fit(X, 3, models=2).save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, parts, name=None, array=None):
    """Write a model file with one of its arrays replaced."""
    with zipfile.ZipFile(path, "w") as archive:
        for key, content in parts.items():
            if name is not None and key == f"{name}.npy":
                buffer = io.BytesIO()
                np.save(buffer, np.asarray(array), allow_pickle=False)
                content = buffer.getvalue()
            archive.writestr(key, content)
    return path


def summary_of(parts):
    return json.loads(str(np.load(io.BytesIO(parts["json.npy"]))))


def without(*keys):
    def change(summary):
        inner = summary
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


def put(value, *keys):
    def change(summary):
        inner = summary
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change


def test_a_file_put_together_again_is_one(parts, tmp_path):
    path = write(tmp_path / "model.npz", parts, "json", json.dumps(summary_of(parts)))
    assert KMeans.load(path).answer_ == FitResult.load(path).digest == summary_of(parts)["digest"]


def test_seeds_are_text_and_were_numbers(parts, tmp_path):
    """Integers of 64 bits are rounded by many readers of JSON; files of before hold them as such."""
    summary = summary_of(parts)
    options, model = summary["provenance"]["options"], summary["models"][1]
    assert options["seed"] == "0" and options["model_seed"] is None and re.fullmatch("[0-9]{1,20}", model["seed"])
    now = FitResult.load(write(tmp_path / "now.npz", parts))
    for each in summary["models"]:
        each["seed"] = int(each["seed"])
    options["seed"] = 0
    before = FitResult.load(write(tmp_path / "before.npz", parts, "json", json.dumps(summary)))
    assert before.digest == now.digest and before.provenance == now.provenance
    assert now.provenance["options"]["seed"] == 0 and now.models[1].seed == int(model["seed"])
    before.save(tmp_path / "saved.npz")
    assert json.loads(str(np.load(tmp_path / "saved.npz")["json"])) == summary_of(parts)


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        '"text"',
        "{}",
        "[" * 100_000,
        '{"a":' * 5000 + "1" + "}" * 5000,
        "9" * 5000,
        "\ud800",
    ],
    ids=lambda text: repr(text[:8]),
)
def test_json_that_is_none_or_another(load, text, parts, tmp_path):
    with pytest.raises(manymeans.BadDataError, match="model.npz, json"):
        load(write(tmp_path / "model.npz", parts, "json", text))


CHANGES = {
    "no digest": without("digest"),
    "digest of another type": put(3, "digest"),
    "digest that is none": put("x" * 32, "digest"),
    "no warnings": without("warnings"),
    "warnings that are none": put("text", "warnings"),
    "warnings of numbers": put([1], "warnings"),
    "no interrupted": without("interrupted"),
    "interrupted that is a number": put(1, "interrupted"),
    "no provenance": without("provenance"),
    "provenance that is a list": put([], "provenance"),
    "no options": without("provenance", "options"),
    "no max_iter": without("provenance", "options", "max_iter"),
    "max_iter below 0": put(-1, "provenance", "options", "max_iter"),
    "max_iter of text": put("300", "provenance", "options", "max_iter"),
    "tol that is null": put(None, "provenance", "options", "tol"),
    "tol that is NaN": put(float("nan"), "provenance", "options", "tol"),
    "k that is a number": put(3, "provenance", "options", "k"),
    "k of fractions": put([2.5], "provenance", "options", "k"),
    "models that are text": put("2", "provenance", "options", "models"),
    "no models": without("models"),
    "one model less": lambda summary: summary["models"].pop(),
    "models of numbers": put([1, 2], "models"),
    "model without seed": without("models", 1, "seed"),
    "another seed": put(12345, "models", 1, "seed"),
    "seed that is a list": put([1], "models", 1, "seed"),
    "seed of letters": put("1e3", "models", 1, "seed"),
    "seed of the options of letters": put("-1", "provenance", "options", "seed"),
}


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("change", CHANGES)
def test_json_that_was_changed(load, change, parts, tmp_path):
    summary = summary_of(parts)
    CHANGES[change](summary)
    with pytest.raises(
        manymeans.BadDataError, match=r"model.npz, json\] .*; (what FitResult.save|the file was changed)"
    ):
        load(write(tmp_path / "model.npz", parts, "json", json.dumps(summary)))


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inertia", [np.nan, 1.0]),
        ("inertia", [1.0, -np.inf]),
        ("inertia", [-1.0, 1.0]),
        ("iterations", [1, -1]),
        ("replica", [-1, 1]),
    ],
)
def test_numbers_that_no_fit_gives(load, name, value, parts, tmp_path):
    with pytest.raises(manymeans.BadDataError, match=f"model.npz, {name}"):
        load(write(tmp_path / "model.npz", parts, name, value))


def test_sums_beyond_all_numbers(tmp_path):
    """Weights near the largest numbers: what such a fit saved was refused as damaged."""
    X = np.random.default_rng(0).random((5000, 2)) * 30
    result = manymeans.fit(X, 3, sample_weight=np.full(5000, 1e304))
    assert result.best().inertia == np.inf
    result.save(tmp_path / "model.npz")
    again = manymeans.FitResult.load(tmp_path / "model.npz")
    assert again.best().inertia == np.inf
    assert again.digest == result.digest


def test_damage_anywhere(parts, tmp_path):
    """Bytes that changed: it is read, or it is BadDataError; never anything else."""
    whole = write(tmp_path / "model.npz", parts).read_bytes()
    random, refused = np.random.default_rng(5), 0
    path = tmp_path / "damaged.npz"
    for _ in range(400):
        damaged = bytearray(whole)
        for place in random.integers(0, len(whole), random.integers(1, 4)):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        try:
            KMeans.load(path).save(tmp_path / "again.npz")
        except manymeans.BadDataError:
            refused += 1
    assert refused > 100
