"""The contract's member seeds and initialisation `random`, implemented a second time in bench/philox_rows.py, give the
same fits: the comparison with scikit-learn relies on it.

usage: random_rows_in_numpy.py PROGRAM
"""

import json
import subprocess
import sys
import tempfile

import numpy as np

from peer_tools import Program, expect
import philox_rows

MODELS = 5


def main():
    points = np.random.default_rng(7).standard_normal((3000, 3)).astype(np.float32)
    with tempfile.TemporaryDirectory(prefix="manymeans-peers-", dir=".") as folder:
        ours = Program(sys.argv[1], folder)
        file = ours.folder / "points.npy"
        np.save(file, points)
        for seed, k in ((0, 4), (1, 9), (2**63 + 12345, 100)):
            command = [ours.path, "fit", str(file), "-k", str(k), "--models", str(MODELS), "--seed", str(seed)]
            command += ["--init", "random", "--max-iter", "2", "--json"]
            fit = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            for replica, model in enumerate(fit["models"]):
                member = philox_rows.member_seed(seed, k, replica)
                expect(model["seed"] == str(member), f"seed {seed}, replica {replica}: seeds {model['seed']} and {member}")
                rows = philox_rows.random_rows(len(points), k, member)
                summary, _, _ = ours.fit(file, points[rows], 2)
                given = summary["models"][0]  # whose clusters have other numbers
                expect(given["inertia"] == model["inertia"], f"seed {seed}, replica {replica}: other rows")
            print(f"seed {seed}, k = {k}: {MODELS} models start from the rows of the contract")


main()
