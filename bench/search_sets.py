"""Sets and numbers of clusters on which bench/search.py compares: rows of float64, by name."""

import gzip
import io
import pathlib
import zipfile

import data_sets
import numpy as np

# Name, clusters, lowest sum of squares known (None: none but those of the run), seconds of the search. The first eleven
# are those of papers; the others come with Python packages or this tree, or are made here.
CASES = [
    ("tsplib1060", 50, 255509536, 3),
    ("tsplib1060", 100, 96317864, 3),
    ("cloud", 25, 1954015, 3),
    ("cloud", 100, 566016, 3),
    ("image_segmentation", 50, 2224632, 3),
    ("image_segmentation", 100, 1132526, 3),
    ("norm25", 50, 140036.3, 3),
    ("norm25", 100, 128944.8, 3),
    ("unbalance", 100, 2.23674e10, 3),
    ("birch1", 100, 9.2773e13, 6),
    ("skin_nonskin", 50, 5.0331e7, 6),
    ("iris", 20, None, 3),
    ("wine", 20, None, 3),
    ("breast_cancer", 30, None, 3),
    ("diabetes", 30, None, 3),
    ("digits", 50, None, 3),
    ("china", 64, None, 6),
    ("flower", 64, None, 6),
    ("s1", 50, None, 3),
    ("dim032", 16, None, 3),
    ("bike_sharing", 100, None, 3),
    ("mnist", 50, None, 20),
    ("a3_like", 50, None, 3),
    ("s3_like", 15, None, 3),
    ("birch2_like", 100, None, 3),
    ("unbalance_like", 30, None, 3),
    ("dim064_like", 32, None, 3),
    ("noise", 50, None, 3),
    ("s1", 500, None, 6),
    ("birch1_like", 500, None, 12),
    ("mixture", 2000, None, 20),
]
FILES = {
    "tsplib1060": ("tsplib1060.txt", {"skiprows": 1}),
    "cloud": ("cloud.zip", {"delimiter": ","}),
    "image_segmentation": ("image_segmentation.txt.gz", {"skiprows": 1}),
    "norm25": ("norm25.zip", {"delimiter": ","}),
    "unbalance": ("unbalance.txt.gz", {}),
    "birch1": ("birch1.txt.gz", {}),
    "skin_nonskin": ("skin_nonskin.txt.gz", {"usecols": (0, 1, 2)}),
    "s1": ("s1.txt.gz", {}),
    "dim032": ("dim032.txt.gz", {}),
}


def standardised(points):
    deviation = points.std(axis=0)
    return (points - points.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def of_file(name, folders):
    file, form = FILES[name]
    path = next((folder / file for folder in folders if (folder / file).exists()), None)
    if path is None:
        raise data_sets.Missing(f"{file} is not in {' or '.join(map(str, folders))}; say --data")
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return np.loadtxt(io.StringIO(archive.read(archive.namelist()[0]).decode()), **form)
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as text:
        return np.loadtxt(text, **form)


def bike_sharing(folders):
    with gzip.open(data_sets.ROOT / "data" / "bike_sharing.csv.gz", "rt") as lines:
        names = next(lines).strip().split(",")
        numbers = [i for i, name in enumerate(names) if name not in ("instant", "dteday")]
        return standardised(np.loadtxt(lines, delimiter=",", usecols=numbers))


def mnist(folders):
    """10,000 of the images."""
    for folder in folders:
        if (folder / "mnist_train.npz").exists():
            return data_sets.make({"set": "mnist", "folder": folder, "rows": 10_000, "dtype": "float64"})
    raise data_sets.Missing("mnist_train.npz is not there; say --data")


def of_scikit_learn(name, scale):
    def load(folders):
        import sklearn.datasets

        points = np.asarray(getattr(sklearn.datasets, f"load_{name}")().data, dtype=np.float64)
        return standardised(points) if scale else points

    return load


def image(name):
    """The colours of all pixels."""

    def load(folders):
        import sklearn.datasets

        return sklearn.datasets.load_sample_image(f"{name}.jpg").reshape(-1, 3).astype(np.float64)

    return load


def around(centres, each, deviation, seed):
    """So many rows around each centre; `each` and `deviation` may be lists, of one number a centre."""
    random = np.random.default_rng(seed)
    counts, deviations = np.broadcast_to(each, len(centres)), np.broadcast_to(deviation, len(centres))
    labels = np.repeat(np.arange(len(centres)), counts)
    return centres[labels] + deviations[labels, None] * random.standard_normal((len(labels), centres.shape[1]))


def grid(side, step):
    return step * np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)


def a3_like(folders):
    """Fifty round clusters of equal size in two columns, some of which touch: as A3 of the clustering benchmark."""
    random = np.random.default_rng(3)
    centres = grid(8, 1.0)[random.choice(64, 50, replace=False)] + random.uniform(-0.2, 0.2, (50, 2))
    return around(centres, 150, 0.13, 4)


def s3_like(folders):
    """Fifteen clusters that overlap, as S3."""
    centres = np.random.default_rng(6).uniform(0, 10, (15, 2))
    return around(centres, 333, np.random.default_rng(7).uniform(0.5, 0.9, 15), 8)


def birch1_like(folders):
    """A hundred clusters on a grid, as Birch 1, of a fifth of the rows."""
    return around(grid(10, 4 * np.sqrt(2)), 200, np.sqrt(2), 9)


def birch2_like(folders):
    """A hundred clusters along a sine curve, as Birch 2."""
    x = np.linspace(0, 100, 100)
    return around(np.stack([x, 20 * np.sin(x * 8 * np.pi / 100)], axis=-1), 200, 0.7, 10)


def unbalance_like(folders):
    """Three dense clusters and five thin ones, as Unbalance."""
    centres = np.array([[2, 15], [5, 15], [3.5, 12], [20, 20], [24, 16], [20, 12], [28, 20], [28, 12]], dtype=float)
    return around(centres, [2000] * 3 + [100] * 5, [0.3] * 3 + [0.9] * 5, 11)


def dim064_like(folders):
    """Sixteen clusters in 64 columns, well apart, as Dim064, but more of them than half of k."""
    return around(np.random.default_rng(12).uniform(0, 255, (16, 64)), 64, 8, 13)


def noise(folders):
    """No clusters at all."""
    return np.random.default_rng(14).uniform(size=(5000, 8))


def mixture(folders):
    return data_sets.mixture(20_000, 8, 400, 6, 15).astype(np.float64)


MAKERS = {
    **{name: of_scikit_learn(name, scale) for name, scale in
       [("iris", False), ("wine", True), ("breast_cancer", True), ("diabetes", True), ("digits", False)]},
    "china": image("china"), "flower": image("flower"), "bike_sharing": bike_sharing, "mnist": mnist,
    "a3_like": a3_like, "s3_like": s3_like, "birch1_like": birch1_like, "birch2_like": birch2_like,
    "unbalance_like": unbalance_like, "dim064_like": dim064_like, "noise": noise, "mixture": mixture,
}  # fmt: skip


def load(name, folder=None):
    """Points of a case. `folder` is where sets lie that are not in data/. Throws data_sets.Missing."""
    folders = [data_sets.ROOT / "data", *([pathlib.Path(folder)] if folder else [])]
    try:
        points = of_file(name, folders) if name in FILES else MAKERS[name](folders)
    except ImportError as error:
        raise data_sets.Missing(f"a package is not here: {error}") from error
    return np.ascontiguousarray(points, dtype=np.float64)
