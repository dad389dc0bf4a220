"""Compares manymeans on a CUDA device with the peers that are installed. All get the same points, first centroids and
number of iterations in one run. Peers on the device are flash-kmeans, FlashLib, cuVS, fastkmeans and plain torch. Peers
on the host are scikit-learn and the cpu backend. `./dev bench gpu` runs it. It requires NumPy; peers on the device
require torch with CUDA.

An iteration takes (T(i) - T(1)) / (i - 1), T(i) being a whole fit of i iterations, the final labelling included for
manymeans; the median over --repeats pairs of fits or, of short fits, over more. Peers on the GPU start from points that
lie there as float16 already. Labels of manymeans are recomputed from its final prototypes, and its digests are compared
with those of the cpu backend."""

import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

import canonical_labels
import energy
import forked
import gpu_peers
import gpu_report
import machine
import run_context
import suite_rows

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CHECKED_ROWS = 1_000_000
CHECK_OPERATIONS = 2e11  # of labels that are recomputed on the host
PIECE = 1 << 17  # rows that have random numbers of their own
SUSTAINED, READ = 1.5, 1.0  # seconds of fits, or of passes, one after the other, and those of them whose power counts
QUICK_SHARE, QUICK_ROWS = 20, 2_000
# Kernels are loaded when the process begins, not in the pass that is first to use them.
ENVIRONMENT = {**os.environ, "CUDA_MODULE_LOADING": "EAGER"}


def points_of(row, kind):
    """N(0, 1) in every column, or a mixture of k/2 components that are typically 4 deviations apart (docs/developer/benchmarks.md)."""
    n, d, groups = row["n"], row["d"], max(2, row["k"] // 2)
    points = np.empty((n, d), np.float32)
    centres = np.random.default_rng(8).standard_normal((groups, d), np.float32) * np.float32(4 / np.sqrt(2 * d))

    def fill(first):
        random, part = np.random.default_rng([7, first]), points[first : first + PIECE]
        random.standard_normal(dtype=np.float32, out=part)
        if kind == "mixture":
            part += centres[random.integers(groups, size=len(part))]

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(fill, range(0, n, PIECE)))
    return points.astype(row.get("dtype", "float32"), copy=False)


class Ours:
    """Whole fits by the programs; the points come from a file."""

    def __init__(self, options, row, path):
        self.program, self.backend, self.row, self.path, self.digests = options.program, options.backend, row, path, {}
        self.models = row.get("models", 1)
        self.init = "first" if self.models == 1 else "random"

    def fit(self, iterations, backend=None, extra=()):
        command = [self.program, "fit", self.path, "-k", self.row["k"], "--models", self.models, "--tol", 0, "--max-iter",
                   iterations, "--init", self.init, "--backend", backend or self.backend, "--json", *extra]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True, text=True, env=ENVIRONMENT)
        found = json.loads(done.stdout)
        self.digests.setdefault(iterations, set()).add(found["digest"])
        return found

    def times(self, iterations, repeats):
        """{iterations: seconds of each repeat} of fits in one warm process."""
        command = [self.program.with_name("repeated_fits"), self.path, self.backend, self.row["k"], self.models, self.init,
                   iterations, repeats, SUSTAINED if repeats > 1 else 0]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True, text=True, env=ENVIRONMENT)
        found = {int(count): series for count, series in json.loads(done.stdout).items()}
        for count, series in found.items():
            self.digests.setdefault(count, set()).update(series["digests"])
        return {count: series["seconds"] for count, series in found.items()}


def fit_seconds(summary):
    seconds = summary["provenance"]["seconds"]
    return seconds["fit"] - seconds["fit: initialise"]


def other_backend(backend):
    """The one that answers are compared with."""
    return "cpu" if backend != "cpu" else "reference"


def on_cpu(ours, iterations, longest):
    """(times of the other backend, the most iterations whose digests were compared). Few iterations
    where many would take longer than `longest` seconds: then the time is that of a pass."""
    other = other_backend(ours.backend)
    summary = ours.fit(1, other)
    one = fit_seconds(summary)
    if one / 2 * (iterations + 1) > longest:
        return {"ms": 1e3 * summary["provenance"]["seconds"]["fit: passes"] / 2, "rough": True}, 1
    many = fit_seconds(ours.fit(iterations, other))
    return {"ms": gpu_peers.per_iteration({1: [one], iterations: [many]})}, iterations


