"""A picture in 16 colours: its pixels are clustered, and each gets its cluster's mean colour.

usage: colour_quantisation.py [PICTURE.png|.jpg]      writes quantised.png
"""

import sys

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_image

from manymeans import KMeans  # was: from sklearn.cluster import KMeans

picture = np.asarray(Image.open(sys.argv[1]).convert("RGB")) if sys.argv[1:] else load_sample_image("china.jpg")
pixels = picture.reshape(-1, 3)  # 273,280 x 3, uint8: read where they lie

kmeans = KMeans(n_clusters=16, random_state=0).fit(pixels)
palette = np.round(kmeans.cluster_centers_).astype(np.uint8)
Image.fromarray(palette[kmeans.labels_].reshape(picture.shape)).save("quantised.png")

print(f"a channel is off by {np.sqrt(kmeans.inertia_ / pixels.size):.1f} of 255 (root of the mean square)")
print(f"the same digest on every machine: {kmeans.answer_}")
