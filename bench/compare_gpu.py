"""Compares manymeans on a CUDA device with flash-kmeans and with plain torch: the same points, the same first centroids,
the same iterations, in one run. `./dev bench gpu` runs it; it needs torch with CUDA, and flash-kmeans where it is to
take part.

An iteration takes (T(i) - T(1)) / (i - 1), T(i) being a whole fit of i iterations, the final labelling included for
manymeans; medians of --repeats. Peers start from points that lie on the device as float16 already. Labels of manymeans
are recomputed from its final prototypes, and its digest is compared with that of the cpu backend."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import canonical_labels
import data_sets
import machine

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CHECK_OPERATIONS = 2e11  # of the recomputed labels
TORCH_CHUNK = 1 << 28  # distances that torch holds at once


def points_of(row, kind):
    n, d = row["n"], row["d"]
    points = data_sets.noise(n, d, 7) if kind == "noise" else data_sets.mixture(n, d, max(2, row["k"] // 2), 4, 8)
    return points.astype(row.get("dtype", "float32"), copy=False)


class Ours:
    """Whole fits by the program; the points come from a file."""

    def __init__(self, options, row, path):
        self.program, self.row, self.path = options.program, row, path

    def fit(self, iterations, backend="cuda", extra=()):
        models = self.row.get("models", 1)
        command = [self.program, "fit", self.path, "-k", self.row["k"], "--models", models, "--tol", 0, "--max-iter",
                   iterations, "--init", "first" if models == 1 else "random", "--backend", backend, "--json", *extra]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True, text=True)
        return json.loads(done.stdout)

    def seconds(self, iterations):
        self.last = self.fit(iterations)
        return self.last["provenance"]["seconds"]["fit"] - self.last["provenance"]["seconds"]["fit: initialise"]

    def check(self, points, iterations):
        """Recomputes labels of random rows; gives (rows, wrong ones, digest of the cpu backend is ours)."""
        with tempfile.TemporaryDirectory() as folder:
            labels, model = pathlib.Path(folder, "labels.npy"), pathlib.Path(folder, "model.npz")
            ours = self.fit(iterations, extra=["--labels", labels, "--model", model])
            best = min(range(len(ours["models"])), key=lambda m: ours["models"][m]["inertia"])
            with np.load(model) as arrays:
                prototypes = arrays[f"centroids_{best}"]
            found = np.load(labels).ravel()
        rows = int(min(len(points), 1e6, CHECK_OPERATIONS / (2 * self.row["k"] * self.row["d"])))
        chosen = np.random.default_rng(5).choice(len(points), rows, replace=False)
        right, _ = canonical_labels.labels(points[chosen], prototypes)
        same = self.fit(iterations, "cpu")["digest"] == ours["digest"]
        return rows, int((found[chosen] != right).sum()), same


def flash(points, row):
    import torch
    from flash_kmeans import batch_kmeans_Euclid
    models, k = row.get("models", 1), row["k"]
    x = torch.from_numpy(points).cuda().half()[None]
    x = x.expand(models, -1, -1).contiguous() if models > 1 else x
    first = torch.stack([x[m, m * k : (m + 1) * k] for m in range(models)])
    return lambda iterations: batch_kmeans_Euclid(x, k, max_iters=iterations, tol=-1.0, init_centroids=first.clone())


def torch_chunked(points, row):
    """What people write themselves: float32 (tf32 allowed), distances by a matrix product, in pieces of rows."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = True
    x, k = torch.from_numpy(points).cuda(), row["k"]
    rows = max(1, TORCH_CHUNK // k)

    def fit(iterations):
        c = x[:k].clone()
        for _ in range(iterations):
            half = (c * c).sum(1) / 2
            labels = torch.cat([torch.argmax(part @ c.T - half, 1) for part in x.split(rows)])
            sums = torch.zeros_like(c).index_add_(0, labels, x)
            counts = torch.bincount(labels, minlength=k).clamp(min=1)
            c = sums / counts[:, None]
        return c

    return fit if row.get("models", 1) == 1 else None


def peer_seconds(make, points, row, iterations, repeats):
    """{iterations: median seconds} or why there is none."""
    import torch
    try:
        fit = make(points, row)
        if fit is None:
            return "one model only"
        times = {1: [], iterations: []}
        fit(1), fit(2)  # compiles
        for _ in range(repeats):
            for count, kept in times.items():
                torch.cuda.synchronize()
                begin = time.perf_counter()
                fit(count)
                torch.cuda.synchronize()
                kept.append(time.perf_counter() - begin)
        return {count: statistics.median(kept) for count, kept in times.items()}
    except Exception as failure:  # a peer that fails is a line of the table, not the end of the run
        return f"{type(failure).__name__}: {str(failure).splitlines()[0][:120] if str(failure) else ''}"
    finally:
        torch.cuda.empty_cache()


def per_iteration(times, iterations):
    return 1e3 * (times[iterations] - times[1]) / (iterations - 1)


def measure(row, kind, options, peers):
    points = points_of(row, kind)
    iterations = row.get("iterations", 11)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "points.npy")
        np.save(path, points)
        ours = Ours(options, row, path)
        times = {1: [], iterations: []}
        for _ in range(options.repeats):
            for count, kept in times.items():
                kept.append(ours.seconds(count))
        provenance = ours.last["provenance"]
        rows, wrong, same = ours.check(points, iterations)
    result = {"row": row["name"], "kind": kind, "ms": per_iteration({c: statistics.median(t) for c, t in times.items()}, iterations),
              "single": times, "certified": provenance["certified_share"],
              "candidates": provenance["candidates"] / max(1, provenance["resolved"]), "plan": provenance["plan"],
              "seconds": provenance["seconds"], "pass_log": provenance["pass_log"], "checked": rows, "wrong": wrong,
              "digest_of_cpu": same, "peers": {}}
    for name, make in peers.items():
        found = peer_seconds(make, points, row, iterations, options.repeats)
        result["peers"][name] = {"failed": found} if isinstance(found, str) else {"ms": per_iteration(found, iterations)}
    return result


