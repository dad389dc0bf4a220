#!/usr/bin/env python3
"""The comparison of the ensemble thesis on this machine: time against the number of models for each strategy (its figure
7-1), time of the kd-tree against direct computation for 2 to 16 columns (7-5), and the quotient of both (7-6)."""

import argparse
import json
import pathlib
import sys
import tempfile
from statistics import median

import machine
import report
from measured_process import ProcessFailed, run
from run_context import ROOT, about_run, results_of, shown, worker
from sides import FIT_PHASES
from svg_chart import line_chart

STRATEGIES = ("task", "data", "concatenated")
ALGORITHMS = ("kdtree", "matrix", "brute")  # "direct" is the faster of matrix products and of exact distances alone
ITERATIONS = 10
LONGEST = 60.0  # seconds of one fit after which a line of a chart ends
ABOUT = {
    "name": "strategies",
    "about": "Time of a whole fit of 10 iterations, anything built for it included and reading the file not; medians of "
             "alternating runs.",
}


def fit(options, points, k, models, flags):
    """Seconds of one fit, and its summary."""
    command = [str(options.program), "fit", points, "-k", str(k), "--models", str(models), "--seed", "1", "--init", "random"]
    command += ["--stop", "strict", "--max-iter", str(ITERATIONS), "--threads", str(options.threads), "--json", *flags]
    summary = json.loads(run(command).output)
    return sum(summary["provenance"]["seconds"][phase] for phase in FIT_PHASES), summary


