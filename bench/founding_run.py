#!/usr/bin/env python3
"""Every table and figure of the five founding studies on this machine: plain programs, manymeans, the best peer.

bench/founding/experiments.json lists the experiments; this program knows none of them. It runs each command, writes one
JSON for each study into --out, and tables and charts beside them. The page lists what was not measured, with reasons.

A Python with NumPy is all it needs. Answers are checked with --judge cpu; digests of manymeans always."""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import time

import energy
import founding_report
import founding_rows
import machine
import product_gpu
from measured_process import ProcessFailed, run
from run_context import HERE, ROOT, this_run
from sides import FIT_PHASES

# A backend's own warming up is not to count as an iteration: kernels are loaded when the process begins.
ENVIRONMENT = {**os.environ, "CUDA_MODULE_LOADING": "EAGER"}
LIMIT = 4  # times --longest: what a row should take is a guess, and one iteration is the least
KEPT = (
    "step",
    "distances",
    "seconds",
    "whole",
    "iterations",
    "gflops",
    "point_bytes_of_iteration",
    "algorithm",
    "tree_seconds",
    "mapped_share",
)


def facts_of(options):
    """What this machine is, and what it has: names that rows need."""
    info = json.loads(run([str(options.programs / "manymeans"), "info", "--json"]).output)
    here = {entry["name"] for entry in info["backends"] if entry["available"]}
    for device in info["devices"]:
        if device.startswith("opencl:0"):
            here.add("opencl-cpu" if re.search(r"PoCL|CPU", device) else "opencl-gpu")
    if importlib.util.find_spec("sklearn") and importlib.util.find_spec("threadpoolctl"):
        here.add("sklearn")
    return {**machine.describe(), "devices": info["devices"], "version": info["version"]}, here


class PointFiles:
    """Files of points and of first centroids, made from their names when a row needs them."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, word):
        """word: @points:KIND:NxD:TYPE:SEED or @initial:KIND:NxD:TYPE:SEED:K:MODELS."""
        what, kind, shape, dtype, seed, *of_initial = word[1:].split(":")
        path = self.folder / (re.sub(r"\W+", "-", word[1:]) + (".npz" if what == "initial" else ".npy"))
        if path.exists():
            return str(path)
        import numpy as np  # only here: the measuring process stays small where all points are there

        rows, columns = map(int, shape.split("x"))
        random = np.random.default_rng(int(seed))
        if what == "initial":
            points = np.load(self.path(":".join(["@points", kind, shape, dtype, seed])), mmap_mode="r")
            clusters, models = map(int, of_initial)
            np.savez(path, **{str(i): points[np.sort(random.choice(rows, clusters, False))] for i in range(models)})
            return str(path)
        points = random.random((rows, columns), np.dtype(dtype))
        if kind.startswith("planes"):  # the target is the first column
            planes = 2 * random.random((int(kind[6:]), columns)) - 1
            target = (planes[random.integers(len(planes), size=rows)] * points).sum(axis=1)
            target += 0.01 * random.standard_normal(rows)
            points = np.column_stack([target, points]).astype(dtype)
        np.save(path, points)
        return str(path)


def results_of(row, output):
    """The results that a program printed: a line of JSON each, a fit's JSON, or numbers with blanks between."""
    if "fields" in row.program:  # products of square matrices
        found = [dict(zip(row.program["fields"], line.split())) for line in output.splitlines()]
        times = [("", one["seconds"]) for one in found]
        times += [("cuBLAS", one["cuBLAS"]) for one in found if one.get("cuBLAS", "-") != "-"]
        return [
            {"seconds": float(one), "gflops": 2e-9 * row.params["rows"] ** 3 / float(one)}
            | ({"step": step} if step else {})
            for step, one in times
            if float(one) > 0
        ]
    if not output.lstrip().startswith("{\n"):
        found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        for one in found:
            if "seconds_with_transfers" in one:
                one["whole"] = one["seconds_with_transfers"]
            if "pools" in one:  # a peer
                one["iterations"] = sum(one["iterations"])
        return found
    summary = json.loads(output)
    if "gflops" in summary:  # manymeans multiply: one call, with the start of its threads
        return [summary]
    seconds, options = summary["provenance"]["seconds"], summary["provenance"]["options"]
    # Passes of the strategy task are summed over its threads.
    side_by_side = min(row.threads(), options["models"]) if options["strategy"] == "task" else 1
    return [
        {
            "seconds": (seconds["fit: passes"] + seconds["fit: update"]) / side_by_side,
            "whole": sum(seconds[phase] for phase in FIT_PHASES),
            "iterations": sum(model["iterations"] for model in summary["models"]),
            "algorithm": summary["provenance"].get("algorithm", ""),
            "digest": summary["digest"],
        }
    ]


