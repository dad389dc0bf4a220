#!/usr/bin/env python3
"""`fit_each` of float16 tensors on a GPU: milliseconds of ten iterations, and whether single fits on the CPU agree.

Needs torch and the Python package. Points are a mixture of k clusters for each problem; medians of --repeats calls."""

import argparse
import time

import manymeans
import torch

SHAPES = ((32, 75_600, 128, 1000), (1000, 2000, 16, 20), (256, 4096, 64, 64), (16, 1_000_000, 8, 256))


def mixtures(problems, rows, columns, clusters):
    random = torch.Generator(device="cuda").manual_seed(1)
    points = torch.empty(problems, rows, columns, device="cuda", dtype=torch.float16)
    for problem in points:
        centres = 2 * torch.randn(clusters, columns, device="cuda", generator=random)
        labels = torch.randint(clusters, (rows,), device="cuda", generator=random)
        problem[:] = centres[labels] + torch.randn(rows, columns, device="cuda", generator=random)
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    how = {"init": "random", "tol": 0, "max_iter": 10, "seed": 1}
    for problems, rows, columns, clusters in SHAPES:
        points = mixtures(problems, rows, columns, clusters)
        for threads in options.threads:
            seconds = []
            for _ in range(1 + options.repeats):
                begin = time.perf_counter()
                fits = manymeans.fit_each(points, clusters, n_threads=threads, backend=options.backend, **how)
                seconds.append(time.perf_counter() - begin)
            median = sorted(seconds[1:])[options.repeats // 2]
            backends = {fit.provenance["backend"] for fit in fits}
            print(
                f"{problems} x {rows} x {columns}, k={clusters}, {threads} threads: {1e3 * median:.1f} ms, {backends}"
            )
        for b in (0, problems - 1):
            one = manymeans.fit(points[b].cpu().numpy(), clusters, backend="cpu", **how)
            assert one.digest == fits[b].digest, f"problem {b} differs from its single fit"


if __name__ == "__main__":
    main()
