"""manymeans and scikit-learn from the same initial centroids on a real data set: the same answer after exactly 1 and
exactly 10 iterations.

scikit-learn gets the very same float32 values, widened to float64: in float32 its expanded formula puts rows of these
data sets into clusters that are not the nearest (Skin, k = 32, after one iteration: 25 of 245,057), and the two
paths part. The initial centroids are rows moved a little, because rows of integers lie exactly half-way between others
and scikit-learn breaks such ties by rounding.

usage: same_steps_as_sklearn.py PROGRAM birch1|kdd|mnist|skin
"""

import sys
import tempfile

import numpy as np
from sklearn.cluster import KMeans

from peer_tools import Program, expect, wrongly_different
import data_sets

CLUSTERS = {"birch1": 100, "kdd": 32, "mnist": 32, "skin": 32}
INERTIA_CLOSENESS = 1e-5


def initial_centroids(points, k):
    random = np.random.default_rng(1)
    different = np.unique(points[random.choice(len(points), 10 * k, replace=False)], axis=0)
    rows = different[random.choice(len(different), k, replace=False)]
    return (rows + 0.01 * points.std(axis=0) * random.standard_normal(rows.shape)).astype(np.float32)


def compare(what, points, found, peer, iterations):
    summary, centroids, labels = found
    model = summary["models"][0]
    expect(model["iterations"] == iterations, f"{what}: manymeans did {model['iterations']} iterations")
    expect(peer.n_iter_ == iterations, f"{what}: scikit-learn did {peer.n_iter_} iterations")
    difference = model["inertia"] / peer.inertia_ - 1
    wrong = wrongly_different(points, centroids, labels, peer.labels_)
    different = np.count_nonzero(labels != peer.labels_)
    print(f"{what}: inertia {model['inertia']:.12g}, scikit-learn {peer.inertia_:.12g} ({difference:+.1e}), "
          f"{different} of {len(labels)} labels differ, {len(wrong)} of them no near-ties")
    expect(abs(difference) <= INERTIA_CLOSENESS, f"{what}: the inertias differ")
    expect(len(wrong) == 0, f"{what}: the labels of rows {wrong[:10]} differ and are no near-ties")


def main():
    program, name = sys.argv[1], sys.argv[2]
    points = data_sets.MAKERS[name]()
    initial = initial_centroids(points, CLUSTERS[name])
    with tempfile.TemporaryDirectory(prefix="manymeans-peers-", dir=".") as folder:
        ours = Program(program, folder)
        file = ours.folder / "points.npy"
        np.save(file, points)
        widened = points.astype(np.float64)
        for iterations in (1, 10):
            peer = KMeans(len(initial), init=initial.astype(np.float64), n_init=1, max_iter=iterations, tol=0)
            peer.fit(widened)
            expect(len(np.unique(peer.labels_)) == len(initial), "an empty cluster: choose other initial centroids")
            found = ours.fit(file, initial, iterations)
            compare(f"{name} float32, {iterations} iterations", points, found, peer, iterations)
            found = ours.fit(file, initial, iterations, "--dtype", "float64")
            compare(f"{name} float64, {iterations} iterations", points, found, peer, iterations)


main()
