"""A picture in 16 colours: its pixels are clustered, and each gets its cluster's mean colour.

usage: colour_quantisation.py [PICTURE.png|.jpg] [OUTPUT.ppm]

Without a picture, the one of a Chinese temple that comes with scikit-learn. The output is a .ppm, which every viewer
reads.
"""

import sys

import numpy as np
from manymeans import KMeans  # was: from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

COLOURS = 16


def read_picture(path):
    if path is None:
        return load_sample_image("china.jpg")
    from PIL import Image

    return np.asarray(Image.open(path).convert("RGB"))


def write_ppm(path, picture):
    height, width, _ = picture.shape
    with open(path, "wb") as file:
        file.write(f"P6 {width} {height} 255\n".encode())
        file.write(picture.tobytes())


def main():
    picture = read_picture(sys.argv[1] if len(sys.argv) > 1 else None)
    output = sys.argv[2] if len(sys.argv) > 2 else "quantised.ppm"
    pixels = picture.reshape(-1, 3)  # uint8: read where they lie

    kmeans = KMeans(n_clusters=COLOURS, random_state=0).fit(pixels)
    palette = np.round(kmeans.cluster_centers_).astype(np.uint8)
    write_ppm(output, palette[kmeans.labels_].reshape(picture.shape))

    error = np.sqrt(kmeans.inertia_ / pixels.size)
    print(f"{len(np.unique(pixels, axis=0))} colours became {COLOURS}; a channel is off by {error:.1f} of 255")
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
