"""Handwritten digits without a teacher: 50,000 images in 64 clusters, each named after its most frequent digit.

usage: mnist_digits.py [MNIST.npz]      by default data/mnist_train.npz, as in this repository
"""

import sys

import numpy as np

from manymeans import KMeans  # was: from sklearn.cluster import KMeans

data = np.load(sys.argv[1] if sys.argv[1:] else "data/mnist_train.npz")
images, digits = data["images"].reshape(-1, 784), data["labels"]  # 60,000 x 784, uint8: read where they lie

kmeans = KMeans(n_clusters=64, random_state=0).fit(images[:50_000])
names = np.array([np.bincount(digits[:50_000][kmeans.labels_ == k]).argmax() for k in range(64)])
right = names[kmeans.predict(images[50_000:])] == digits[50_000:]

print(f"{100 * right.mean():.1f} % of 10,000 images that the fit has not seen are named rightly")
print(f"the same digest on every machine: {kmeans.answer_}")
