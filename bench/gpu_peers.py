"""The peers of `./dev bench gpu`, each in a process of its own. Those on the GPU get points that lie on the device, as float16
but for cuVS and torch.
A new peer on the GPU is a function and an entry of ON_GPU."""

import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import energy
import forked
import peer_table
import philox_rows

TORCH_CHUNK = 1 << 28  # distances that torch holds at once
LONGEST = 30.0  # seconds that the repeats of one peer may take together
POWER_SECONDS = 0.7  # of fits one after the other, while power is read
SKLEARN_RATE = 25e9  # operations a second on each thread, for a first guess
ONE_MODEL_ONLY = "one model only"


def _first_rows(x, row):
    import torch

    return torch.stack([x[m, m * row["k"] : (m + 1) * row["k"]] for m in range(len(x))])


def _copies(points, row):
    """A copy of the points for each model, which batched fits need: models x rows x columns."""
    import torch

    models = row.get("models", 1)
    x = torch.from_numpy(points).cuda().half()[None]
    return x.expand(models, -1, -1).contiguous() if models > 1 else x


def flash(points, row):
    from flash_kmeans import batch_kmeans_Euclid

    x = _copies(points, row)
    first = _first_rows(x, row)
    return lambda iterations: batch_kmeans_Euclid(x, row["k"], max_iters=iterations, tol=-1.0, init_centroids=first.clone())


def flashlib(points, row):
    """Its own choice of kernels; those of CuTe DSL (k from 4096, 256 to 512 columns) only where nvidia-cutlass-dsl is."""
    from flashlib import flash_kmeans

    x = _copies(points, row)
    first = _first_rows(x, row)
    return lambda iterations: flash_kmeans(x, row["k"], max_iters=iterations, tol=0.0, init_centroids=first.clone())


def cuvs(points, row):
    """The engine of cuML, in float32. It stops early only if the inertia does not change at all."""
    import torch
    from cuvs.cluster import kmeans

    if row.get("models", 1) > 1:
        return None
    x, k = torch.from_numpy(points).cuda(), row["k"]

    def fit(iterations):
        params = kmeans.KMeansParams(n_clusters=k, init_method="Array", max_iter=iterations, tol=1e-30, n_init=1)
        _, _, done = kmeans.fit(params, x, centroids=x[:k].clone())
        if done != iterations:
            raise RuntimeError(f"did {done} iterations, not {iterations}")

    return fit


def fastkmeans(points, row):
    """Starts from random rows of its own: it takes no others. Its loop is called with points on the device (its class
    copies them from the host in every iteration) and with the faster of two sizes of pieces. Its Triton kernel reads
    prototypes and columns that do not exist where their numbers do not fill its tiles; there its torch loop takes part."""
    import torch
    from fastkmeans.kmeans import HAS_TRITON, _kmeans_torch_double_chunked

    if row.get("models", 1) > 1:
        return None
    x = torch.from_numpy(points).cuda()
    x, norms = x.half(), (x * x).sum(1)
    fills_tiles = row["k"] % 128 == 0 and row["d"] % 32 == 0

    def fit(iterations, rows):
        torch.manual_seed(0)
        return _kmeans_torch_double_chunked(x, norms, k=row["k"], device=x.device, dtype=torch.float16, max_iters=iterations,
                                            tol=-1.0, chunk_size_data=rows, max_points_per_centroid=None,
                                            use_triton=HAS_TRITON and fills_tiles)

    def seconds(rows):
        fit(1, rows)
        begin = time.perf_counter()
        fit(2, rows)
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    best = min((51_200, 1 << 20), key=seconds)
    return lambda iterations: fit(iterations, best)


def torch_chunked(points, row):
    """What people write themselves: float32 (tf32 allowed), distances by a matrix product, in pieces of rows."""
    import torch

    if row.get("models", 1) > 1:
        return None
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

    return fit


# Name: (module that must be there, function of points and row that gives a fit of so many iterations, or None).
ON_GPU = {
    "flash-kmeans": ("flash_kmeans", flash),
    "FlashLib": ("flashlib", flashlib),
    "cuVS": ("cuvs", cuvs),
    "fastkmeans": ("fastkmeans", fastkmeans),
    "torch": ("torch", torch_chunked),
}
ON_HOST = ("cpu backend", "scikit-learn")
NAMES = (*ON_GPU, *ON_HOST)


def missing(names):
    """{peer: module that this Python lacks}; without torch none on the GPU can run."""
    modules = {name: (["torch", ON_GPU[name][0]] if name in ON_GPU else ["sklearn", "threadpoolctl"]) for name in names
               if name != "cpu backend"}
    lacking = {name: [module for module in needed if importlib.util.find_spec(module) is None]
               for name, needed in modules.items()}
    return {name: found[0] for name, found in lacking.items() if found}