def wrong_labels(points, labels, prototypes):
    """(rows drawn at random, those of them whose label is not the canonical one)."""
    rows = min(len(points), CHECKED_ROWS)
    on_device = importlib.util.find_spec("torch") is not None and canonical_labels.torch_device() == "cuda"
    if not on_device:
        rows = int(min(rows, CHECK_OPERATIONS / (2 * prototypes.size)))
    chosen = np.sort(np.random.default_rng(5).choice(len(points), rows, replace=False))
    compute = canonical_labels.labels_by_torch if on_device else canonical_labels.labels
    right, _ = compute(points[chosen], prototypes)
    return rows, int((labels[chosen] != right).sum())


def check_labels(points, labels, model, summary):
    """The same for the best model of a fit, from the files that it wrote."""
    best = min(range(len(summary["models"])), key=lambda m: summary["models"][m]["inertia"])
    with np.load(model) as arrays:
        prototypes = arrays[f"centroids_{best}"]
    found = forked.apart(wrong_labels, points, np.load(labels).ravel(), prototypes)
    if isinstance(found, dict):
        raise RuntimeError(f"labels could not be recomputed: {found['failed']}")
    return found


def warm_passes(options, row, kind, meter):
    """Passes alone, one after the other, by cuda_passes on points of the same kind: {"ms", "watts"}, or None where
    that program is not beside the other."""
    program = options.program.with_name("cuda_passes")
    if options.backend != "cuda" or not program.exists():
        return None
    passes = row.get("iterations", 11) + 1  # a fit's final labels are one more
    command = ["stdbuf", "-oL", program, "--seconds", SUSTAINED, "--passes", passes, row["n"], row["d"], row["k"],
               row.get("models", 1), row.get("dtype", "float32"), kind]
    with energy.Recorder(meter) as recorder:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            timed = re.search(r"\| ([\d.]+) ms an iteration", line)
            if timed:
                found, end = float(timed[1]), time.perf_counter()
        if process.wait() != 0:
            raise subprocess.CalledProcessError(process.returncode, "cuda_passes")
    return {"ms": found, "watts": recorder.watts(end - READ, end)}


class Stages:
    """What each stage of a row took, in seconds: for those who plan a run on a machine lent for minutes."""

    def __init__(self):
        self.took, self.since = {}, time.perf_counter()

    def end(self, name):
        now = time.perf_counter()
        self.took[name], self.since = round(now - self.since, 2), now


def on_host(ours, points, row, iterations, options):
    """({peer: times}, iterations whose digests were compared)."""
    peers = {}
    cpu, compared = on_cpu(ours, iterations, options.longest)
    if "cpu backend" in options.peers:
        peers[f"{other_backend(options.backend)} backend"] = cpu
    if "scikit-learn" in options.peers:
        threads = len(os.sched_getaffinity(0))
        peers["scikit-learn"] = gpu_peers.scikit_learn(ours.path, points, row, threads, options.longest / 4)
    return peers, compared


def measure(row, kind, options, meter):
    stages, iterations = Stages(), row.get("iterations", 11)
    points = points_of(row, kind)
    with tempfile.TemporaryDirectory() as folder:
        path, labels, model = (pathlib.Path(folder, name) for name in ("points.npy", "labels.npy", "model.npz"))
        np.save(path, points)
        stages.end("points")
        ours = Ours(options, row, path)
        times = ours.times(iterations, options.repeats)
        summary = ours.fit(iterations, extra=["--labels", labels, "--model", model])
        stages.end("fits")
        checked, wrong = check_labels(points, labels, model, summary)
        stages.end("check")
        ms = gpu_peers.per_iteration(times)
        warm = warm_passes(options, row, kind, meter)
        stages.end("passes alone")
        peers = gpu_peers.on_gpu([name for name in options.peers if name in gpu_peers.ON_GPU], points, row, iterations,
                                 options.repeats, meter)
        stages.end("peers on the GPU")
        others, compared = on_host(ours, points, row, iterations, options)
        stages.end("host")
    provenance = summary["provenance"]
    return {"row": row["name"], "kind": kind, "ms": ms, "single": times, "warm": warm,
            "certified": provenance["certified_share"],
            "candidates": provenance.get("candidates", 0) / max(1, provenance.get("resolved", 0)), "plan": provenance["plan"],
            "seconds": provenance["seconds"], "pass_log": provenance["pass_log"], "checked": checked, "wrong": wrong,
            "digest_of_cpu": all(len(found) == 1 for found in ours.digests.values()), "compared_iterations": compared,
            "peers": peers | others, "took": stages.took}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/dev/bin/manymeans",
                        help="beside it repeated_fits, and cuda_passes, which times and powers passes alone; default: %(default)s")
    parser.add_argument("--backend", default="cuda", help="another than cuda: to try the machinery without a GPU")
    parser.add_argument("--suite", type=pathlib.Path, default=HERE / "suites/gpu.json")
    parser.add_argument("--rows", metavar="TEXT", nargs="*", default=[""], help="only rows whose name holds one of these")
    parser.add_argument("--kinds", choices=("noise", "mixture"), nargs="*", default=["noise", "mixture"],
                        help="of the points; a row that has one only is measured anyway")
    parser.add_argument("--peers", metavar="NAME", nargs="*", choices=gpu_peers.NAMES, default=list(gpu_peers.NAMES),
                        help=f"of {', '.join(gpu_peers.NAMES)}; default: all")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the points, once: to try the machinery")
    parser.add_argument("--longest", type=float, default=20, metavar="SECONDS", help="fits on the host that would take longer "
                        "are made shorter; scikit-learn may take a quarter of it for an iteration")
    parser.add_argument("--budget", type=float, default=3600, metavar="SECONDS", help="begin no row after this time")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for gpu.json and gpu.md")
    options = parser.parse_args()
    options.program = options.program.resolve()
    if options.quick:
        options.repeats = 1
    return options


