#!/usr/bin/env python3
"""The exact matrix product beside NumPy and its BLAS: speed, and how many of the BLAS's entries are the nearest number.

usage: product.py [--repeats R] [--most COUNT] [--tiled PROGRAM] [--out FILE]

It takes a Python with manymeans, threadpoolctl and NumPy with OpenBLAS.

Both multiply the same arrays in one process, in turn, R times (9) and for half a second at least; seconds are those of
the processor on one thread, so that they mean the same on a busy machine, and on two threads those of the clock. Speed
is the median of the ratios of neighbours. Beside float32 stands the speed of the BLAS's float64 product of the same
numbers: a float32 product by sums in binary64 can be no faster than the best one of float64. A BLAS of another machine is
OpenBLAS told to be on a Haswell. PROGRAM is the plain tiled product, build/release/bin/tiled_product, one thread.
Shapes of more than COUNT multiply-adds are left out.
Writes tables in Markdown; FILE is standard output by default.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Else OpenBLAS's threads wait for its next product on the processors that ours needs.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import machine
import numpy as np
import threadpoolctl

import manymeans

SHAPES = [
    ("float32", 512, 512, 512),
    ("float32", 1024, 1024, 1024),
    ("float32", 2048, 2048, 2048),
    ("float32", 4096, 4096, 4096),
    ("float32", 200_000, 128, 1024),
    ("float64", 512, 512, 512),
    ("float64", 1024, 1024, 1024),
    ("float64", 2048, 2048, 2048),
]
MOST_TILED = 2e10  # multiply-adds
LEAST_SECONDS = 0.5  # processors wake up slowly


def factors_of(dtype, rows, depth, columns):
    random = np.random.default_rng(1)
    return random.normal(size=(rows, depth)).astype(dtype), random.normal(size=(depth, columns)).astype(dtype)


def timed(work, clock):
    before = clock()
    result = work()
    return clock() - before, result


def speed(a, b, threads, repeats, ours=manymeans.multiply):
    """Seconds of both, medians, and the median of the ratios; `ours` takes the factors, `out` and `n_threads`."""
    clock = time.process_time if threads == 1 else time.perf_counter
    times, theirs = [], []
    out_theirs = np.empty((a.shape[0], b.shape[1]), a.dtype)
    out = np.empty_like(out_theirs)
    with threadpoolctl.threadpool_limits(threads):
        end = time.perf_counter() + LEAST_SECONDS
        while len(times) <= repeats or time.perf_counter() < end:  # the first one is not counted
            times.append(timed(lambda: ours(a, b, out=out, n_threads=threads), clock)[0])
            theirs.append(timed(lambda: np.matmul(a, b, out=out_theirs), clock)[0])
    ratios = [x / y for x, y in zip(theirs[1:], times[1:], strict=True)]
    return statistics.median(times[1:]), statistics.median(theirs[1:]), statistics.median(ratios)


def speed_in_binary64(a, b, repeats):
    """Of the BLAS's float64 product, beside its float32 one."""
    if a.dtype == np.float64:
        return ""
    wide_a, wide_b, out = a.astype(np.float64), b.astype(np.float64), np.empty((a.shape[0], b.shape[1]))

    def by_blas(_a, _b, **_settings):
        np.matmul(wide_a, wide_b, out=out)

    return f"{speed(a, b, 1, repeats, by_blas)[2]:.2f}"


def share(found, other):
    return 100 * float((found != other).mean())


def on_another_machine(shape):
    """What OpenBLAS gives on an older processor."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c.npy")
        environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--child", path, shape[0], *map(str, shape[1:])]
        subprocess.run(command, check=True, env=environment)
        return np.load(path)


def bits_row(shape):
    """How far the BLAS is from the nearest numbers, and from itself."""
    a, b = factors_of(*shape)
    exact, counts = manymeans.multiply(a, b, return_counts=True)
    with threadpoolctl.threadpool_limits(1):
        one = a @ b
    with threadpoolctl.threadpool_limits(2):
        two = a @ b
    resolved = f"{counts.resolved} of {counts.entries}"
    return f"{share(one, exact):.1f} | {share(one, two):.1f} | {share(one, on_another_machine(shape)):.1f} | {resolved}"


def tiled_seconds(program, shape):
    if program is None or shape[0] != "float32" or shape[1] * shape[2] * shape[3] > MOST_TILED:
        return None
    found = subprocess.run([program, *map(str, shape[1:]), "3"], check=True, capture_output=True, text=True)
    return float(found.stdout)


def speed_row(shape, repeats, program):
    a, b = factors_of(*shape)
    few = max(3, repeats // 3) if a.size * b.shape[1] > MOST_TILED else repeats
    seconds, theirs, ratio = speed(a, b, 1, few)
    rate = 2 * a.size * b.shape[1] / seconds / 1e9
    tiled = tiled_seconds(program, shape)
    slower = "" if program is None else " | " if tiled is None else f" | {tiled / seconds:.1f}"
    on_two = speed(a, b, 2, few)[2]
    return (
        f"{seconds:.4f} | {theirs:.4f} | {rate:.1f} | {ratio:.2f} | {speed_in_binary64(a, b, few)} | {on_two:.2f}"
        f"{slower}"
    )


def title(shape):
    return f"{shape[0]}, {shape[1]:,} x {shape[2]:,} x {shape[3]:,}"


def rows(shapes, row):
    """Lines of a table, each shown when it is known."""
    lines = []
    for shape in shapes:
        lines.append(f"| {title(shape)} | {row(shape)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def report(arguments):
    blas = next(x for x in threadpoolctl.threadpool_info() if x["user_api"] == "blas")
    shapes = [shape for shape in SHAPES if shape[1] * shape[2] * shape[3] <= arguments.most]
    lines = [
        "# The exact matrix product beside OpenBLAS",
        "",
        f"`python3 bench/product.py --repeats {arguments.repeats} --most {arguments.most:g}` on {machine.describe()['cpu']}, manymeans "
        f"{manymeans.__version__}, NumPy {np.__version__} with OpenBLAS {blas['version']} ({blas['architecture']}). Normal values. "
        "Shapes are rows x depth x columns. Medians; one thread: seconds of the processor.",
        "",
        "| shape | manymeans, s | OpenBLAS, s | Gflop/s | speed, OpenBLAS = 1 | OpenBLAS in float64 | on 2 threads |"
        + (" faster than plain tiles |" if arguments.tiled else ""),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |" + (" ---: |" if arguments.tiled else ""),
    ]
    lines += rows(shapes, lambda shape: speed_row(shape, arguments.repeats, arguments.tiled))
    lines += [
        "",
        "Per cent of the entries of OpenBLAS's product that are not the nearest number; that differ between one and two "
        "threads; that differ from those of OpenBLAS on a Haswell. And entries that manymeans summed again, the bound "
        "leaving two numbers. The bits of manymeans are the same in all of these.",
        "",
        "| shape | not nearest, % | 1 and 2 threads, % | two machines, % | summed again |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += rows(shapes, bits_row)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--most", type=float, default=1e12)
    parser.add_argument("--tiled")
    parser.add_argument("--out")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        path, dtype, *sizes = arguments.child
        a, b = factors_of(dtype, *map(int, sizes))
        np.save(path, a @ b)
        return
    text = report(arguments)
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as out:
            out.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
