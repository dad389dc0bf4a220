#!/usr/bin/env python3
"""The opencl backend beside a plain OpenCL k-means of the usual kind on one device (bench/peers/plain_opencl.cpp: one work-item
a point, every distance, sums by atomic additions of float, new prototypes by the host in every iteration). Both begin with the
same rows, make as many iterations, and take turns in one process; the inertia of every model has to agree.

`./dev bench opencl` runs it. The program is bin/opencl_peer of any build in which OpenCL's headers were found. Any Python."""

import argparse
import json
import pathlib
import re
from statistics import median

import machine
import report
from measured_process import run
from run_context import HERE, ROOT, about_run, shown

# n, d, k, models; on a processor the plain one would take long for all models of a GPU, and each takes the same time.
SHAPES = [(1_000_000, 2, 10, 1), (1_000_000, 2, 10, 100), (500_000, 8, 64, 1), (500_000, 54, 64, 1), (500_000, 3, 256, 1)]
MODELS_OF_PROCESSORS = 8
ITERATIONS = 10
MOST_DIFFERENCE = 1e-3
PEERS = {"exchange": "plain", "native": "plain, native atomics"}
ABOUT = {
    "name": "opencl-peer",
    "about": "The opencl backend beside a plain OpenCL k-means: one work-item a point, every distance, sums by atomic additions of float "
             "(attempts to exchange; *native*: NVIDIA's instruction), prototypes by the host in every iteration, one model after the other. "
             f"The same first rows, {ITERATIONS} iterations and the last labels; seconds, medians of runs in turns in one process. A *fit* "
             "copies the points to the device; building kernels counts for neither.",
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/manymeans",
                        help="opencl_peer stands beside it; default: build/release/bin/manymeans")
    parser.add_argument("--device", type=int, default=0, help="its number in `manymeans info`")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the points, once: to try the machinery")
    parser.add_argument("--out", type=pathlib.Path,
                        help="folder for the results; default: bench/results/<machine or GPU>/, none of --quick")
    return parser.parse_args()


def device_of(options):
    """(what the program says of the device, its short name, empty for a processor)."""
    info = json.loads(run([str(options.program), "info", "--json"]).output)
    for line in info["devices"]:
        found = re.match(rf"opencl:{options.device} (?:NVIDIA )?([^,]+),", line)
        if found:
            return line, "" if "pocl" in line.lower() else "-".join(re.findall(r"[a-z0-9]+", found[1].lower()))
    raise SystemExit(f"there is no device opencl:{options.device}")


def measured(options, processor):
    """A dict for each shape: what opencl_peer prints, and the shape."""
    for n, d, k, models in SHAPES:
        models = min(models, MODELS_OF_PROCESSORS) if processor else models
        n = n // 20 if options.quick else n
        repeats = 1 if options.quick else options.repeats
        command = [options.program.with_name("opencl_peer"), options.device, n, d, k, models, ITERATIONS, repeats]
        found = json.loads(run(list(map(str, command))).output)
        if not found["largest difference"] <= MOST_DIFFERENCE:
            raise SystemExit(f"{n} x {d}, k = {k}: the inertia differs by {found['largest difference']}")
        yield {"n": n, "d": d, "k": k, "models": models, **found}


def row_of(found):
    ours = {what: median(found["manymeans"][what]) for what in ("whole", "passes")}
    cells = [f"{found['n']} x {found['d']}, {found['k']}, {found['models']}", report.seconds(ours["whole"]), report.seconds(ours["passes"])]
    for peer in PEERS:
        if peer in found:
            theirs = {what: median(found[peer][what]) for what in ours}
            cells += [f"{report.seconds(theirs[what])} ({theirs[what] / ours[what]:.1f})" for what in ours]
    return [*cells, f"{found['largest difference']:.0e}"]


def markdown(about, device, rows):
    where, one = about["machine"], about["runs"][0]
    peers = [name for peer, name in PEERS.items() if peer in rows[0]]
    head = ["points, clusters, models", "manymeans, fit", "passes"]
    head += [f"{name}, {what}" for name in peers for what in ("fit", "passes")]
    lines = ["# A plain OpenCL k-means", "", about["about"], "", f"`{one['command']}`, {one['date']}, commit {one['commit']}", "",
             f"{device}; host: {where['cpu']}, {where['usable_cpus']} processors, {where['memory']}; {where['system']}.", ""]
    if about["quick"]:
        lines += ["**A trial with a twentieth of the points, run once. These numbers mean nothing.**", ""]
    lines += report.table([*head, "inertia differs by"], [row_of(found) for found in rows])
    return "\n".join([*lines, "", "In brackets: times of manymeans.", ""])


def main():
    options = parse_arguments()
    options.program = options.program.resolve()
    about = about_run(options, ABOUT, [])
    device, name = device_of(options)
    rows = list(measured(options, not name))
    text = markdown(about, device, rows)
    print(text)
    folder = name or machine.name(about["machine"])
    out = options.out or (None if options.quick else HERE / "results" / folder)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"plain-opencl-on-{folder}.md").write_text(text, encoding="utf-8")
        everything = json.dumps({**about, "device": device, "iterations": ITERATIONS, "rows": rows}, indent=1)
        (out / f"plain-opencl-on-{folder}.json").write_text(everything + "\n", encoding="utf-8")
        print(f"wrote {shown(out)}")


if __name__ == "__main__":
    main()