def chosen_rows(suite, options):
    """[(row, kind)] of those asked for."""
    for row in suite["rows"]:
        if not any(text in row["name"] for text in options.rows):
            continue
        if options.quick:
            row = {**row, "n": min(row["n"], max(row["n"] // QUICK_SHARE, QUICK_ROWS, 4 * row["k"]))}
        kinds = row.get("kinds", ["noise"])
        yield from ((row, kind) for kind in kinds if kind in options.kinds or len(kinds) == 1)


def main():
    options = parse_arguments()
    begin, meter = time.monotonic(), energy.Meter()
    suite = suite_rows.load_suite(options.suite, ("name", "n", "d", "k"))
    lacking = gpu_peers.missing(options.peers) if options.backend == "cuda" else {name: "a GPU" for name in gpu_peers.ON_GPU}
    options.peers = [name for name in options.peers if name not in lacking]
    if "cuVS" in options.peers:
        try:
            import cuvs.cluster.kmeans  # noqa: F401  # before torch, whose nvJitLink may be older than it needs
        except ImportError as failure:
            options.peers.remove("cuVS")
            lacking["cuVS"] = str(failure)
    if any(name in gpu_peers.ON_GPU for name in options.peers):
        import torch  # noqa: F401  # once, and not in every process that is forked
    options.out.mkdir(parents=True, exist_ok=True)
    about = {"machine": machine.describe(), "device": device_of(options.program), "quick": options.quick,
             "not found": lacking, "no joules": meter.lacking, "run": run_context.this_run(list(lacking))}
    results, left_out, text = [], [], ""
    for row, kind in chosen_rows(suite, options):
        name = f"{row['name']} / {kind}"
        if time.monotonic() - begin > options.budget:
            left_out.append(name)
            continue
        print(f"{time.monotonic() - begin:6.0f} s  {name}", file=sys.stderr, flush=True)
        try:
            results.append(measure(row, kind, options, meter))
        except subprocess.CalledProcessError as failure:
            left_out.append(f"{name}: FAILED with exit code {failure.returncode}")
        text = gpu_report.page(suite, about, results, left_out)
        (options.out / "gpu.md").write_text(text, encoding="utf-8")
        everything = json.dumps({**about, "left out": left_out, "results": results}, indent=1)
        (options.out / "gpu.json").write_text(everything + "\n", encoding="utf-8")
    text = gpu_report.page(suite, about, results, left_out)
    (options.out / "gpu.md").write_text(text, encoding="utf-8")
    print(text)
    failed = any(result["wrong"] or not result["digest_of_cpu"] for result in results)
    return 1 if failed or any("FAILED" in name for name in left_out) else 0


def device_of(program):
    """What the program says of its first device; empty where it has none."""
    info = json.loads(subprocess.run([program, "info", "--json"], stdout=subprocess.PIPE, check=True, text=True).stdout)
    return next((device for device in info["devices"] if device.startswith("cuda:")), "")


if __name__ == "__main__":
    sys.exit(main())
