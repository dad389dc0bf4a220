#!/usr/bin/env python3
"""The comparisons of the ensemble thesis on this machine: time against the number of models for each strategy (its figure
7-1, on a GPU 7-2), of accumulation with high and with reduced contention (7-4, opencl only), time of the kd-tree against direct
computation for 2 to 16 columns and for 8 to 512 clusters (7-5), and the quotient of both (7-6); of OpenCL on a processor also these
shapes beside the cpu backend's portable instruction set. With another backend than cpu
also one table of all backends that this machine has (7-3); with cuda no kd-tree unless --only columns. All answers are compared:
strategies, backends, variants and threads must give the same digest.

A Python with NumPy is all it needs."""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import sys
import tempfile
from statistics import median

import machine
import report
from measured_process import ProcessFailed, run
from run_context import HERE, ROOT, about_run, shown, worker
from sides import FIT_PHASES
from svg_chart import line_chart

STRATEGIES = ("task", "data", "concatenated")
DIRECT = ("matrix", "brute")  # of which the faster counts
ALL_BACKENDS = ("cpu", "cuda", "opencl")  # the reference backend is measured beside them, for as long as --longest lets it
PARTS = {"reference": ("models",), "cpu": ("models", "columns"), "cuda": ("models",), "opencl": ("models", "columns", "clusters", "sums", "portable")}
CONTENTION = ("high", "reduced")
MODELS = (1, 2, 4, 8, 16, 32, 64, 128)
CLUSTERS = (8, 16, 32, 64, 128, 256, 512)
ITERATIONS = 10
OF_MODELS = {"set": "mixture", "n": 1_000_000, "d": 2, "components": 5, "separation": 4, "seed": 81}  # points of ensembles
BESIDE_PORTABLE = ((2, 64), (4, 64), (8, 64), (16, 64), (3, 8), (3, 512))  # columns and clusters, one model
PASSES_PHASE = "fit: passes"  # in the phase fit; with the strategy task, summed over the threads
# A backend's own warming up is not to count as its first fit: kernels are loaded when the process begins.
ENVIRONMENT = {**os.environ, "CUDA_MODULE_LOADING": "EAGER"}
ABOUT = {
    "name": "strategies",
    "about": "Time of a whole fit of 10 iterations, anything built for it included and reading the file not; medians of "
             "alternating runs.",
}


@dataclasses.dataclass
class Way:
    """One way to do a fit."""

    flags: list
    environment: dict = dataclasses.field(default_factory=dict)


def ways_of_trees(backend):
    """{name: Way}: the kd-tree and direct computation."""
    return {name: Way(["--algorithm", name, "--backend", backend]) for name in ("kdtree", *DIRECT)}


def fit(options, points, k, models, way):
    """(seconds of one fit, those of its passes, processor seconds of the process, its summary); of passes side by side the mean."""
    flags = way.flags
    command = [str(options.program), "fit", points, "-k", str(k), "--models", str(models), "--seed", "1", "--init", "random"]
    command += ["--stop", "strict", "--max-iter", str(ITERATIONS), "--json", *flags]
    if "--threads" not in flags:
        command += ["--threads", str(options.threads)]
    finished = run(command, ENVIRONMENT | way.environment)
    summary = json.loads(finished.output)
    seconds = summary["provenance"]["seconds"]
    side_by_side = min(options.threads, models) if "task" in flags else 1
    return sum(seconds[phase] for phase in FIT_PHASES), seconds[PASSES_PHASE] / side_by_side, finished.cpu_seconds, summary