class Runner:
    """Runs rows, and keeps what they gave."""

    def __init__(self, options, here):
        self.options, self.here = options, here
        self.files, self.digests = PointFiles(options.cache), {}
        self.meters = {"gpu_joules": energy.Meter(), "cpu_joules": energy.PackageMeter()}

    def command(self, row):
        """(arguments, environment) of a row on this machine."""
        words, environment = row.command.split(), dict(ENVIRONMENT)
        while "=" in words[0]:
            name, environment[name] = words[0].split("=")[0], words.pop(0).split("=")[1]
        words = [self.files.path(word) if word.startswith("@") else word for word in words]
        if words[0].startswith("python:"):
            return [sys.executable, str(HERE / words[0][7:]), *words[1:]], environment
        if row.program.get("library") == "cublas" and (library := product_gpu.find_cublas()):
            words[1:1] = ["--cublas", library]
        judge = ["--judge", self.options.judge] if row.program.get("judge", True) else []
        return [str(self.options.programs / words[0]), *words[1:], *judge], environment

    def lacking(self, row):
        """Why this machine cannot run the row, or nothing."""
        missing = sorted(row.needs - self.here)
        if missing:
            return f"this machine has no {missing[0]}"
        program = next(word for word in row.command.split() if "=" not in word)
        if not program.startswith("python:") and not (self.options.programs / program).exists():
            return f"the program {program} was not built"
        if row.threads() > len(os.sched_getaffinity(0)):
            return f"this machine has only {len(os.sched_getaffinity(0))} processors"
        if row.expected > LIMIT * self.options.longest:
            return f"it would take more than the limit of {LIMIT * self.options.longest:g} s"
        return ""

    def once(self, row):
        arguments, environment = self.command(row)
        before = {name: meter.joules() for name, meter in self.meters.items()}
        finished = run(arguments, environment, LIMIT * self.options.longest)
        results = results_of(row, finished.output)
        if not results:
            raise ProcessFailed("it printed no time above 0")
        for one in results:
            self.compare(row, one)
            for name, meter in self.meters.items():
                if not meter.lacking:
                    one[name] = meter.joules() - before[name]
        kept = (*KEPT, *self.meters)
        return [{key: rounded(one[key]) for key in kept if key in one} for one in results]

    def compare(self, row, result):
        """The same question has the same digest on every backend, with all threads, strategies and algorithms."""
        if "digest" in result:
            question = row.command[row.command.index("manymeans") : row.command.index("--json")]
            if self.digests.setdefault(question, result["digest"]) != result["digest"]:
                raise SystemExit(f"the answers differ: {row.command}")


def rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def measure(options, rows, runner):
    """(runs, left out): {command: {share, repeats}} and {command: reason}. Cheap rows come first, so that a budget
    buys the most of them."""
    begin, runs, left_out = time.monotonic(), {}, {}
    for row in sorted(rows, key=lambda row: row.expected):
        reason = runner.lacking(row)
        if not reason and time.monotonic() - begin + row.expected > options.budget:
            reason = f"the budget of {options.budget:g} s was used up"
        if reason:
            left_out[row.key] = reason
            continue
        print(f"{row.expected:7.1f} s expected: {row.command}", file=sys.stderr, flush=True)
        try:
            runs[row.key] = {"share": row.share, "repeats": [runner.once(row) for _ in range(options.repeats)]}
        except ProcessFailed as failure:
            left_out[row.key] = re.sub(r" of: .*", "", str(failure))
    return runs, left_out


