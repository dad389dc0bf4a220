"""faiss' Kmeans on all points, no subsampling, and the search that labels them; see peer_protocol.py."""

import faiss
import peer_protocol

ALL_POINTS = 2**31 - 1


def fit(points, centroids, max_iter, clock, threads):
    faiss.omp_set_num_threads(threads)
    model = faiss.Kmeans(points.shape[1], len(centroids), niter=max_iter, nredo=1, seed=1,
                         max_points_per_centroid=ALL_POINTS, min_points_per_centroid=1)
    with clock:
        model.train(points, init_centroids=centroids)
        _, labels = model.assign(points)
    return model.centroids, labels, len(model.obj)


def state(threads):
    config = getattr(faiss, "SIMDConfig", None)
    level = config.get_level_name() if config else faiss.get_compile_options()
    versions = {"faiss-cpu": faiss.__version__}
    return {"threads": [faiss.omp_get_max_threads()], "pools": peer_protocol.pools(), "versions": versions, "simd": level}


peer_protocol.run(fit, state)
