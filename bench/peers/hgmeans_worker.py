"""HG-means on the points of a file: hgmeans_worker.py POINTS.npy K SECONDS FOUND.npz. A signal ends it then."""

import resource
import sys
import time

import hgmeans
import numpy as np

points, k, seconds = np.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
rows = points.tolist()  # what it takes
used = int(time.process_time()) + 1
resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds))
begin = time.process_time()
labels = np.array(hgmeans.PyHGMeans().run(rows, [0] * len(rows), list_clusters=[k])[0])
spent = time.process_time() - begin
centroids = np.stack([points[labels == label].mean(axis=0) for label in np.unique(labels)])
np.savez(sys.argv[4], seconds=spent, centroids=centroids)
