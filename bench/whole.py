#!/usr/bin/env python3
"""Whole jobs with default options beside other libraries: points in memory to labels in memory, then `predict`.

usage: whole.py [--backend cpu|cuda] [--rows REGEX] [--libraries NAME,...] [--repeats R] [--quick] [--out FOLDER]

Each library runs in a process of its own, alone, one after the other; in each the first fit is not timed. Seeds differ
from repeat to repeat, medians count. All draw their first centroids themselves, so inertias differ by chance: a library
that stops early or seeds badly is faster and worse, and the inertia shows it.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import sys
from statistics import median

import data_sets
import machine
import peer_table
import report
import suite_rows
from measured_process import ProcessFailed, run
from run_context import HERE, ROOT, shown, this_run

WORKER = HERE / "peers/whole_worker.py"
# Name: (module that must be there, where it runs).
LIBRARIES = {"manymeans": ("manymeans", "cpu cuda"), "scikit-learn": ("sklearn", "cpu cuda"),
             "scikit-learn-intelex": ("sklearnex", "cpu"), "faiss": ("faiss", "cpu"), "cuML": ("cuml", "cuda"),
             "cuVS": ("cuvs", "cuda"), "flash-kmeans": ("flash_kmeans", "cuda"), "FlashLib": ("flashlib", "cuda")}
# OpenBLAS held to an older processor would flatter us.
LOWERED = ("OPENBLAS_CORETYPE", "MKL_ENABLE_INSTRUCTIONS", "FAISS_OPT_LEVEL", "FAISS_SIMD_LEVEL")


def title(row):
    return row["name"] + (f", n_init = {row['n_init']}" if row["n_init"] > 1 else "")


def load_rows(options):
    suite = suite_rows.load_suite(HERE / "suites/whole.json", ("name", "k", "data"))
    for row in suite["rows"]:
        if options.backend != row.get("on", options.backend) or not re.search(options.rows, title(row)):
            continue
        data = suite_rows.quick_data(row["data"]) if options.quick else row["data"]
        yield {**row, "data": data, "ks": suite_rows.cluster_counts(row["k"]),
               "repeats": 1 if options.quick else options.repeats or row["repeats"]}


def chosen_libraries(options):
    """Those that can run, and the names of those that are not installed."""
    wanted = [name for name in options.libraries.split(",") if name] or list(LIBRARIES)
    unknown = [name for name in wanted if name not in LIBRARIES]
    if unknown:
        raise SystemExit(f"there is no library {', '.join(unknown)} here; there are {', '.join(LIBRARIES)}")
    here = [name for name in wanted if options.backend in LIBRARIES[name][1].split()]
    missing = [name for name in here if importlib.util.find_spec(LIBRARIES[name][0]) is None]
    return [name for name in here if name not in missing], missing


def environment(library):
    """What lets a library use all of the processor: `peer_table` says for each what its users would have to set."""
    helped = {peer.module: peer.always for peer in peer_table.PEERS}.get(LIBRARIES[library][0], {})
    return {name: value for name, value in os.environ.items() if name not in LOWERED} | helped


def measure(library, path, row, backend):
    job = {"ks": row["ks"], "n_init": row["n_init"], "repeats": row["repeats"], "backend": backend}
    finished = run([sys.executable, str(WORKER), library, str(path), json.dumps(job)], environment(library))
    found = json.loads(finished.output)
    runs = found["runs"]
    return {"fit": median(one["fit"] for one in runs), "predict": median(one["predict"] for one in runs),
            "inertia": median(one["inertia"] for one in runs), "phases": runs[-1]["phases"], "pools": found["pools"],
            "peak_memory": finished.peak_memory, "others_share": finished.others_share, "runs": runs}


def measure_row(row, libraries, options, notes):
    path = data_sets.cached(row["data"], options.cache, options.data_folder)
    found = {}
    for library in libraries:
        try:
            found[library] = measure(library, path, row, options.backend)
        except ProcessFailed as failure:
            notes.append(f"{title(row)}: {library} left out: {failure}")
            if library == "manymeans":
                raise
        if library in found and found[library]["others_share"] > 0.05:
            notes.append(f"{title(row)}: beside {library} other programs used {found[library]['others_share']:.0%} of the processors")
    return found


def cell(found, library, what):
    if library not in found:
        return ""
    ratio = f" ({found[library][what] / found['manymeans'][what]:.1f}x)" if library != "manymeans" else ""
    return report.seconds(found[library][what]) + ratio


def quality(found, library):
    if library not in found:
        return ""
    ours = found["manymeans"]["inertia"]
    return f"{found[library]['inertia']:.6g}" if library == "manymeans" else f"{found[library]['inertia'] / ours - 1:+.2%}"


def phase_cells(phases):
    return [report.seconds(phases[name]) if phases and name in phases else "" for name in
            ("validate", "upload", "fit", "fit: initialise", "fit: passes", "fit: update", "fit: finish")]


def markdown(about, measured, libraries, notes):
    lines = ["# whole: whole jobs of manymeans and its peers", "", __doc__.split("\n\n")[2].replace("\n", " "), "",
             f"- `{about['command']}`, {about['date']}, commit {about['commit']}"
             + (f"; not installed: {', '.join(about['peers missing'])}" if about["peers missing"] else ""),
             f"- {about['machine']['cpu']}, {about['machine']['usable_cpus']} processors; manymeans by the {about['backend']} backend", ""]
    lines += [f"- {note}" for note in notes] + [""] * bool(notes)
    for what in ("fit", "predict"):
        lines += [f"## {what}, seconds", "", "In brackets: how many times longer than manymeans.", ""]
        lines += report.table(["", *libraries], [[title(row), *(cell(found, name, what) for name in libraries)] for row, found in measured])
        lines += [""]
    lines += ["## Inertia", "", "Of the peers: what theirs has more.", ""]
    lines += report.table(["", *libraries], [[title(row), *(quality(found, name) for name in libraries)] for row, found in measured])
    lines += ["", "## Where the time of manymeans goes", "", "Seconds of the last fit; `fit` holds the four after it.", ""]
    lines += report.table(["", "validate", "upload", "fit", "initialise", "passes", "update", "finish"],
                          [[title(row), *phase_cells(found["manymeans"]["phases"])] for row, found in measured])
    pools = {name: sorted({pool for _, found in measured if name in found for pool in found[name]["pools"]}) for name in libraries}
    lines += ["", "Thread pools that the processes had:", ""] + [f"- {name}: {', '.join(used)}" for name, used in pools.items() if used]
    return "\n".join([*lines, ""])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu", help="of manymeans, and which peers take part")
    parser.add_argument("--rows", metavar="REGEX", default="", help="only rows whose title matches")
    parser.add_argument("--libraries", metavar="NAMES", default="", help="with commas; default: all that are installed")
    parser.add_argument("--repeats", type=int, help="instead of what the suite says; medians count")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the points, once: to try the machinery")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench-data", help="where points are kept")
    parser.add_argument("--data-folder", type=pathlib.Path, help="where mnist_train.npz is, if not in data/")
    parser.add_argument("--out", type=pathlib.Path, help="folder for whole-<backend>.md and .json")
    return parser.parse_args()


def main():
    options = parse_arguments()
    libraries, missing = chosen_libraries(options)
    if "manymeans" not in libraries:
        raise SystemExit("manymeans itself has to be among the libraries, and installed")
    for name in missing:
        print(f"*** {name} is not installed for {pathlib.Path(sys.executable).name}: IT IS LEFT OUT ***", flush=True)
    about = {**this_run(missing), "machine": machine.describe(), "backend": options.backend}
    measured, notes = [], [f"{name} was set, and is not for these processes" for name in LOWERED if name in os.environ]
    for row in load_rows(options):
        print(f"{title(row)} ...", file=sys.stderr, flush=True)
        try:
            measured.append((row, measure_row(row, libraries, options, notes)))
        except data_sets.Missing as reason:
            notes.append(f"{title(row)}: left out: {reason}")
    text = markdown(about, measured, libraries, notes)
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"whole-{options.backend}.md").write_text(text, encoding="utf-8")
        everything = {**about, "notes": notes, "rows": [{**row, "libraries": found} for row, found in measured]}
        (options.out / f"whole-{options.backend}.json").write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {shown(options.out)}")
    return 0


sys.exit(main())
