"""Handwritten digits without teachers: 60,000 MNIST images in 64 clusters, each named after its most frequent digit.

usage: mnist_digits.py [MNIST.npz]

The file holds `images` (60,000 x 784, uint8) and `labels`; by default data/mnist_train.npz of this repository.
"""

import pathlib
import sys

import numpy as np

from manymeans import KMeans  # was: from sklearn.cluster import KMeans

CLUSTERS = 64
DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "mnist_train.npz"


def main():
    with np.load(sys.argv[1] if len(sys.argv) > 1 else DATA) as arrays:
        images, digits = arrays["images"].reshape(-1, 784), arrays["labels"]
    train, test = slice(0, 50_000), slice(50_000, None)

    kmeans = KMeans(n_clusters=CLUSTERS, random_state=0).fit(images[train])
    names = np.array([np.bincount(digits[train][kmeans.labels_ == k]).argmax() for k in range(CLUSTERS)])
    accuracy = np.mean(names[kmeans.predict(images[test])] == digits[test])

    print(f"{kmeans.n_iter_} iterations, inertia {kmeans.inertia_:.6g}")
    for digit in range(10):
        print(f"digit {digit}: {np.count_nonzero(names == digit)} clusters")
    print(f"{100 * accuracy:.1f} % of {len(digits[test])} images that the fit has not seen are named rightly")


if __name__ == "__main__":
    main()
