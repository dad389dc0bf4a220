"""What every peer's worker does alike: read points and initial centroids, fit, time it, write the answer, print JSON.

A worker is a process of its own. Its thread limits come through the environment, set before it starts; the peer sets
them once more in its own words, and what then holds is printed. Timed is what `fit` does: iterations and the labelling
pass with the final centroids. Reading the file is not, nor is converting the answer for the judge.
"""

import argparse
import json
import resource
import time

import numpy as np


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("points", help=".npy, rows after each other")
    parser.add_argument("initial", help=".npz: initial centroids of model i under the name i")
    parser.add_argument("--max-iter", required=True, help="iterations: one number, or one for each model, with commas")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--models", type=int, default=0, help="only so many, evenly spread; 0: all")
    parser.add_argument("--seeding", type=int, help="no fit: choose this many centroids by k-means++")
    parser.add_argument("--seed", type=int, default=0, help="of --seeding")
    parser.add_argument("--answer", help="write centroids and labels to this .npz, of at most 9 models, evenly spread")
    return parser.parse_args()


class Clock:
    """Wall-clock and processor seconds of this process, summed over `with` blocks."""

    def __init__(self):
        self.seconds = self.processor_seconds = 0.0

    def __enter__(self):
        self.begin = time.perf_counter(), time.process_time()

    def __exit__(self, *_):
        self.seconds += time.perf_counter() - self.begin[0]
        self.processor_seconds += time.process_time() - self.begin[1]


def run(fit, state, seeding=None):
    """Runs the worker.

    fit(points, centroids, max_iter, clock, threads) -> (centroids, labels, iterations), timing itself with the clock;
    seeding(points, k, seed, clock, threads) -> centroids; state(threads) -> what to print of threads, versions and
    instruction sets after the fits.
    """
    options = arguments()
    before_points = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    points, clock, answer, iterations = np.load(options.points), Clock(), {}, []
    assert points.flags.c_contiguous
    if options.seeding:
        answer["centroids_0"] = seeding(points, options.seeding, options.seed, clock, options.threads)
    else:
        initial = np.load(options.initial)
        every = len(initial.files)
        count = options.models or every
        limits = [int(number) for number in options.max_iter.split(",")]
        limits = limits * every if len(limits) == 1 else limits
        for number, i in enumerate(j * every // count for j in range(count)):
            centroids = initial[str(i)]
            assert centroids.dtype == points.dtype
            centroids, labels, done = fit(points, centroids, limits[i], clock, options.threads)
            iterations.append(int(done))
            if options.answer and number % max(1, count // 8) == 0:
                answer[f"centroids_{i}"], answer[f"labels_{i}"] = centroids, labels.astype(np.int32)
    if options.answer:
        np.savez(options.answer, **answer)
    printed = {"seconds": clock.seconds, "processor_seconds": clock.processor_seconds, "iterations": iterations}
    print(json.dumps({**printed, "memory_before_points": before_points * 1024, **state(options.threads)}))


def pools():
    """What threadpoolctl finds in this process: threads and, of a BLAS, the kernels it chose."""
    import threadpoolctl

    return [{key: pool.get(key) for key in ("user_api", "prefix", "num_threads", "threading_layer", "architecture")}
            for pool in threadpoolctl.threadpool_info()]
