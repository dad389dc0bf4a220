#!/usr/bin/env python3
"""Trees compared with flat fits and other libraries: time, inertia, sizes of clusters, walks, and recall of indices.

usage: trees.py [fits|walks|lists] [--rows N] [--clusters K] [--skewed] [--peers] [--out FILE]

fits    Our flat fits and trees; --peers adds SuperKMeans, faiss and scikit-learn, with the labels of all rows.
walks   Labels by HierarchicalKMeans.predict(n_probe=...), and how many of them are the nearest leaf.
lists   recall@10 of faiss.IndexIVFFlat with the centroids of faiss and ours, for 1,000 queries of each of three sets.

Rows are 20,000 Gaussian groups with noise, 128 columns, float32; --skewed gives group g a share of 1 / g. One process
runs each side once, on two threads. Writes tables in Markdown; ratios are to the first line.
"""

import argparse
import pathlib
import sys
import time

import manymeans
import numpy as np

THREADS = 2
ITERATIONS = 10
ALL_POINTS = 2**31 - 1
MNIST = pathlib.Path(__file__).resolve().parent.parent / "data" / "mnist_train.npz"


def mixture(rows, skewed, groups=20_000, columns=128, spread=4):
    random = np.random.default_rng(1)
    centres = spread * random.standard_normal((groups, columns), dtype=np.float32)
    shares = 1 / np.arange(1, groups + 1) if skewed else np.ones(groups)
    points = centres[random.choice(groups, rows, p=shares / shares.sum())]
    points += random.standard_normal((rows, columns), dtype=np.float32)
    return points


def timed(work):
    """Give what it gives, and the seconds of the processors and of the clock."""
    begun, used = time.perf_counter(), time.process_time()
    found = work()
    return found, time.process_time() - used, time.perf_counter() - begun


# --- Each fits, and gives centroids, and labels of all rows
def flat(points, k, **options):
    best = manymeans.fit(points, k, max_iter=ITERATIONS, tol=0, n_threads=THREADS, **options).best()
    return best.cluster_centers, best.labels


def tree(points, k, **options):
    if "cap" in options:
        options["max_size"] = int(options.pop("cap") * len(points) / k)
    if "share" in options:
        options["sample"] = int(options.pop("share") * len(points))
    fitted = manymeans.HierarchicalKMeans(k, random_state=0, n_threads=THREADS, **options).fit(points)
    return fitted.cluster_centers_, fitted.labels_


def super_kmeans(points, k, **options):
    import superkmeans

    model = superkmeans.SuperKMeans(k, points.shape[1], n_threads=THREADS, seed=1, **options)
    centroids = model.train(points)
    return centroids, model.assign(points, centroids)


def faiss_kmeans(points, k, **options):
    import faiss

    faiss.omp_set_num_threads(THREADS)
    model = faiss.Kmeans(points.shape[1], k, seed=1, **options)
    model.train(points)
    return model.centroids, model.assign(points)[1]


def bisecting(points, k):
    from sklearn.cluster import BisectingKMeans

    fitted = BisectingKMeans(k, random_state=0).fit(points)
    return fitted.cluster_centers_, fitted.labels_


SIDES = {
    "flat": (flat, {}),
    "flat, `init=random`": (flat, {"init": "random"}),
    "tree": (tree, {}),
    "tree, `refine=0`": (tree, {"refine": 0}),
    "tree, `refine=10`": (tree, {"refine": 10}),
    "tree, `quota=inertia`": (tree, {"quota": "inertia"}),
    "tree, `quota=inertia`, `refine=10`": (tree, {"quota": "inertia", "refine": 10}),
    "tree, `init=random`": (tree, {"init": "random"}),
    "tree, a sample of 2 / 5": (tree, {"share": 0.4}),
    "tree, cap of 2 x the mean": (tree, {"cap": 2}),
    "tree, cap of 1.3 x the mean": (tree, {"cap": 1.3}),
}
PEERS = {
    "SuperKMeans, hierarchical (defaults)": (super_kmeans, {"hierarchical": True}),
    "SuperKMeans, hierarchical, all points, 10 refinements": (
        super_kmeans, {"hierarchical": True, "max_points_per_cluster": ALL_POINTS, "iters_refinement": 10}),
    "faiss (defaults: 256 points a cluster, 25 iterations)": (faiss_kmeans, {}),
    "faiss, all points, 10 iterations": (
        faiss_kmeans, {"niter": ITERATIONS, "max_points_per_centroid": ALL_POINTS}),
    "scikit-learn, BisectingKMeans": (bisecting, {}),
}  # fmt: skip


def inertia_of(points, centroids, labels):
    """Compute the inertia of the given labels in binary64, some rows at a time."""
    total = 0.0
    for first in range(0, len(points), 10_000):
        some = slice(first, first + 10_000)
        total += np.square(points[some] - centroids[labels[some]], dtype=np.float64).sum()
    return total


