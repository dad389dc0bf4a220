"""What the tests of the Python package share."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest


@pytest.fixture(scope="session")
def root():
    """The repository."""
    return pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """The command line program that belongs to the package under test."""
    path = os.environ.get("MANYMEANS_PROGRAM") or shutil.which("manymeans")
    assert path, "the program manymeans is not in PATH; set MANYMEANS_PROGRAM"
    return path


@pytest.fixture(scope="session")
def readers(program):
    """Return the names of the formats that the program reads."""
    info = json.loads(subprocess.run([program, "info", "--json"], check=True, capture_output=True).stdout)
    return {reader["name"] for reader in info["readers"] if reader["available"]}


@pytest.fixture
def arrow(readers):
    """Skip a test of Parquet and Arrow files if the program reads none."""
    if "parquet" not in readers:
        pytest.skip("built without Arrow C++")


@pytest.fixture
def hdf5(readers):
    """Skip a test of HDF5 files if the program reads none."""
    if "hdf5" not in readers:
        pytest.skip("built without HDF5")


@pytest.fixture(scope="session")
def mixture():
    """5,000 x 6 overlapping clusters, float32."""
    random = np.random.default_rng(5)
    centers = random.standard_normal((12, 6)) * 2
    return (centers[random.integers(12, size=5000)] + random.standard_normal((5000, 6))).astype(np.float32)


@pytest.fixture
def unsanitized():
    """Skip a test whose time or address space the sanitizer would take (`./dev sanitize`)."""
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("the sanitizer takes what is measured")
