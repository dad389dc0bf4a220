"""scikit-learn's KMeans, algorithm lloyd; see peer_protocol.py."""

import numpy as np
import peer_protocol
import sklearn
import threadpoolctl
from sklearn.cluster import KMeans, kmeans_plusplus

used = set()


def fit(points, centroids, max_iter, clock, threads):
    model = KMeans(len(centroids), init=centroids, n_init=1, max_iter=max_iter, tol=0, algorithm="lloyd")
    with threadpoolctl.threadpool_limits(limits=threads):
        with clock:
            model.fit(points)
    used.add(model._n_threads)
    return model.cluster_centers_, model.labels_, model.n_iter_


def seeding(points, k, seed, clock, threads):
    """With one thread of BLAS, and with all: which is faster depends on the shape, and the faster counts."""
    tries = []
    for limit in sorted({1, threads}):
        one = peer_protocol.Clock()
        with threadpoolctl.threadpool_limits(limits=limit, user_api="blas"):
            with one:
                centroids, _ = kmeans_plusplus(points, k, random_state=seed)
        tries.append(one)
    best = min(tries, key=lambda one: one.seconds)
    clock.seconds, clock.processor_seconds = best.seconds, best.processor_seconds
    return centroids


def state(threads):
    with threadpoolctl.threadpool_limits(limits=threads):
        pools = peer_protocol.pools()
    versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    return {"threads": sorted(used) or [max(pool["num_threads"] for pool in pools)], "pools": pools, "versions": versions}


peer_protocol.run(fit, state, seeding)