def rows_to_run(options, table, studies, has):
    """Rows of these studies, shortened where that is possible, without those that --after has."""
    done = {key for path in options.after for key in json.loads(path.read_text())["runs"]}
    cpus = len(os.sched_getaffinity(0))
    for row, experiment in founding_rows.rows_of(table, studies, cpus, options.quick, has):
        if row.key not in done:
            yield founding_rows.shortened(row, options.longest, experiment.get("cut", "iterations"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", type=int, metavar="STUDY", help="1 to 5; default: all")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"), help="cuda: the build with CUDA")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of the programs; default: that of the build")
    parser.add_argument("--out", type=pathlib.Path, help="folder for JSON, tables and charts; default: build/founding")
    parser.add_argument("--name", help="what the page calls this machine; default: its processor and device")
    parser.add_argument("--list", action="store_true", help="print every row with its expected seconds, and end")
    parser.add_argument(
        "--merge", nargs="+", type=pathlib.Path, metavar="JSON", help="measure nothing: write the page of these"
    )
    parser.add_argument(
        "--after", nargs="+", type=pathlib.Path, default=[], metavar="JSON", help="leave out what these have"
    )
    parser.add_argument(
        "--budget", type=float, default=float("inf"), metavar="SECONDS", help="of all rows; default: none"
    )
    parser.add_argument(
        "--longest",
        type=float,
        default=15,
        metavar="SECONDS",
        help="that a row should take: plain code does a share of it; four times as long ends it; default: 15",
    )
    parser.add_argument("--repeats", type=int, default=1, help="of each row; medians count")
    parser.add_argument(
        "--judge", default="none", choices=("none", "cpu", "reference"), help="who checks plain programs"
    )
    parser.add_argument("--quick", action="store_true", help="small shapes, checked: to try the machinery")
    parser.add_argument("--cache", type=pathlib.Path, help="folder for points; default: build/bench-data")
    options = parser.parse_args()
    if set(options.studies) - set(range(1, 6)):
        parser.error("there are studies 1 to 5")
    options.out = options.out or ROOT / "build/founding"
    options.programs = options.programs or ROOT / "build" / ("dev" if options.backend == "cuda" else "release") / "bin"
    if options.quick:
        options.judge = "cpu"
    return options


def device_name(facts):
    found = [re.match(r"cuda:0 ([^,]+),", device) for device in facts["devices"]]
    return "".join(f" and {one[1]}" for one in found if one)


def measure_studies(options, table):
    """Files of results, one for each study."""
    facts, here = facts_of(options)
    name = options.name or machine.name(facts) + device_name(facts)
    about = {
        "name": name,
        "machine": facts,
        "quick": options.quick,
        "judge": options.judge,
        "has": sorted(here),
        "run": this_run([]),
    }
    with tempfile.TemporaryDirectory(prefix="manymeans-bench-") as folder:
        options.cache = options.cache or pathlib.Path(folder if options.quick else ROOT / "build/bench-data")
        runner, begin = Runner(options, here), time.monotonic()
        about["no joules"] = [meter.lacking for meter in runner.meters.values() if meter.lacking]
        whole = options.budget
        for study in options.studies or range(1, 6):
            options.budget = whole - (time.monotonic() - begin)
            runs, left_out = measure(options, list(rows_to_run(options, table, [study], here)), runner)
            path = options.out / f"founding-{study}-on-{'-'.join(re.findall(r'[a-z0-9]+', name.lower()))}.json"
            path.write_text(json.dumps({**about, "study": study, "runs": runs, "left out": left_out}) + "\n")
            yield path


def main():
    options = parse_arguments()
    table = founding_rows.load_table()
    if options.list:
        has = facts_of(options)[1] if (options.programs / "manymeans").exists() else set()
        rows = [row for row in rows_to_run(options, table, options.studies, has) if row.needs <= has or not has]
        for row in rows:
            print(f"{row.expected:8.1f} {row.command}")
        print(f"{sum(row.expected for row in rows):8.1f} {len(rows)} rows")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    paths = options.merge or list(measure_studies(options, table))
    print(f"wrote {founding_report.write(table, [json.loads(path.read_text()) for path in paths], options.out)}")


if __name__ == "__main__":
    main()
