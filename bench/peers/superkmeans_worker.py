"""SuperKMeans on all points, flat, without sampling and early termination; see peer_protocol.py.

It takes no initial centroids: it begins with random rows of its own."""

import peer_protocol
import superkmeans

ALL_POINTS = 2**31 - 1


def fit(points, centroids, max_iter, clock, threads):
    model = superkmeans.SuperKMeans(len(centroids), points.shape[1], hierarchical=False, iters=max_iter, seed=1,
                                    sampling_fraction=1.0, max_points_per_cluster=ALL_POINTS, n_threads=threads,
                                    tol=0.0, early_termination=False)
    with clock:
        found = model.train(points)
        labels = model.assign(points, found)
    return found, labels, len(model.iteration_stats)


def state(threads):
    return {"threads": [threads], "pools": peer_protocol.pools(), "versions": {"superkmeans": superkmeans.__version__}}


peer_protocol.run(fit, state)
