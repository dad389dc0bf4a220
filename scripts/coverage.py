#!/usr/bin/env python3
"""Line coverage of src/ and product/ from a build with MANYMEANS_COVERAGE whose tests have run: ./dev coverage.

    scripts/coverage.py BUILD [--least PERCENT]

Prints the share of every folder and the files below 90 %, and writes BUILD/coverage.txt: every line that no test runs.
Left out are lines that this machine cannot run: CUDA code, stand-ins for libraries that are there, and kernels of
instruction sets that it lacks; they are named.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Compiled only for other machines or other builds. Kernels are templates over lanes, counted where they are compiled.
FOLDERS = ["src", "product"]
ELSEWHERE = ["src/backend/cuda/", "src/backend/opencl/", "product/cuda/"]
KERNELS = "src/backend/cpu/kernels/"
INSTRUCTION_SETS = {KERNELS + "kernels_amx.cpp": "amx_tile", KERNELS + "avx512_bf16-inl.h": "avx512_bf16",
                    KERNELS + "kernels_avx512_bf16.cpp": "avx512_bf16", KERNELS + "avx512_vnni-inl.h": "avx512_vnni",
                    KERNELS + "kernels_avx512_vnni.cpp": "avx512_vnni",
                    KERNELS + "kernels_avx512.cpp": "avx512f", KERNELS + "kernels_avx2.cpp": "avx2"}


def left_out(name, flags):
    """Why the file cannot be judged here, or nothing."""
    if any(name.startswith(folder) for folder in ELSEWHERE):
        return "other hardware"
    needed = INSTRUCTION_SETS.get(name)
    return f"this machine has no {needed}" if needed and needed not in flags else ""


def folder_of(name):
    """The folder whose share counts the file: product, src/core, src/backend/cpu."""
    parts = name.split("/")[:-1]
    return "/".join(parts[: 1 if parts[0] != "src" else 3 if parts[1] == "backend" else 2])


def measure(build):
    """{file of FOLDERS: (lines that ran, lines that can run, numbers of those that did not)}"""
    report = build / "coverage.json"
    subprocess.run([sys.executable, "-m", "gcovr", "--root", ROOT, *(word for folder in FOLDERS for word in ("--filter", folder + "/")), "--object-directory", build,
                    "--gcov-ignore-errors", "no_working_dir_found", "--gcov-ignore-parse-errors", "all",
                    "--merge-mode-functions", "separate", "--json", report, *(build / folder for folder in FOLDERS)], check=True)
    found = {}
    for file in json.loads(report.read_text())["files"]:
        counts = {}
        for line in file["lines"]:  # one entry a template instance: the line ran if any did
            if not line.get("gcovr/noncode"):
                counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
        missed = sorted(number for number, count in counts.items() if count == 0)
        found[file["file"]] = (len(counts) - len(missed), len(counts), missed)
    return found


def ranges(numbers):
    """Line numbers as "3-5, 9"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=0)
    arguments = parser.parse_args()
    flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    files = measure(arguments.build)
    folders, omitted = collections.defaultdict(lambda: [0, 0]), {}
    for name, (ran, lines, _) in files.items():
        if reason := left_out(name, flags):
            omitted[name] = f"{reason} ({lines} lines)"
            continue
        folder = folder_of(name)
        folders[folder][0] += ran
        folders[folder][1] += lines
    judged = {name: entry for name, entry in files.items() if name not in omitted}
    with (arguments.build / "coverage.txt").open("w", encoding="utf-8") as out:
        for name, (ran, lines, missed) in sorted(judged.items()):
            out.write(f"{name}: {100 * ran / max(1, lines):.1f} % of {lines} lines; never run: {ranges(missed) or 'none'}\n")
    for folder, (ran, lines) in sorted(folders.items()):
        print(f"{100 * ran / lines:6.1f} %  {ran:6} of {lines:6}  {folder}")
    for name, (ran, lines, missed) in sorted(judged.items()):
        if lines >= 5 and ran < 0.9 * lines:
            print(f"below 90 %: {name}, {100 * ran / lines:.1f} % of {lines}: {ranges(missed)}")
    for name, reason in sorted(omitted.items()):
        print(f"left out: {name}: {reason}")
    for name in sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.c*")
                       if path.suffix in {".cpp", ".cu"} and path.relative_to(ROOT).as_posix() not in files):
        print(f"not compiled here: {name}")
    ran, lines = (sum(entry[index] for entry in folders.values()) for index in (0, 1))
    share = 100 * ran / max(1, lines)
    print(f"{share:.1f} % of {lines} lines were run; {arguments.build}/coverage.txt lists the others")
    if share <= arguments.least:
        sys.exit(f"that is not above {arguments.least:g} %")


if __name__ == "__main__":
    main()