def each_iteration(times):
    """Milliseconds an iteration of each repeat, of {iterations: seconds of each repeat}, those of 1 and of more."""
    one, many = sorted(times, key=int)  # numbers when measured, text when read from JSON
    return [1e3 * (b - a) / (int(many) - int(one)) for a, b in zip(times[one], times[many])]


def per_iteration(times):
    """The median of these: what slows a fit slows its neighbour too."""
    return statistics.median(each_iteration(times))


def _seconds(fit, iterations):
    import torch

    torch.cuda.synchronize()
    begin = time.perf_counter()
    fit(iterations)
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def _measured(fit, iterations, repeats):
    """{"ms"} of a fit that is warm."""
    guess = 2 * iterations * (_seconds(fit, 2) - _seconds(fit, 1))
    repeats = max(1, min(repeats, int(LONGEST / max(guess, 1e-9))))
    times = {1: [], iterations: []}
    for _ in range(repeats):
        for count, kept in times.items():
            kept.append(_seconds(fit, count))
    return {"ms": per_iteration(times)}


def _repeated(fit, iterations):
    begin = time.perf_counter()
    while time.perf_counter() - begin < POWER_SECONDS:
        _seconds(fit, iterations)
    return {}


def _serve(pipe, name, points, row, iterations, repeats):
    """One peer in its process: makes ready and says so, and when it is told to measures, then repeats the same."""
    try:
        fit = ON_GPU[name][1](points, row)
        if fit is None:
            pipe.send({"failed": ONE_MODEL_ONLY})
            return
        _seconds(fit, 1), _seconds(fit, 2)  # compiles
        pipe.send({})
        pipe.recv()
        pipe.send(_measured(fit, iterations, repeats))
        if pipe.recv() == "repeat":
            pipe.send(_repeated(fit, iterations))
    except Exception as failure:  # a peer that fails is a line of the report, not the end of the run
        pipe.send({"failed": f"{type(failure).__name__}: {(str(failure).splitlines() or [''])[0][:120]}"})


def _asked(process, ready, meter):
    """What a peer's process says of its time; the power of what it repeats is read from here."""
    if "failed" in ready:
        return ready
    process.send("measure")
    found = process.receive()
    if "failed" in found:
        return found
    if not meter.read:
        process.send("end")
        return found | {"watts": None}

    def repeat():
        process.send("repeat")
        found.update(process.receive())

    return found | {"watts": energy.watts_of(meter, repeat)}


def on_gpu(names, points, row, iterations, repeats, meter):
    """{peer: {"ms", "watts"} or {"failed": why there is none}}. All make ready together, then each has the device for
    itself; one that has no memory beside the others is tried again alone."""
    processes = {name: forked.Forked(_serve, name, points, row, iterations, repeats) for name in names}
    ready = {name: process.receive() for name, process in processes.items()}
    found = {}
    for name, process in processes.items():
        found[name] = _asked(process, ready[name], meter)
        process.end()
    again = [name for name in names if len(names) > 1 and "OutOfMemory" in found[name].get("failed", "")]
    for name in again:
        found.update(on_gpu([name], points, row, iterations, repeats, meter))
    return found


def sklearn_operations(row):
    """Of one iteration of one model; a distance costs about as much as 8 columns beside its products."""
    return 2 * row["n"] * row["k"] * (row["d"] + 8)


def scikit_learn(path, points, row, threads, longest):
    """One model, extrapolated to as many as the row has; left out where an iteration takes longer than `longest` seconds."""
    guess = sklearn_operations(row) / (SKLEARN_RATE * threads)
    if guess > longest:
        return {"failed": f"left out: about {guess:.0f} s an iteration on {threads} threads"}
    models, many = row.get("models", 1), 3
    peer = next(peer for peer in peer_table.PEERS if peer.name == "scikit-learn")
    chosen = slice(row["k"]) if models == 1 else philox_rows.random_rows(len(points), row["k"],
                                                                        philox_rows.member_seed(0, row["k"], 0))
    with tempfile.TemporaryDirectory() as folder:
        first = pathlib.Path(folder, "first.npz")
        np.savez(first, **{"0": points[chosen]})
        times = {}
        for count in (1, many):
            command = [sys.executable, peer_table.WORKERS / peer.worker, path, first, "--max-iter", count, "--threads", threads]
            done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                                  env=peer.environment(threads, None))
            if done.returncode != 0:
                return {"failed": f"exit code {done.returncode}"}
            found = json.loads(done.stdout)
            if found["iterations"] != [count]:
                return {"failed": f"did {found['iterations'][0]} iterations, not {count}: it converged"}
            times[count] = [found["seconds"]]
    return {"ms": models * per_iteration(times), **({"extrapolated from": "1 model"} if models > 1 else {})}
