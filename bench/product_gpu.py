#!/usr/bin/env python3
"""The exact matrix product on a GPU beside cuBLAS: speed, and how many of cuBLAS's entries are the nearest number.

usage: product_gpu.py [--program PROGRAM] [--cublas LIBRARY] [--out FOLDER] [--most COUNT]

PROGRAM is product_times of a build with CUDA, which multiplies matrices that lie on the device, both libraries in turns in
one process. cuBLAS is taken where LIBRARY, the system or the Python package nvidia-cublas has it, without TF32. Writes
product-gpu.md and product-gpu.svg into FOLDER (build/gpu-results). Shapes of more than COUNT multiply-adds are left out.
Standard library only.
"""

import argparse
import glob
import os
import subprocess
import sys

from svg_chart import Scale, line_chart

SQUARES = [512, 1024, 2048, 4096, 8192, 16384]
SHAPES = (
    [("float32", n, n, n) for n in SQUARES]
    + [("float32", 8_388_608, 128, 1024), ("float32", 1024, 1_000_000, 1024), ("float32", 1000, 1000, 1000)]
    + [("float64", n, n, n) for n in SQUARES[:-1]]
)


def find_cublas():
    """The library, where a Python has it."""
    for folder in sys.path:
        found = glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublas.so.*"))
        if found:
            return found[0]
    return None


def timed(arguments, shape):
    """The fields of the program's line; None where the shape does not fit."""
    command = [arguments.program]
    library = arguments.cublas or find_cublas()
    if library:
        command += ["--cublas", library]
    done = subprocess.run([*command, *map(str, shape)], check=False, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    fields = done.stdout.split()
    return fields if done.returncode == 0 and len(fields) == 11 else None


def row_of(fields):
    kind, rows, depth, columns, ours, theirs, entries, resolved, wrong, unequal, again = fields
    work = 2 * int(rows) * int(depth) * int(columns) / 1e12
    peer = theirs != "-"
    cells = [
        f"{kind}, {int(rows):,} x {int(depth):,} x {int(columns):,}",
        f"{float(ours):.6f}",
        f"{float(theirs):.6f}" if peer else "-",
        f"{work / float(ours):.1f}",
        f"{work / float(theirs):.1f}" if peer else "-",
        f"{float(theirs) / float(ours):.2f}" if peer else "-",
        wrong,
        unequal,
        again,
        f"{int(resolved):,} of {int(entries):,}",
    ]
    return "| " + " | ".join(cells) + " |"


def report(found, device):
    lines = [
        "# The exact matrix product beside cuBLAS",
        "",
        f"`python3 bench/product_gpu.py` on {device}. Matrices of normal values on the device; medians of calls that were "
        "waited for, in turns in one process. Shapes are rows x depth x columns. cuBLAS without TF32. Of both, the per cent of "
        "entries that are not the nearest number, or that differ between the first and the last call.",
        "",
        "| shape | manymeans, s | cuBLAS, s | manymeans, Tflop/s | cuBLAS, Tflop/s | speed, cuBLAS = 1 | cuBLAS: not nearest, % "
        "| cuBLAS: changed, % | manymeans: changed, % | summed exactly |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join(lines + [row_of(fields) for fields in found]) + "\n"


def chart(found, device):
    series = []
    for kind in ("float32", "float64"):
        squares = [f for f in found if f[0] == kind and f[1] == f[2] == f[3] and int(f[1]) in SQUARES]
        for name, at in (("exact", 4), ("cuBLAS", 5)):
            points = [(int(f[1]), 2 * int(f[1]) ** 3 / float(f[at]) / 1e12) for f in squares if f[at] != "-"]
            series.append((f"{name}, {kind}", points))
    return line_chart(f"Products of squares ({device})", Scale("rows", True), Scale("Tflop/s"), series)


def device_name():
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "a CUDA device"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/dev/bin/product_times")
    parser.add_argument("--cublas")
    parser.add_argument("--out", default="build/gpu-results")
    parser.add_argument("--most", type=float, default=1e13)
    arguments = parser.parse_args()
    found = []
    for shape in SHAPES:
        if shape[1] * shape[2] * shape[3] > arguments.most:
            continue
        fields = timed(arguments, shape)
        if fields is not None:
            found.append(fields)
            print(row_of(fields), file=sys.stderr, flush=True)
    if not found:
        sys.exit("product_gpu.py: nothing could be timed")
    device = device_name()
    os.makedirs(arguments.out, exist_ok=True)
    for name, text in (("product-gpu.md", report(found, device)), ("product-gpu.svg", chart(found, device))):
        with open(os.path.join(arguments.out, name), "w", encoding="utf-8") as out:
            out.write(text)
    print(report(found, device), end="")


if __name__ == "__main__":
    main()