def fits(options, say):
    points = mixture(options.rows, options.skewed)
    manymeans.fit(points[:1000], 10, n_threads=THREADS)  # threads are there
    say("| | time to flat's | processors, s | clock, s | inertia to flat's | variation | max / mean |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")  # fmt: skip
    first = None
    for name, (fit, given) in (SIDES | (PEERS if options.peers else {})).items():
        (centroids, labels), used, clock = timed(lambda fit=fit, given=given: fit(points, options.clusters, **given))
        inertia = inertia_of(points, centroids, labels)
        sizes = np.bincount(labels, minlength=options.clusters)
        first = first or (used, inertia)
        say(f"| {name} | {used / first[0]:.2f} | {used:.1f} | {clock:.1f} | {inertia / first[1]:.4f} "
            f"| {sizes.std() / sizes.mean():.2f} | {sizes.max() / sizes.mean():.2f} |")  # fmt: skip


def walks(options, say):
    points = mixture(options.rows, options.skewed)
    fitted = manymeans.HierarchicalKMeans(options.clusters, random_state=0, n_threads=THREADS, refine=1,
                                          sample=max(options.clusters, options.rows // 4)).fit(points)  # fmt: skip
    say("| `n_probe` | time to exact's | processors, s | clock, s | share of nearest leaves | inertia to exact's |",
        "| --- | ---: | ---: | ---: | ---: | ---: |")  # fmt: skip
    exact = first = None
    for n_probe in None, 1, 2, 4, 8, 16:
        labels, used, clock = timed(lambda n_probe=n_probe: fitted.predict(points, n_probe=n_probe))
        inertia = inertia_of(points, fitted.cluster_centers_, labels)
        exact = labels if exact is None else exact
        first = first or (used, inertia)
        say(f"| {n_probe or 'None (exact)'} | {used / first[0]:.2f} | {used:.1f} | {clock:.1f} "
            f"| {(labels == exact).mean():.4f} | {inertia / first[1]:.4f} |")  # fmt: skip


LISTS = {
    "faiss, its own training": None,
    "`HierarchicalKMeans`": (tree, {}),
    "`HierarchicalKMeans(refine=10)`": (tree, {"refine": 10}),
    "`HierarchicalKMeans(refine=25)`": (tree, {"refine": 25}),
    '`HierarchicalKMeans(quota="inertia")`': (tree, {"quota": "inertia"}),
    '`HierarchicalKMeans(quota="inertia", refine=10)`': (tree, {"quota": "inertia", "refine": 10}),
    "`KMeans`, ten iterations from random rows": (flat, {"init": "random"}),
    "SuperKMeans, hierarchical (defaults)": (super_kmeans, {"hierarchical": True}),
}


def sets():
    """Name, points with 1,000 queries at the end, and number of lists."""
    for skewed in False, True:
        yield (f"200,000 x 64 of 5,000 {'skewed ' * skewed}groups, 1,024 lists",
               mixture(201_000, skewed, groups=5_000, columns=64, spread=1.5), 1024)  # fmt: skip
    images = np.load(MNIST)["images"]
    images = np.random.default_rng(0).permutation(images.reshape(len(images), -1)).astype(np.float32)
    yield f"MNIST: {len(images) - 1000:,} x 784, 256 lists", images, 256


def lists(options, say):
    import faiss

    faiss.omp_set_num_threads(THREADS)
    for name, both, k in sets():
        base, queries = np.ascontiguousarray(both[:-1000]), np.ascontiguousarray(both[-1000:])
        whole = faiss.IndexFlatL2(base.shape[1])
        whole.add(base)
        true = whole.search(queries, 10)[1]
        say(f"\n### {name}\n",
            "| centroids of | processors, s | clock, s | nprobe 1 | nprobe 8 | nprobe 32 | rows read at nprobe 8 | "
            "variation of list sizes |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")  # fmt: skip
        for side, how in LISTS.items():
            quantizer = faiss.IndexFlatL2(base.shape[1])
            index = faiss.IndexIVFFlat(quantizer, base.shape[1], k)
            if how is None:
                _, used, clock = timed(lambda index=index, base=base: index.train(base))
            else:
                (centroids, _), used, clock = timed(lambda how=how, base=base, k=k: how[0](base, k, **how[1]))
                quantizer.add(np.ascontiguousarray(centroids, np.float32))
                index.is_trained = True
            index.add(base)
            sizes = np.array([index.invlists.list_size(i) for i in range(k)])
            recalls = []
            for index.nprobe in 1, 8, 32:
                found = index.search(queries, 10)[1]
                recalls.append(np.mean([len(set(a) & set(b)) for a, b in zip(found, true, strict=True)]) / 10)
            read = sizes[quantizer.search(queries, 8)[1]].sum(axis=1).mean()
            say(f"| {side} | {used:.1f} | {clock:.1f} | " + " | ".join(f"{recall:.3f}" for recall in recalls)
                + f" | {read:,.0f} | {sizes.std() / sizes.mean():.2f} |")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fits", "walks", "lists"), nargs="?", default="fits")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, default=4096)
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    table = []

    def say(*lines):
        table.extend(lines)
        print(*lines, sep="\n", file=sys.stderr, flush=True)

    {"fits": fits, "walks": walks, "lists": lists}[options.what](options, say)
    if options.out:
        pathlib.Path(options.out).write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
