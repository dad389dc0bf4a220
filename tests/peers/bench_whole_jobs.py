"""`./dev bench whole` measures, judges and writes: one small row, by the package of this build beside scikit-learn."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": sys.argv[2], "OPENBLAS_CORETYPE": "Haswell"}
        command = [sys.executable, str(ROOT / "bench/whole.py"), "--quick", "--rows", "^150 x 4", "--libraries",
                   "manymeans,scikit-learn", "--cache", folder, "--out", folder]
        subprocess.run(command, check=True, env=environment)
        found = json.loads((pathlib.Path(folder) / "whole-cpu.json").read_text(encoding="utf-8"))
        page = (pathlib.Path(folder) / "whole-cpu.md").read_text(encoding="utf-8")
    (row,) = found["rows"]
    ours, theirs = row["libraries"]["manymeans"], row["libraries"]["scikit-learn"]
    assert 0 < ours["inertia"] <= 1.5 * theirs["inertia"], (ours, theirs)
    assert ours["fit"] > 0 and ours["predict"] > 0 and ours["phases"]["fit"] > 0, ours
    assert any("OPENBLAS_CORETYPE" in note for note in found["notes"]), "held to an old processor without a word"
    assert "150 x 4, k = 3, n_init = 10" in page, page


main()
