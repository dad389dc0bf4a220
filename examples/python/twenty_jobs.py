"""Writes the files of the page "Twenty jobs" (docs/user/twenty-jobs.md) into the current folder: small, and made up."""

import bz2
import csv
import gzip
import lzma
import pathlib

import numpy as np

rng = np.random.default_rng(2024)


def table(path, names, rows, **how):
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n", **how).writerows([names, *rows])


def customers(path, rows, first_id):
    """An id, text, a date, gaps; three kinds of customers."""
    lines = []
    for i in range(rows):
        age, income, orders = [(27, 24, 14), (45, 58, 5), (68, 31, 2)][i % 3] + rng.normal(0, 1, 3) * (4, 5, 1.2)
        lines.append([first_id + i, ["Paris", "Rome", "Oslo"][int(rng.integers(3))], f"2023-{1 + i % 12:02}-01",
                      "" if i % 17 == 4 else round(age), "n/a" if i % 23 == 7 else round(income * 1000),
                      max(0, round(orders))])  # fmt: skip
    table(path, ["customer_id", "city", "since", "age", "income", "orders"], lines)


customers("customers.csv", 240, 10001)
customers("tomorrow.csv", 60, 20001)

# A catalogue of objects in the sky: numbers too long for float32, two kinds of colours.
kind = np.arange(500) % 2
sky = np.column_stack([rng.uniform(150, 151, 500), rng.uniform(2, 3, 500), 18 + 3 * kind + rng.normal(0, 0.3, 500),
                       17.5 + 1.2 * kind + rng.normal(0, 0.3, 500)])  # fmt: skip
table("telescope.csv", ["objid", "ra", "dec", "mag_g", "mag_r"],
      [[1237648720693755918 + i, *(f"{value:.6f}" for value in row)] for i, row in enumerate(sky)])  # fmt: skip

# Two hundred texts as vectors of unit length, four topics; one name for each.
topics = rng.standard_normal((4, 16))
vectors = (topics[np.arange(200) % 4] + 0.4 * rng.standard_normal((200, 16))).astype(np.float32)
np.save("embeddings.npy", vectors)

# Three days of a sensor, each packed in another way; and all of it as one large table.
centres = np.array([[0, 0, 0, 0], [8, 0, 3, 0], [0, 9, 0, 5], [7, 8, 9, 2]])
for day, (ending, pack) in enumerate([(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)], 1):
    points = centres[rng.integers(4, size=1000)] + rng.standard_normal((1000, 4))
    text = "a,b,c,d\n" + "".join(",".join(f"{value:.3f}" for value in row) + "\n" for row in points)
    pathlib.Path(f"day-{day}.csv{ending}").write_bytes(pack(text.encode()))
big = centres[rng.integers(4, size=20000)] + rng.standard_normal((20000, 4))
np.savetxt("big.csv", big, delimiter=",", fmt="%.4f", header="a,b,c,d", comments="")

# As spreadsheets in many countries write numbers.
prices = np.r_[rng.normal(5, 1, 20), rng.normal(1200, 50, 20)]
lines = [[f"{price:.2f}".replace(".", ","), 40 if i < 20 else 2] for i, price in enumerate(prices)]
table("prices.csv", ["Preis", "Menge"], lines, delimiter=";")

# A picture: sky, grass and a red roof, with noise.
picture = np.zeros((48, 64, 3))
picture[:24], picture[24:], picture[20:34, 20:40] = (110, 160, 230), (60, 140, 50), (180, 40, 30)
np.save("picture.npy", np.clip(picture + rng.normal(0, 8, picture.shape), 0, 255).astype(np.uint8))

# Counts of words in documents of four topics, nearly all of them zero.
topic = np.arange(400) // 100 == np.arange(300)[:, None] % 4
counts = rng.poisson(0.02, topic.shape) + rng.poisson(0.6, topic.shape) * topic
np.savez_compressed("counts.npz", counts=counts.astype(np.float32))

try:
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet
except ImportError:
    print("without pyarrow there are no embeddings.arrow and wide.parquet")
else:
    lists = pyarrow.array(list(vectors), pyarrow.list_(pyarrow.float32()))
    texts = pyarrow.table({"text": [f"text {i}" for i in range(200)], "embedding": lists})
    pyarrow.feather.write_feather(texts, "embeddings.arrow", compression="uncompressed")
    wide = (rng.standard_normal((5, 600))[np.arange(400) % 5] + rng.standard_normal((400, 600))).astype(np.float32)
    pyarrow.parquet.write_table(pyarrow.table({f"gene{j}": wide[:, j] for j in range(600)}), "wide.parquet")
