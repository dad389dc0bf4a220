#!/usr/bin/env python3
"""`HierarchicalKMeans` and a flat fit on a GPU, by the number of clusters: seconds, inertia and sizes of the lists.

Needs torch, which makes the points: Gaussian groups with noise, in the host's memory. Flat fits have ten iterations.
"""

import argparse
import time

import manymeans
import numpy as np
import torch

ROWS_AT_ONCE = 500_000


def mixture(rows, columns, groups):
    """Rows of random groups, float32."""
    random = torch.Generator(device="cuda").manual_seed(1)
    centres = 3 * torch.randn(groups, columns, device="cuda", generator=random)
    points = np.empty((rows, columns), np.float32)
    for first in range(0, rows, ROWS_AT_ONCE):
        part = points[first : first + ROWS_AT_ONCE]
        labels = torch.randint(groups, (len(part),), device="cuda", generator=random)
        noise = torch.randn(len(part), columns, device="cuda", generator=random)
        part[:] = (centres[labels] + noise).cpu().numpy()
    torch.cuda.empty_cache()
    return points


def timed(fit):
    begin = time.perf_counter()
    result = fit()
    return result, time.perf_counter() - begin


def line(what, seconds, inertia, sizes):
    mean = sizes.mean()
    print(f"{what}: {seconds:.1f} s, inertia {inertia:.5g}, variation {sizes.std() / mean:.2f}, "
          f"max / mean {sizes.max() / mean:.1f}", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--flat", type=int, default=100_000, help="max clusters of a flat fit, from random rows")
    options = parser.parse_args()
    points = mixture(options.rows, options.columns, options.groups)
    how = {"random_state": 0, "backend": "cuda:0"}
    manymeans.HierarchicalKMeans(100, **how).fit(points[:100_000])
    for k in options.clusters:
        tree, seconds = timed(lambda k=k: manymeans.HierarchicalKMeans(k, **how).fit(points))
        line(f"tree, k = {k:,}", seconds, tree.inertia_, tree.sizes_)
        print("   ", {name: round(value, 2) for name, value in tree.result_.provenance["seconds"].items()})
        del tree
        if k > options.flat:
            continue
        flat, seconds = timed(
            lambda k=k: manymeans.KMeans(k, init="random", n_init=1, max_iter=10, tol=0, **how).fit(points)
        )
        line(f"flat, k = {k:,}", seconds, flat.inertia_, np.bincount(flat.labels_, minlength=k))


if __name__ == "__main__":
    main()