def points_of(options, data, folder):
    if options.quick and "n" in data:
        data = {**data, "n": data["n"] // 20}
    prepared = worker("prepare", "--data", json.dumps(data), "--cache", options.cache, "--ks", "[2]", "--models", 1,
                      "--seed", 1, "--initial-of-one", pathlib.Path(folder) / "unused.npy")
    return prepared["points"]


def alternating(options, points, k, models, choices, notes):
    """{choice: {seconds, digest, plan}} of medians; a choice that fails is left out with a note.

    choices: {name: flags}. All must give the same answer.
    """
    found, last = {name: [] for name in choices}, {}
    for _ in range(1 if options.quick else options.repeats):
        for name in [name for name in choices if name in found]:
            try:
                seconds, last[name] = fit(options, points, k, models, choices[name])
                found[name].append(seconds)
            except ProcessFailed:
                del found[name]
                note = f"{name}: this program cannot do it, or not on these points"
                notes += [note] if note not in notes else []
    digests = {last[name]["digest"] for name in found}
    if len(digests) > 1:
        raise SystemExit(f"{points}, k = {k}, {models} models: the answers differ: {digests}")
    return {name: {"seconds": median(times), "each": times, "plan": last[name]["provenance"]["plan"]}
            for name, times in found.items()}


def by_models(options, folder, notes):
    """Figure 7-1: a line for each strategy over 1 to 128 models of N = 1M, D = 2, K = 10."""
    data = {"set": "mixture", "n": 1_000_000, "d": 2, "components": 5, "separation": 4, "seed": 81}
    points, rows, open_ones = points_of(options, data, folder), [], list(STRATEGIES)
    for models in (1, 2, 4, 8, 16, 32, 64, 128):
        print(f"{models} models ...", file=sys.stderr, flush=True)
        found = alternating(options, points, 10, models, {name: ["--strategy", name] for name in open_ones}, notes)
        open_ones = [name for name in found if found[name]["seconds"] < LONGEST]
        rows.append({"models": models, "choices": found})
    return {"data": data, "k": 10, "rows": rows}


def by_columns(options, folder, notes, variant):
    """Figures 7-5 and 7-6: a line for each algorithm over 2 to 16 columns of N = 500k, K = 64, one model."""
    rows, open_ones = [], list(ALGORITHMS)
    for d in (2, 3, 4, 5, 6, 8, 10, 12, 14, 16):
        data = {"set": "noise", "n": 500_000, "d": d, "seed": 130 + d}
        if variant == "mixture":
            data = {**data, "set": "mixture", "components": 32, "separation": 4}
        print(f"{variant}, {d} columns ...", file=sys.stderr, flush=True)
        points = points_of(options, data, folder)
        found = alternating(options, points, 64, 1, {name: ["--algorithm", name] for name in open_ones}, notes)
        open_ones = [name for name in found if found[name]["seconds"] < LONGEST]
        rows.append({"d": d, "data": data, "choices": found})
    return {"k": 64, "rows": rows}


def lines_of(part, key, names):
    return [(name, [(row[key], row["choices"][name]["seconds"]) for row in part["rows"] if name in row["choices"]])
            for name in names]


def quotients(part):
    """[(d, direct / kd-tree), ...], where both were measured; direct is the faster of the two direct ways."""
    found = []
    for row in part["rows"]:
        direct = [row["choices"][name]["seconds"] for name in ("matrix", "brute") if name in row["choices"]]
        if "kdtree" in row["choices"] and direct:
            found.append((row["d"], min(direct) / row["choices"]["kdtree"]["seconds"]))
    return found


def charts(result):
    """{file name without ending: SVG}."""
    found = {}
    if result["models"]["rows"]:
        found["time-by-models"] = line_chart("Time against the number of models (N = 1M, D = 2, K = 10)", "models", "seconds",
                                             lines_of(result["models"], "models", STRATEGIES), True, True)
    for variant, part in result["columns"].items():
        found[f"time-by-columns-{variant}"] = line_chart(f"Time against the number of columns ({variant}, N = 500k, K = 64)",
                                                         "columns", "seconds", lines_of(part, "d", ALGORITHMS), False, True)
    both = [(variant, quotients(part)) for variant, part in result["columns"].items()]
    if any(points for _, points in both):
        found["kdtree-gain-by-columns"] = line_chart("The kd-tree against direct computation (N = 500k, K = 64)", "columns",
                                                     "times faster than direct", both, False, True)
    return found


def _rows(part, key, names):
    for row in part["rows"]:
        yield [str(row[key]), *(report.seconds(row["choices"][name]["seconds"]) if name in row["choices"] else ""
                                for name in names)]


def markdown(about, result, notes, files):
    where = about["machine"]
    one = about["runs"][0]
    lines = ["# Strategies and the kd-tree", "", about["about"], "",
             f"`{one['command']}`, {one['date']}, commit {one['commit']}, {result['threads']} threads", "",
             f"{where['cpu']}, {where['usable_cpus']} processors, {where['memory']}; {where['system']}.", ""]
    if about["quick"]:
        lines += ["**A trial with a twentieth of the points, run once. These numbers mean nothing.**", ""]
    lines += [f"- {note}" for note in notes] + [""] * bool(notes)
    if result["models"]["rows"]:
        lines += ["## Time against the number of models", "",
                  "N = 1M, D = 2, K = 10, an overlapping mixture; seconds. Figure 7-1 of the thesis.", ""]
        lines += report.table(["models", *STRATEGIES], list(_rows(result["models"], "models", STRATEGIES)))
    for variant, part in result["columns"].items():
        gains = dict(quotients(part))
        rows = [[*cells, f"{gains[row['d']]:.2f}" if row["d"] in gains else ""]
                for cells, row in zip(_rows(part, "d", ALGORITHMS), part["rows"])]
        lines += ["", f"## kd-tree against direct, {variant}", "",
                  "N = 500k, K = 64, one model; seconds. Figures 7-5 and 7-6 of the thesis.", ""]
        lines += report.table(["columns", *ALGORITHMS, "direct / kd-tree"], rows)
    return "\n".join([*lines, "", *(f"![{name}]({name})" for name in files), ""])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/manymeans")
    parser.add_argument("--threads", type=int, default=0, help="default: all that this machine gives")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the points, once: to try the machinery")
    parser.add_argument("--only", choices=("models", "columns"), help="one half of it")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench-data", help="where points are kept")
    parser.add_argument("--out", type=pathlib.Path,
                        help="folder for the results; default: bench/results/<machine>/, none of --quick")
    options = parser.parse_args()
    options.program = options.program.resolve()
    return options


def main():
    options = parse_arguments()
    about, notes = about_run(options, ABOUT, []), []
    options.threads = options.threads or about["machine"]["usable_cpus"]
    out = options.out or (None if options.quick else results_of(about))
    result = {"threads": options.threads, "models": {"rows": []}, "columns": {}}
    with tempfile.TemporaryDirectory(prefix="manymeans-bench-") as folder:
        if options.only != "columns":
            result["models"] = by_models(options, folder, notes)
        if options.only != "models":
            result["columns"] = {variant: by_columns(options, folder, notes, variant) for variant in ("noise", "mixture")}
    name = machine.name(about["machine"])
    drawn = {f"{chart}-on-{name}.svg": svg for chart, svg in charts(result).items()}
    text = markdown(about, result, notes, drawn)
    print(text)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        for file, svg in drawn.items():
            (out / file).write_text(svg, encoding="utf-8")
        (out / f"strategies-on-{name}.md").write_text(text, encoding="utf-8")
        everything = json.dumps({**about, "notes": notes, **result}, indent=1)
        (out / f"strategies-on-{name}.json").write_text(everything + "\n", encoding="utf-8")
        print(f"wrote {shown(out)}")


if __name__ == "__main__":
    main()
