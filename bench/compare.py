#!/usr/bin/env python3
"""manymeans against scikit-learn: the same points, initial centroids, iterations and threads. docs/benchmarks.md says
how the numbers are made. This process needs the standard library only and stays small, see prepare_and_judge.py."""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from statistics import median

import machine
import report
from measured_process import ProcessFailed, run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SAMPLE = 10_000  # labels recomputed with the reference
BUSY = 0.05  # more of the processors in other hands is worth a note
FIT_PHASES = ("validate", "upload", "fit")  # together: the library call that takes points and returns results
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


class RowFailed(Exception):
    """This row cannot be measured, or its numbers would be wrong."""


def expanded(suite, options):
    """The suite's rows with defaults filled in and one thread count each."""
    rows = []
    for given in suite["rows"]:
        row = {**suite["defaults"], **given}
        if options.rows and not re.search(options.rows, row["name"]):
            continue
        if options.quick:
            row["data"] = {key: value // 20 if key == "n" else value for key, value in row["data"].items()}
            row["repeats"] = 1
        counts = row["threads"] if isinstance(row["threads"], list) else [row["threads"]]
        rows += [{**row, "threads": count} for count in counts]
    return rows


class Side:
    """One library: how it is run, and the runs so far by number of iterations."""

    def __init__(self, row):
        self.row, self.runs = row, {}

    def measure(self, iterations, extra=()):
        finished = run(self.command(iterations) + list(extra), self.environment())
        result = self.read(json.loads(finished.output))
        result.update(wall=finished.wall_seconds, peak_memory=finished.peak_memory, others=finished.others_share)
        # scikit-learn says what its fits took: Python's start takes longer than some fits, and never the same.
        result.setdefault("processor_seconds", finished.cpu_seconds)
        if set(result["iterations"]) != {iterations}:
            raise RowFailed(f"{self.name} did {result['iterations']} iterations, not {iterations}: it converged")
        if set(result["threads"]) != {self.row["threads"]}:
            raise RowFailed(f"{self.name} used {result['threads']} threads, not {self.row['threads']}")
        return result

    def time(self, iterations):
        self.runs.setdefault(iterations, []).append(self.measure(iterations))

    def summary(self):
        few, many = self.row["iterations"]

        def each(measure):
            return [(b[measure] - a[measure]) / (many - few) for a, b in zip(self.runs[few], self.runs[many])]

        seconds = {i: [one["seconds"] for one in self.runs[i]] for i in (few, many)}
        return {
            "seconds_per_iteration": median(each("seconds")),
            "seconds_per_iteration_each": each("seconds"),
            "processor_seconds_per_iteration": median(each("processor_seconds")),
            "seconds": {i: median(s) for i, s in seconds.items()},
            "wall_seconds": {i: median(one["wall"] for one in self.runs[i]) for i in (few, many)},
            "peak_memory": max(one["peak_memory"] for one in self.runs[many]),
            "runs": self.runs,
        }


class Ours(Side):
    name = "manymeans"

    def __init__(self, row, program, prepared, initial_of_one):
        super().__init__(row)
        self.fit = [str(program), "fit", prepared["points"], "-k", str(row["k"]), "--models", str(row["models"])]
        self.fit += ["--init", initial_of_one] if row["models"] == 1 else ["--init", "random", "--seed", str(row["seed"])]
        self.fit += ["--stop", "strict", "--threads", str(row["threads"]), "--json"]
        self.seeds = prepared["seeds"]

    def command(self, iterations):
        return [*self.fit, "--max-iter", str(iterations)]

    def environment(self):
        return None

    def read(self, output):
        models, provenance = output["models"], output["provenance"]
        if self.row["models"] > 1 and [model["seed"] for model in models] != self.seeds:
            raise RowFailed("the seeds of the models are not those that the initial centroids were made from")
        return {
            "seconds": sum(provenance["seconds"][phase] for phase in FIT_PHASES),
            "iterations": [model["iterations"] for model in models],
            "inertia": [model["inertia"] for model in models],
            "digest": output["digest"],
            "threads": [provenance["threads"]],
            "phases": provenance["seconds"],
            "certified_share": provenance["certified_share"],
            "resolved_share": provenance["resolved_share"],
            "plan": provenance["plan"],
            "instruction_set": provenance["instruction_set"],
        }


class Sklearn(Side):
    name = "scikit-learn"

    def __init__(self, row, prepared, initial):
        super().__init__(row)
        self.fit = [sys.executable, str(HERE / "peers" / "sklearn_worker.py"), prepared["points"], initial]
        self.fit += ["--threads", str(row["threads"])]

    def command(self, iterations):
        return [*self.fit, "--max-iter", str(iterations)]

    def environment(self):
        return {**os.environ, **{variable: str(self.row["threads"]) for variable in THREAD_VARIABLES}}

    def read(self, output):
        if any(count > self.row["threads"] for count in output["thread_pools"].values()):
            raise RowFailed(f"thread pools beyond the limit of {self.row['threads']}: {output['thread_pools']}")
        return output


def worker(*arguments):
    command = [sys.executable, str(HERE / "prepare_and_judge.py"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RowFailed(f"prepare_and_judge.py {arguments[0]} failed")
    return json.loads(done.stdout)


def compare(row, options, with_peer):
    """Prepares, measures alternately, judges."""
    with tempfile.TemporaryDirectory(prefix="manymeans-bench-") as folder:
        scratch = pathlib.Path(folder)
        initial, initial_of_one = str(scratch / "initial.npy"), str(scratch / "initial-of-one.npy")
        prepared = worker("prepare", "--data", json.dumps(row["data"]), "--cache", options.cache, "--initial", initial,
                          "--initial-of-one", initial_of_one, "--k", row["k"], "--models", row["models"],
                          "--seed", row["seed"])
        ours = Ours(row, options.program, prepared, initial_of_one)
        sides = [ours] + ([Sklearn(row, prepared, initial)] if with_peer else [])
        for _ in range(row["repeats"]):
            for side in sides:
                for iterations in row["iterations"]:
                    side.time(iterations)
        outputs = {"model": scratch / "model.npz", "labels": scratch / "labels.npy"}
        peer_outputs = {"centroids": scratch / "peer-centroids.npy", "labels": scratch / "peer-labels.npy"}
        judgement = judge(row, options, prepared, sides, outputs, peer_outputs, scratch)
    others = median(one["others"] for side in sides for runs in side.runs.values() for one in runs)
    sizes = {key: prepared[key] for key in ("n", "d", "dtype", "sha256")}
    return {**row, "data": {**row["data"], **sizes}, "others_share": others, "checks": judgement,
            **{side.name: side.summary() for side in sides}}


def judge(row, options, prepared, sides, outputs, peer_outputs, scratch):
    """One more run of each side, not timed, that writes its answer; the answers are checked."""
    def flags(files):
        return [text for name, path in files.items() for text in ("--" + name, str(path))]

    most = row["iterations"][-1]
    again = sides[0].measure(most, flags(outputs))
    if {one["digest"] for one in sides[0].runs[most]} != {again["digest"]}:
        raise RowFailed("two runs of manymeans have different digests")
    arguments = ["judge", "--points", prepared["points"], "--program", options.program, "--scratch", scratch / "check",
                 "--seed", row["seed"], "--sample", SAMPLE, *flags(outputs)]
    if len(sides) > 1:
        sides[1].measure(most, flags(peer_outputs))
        arguments += [text for name, path in peer_outputs.items() for text in ("--peer-" + name, path)]
    judgement = worker(*arguments)
    if judgement["different"]:
        raise RowFailed(f"{judgement['different']} of {judgement['checked']} labels differ from the reference")
    return judgement


def peer_problem():
    """Why scikit-learn cannot take part; None if it can."""
    if importlib.util.find_spec("sklearn") is None:
        return f"scikit-learn is not installed for {sys.executable}"
    return None


def shown(path):
    """Relative to the tree where it lies inside it: results are published, folders of this machine are not."""
    path = pathlib.Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def command_line():
    words = ["./dev", "bench"]
    for word in sys.argv[1:]:
        words.append(shown(word) if os.sep in word and os.path.exists(word) else word)
    return shlex.join(words)


def about_run(options, suite, problem):
    def printed(*command):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else "unknown"

    info = json.loads(run([str(options.program), "info", "--json"]).output)
    return {
        "suite": suite["name"],
        "about": suite["about"],
        "quick": options.quick,
        "command": command_line(),
        "program": shown(options.program),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine.describe(),
        "commit": printed("git", "describe", "--always", "--dirty", "--abbrev=12"),
        "manymeans": {key: info[key] for key in info if isinstance(info[key], (str, int, float))},
        "scikit-learn missing": problem,
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/manymeans")
    parser.add_argument("--suite", type=pathlib.Path, default=HERE / "suites/main.json")
    parser.add_argument("--rows", metavar="REGEX", help="only rows whose name matches")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the points, once: to try the machinery")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench-data", help="where points are kept")
    parser.add_argument("--out", type=pathlib.Path,
                        help="folder for the results; default: bench/results/<machine>/ of a whole suite, else none")
    options = parser.parse_args()
    options.program = options.program.resolve()
    if not options.program.exists():
        parser.error(f"there is no program {options.program}; ./dev build makes it")
    return options


def main():
    options = parse_arguments()
    suite = json.loads(options.suite.read_text(encoding="utf-8"))
    problem = peer_problem()
    about = about_run(options, suite, problem)
    if problem:
        print(f"*** {problem}: manymeans is measured alone ***", flush=True)
    rows, notes = [], []
    for row in expanded(suite, options):
        title = f"{row['name']}, {row['threads']} threads"
        if row["threads"] > about["machine"]["usable_cpus"]:
            notes.append(f"{title}: left out, this machine has {about['machine']['usable_cpus']} processors")
            continue
        print(f"{title} ...", file=sys.stderr, flush=True)
        try:
            rows.append(compare(row, options, problem is None))
        except (RowFailed, ProcessFailed) as failure:
            notes.append(f"{title}: FAILED: {failure}")
            continue
        if rows[-1]["others_share"] > BUSY:
            notes.append(f"{title}: other programs used {rows[-1]['others_share']:.0%} of the processors meanwhile")
    text = report.markdown(about, rows, notes)
    print(text)
    out = options.out
    if out is None and not options.quick and not options.rows:
        out = HERE / "results" / machine.name(about["machine"])
    if out:
        report.write(out, f"{suite['name']}-on-{machine.name(about['machine'])}", about, rows, notes, text)
        print(f"wrote {shown(out)}")
    return 1 if any("FAILED" in failure for failure in notes) else 0


sys.exit(main())
