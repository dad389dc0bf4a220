#!/usr/bin/env python3
"""What a change that moves code must leave as it was: answers, code of kernels, times.

freeze.py record BUILD FILE [ARGUMENTS]
                                Writes digests of 300 random fits, and hashes of kernel object code, to FILE.
                                BUILD is a build folder with manymeans_answers and libmanymeans.a.
                                ARGUMENTS are manymeans_answers's: --backend cuda.
freeze.py compare FILE OTHER    Names what differs. The exit code is 1 if a digest differs.
freeze.py times PROGRAM OTHER [ROUNDS [OPTIONS]]
                                Prints medians of twelve fits by two programs in turns, and their ratios.
                                OPTIONS are added to each fit: --backend cuda.
"""

import collections
import hashlib
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

CASES = ("--seed", "20261128", "--cases", "300", "--seconds", "0.5", "--most-values", "400000", "--steps")
QEMU = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
KERNELS = re.compile(r"/(backend/(cpu/kernels/[^/]*|cuda/.*\.cu|opencl/kernels/.*)|product\S*\.dir/cuda/.*\.cu)\.o$")
# Rows, columns, and options of twelve fits of random points: few and many columns, models, clusters; all algorithms.
FITS = """
2000000   2 -k 16 -m 8 --max-iter 10
1000000   8 -k 64 --max-iter 10
 200000  32 -k 100 -m 4 --max-iter 10
 100000 128 -k 256 --max-iter 10
  60000 784 -k 10 --max-iter 10
  20000 784 -k 1000 --max-iter 5
 500000   3 -k 32 --algorithm kdtree --max-iter 10
 200000  16 -k 200 --algorithm bounds --max-iter 20
  50000  32 -k 50 --algorithm brute --max-iter 5
  20000   4 -k 2..20 -m 20
 100000  16 -k 64 --dtype float64 --max-iter 10
    500   4 -k 3 -m 100
"""


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def emulator_of(build):
    return QEMU if build.name == "aarch64" != platform.machine() else ()


def digests(build, arguments):
    """What each case came to, whichever way: its digest, or the code of its error."""
    found, case = {}, None
    for line in run(*emulator_of(build), build / "bin/manymeans_answers", *CASES, *arguments).splitlines():
        if named := re.match(r"case (\d+)", line):
            case = named.group(1)
        elif case and (said := re.match(r" +[\d.]+ s \([\d.]+\) .*: ([0-9a-f]{32}$|\[\w+\])", line)):
            found.setdefault(case, set()).add(said.group(1))
    return {case: sorted(answers) for case, answers in found.items()}


def kernels(build):
    """Hashes of the code of each object file: of the processor's, and of what devices get."""
    hashes = {}
    for path in sorted(path for folder in ("src", "product") for path in (build / folder).rglob("*.o")):
        if not KERNELS.search(str(path)):
            continue
        with tempfile.NamedTemporaryFile() as code:
            sections = [flag for name in (".text*", ".rodata*", ".nv_fatbin") for flag in ("-j", name)]
            run("objcopy", "-O", "binary", "--set-section-flags", ".nv_fatbin=alloc", *sections, path, code.name)
            name = str(path.relative_to(build)).split(".dir/")[-1]
            hashes[name] = hashlib.sha256(pathlib.Path(code.name).read_bytes()).hexdigest()[:16]
    return hashes


def record(build, out, *arguments):
    made = {"digests": digests(build, arguments), "kernels": {} if emulator_of(build) else kernels(build)}
    pathlib.Path(out).write_text(json.dumps(made, indent=0))
    print(f"{len(made['digests'])} cases, {len(made['kernels'])} object files")


def compare(first, second):
    old, new = (json.loads(pathlib.Path(path).read_text()) for path in (first, second))
    differ = 0
    for what in ("digests", "kernels") if new["kernels"] else ("digests",):
        names = [name for name in old[what].keys() | new[what].keys() if old[what].get(name) != new[what].get(name)]
        print(
            f"{what}: {len(old[what])} and {len(new[what])}, {len(names)} differ {sorted(names)[:20] if names else ''}"
        )
        differ += len(names) if what == "digests" else 0
    return differ


def times(first, second, rounds=5, *options):
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        for line in FITS.strip().splitlines():
            rows, columns, *flags = line.split()
            n, d = int(rows), int(columns)
            path = pathlib.Path(folder) / "points.npy"
            rng = np.random.default_rng(1)
            np.save(path, (rng.normal(size=(n, d)) + 4 * rng.integers(0, 5, (n, 1))).astype(np.float32))
            taken = collections.defaultdict(list)
            for turn in range(int(rounds)):
                for program in (first, second) if turn % 2 else (second, first):
                    start = time.perf_counter()
                    run(program, "fit", path, *flags, "--seed", 1, "--quiet", "--stop", "strict", *options)
                    taken[program].append(time.perf_counter() - start)
            old, new = (statistics.median(taken[program]) for program in (first, second))
            print(f"{n:9} x {d:<4} {' '.join(flags):45} {old:7.3f} {new:7.3f} s  {new / old:.3f}", flush=True)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("record", "compare", "times"):
        sys.exit(__doc__)
    what, first, *others = sys.argv[1:]
    if what == "record":
        record(pathlib.Path(first), *others)
    elif what == "times":
        times(first, *others)
    elif compare(first, *others):
        sys.exit(1)


if __name__ == "__main__":
    main()