def points_of(options, data, folder):
    if options.quick and "n" in data:
        data = {**data, "n": data["n"] // 20}
    prepared = worker("prepare", "--data", json.dumps(data), "--cache", options.cache, "--ks", "[2]", "--models", 1,
                      "--seed", 1, "--initial-of-one", pathlib.Path(folder) / "unused.npy")
    return prepared["points"]


def alternating(options, points, k, models, choices, notes):
    """{choice: {seconds, passes, processor, each, plan, digest}} of medians, of processor seconds the least; a choice that fails is left out with a note.

    choices: {name: Way}. All must give the same answer.
    """
    found, last = {name: [] for name in choices}, {}
    for _ in range(1 if options.quick else options.repeats):
        for name in [name for name in choices if name in found]:
            try:
                *times, last[name] = fit(options, points, k, models, choices[name])
                found[name].append(times)
            except ProcessFailed:
                del found[name]
                note = f"{name}: this program cannot do it, or not on these points"
                notes += [note] if note not in notes else []
    digests = {last[name]["digest"] for name in found}
    if len(digests) > 1:
        raise SystemExit(f"{points}, k = {k}, {models} models: the answers differ: {digests}")
    return {name: {"seconds": median(whole for whole, *_ in times), "passes": median(passes for _, passes, _ in times),
                   "processor": min(processor for *_, processor in times), "each": times, "plan": last[name]["provenance"]["plan"], "digest": last[name]["digest"]}
            for name, times in found.items()}


def other_backends(program, backend, threads):
    """{name of a line: Way}: all backends of this machine, the cpu backend with one thread and with all."""
    info = json.loads(run([str(program), "info", "--json"]).output)
    found = {}
    for name in [entry["name"] for entry in info["backends"] if entry["available"] and entry["name"] != backend]:
        counts = sorted({1, threads}) if name == "cpu" else [threads]
        for count in counts:
            line = f"{name}, {count} thread{'s' * (count > 1)}" if name == "cpu" else name
            found[line] = Way(["--backend", name, "--strategy", "concatenated", "--threads", str(count)])
    return found


def over_models(options, folder, notes, ways):
    """{data, k, rows}: these ways over 1 to 128 models of N = 1M, D = 2, K = 10."""
    points, rows = points_of(options, OF_MODELS, folder), []
    for models in MODELS:
        print(f"{options.backend}, {models} models ...", file=sys.stderr, flush=True)
        found = alternating(options, points, 10, models, ways, notes)
        ways = short_ones(options, ways, found)
        rows.append({"models": models, "choices": found})
    return {"data": OF_MODELS, "k": 10, "rows": rows}


def short_ones(options, ways, found):
    """The ways that are worth a longer fit."""
    return {name: way for name, way in ways.items() if name in found and found[name]["seconds"] < options.longest}


def by_models(options, folder, notes):
    """Figure 7-1 or 7-2: a line for each strategy; beside another backend than cpu also a line for each backend (7-3)."""
    lines = {name: Way(["--strategy", name, "--backend", options.backend]) for name in STRATEGIES}
    backends = {} if options.backend == "cpu" else other_backends(options.program, options.backend, options.threads)
    return {**over_models(options, folder, notes, lines | backends), "backends": list(backends)}


def by_sums(options, folder, notes):
    """Figure 7-4: accumulation with high and with reduced contention."""
    ways = {name: Way(["--backend", options.backend], {"MANYMEANS_OPENCL_CONTENTION": name}) for name in CONTENTION}
    return over_models(options, folder, notes, ways)


def by_columns(options, folder, notes, variant):
    """Figures 7-5 and 7-6: a line for each algorithm over 2 to 16 columns of N = 500k, K = 64, one model."""
    rows, ways = [], ways_of_trees(options.backend)
    for d in (2, 3, 4, 5, 6, 8, 10, 12, 14, 16):
        data = {"set": "noise", "n": 500_000, "d": d, "seed": 130 + d}
        if variant == "mixture":
            data = {**data, "set": "mixture", "components": 32, "separation": 4}
        print(f"{options.backend}, {variant}, {d} columns ...", file=sys.stderr, flush=True)
        found = alternating(options, points_of(options, data, folder), 64, 1, ways, notes)
        ways = short_ones(options, ways, found)
        rows.append({"d": d, "data": data, "choices": found})
    return {"k": 64, "rows": rows}


def by_clusters(options, folder, notes):
    """The same over the number of clusters: N = 500k, D = 3, noise, one model."""
    data, ways, rows = {"set": "noise", "n": 500_000, "d": 3, "seed": 133}, ways_of_trees(options.backend), []
    points = points_of(options, data, folder)
    for k in CLUSTERS:
        print(f"{options.backend}, {k} clusters ...", file=sys.stderr, flush=True)
        found = alternating(options, points, k, 1, ways, notes)
        ways = short_ones(options, ways, found)
        rows.append({"k": k, "choices": found})
    return {"data": data, "rows": rows}


def by_shapes(options, folder, notes):
    """Shapes of all figures beside the cpu backend, held to the portable instruction set."""
    ways = {"portable": Way(["--backend", "cpu"], {"MANYMEANS_CPU_ISA": "portable"}), options.backend: Way(["--backend", options.backend])}
    noise = [({"set": "noise", "n": 500_000, "d": d, "seed": 130 + d}, k, 1) for d, k in BESIDE_PORTABLE]
    rows = []
    for data, k, models in [(OF_MODELS, 10, models) for models in MODELS[::2] + MODELS[-1:]] + noise:
        what = f"{data['n']} x {data['d']}, {k}, {models}"
        print(f"portable, {what} ...", file=sys.stderr, flush=True)
        found = alternating(options, points_of(options, data, folder), k, models, ways, notes)
        rows.append({"shape": what, "data": data, "choices": found})
    return {"rows": rows}


def lines_of(part, key, names, what="seconds", shown=str):
    return [(shown(name), [(row[key], row["choices"][name][what]) for row in part["rows"] if name in row["choices"]])
            for name in names]


def quotients(part, key):
    """[(d or k, direct / kd-tree), ...], where both were measured: the fastest of each."""
    found = []
    for row in part["rows"]:
        direct = [one["seconds"] for name, one in row["choices"].items() if name in DIRECT]
        trees = [one["seconds"] for name, one in row["choices"].items() if name.startswith("kdtree")]
        if trees and direct:
            found.append((row[key], min(direct) / min(trees)))
    return found


def shown_backend(result):
    """What a line is called that stands for the measured backend: its strategy concatenated."""
    return lambda name: result["backend"] if name == "concatenated" else name


def model_charts(result):
    part, where = result["models"], "N = 1M, D = 2, K = 10"
    found = {"time-by-models": line_chart(f"Time against the number of models ({where})", "models", "seconds",
                                          lines_of(part, "models", STRATEGIES), True, True)}
    if part["backends"]:
        found["passes-by-models"] = line_chart(f"Passes alone, backend {result['backend']} ({where})", "models", "seconds",
                                               lines_of(part, "models", STRATEGIES, "passes"), True, True)
        found["time-by-backends"] = line_chart(f"All backends of one machine ({where})", "models", "seconds",
                                               lines_of(part, "models", [*part["backends"], "concatenated"],
                                                        shown=shown_backend(result)), True, True)
    return found


def tree_parts(result):
    """(what it is called, its shape, key of its rows, part) of every comparison of the kd-tree."""
    found = [(variant, "N = 500k, K = 64", "d", part) for variant, part in result["columns"].items()]
    return found + ([("noise", "N = 500k, D = 3", "k", result["clusters"])] if result["clusters"]["rows"] else [])


def charts(result):
    """{file name without ending: SVG}."""
    found = model_charts(result) if result["models"]["rows"] else {}
    if result["sums"]["rows"]:
        found["time-by-contention"] = line_chart("Accumulation with high and with reduced contention (N = 1M, D = 2, K = 10)",
                                                 "models", "seconds", lines_of(result["sums"], "models", CONTENTION), True, True)
    trees = list(ways_of_trees(result["backend"]))
    for name, shape, key, part in tree_parts(result):
        over, file = ("columns", f"columns-{name}") if key == "d" else ("clusters", "clusters")
        found[f"time-by-{file}"] = line_chart(f"Time against the number of {over} ({name}, {shape})", over, "seconds",
                                              lines_of(part, key, trees), key == "k", True)
    both = [(variant, quotients(part, "d")) for variant, part in result["columns"].items()]
    if any(points for _, points in both):
        found["kdtree-gain-by-columns"] = line_chart("The kd-tree against direct computation (N = 500k, K = 64)", "columns",
                                                     "times faster than direct", both, False, True)
    return found


def _rows(part, key, names, what="seconds"):
    for row in part["rows"]:
        yield [str(row[key]), *(report.seconds(row["choices"][name][what]) if name in row["choices"] else ""
                                for name in names)]


def processor_table(result, part, key, names):
    """The same of processor seconds, where processors compute: other programs change them little."""
    if result["device"] and "pocl" not in result["device"].lower():
        return []
    return ["", "Processor seconds of these processes, the least, from beginning to end:", "",
            *report.table([key, *names], list(_rows(part, key, names, "processor")))]


def model_sections(result):
    part = result["models"]
    lines = ["## Time against the number of models", "",
             f"N = 1M, D = 2, K = 10, an overlapping mixture; seconds. Figure {result['figure']} of the thesis.", ""]
    lines += report.table(["models", *STRATEGIES], list(_rows(part, "models", STRATEGIES)))
    lines += processor_table(result, part, "models", [*STRATEGIES, *part["backends"]])
    if not part["backends"]:
        return lines
    lines += ["", "## Passes alone", "", "Of the same fits what the passes take: without validating and uploading the points, "
              "choosing the first prototypes and collecting labels. For task: on average over the sessions side by side.", ""]
    lines += report.table(["models", *STRATEGIES], list(_rows(part, "models", STRATEGIES, "passes")))
    lines += ["", "## All backends of this machine", "", "The same fits, strategy concatenated; seconds. A line ends after a "
              "fit that was too long. All answers of a row have the same digest. Figure 7-3 of the thesis.", ""]
    lines += report.table(["models", *part["backends"], result["backend"], "digest"],
                          [[*cells, f"`{row['choices']['concatenated']['digest'][:16]}`"] for cells, row in
                           zip(_rows(part, "models", [*part["backends"], "concatenated"]), part["rows"])
                           if "concatenated" in row["choices"]])
    return lines


def sum_sections(result):
    lines = ["", "## High and reduced contention", "",
             "The fits above, strategy concatenated; seconds. *high*: every work-group adds to global memory, all begin with the same "
             "model. *reduced*: sums of a work-group in local memory first, each begins with another model. Figure 7-4 of the thesis.", ""]
    lines += report.table(["models", *CONTENTION], list(_rows(result["sums"], "models", CONTENTION)))
    return lines + processor_table(result, result["sums"], "models", list(CONTENTION))


def portable_sections(result):
    lines = ["", "## Beside the cpu backend's portable instruction set", "",
             "The cpu backend without any vector instruction but the compiler's, and this backend; seconds, and the quotients of both. "
             "Processor seconds are those of the whole process, the driver's beginning included; the least counts.", ""]
    rows = []
    for row in result["portable"]["rows"]:
        both = [row["choices"][name] for name in ("portable", result["backend"])]
        rows.append([row["shape"], *(report.seconds(one["seconds"]) for one in both),
                     *(f"{both[1][what] / both[0][what]:.2f}" for what in ("seconds", "processor"))])
    return lines + report.table(["points, clusters, models", "portable", result["backend"], "quotient", "of processor seconds"], rows)


def tree_sections(result):
    lines, trees = [], list(ways_of_trees(result["backend"]))
    for name, shape, key, part in tree_parts(result):
        gains = dict(quotients(part, key))
        rows = [[*cells, f"{gains[row[key]]:.2f}" if row[key] in gains else ""]
                for cells, row in zip(_rows(part, key, trees), part["rows"])]
        lines += ["", f"## kd-tree against direct, {name}" + (", by clusters" if key == "k" else ""), "",
                  f"{shape}, one model; seconds. Figures 7-5 and 7-6 of the thesis.", ""]
        lines += report.table(["columns" if key == "d" else "clusters", *trees, "direct / kd-tree"], rows)
        lines += processor_table(result, part, key, trees)
    return lines


def markdown(about, result, notes, files):
    where = about["machine"]
    one = about["runs"][0]
    device = f"{result['device']}; host: " if result["device"] else ""
    lines = ["# Strategies and " + ("the kd-tree" if result["backend"] == "cpu" else "backends"), "", about["about"], "",
             f"`{one['command']}`, {one['date']}, commit {one['commit']}, {result['threads']} threads", "",
             f"{device}{where['cpu']}, {where['usable_cpus']} processors, {where['memory']}; {where['system']}.", ""]
    if about["quick"]:
        lines += ["**A trial with a twentieth of the points, run once. These numbers mean nothing.**", ""]
    lines += [f"- {note}" for note in notes] + [""] * bool(notes)
    if result["models"]["rows"]:
        lines += model_sections(result)
    if result["sums"]["rows"]:
        lines += sum_sections(result)
    if result["portable"]["rows"]:
        lines += portable_sections(result)
    lines += tree_sections(result)
    return "\n".join([*lines, "", *(f"![{name}]({name})" for name in files), ""])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, help="default: build/release/bin/manymeans, or build/dev/bin/manymeans")
    parser.add_argument("--backend", default="cpu", choices=PARTS, help="whose strategies; default: cpu")
    parser.add_argument("--all", action="store_true", help="those of every backend that the program and this machine have")
    parser.add_argument("--threads", type=int, default=0, help="default: all that this machine gives")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the points, once: to try the machinery")
    parser.add_argument("--longest", type=float, default=60, metavar="SECONDS",
                        help="a line ends after a fit that takes longer; default: 60")
    parser.add_argument("--only", choices=PARTS["opencl"], help="one part of it")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench-data", help="where points are kept")
    parser.add_argument("--out", type=pathlib.Path,
                        help="folder for the results; default: bench/results/<machine>/, none of --quick")
    options = parser.parse_args()
    built = "dev" if options.backend == "cuda" else "release"
    options.program = (options.program or ROOT / f"build/{built}/bin/manymeans").resolve()
    return options


