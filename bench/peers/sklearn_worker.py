"""Fits scikit-learn's KMeans once per set of initial centroids, in sequence, and prints timings as JSON.

The thread limits come through OMP_NUM_THREADS and the like in the environment, set before this process starts;
threadpoolctl sets them once more, and what then holds is printed.
"""

import argparse
import json
import resource
import time

import numpy as np
import sklearn
import threadpoolctl
from sklearn.cluster import KMeans


def fit_all(points, initial, max_iter):
    models, seconds, processor_seconds = [], 0.0, 0.0
    for centroids in initial:
        model = KMeans(len(centroids), init=centroids, n_init=1, max_iter=max_iter, tol=0, algorithm="lloyd")
        begin, processor_begin = time.perf_counter(), time.process_time()
        model.fit(points)
        seconds += time.perf_counter() - begin
        processor_seconds += time.process_time() - processor_begin
        models.append(model)
    return models, seconds, processor_seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("points")
    parser.add_argument("initial", help="models x k x columns")
    parser.add_argument("--max-iter", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--centroids", help="write the final centroids of all models")
    parser.add_argument("--labels", help="write the labels of all models")
    options = parser.parse_args()

    before_points = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    points, initial = np.load(options.points), np.load(options.initial)
    assert points.flags.c_contiguous and initial.dtype == points.dtype
    with threadpoolctl.threadpool_limits(limits=options.threads):
        models, seconds, processor_seconds = fit_all(points, initial, options.max_iter)
        pools = {f"{pool['user_api']} {pool['prefix']}": pool["num_threads"] for pool in threadpoolctl.threadpool_info()}
    if options.centroids:
        np.save(options.centroids, np.stack([model.cluster_centers_ for model in models]))
    if options.labels:
        np.save(options.labels, np.stack([model.labels_ for model in models]))
    print(
        json.dumps(
            {
                "seconds": seconds,
                "processor_seconds": processor_seconds,
                "iterations": [int(model.n_iter_) for model in models],
                "inertia": [float(model.inertia_) for model in models],
                "threads": sorted({model._n_threads for model in models}),
                "thread_pools": pools,
                "memory_before_points": before_points * 1024,
                "versions": {
                    "scikit-learn": sklearn.__version__,
                    "numpy": np.__version__,
                    "threadpoolctl": threadpoolctl.__version__,
                },
            }
        )
    )


main()
