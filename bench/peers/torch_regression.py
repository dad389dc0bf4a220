"""Clusterwise linear regression as one writes it in PyTorch for a GPU: one matrix product for the predictions of all
rows, the least residual, Gram matrices by gathering, a batched solve. TF32 stays off, which is PyTorch's default.

    torch_regression.py POINTS STARTS ITERATIONS REPEATS [anything]

STARTS holds the models of one start or, with three dimensions, of several, fitted one after the other. The Gram matrices
are made in two ways, and both are timed: of rows gathered by cluster into padded blocks, multiplied in batches in
float64 ("gather"), and of outer products added by index in float64 ("index_add"). Prints JSON: for each way the seconds
of fits of one iteration and of ITERATIONS, each with the labelling pass for the final models, and their errors; the
reading and the copy of the points to the device are not counted.
"""

import json
import sys
import time

import numpy as np
import torch

ENTRIES = 1 << 28  # residuals, or products, of a chunk: 1 GB of float32, 2 GB of float64


def label(design, y, models):
    """The nearest model of each row, and its residual."""
    labels = torch.empty(len(y), dtype=torch.int64, device=y.device)
    residuals = torch.empty_like(y)
    rows = max(1, ENTRIES // len(models))
    for first in range(0, len(y), rows):
        part = slice(first, first + rows)
        far = (design[part] @ models.T - y[part, None]).abs_()
        torch.min(far, dim=1, out=(residuals[part], labels[part]))
    return labels, residuals


def grams_by_gather(rows, labels, k):
    order = torch.argsort(labels, stable=True)
    counts = torch.bincount(labels, minlength=k)
    starts = counts.cumsum(0) - counts
    longest = int(counts.max())
    grams = torch.empty((k, rows.shape[1], rows.shape[1]), dtype=torch.float64, device=rows.device)
    clusters = max(1, ENTRIES // max(1, longest * rows.shape[1]))
    for first in range(0, k, clusters):
        part = slice(first, first + clusters)
        at = torch.arange(longest, device=rows.device)[None, :]
        inside = at < counts[part, None]
        of = order[(starts[part, None] + at).clamp_(max=len(labels) - 1)]
        block = rows[of].double() * inside[..., None]
        grams[part] = block.transpose(1, 2) @ block
    return grams


def grams_by_index_add(rows, labels, k):
    width = rows.shape[1]
    grams = torch.zeros((k, width * width), dtype=torch.float64, device=rows.device)
    chunk = max(1, ENTRIES // (width * width))
    for first in range(0, len(rows), chunk):
        wide = rows[first : first + chunk].double()
        grams.index_add_(0, labels[first : first + chunk], (wide[:, :, None] * wide[:, None, :]).flatten(1))
    return grams.view(k, width, width)


def fit(rows, models, iterations, grams_of):
    design, y = rows[:, :-1].contiguous(), rows[:, -1].contiguous()
    k, width = models.shape
    ridge = 1e-12 * torch.eye(width, dtype=torch.float64, device=rows.device)
    for _ in range(iterations):
        labels, _ = label(design, y, models)
        grams = grams_of(rows, labels, k)
        models = torch.linalg.solve(grams[:, :width, :width] + ridge, grams[:, :width, width]).to(rows.dtype)
    _, residuals = label(design, y, models)
    return float(residuals.double().square_().sum())


def main():
    points, starts = np.load(sys.argv[1]), np.load(sys.argv[2])
    many, repeats = int(sys.argv[3]), int(sys.argv[4])
    starts = torch.from_numpy(starts if starts.ndim == 3 else starts[None]).cuda()
    # [x, 1, y]: the design matrix is the leading part of each row.
    rows = torch.from_numpy(np.insert(points, points.shape[1] - 1, 1, axis=1)).cuda()
    ways = {"gather": grams_by_gather, "index_add": grams_by_index_add}
    found = {name: {} for name in ways}
    for name, grams_of in ways.items():
        fit(rows, starts[0], 1, grams_of)  # libraries and kernels are loaded
        for _ in range(repeats):
            for iterations in (1, many):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                errors = [fit(rows, models, iterations, grams_of) for models in starts]
                entry = found[name].setdefault(str(iterations), {"seconds": []})
                entry["seconds"].append(time.perf_counter() - begin)
                entry["errors"] = errors
    print(json.dumps(found))


if __name__ == "__main__":
    main()