def device_of(options):
    """(what the program says of the device of this backend, its short name); both empty for a backend without one. The
    name is empty for processors as a device, too: results are those of the machine."""
    if options.backend == "cpu":
        return "", ""
    info = json.loads(run([str(options.program), "info", "--json"]).output)
    for device in info["devices"]:
        found = re.match(rf"{re.escape(options.backend)}:\d+ (?:NVIDIA )?([^,]+),", device)
        if found:
            return device, "" if "PoCL" in device else "-".join(re.findall(r"[a-z0-9]+", found[1].lower()))
    return "", ""


def measured(options, notes):
    """Everything that is measured of options.backend."""
    device, name = device_of(options)
    parts = [part for part in PARTS[options.backend] if options.only in (None, part)]
    if not parts:
        raise SystemExit(f"the backend {options.backend} has no part {options.only}, only {', '.join(PARTS[options.backend])}")
    result = {"backend": options.backend, "device": device, "threads": options.threads, "figure": "7-2" if name else "7-1",
              "models": {"rows": []}, "sums": {"rows": []}, "portable": {"rows": []}, "columns": {}, "clusters": {"rows": []}}
    with tempfile.TemporaryDirectory(prefix="manymeans-bench-") as folder:
        if "models" in parts:
            result["models"] = by_models(options, folder, notes)
        if "sums" in parts:
            result["sums"] = by_sums(options, folder, notes)
        if "portable" in parts and not name:
            result["portable"] = by_shapes(options, folder, notes)
        if "columns" in parts:
            result["columns"] = {variant: by_columns(options, folder, notes, variant) for variant in ("noise", "mixture")}
        if "clusters" in parts:
            result["clusters"] = by_clusters(options, folder, notes)
    return result