def table(suite, results):
    wanted = {row["name"]: row for row in suite["rows"]}
    names = list(dict.fromkeys(name for result in results for name in result["peers"]))
    lines = ["| | ms | at most | aim | floor | " + " | ".join(names) + " | certified | candidates each | labels wrong | cpu's digest |",
             "| --- |" + " ---: |" * (8 + len(names))]
    for result in results:
        row = wanted[result["row"]]
        peers = [f"{found['ms']:.3g} ({found['ms'] / result['ms']:.2f}x)" if "ms" in found else "-"
                 for found in (result["peers"].get(name, {}) for name in names)]
        reached = "" if result["ms"] <= row["at_most"] else " **missed**"
        lines.append(f"| {result['row']} / {result['kind']} | {result['ms']:.4g} | {row['at_most']}{reached} | {row['aim']} | "
                     f"{row.get('floor', '-')} | " + " | ".join(peers) +
                     f" | {result['certified']:.2%} | {result['candidates']:.2f} | {result['wrong']} of {result['checked']} | "
                     f"{'same' if result['digest_of_cpu'] else '**DIFFERS**'} |")
    failures = [f"- {result['row']} / {result['kind']}: {name}: {found['failed']}" for result in results
                for name, found in result["peers"].items() if "failed" in found]
    return "\n".join([*lines, "", *failures])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/cuda/bin/manymeans")
    parser.add_argument("--suite", type=pathlib.Path, default=HERE / "suites/gpu.json")
    parser.add_argument("--rows", metavar="TEXT", nargs="*", default=[""], help="only rows whose name holds one of these")
    parser.add_argument("--peers", metavar="NAME", nargs="*", default=["flash-kmeans", "torch"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--budget", type=float, default=3600, metavar="SECONDS", help="begin no row after this time")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for gpu.json and gpu.md")
    return parser.parse_args()


def main():
    options = parse_arguments()
    begin = time.monotonic()
    suite = json.loads(options.suite.read_text())
    peers = {name: {"flash-kmeans": flash, "torch": torch_chunked}[name] for name in options.peers}
    options.out.mkdir(parents=True, exist_ok=True)
    results, left_out = [], []
    for row in suite["rows"]:
        for kind in ["noise", *(["mixture"] if row.get("mixture") else [])]:
            if not any(text in row["name"] for text in options.rows):
                continue
            if time.monotonic() - begin > options.budget:
                left_out.append(f"{row['name']} / {kind}")
                continue
            print(f"{time.monotonic() - begin:6.0f} s  {row['name']} / {kind}", file=sys.stderr, flush=True)
            try:
                results.append(measure(row, kind, options, peers))
            except subprocess.CalledProcessError as failure:
                left_out.append(f"{row['name']} / {kind}: FAILED with exit code {failure.returncode}")
                continue
            text = f"# {suite['name']}\n\n{suite['about']}\n\n{table(suite, results)}\n"
            text += "".join(f"- left out: {name}\n" for name in left_out)
            (options.out / "gpu.md").write_text(text)
            (options.out / "gpu.json").write_text(json.dumps({"machine": machine.describe(), "results": results}, indent=1))
    print(table(suite, results))
    print("\n".join(f"left out: {name}" for name in left_out))
    return 1 if any(result["wrong"] or not result["digest_of_cpu"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
