"""Points larger than the memory that a fit may use: the same digest, and a peak that is measured.

Writes a .npy file of --megabytes, fits it without a limit and with several, and compares digests. The peak of the whole
program (ru_maxrss) must stay below the limit and 64 MiB for the program itself. Then the same from text, from float64
that is scaled, and with labels and the distances of seeding in side files, at a smaller size.

Run by ./dev huge; needs three times the size in disk, and for the fit without a limit twice the size in memory.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

PROGRAM_MIB = 64
COLUMNS = 128


# In small blocks: a program inherits the peak of the process that starts it.
def write_points(path, rows, columns, dtype=np.float32):
    header = np.lib.format.header_data_from_array_1_0(np.empty((0, columns), dtype))
    header["shape"] = (rows, columns)
    block = 2**19 // columns
    random = np.random.default_rng(1)
    centres = 2 * random.standard_normal((50, columns), np.float32)
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, rows, block):
            count = min(block, rows - first)
            points = centres[random.integers(0, 50, count)] + random.standard_normal((count, columns), np.float32)
            file.write(points.astype(dtype).tobytes())


def fit(program, data, memory, *more):
    """The summary, seconds, and the peak of the program's memory in MiB."""
    subcommand = "regress" if "--target" in more else "fit"
    command = [str(part) for part in (program, subcommand, data, "--json", "--memory", memory, *more)]
    with tempfile.TemporaryFile() as output:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        return json.load(output), seconds, usage.ru_maxrss / 1024


def compare(program, title, data, limits, *more):
    """Fits without a limit and with each; fails unless digests agree and peaks are kept."""
    whole, whole_seconds, whole_peak = fit(program, data, 0, *more)
    print(f"{title}: no limit: {whole_seconds:.1f} s, peak {whole_peak:.0f} MiB", flush=True)
    for limit in limits:
        result, seconds, peak = fit(program, data, f"{limit}MiB", *more)
        print(
            f"{title}: {limit} MiB: {seconds:.1f} s ({seconds / whole_seconds:.2f} times), peak {peak:.0f} MiB; "
            f"{result['provenance']['memory']}",
            flush=True,
        )
        assert result["digest"] == whole["digest"], (result["digest"], whole["digest"])
        assert peak < limit + PROGRAM_MIB, f"{peak:.0f} MiB are above {limit} + {PROGRAM_MIB}"
        assert "rows at a time" in result["provenance"]["memory"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/release/bin/manymeans")
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--iterations", type=int, default=5)
    arguments = parser.parse_args()
    program = arguments.program
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = pathlib.Path(name)
        rows = arguments.megabytes * 2**20 // (4 * COLUMNS)
        limit = arguments.megabytes // 8
        points = folder / "points.npy"
        write_points(points, rows, COLUMNS)
        several = ("--max-iter", arguments.iterations, "--seed", 1)
        compare(program, "k = 64, random", points, [limit, 2 * limit], "-k", 64, "--init", "random", *several)
        compare(program, "k = 8, k-means++", points, [limit], "-k", 8, *several)
        points.unlink()

        # Two columns: labels and distances of seeding are as large as the points, 24 models of them.
        narrow = folder / "narrow.npy"
        write_points(narrow, 2**22, 2)
        compare(
            program, "24 models", narrow, [32],
            "-k", 5, "--models", 24, "--max-iter", 2, "--labels", folder / "labels.npy",
        )  # fmt: skip
        narrow.unlink()

        doubles = folder / "doubles.npy"
        write_points(doubles, 2**19, 20, np.float64)
        compare(program, "scaled", doubles, [32], "-k", 8, "--scale", "standard", "--init", "random", *several)
        compare(
            program, "linear models from clusters", doubles, [48],
            "--target", 20, "-k", 8, "--init", "kmeans", "--swaps", 2, *several,
        )  # fmt: skip
        text = folder / "text.csv"
        with open(text, "w") as file:
            doubles_read = np.load(doubles, mmap_mode="r")
            for first in range(0, 2**18, 8192):
                np.savetxt(file, doubles_read[first : first + 8192], fmt="%.6g", delimiter=",")
        compare(program, "text", text, [24], "-k", 8, "--init", "random", *several)
    print("bounded memory: all digests agree, all peaks are kept")


if __name__ == "__main__":
    main()