def write(out, name, about, result, notes):
    """Prints what was measured; with a folder `out` also tables, charts and JSON. name: how their names end."""
    drawn = {f"{chart}{name}.svg": svg for chart, svg in charts(result).items()}
    text = markdown(about, result, notes, drawn)
    print(text)
    if not out:
        return
    out.mkdir(parents=True, exist_ok=True)
    for file, svg in drawn.items():
        (out / file).write_text(svg, encoding="utf-8")
    (out / f"strategies{name}.md").write_text(text, encoding="utf-8")
    everything = json.dumps({**about, "notes": notes, **result}, indent=1)
    (out / f"strategies{name}.json").write_text(everything + "\n", encoding="utf-8")
    print(f"wrote {shown(out)}")


def backends_of(options):
    """The backends to be measured."""
    if not options.all:
        return [options.backend]
    info = json.loads(run([str(options.program), "info", "--json"]).output)
    here = {entry["name"] for entry in info["backends"] if entry["available"]}
    return [name for name in ALL_BACKENDS if name in here]


def main():
    options = parse_arguments()
    about = about_run(options, ABOUT, [])
    options.threads = options.threads or about["machine"]["usable_cpus"]
    for backend in backends_of(options):
        options.backend, notes = backend, []
        result = measured(options, notes)
        folder = device_of(options)[1] or machine.name(about["machine"])
        out = options.out or (None if options.quick else HERE / "results" / folder)
        write(out, f"{'-opencl' if backend == 'opencl' else ''}-on-{folder}", about, result, notes)


if __name__ == "__main__":
    main()
