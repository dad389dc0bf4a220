"""The package uses the module of manymeans-cuda, or an error of the backend says why it does not."""

import pathlib
import subprocess
import sys

import pytest

import manymeans

WHERE = "import manymeans; print(manymeans._manymeans.__file__)"
ASK = """
import manymeans, numpy as np
print(manymeans.KMeans(2, random_state=0).fit(np.eye(5)).inertia_)
print(manymeans._extension.missing_cuda)
try:
    manymeans.fit(np.eye(5), 2, backend="cuda")
except manymeans.UnavailableError as error:
    print(error)
"""


@pytest.fixture
def installed(tmp_path, root):
    """Return a function that puts both packages into a folder, as pip does, and then runs code there."""
    package = pathlib.Path(manymeans.__file__).parent

    def install(name, version, folder):
        metadata = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        target = tmp_path / name.replace("-", "_")
        target.mkdir()
        for file in folder.iterdir():
            if file.suffix in (".py", ".pyi", ".so"):
                (target / file.name).symlink_to(file.resolve())
        return target

    def run(code, plugin_version, module):
        install("manymeans", manymeans.__version__, package)
        plugin = install("manymeans-cuda", plugin_version, root / "python/cuda/manymeans_cuda")
        (plugin / "_manymeans.abi3.so").write_bytes(module)
        command = [sys.executable, "-c", code]
        found = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, text=True, capture_output=True)
        assert found.returncode == 0, found.stderr
        return found.stdout

    return run


def test_the_module_of_the_plugin_is_used(installed):
    own = pathlib.Path(manymeans._manymeans.__file__).read_bytes()
    assert "manymeans_cuda" in installed(WHERE, manymeans.__version__, own)


@pytest.mark.parametrize(
    ("version", "problem"), [("0.0.9", "its version is 0.0.9"), (manymeans.__version__, "invalid ELF header")]
)
def test_a_plugin_that_does_not_fit(installed, version, problem):
    inertia, why, said = installed(ASK, version, b"no library" * 100).splitlines()
    assert float(inertia) > 0
    assert why.startswith("manymeans-cuda does not fit (") and problem in why
    assert why.endswith(f"pip install manymeans-cuda=={manymeans.__version__}")
    assert said.startswith(f"[backend cuda] {why}; use ") or "no CUDA device" in said  # this build has the backend
