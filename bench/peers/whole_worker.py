"""Whole jobs of one library, as its users write them: points in memory, default options, labels in memory.

usage: whole_worker.py LIBRARY POINTS.npy JOB     JOB: {"ks": [...], "n_init": n, "repeats": r, "backend": name}

Prints JSON: for each repeat the seconds of all fits, of one `predict` of the points, and the inertia of the last k, in
float64. The first fit of a process is not timed: it loads libraries, starts threads and finds the device.
"""

import json
import sys
import time

import numpy as np

WARM_ROWS = 2_000


class Fitted:
    """What a fit gives: labels and centroids in host memory, and a function that labels other points."""

    def __init__(self, labels, centroids, predict, phases=None):
        self.labels, self.centroids, self.predict, self.phases = labels, centroids, predict, phases


def _of_estimator(estimator):
    return Fitted(estimator.labels_, estimator.cluster_centers_, estimator.predict)


def manymeans(points, k, n_init, seed, backend):
    from manymeans import KMeans

    estimator = KMeans(k, n_init=n_init, random_state=seed, backend=backend).fit(points)
    return Fitted(estimator.labels_, estimator.cluster_centers_, estimator.predict, estimator.provenance_["seconds"])


def scikit_learn(points, k, n_init, seed, backend):
    from sklearn.cluster import KMeans

    return _of_estimator(KMeans(k, n_init=n_init, random_state=seed).fit(points))


def intelex(points, k, n_init, seed, backend):
    from sklearnex.cluster import KMeans

    return _of_estimator(KMeans(k, n_init=n_init, random_state=seed).fit(points))


def faiss(points, k, n_init, seed, backend):
    """25 iterations from random rows, which is its default; all points instead of 256 for each centroid."""
    import faiss

    rows = np.ascontiguousarray(points, dtype=np.float32)
    kmeans = faiss.Kmeans(rows.shape[1], k, nredo=n_init, seed=seed, max_points_per_centroid=len(rows))
    kmeans.train(rows)

    def predict(other):
        return kmeans.index.search(np.ascontiguousarray(other, dtype=np.float32), 1)[1].ravel()

    return Fitted(predict(rows), kmeans.centroids, predict)


def cuml(points, k, n_init, seed, backend):
    from cuml.cluster import KMeans

    return _of_estimator(KMeans(n_clusters=k, n_init=n_init, random_state=seed, init="k-means++", output_type="numpy").fit(points))


def cuvs(points, k, n_init, seed, backend):
    """The engine of cuML. It takes no seed. The copies to and from the device count."""
    from cuvs.cluster import kmeans  # before torch: see docs/developer/benchmarks.md
    import torch

    params = kmeans.KMeansParams(n_clusters=k, init_method="KMeansPlusPlus", max_iter=300, tol=1e-4, n_init=n_init)
    x = torch.from_numpy(points).cuda()
    centroids = kmeans.fit(params, x)[0]

    def predict(other):
        return kmeans.predict(params, torch.from_numpy(other).cuda(), centroids)[0].copy_to_host()

    return Fitted(kmeans.predict(params, x, centroids)[0].copy_to_host(), centroids.copy_to_host(), predict)


def _torch_fit(fit, points, k, n_init, seed):
    """Random rows, 100 iterations at most: these libraries have no k-means++. The copies to and from the device count."""
    import torch

    torch.manual_seed(seed)
    x = torch.from_numpy(points).cuda().half()[None]
    best = None
    for _ in range(n_init):
        first = x[:, torch.randperm(x.shape[1], device=x.device)[:k]]
        labels, centroids, *_ = fit(x, k, first)
        inertia = (x[0].float() - centroids[0].float()[labels[0].long()]).square().sum().item() if n_init > 1 else 0.0
        if best is None or inertia < best[0]:
            best = (inertia, labels[0], centroids[0])

    def predict(other):
        rows = torch.from_numpy(other).cuda().half()[None]
        return fit(rows, k, best[2][None], 1)[0][0].cpu().numpy()

    return Fitted(best[1].cpu().numpy(), best[2].float().cpu().numpy(), predict)


def flash(points, k, n_init, seed, backend):
    from flash_kmeans import batch_kmeans_Euclid

    return _torch_fit(lambda x, k, first, most=100: batch_kmeans_Euclid(x, k, max_iters=most, tol=1e-4, init_centroids=first),
                      points, k, n_init, seed)


def flashlib(points, k, n_init, seed, backend):
    from flashlib import flash_kmeans

    return _torch_fit(lambda x, k, first, most=100: flash_kmeans(x, k, max_iters=most, tol=1e-4, init_centroids=first),
                      points, k, n_init, seed)


LIBRARIES = {"manymeans": manymeans, "scikit-learn": scikit_learn, "scikit-learn-intelex": intelex, "faiss": faiss,
             "cuML": cuml, "cuVS": cuvs, "flash-kmeans": flash, "FlashLib": flashlib}


def inertia(points, centroids, labels):
    """In float64, in pieces."""
    total = 0.0
    for first in range(0, len(points), 1 << 14):
        part = slice(first, first + (1 << 14))
        total += float(np.square(points[part].astype(np.float64) - centroids[labels[part]].astype(np.float64)).sum())
    return total


def pools():
    try:
        import threadpoolctl
    except ImportError:
        return []
    return sorted({f"{pool['prefix']} {pool.get('architecture') or ''} {pool['num_threads']} threads"
                   for pool in threadpoolctl.threadpool_info()})


def one(fit, points, job, seed):
    begin = time.perf_counter()
    for k in job["ks"]:
        fitted = fit(points, k, job["n_init"], seed, job["backend"])
    after = time.perf_counter()
    labels = np.asarray(fitted.predict(points))
    end = time.perf_counter()
    if labels.shape != (len(points),) or np.mean(labels == np.asarray(fitted.labels)) < 0.9:
        raise SystemExit("predict does not give the labels of the fit")
    return {"fit": after - begin, "predict": end - after, "phases": fitted.phases,
            "inertia": inertia(points, np.asarray(fitted.centroids), np.asarray(fitted.labels))}


def main():
    library, path, job = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    points, fit = np.load(path), LIBRARIES[library]
    some = np.ascontiguousarray(points[:WARM_ROWS])
    fit(some, min(8, job["ks"][0]), 1, 0, job["backend"]).predict(some)
    runs = [one(fit, points, job, seed) for seed in range(1, job["repeats"] + 1)]
    print(json.dumps({"runs": runs, "pools": pools()}))


if __name__ == "__main__":
    main()
