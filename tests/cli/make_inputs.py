#!/usr/bin/env python3
"""Writes the input files of the golden tests into a folder. Standard library only; the same bytes every time."""

import bz2
import gzip
import lzma
import pathlib
import random
import struct
import sys
import zipfile


def npy(path, rows, descr="<f4", code="f"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    values = [value for row in rows for value in row]
    data = struct.pack(f"<{len(values)}{code}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def sparse(path, rows, **changed):
    """What scipy.sparse.save_npz writes; members may be other bytes."""
    entries = [(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row) if value]
    starts = [sum(i < row for i, _, _ in entries) for row in range(len(rows) + 1)]
    members = {
        "indices": vector([j for _, j, _ in entries], "<i4", "i"),
        "indptr": vector(starts, "<i4", "i"),
        "format": vector([b"csr"], "|S3", "3s"),
        "shape": vector([len(rows), len(rows[0])], "<i8", "q"),
        "data": vector([value for _, _, value in entries], "<f4", "f"),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | changed).items():
            archive.writestr(zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0)), content)


def vector(values, descr, code):
    shape = "()" if descr == "|S3" else f"({len(values)},)"
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    data = b"".join(struct.pack(f"<{code}", value) for value in values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def csv(path, rows, header=None):
    lines = [",".join(header)] if header else []
    lines += [",".join(str(value) for value in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def zst(content):
    """A frame of zstd that stores its bytes as they are, which takes no library."""
    parts = [content[i:i + 65536] for i in range(0, len(content), 65536)]
    blocks = [struct.pack("<I", len(part) << 3 | (i == len(parts) - 1))[:3] + part for i, part in enumerate(parts)]
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(content)) + b"".join(blocks)


def main():
    to = pathlib.Path(sys.argv[1])
    rng = random.Random(1)

    # Three groups of points in the plane, four columns: two to cluster, one of text, one of weights.
    centres = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)]
    plane = [tuple(round(c + rng.gauss(0, 1), 3) for c in centres[i % 3]) for i in range(300)]
    csv(to / "plane.csv", plane, ["x", "y"])
    csv(to / "bare.csv", plane)
    npy(to / "plane.npy", plane)
    npy(to / "plane64.npy", plane, "<f8", "d")
    csv(to / "swapped.csv", [(y, "w" + str(i % 2), x) for i, (x, y) in enumerate(plane)], ["y", "word", "x"])
    csv(to / "other_names.csv", plane, ["a", "b"])
    csv(to / "weighted.csv", [(x, y, 1 + i % 4) for i, (x, y) in enumerate(plane)], ["x", "y", "w"])
    csv(to / "weights.txt", [(1 + i % 4,) for i in range(300)])
    with gzip.GzipFile(to / "plane.csv.gz", "wb", mtime=0) as file:
        file.write((to / "plane.csv").read_bytes())
    for ending, pack in ((".zst", zst), (".xz", lzma.compress), (".bz2", bz2.compress)):
        (to / f"plane.csv{ending}").write_bytes(pack((to / "plane.csv").read_bytes()))
    csv(to / "three.csv", centres)

    # Counts of words, sparse and dense, and damaged ones.
    words = random.Random(2)
    counts = [[words.randint(1, 9) if (i % 3 == j // 20) or words.random() < 0.02 else 0 for j in range(60)]
              for i in range(90)]
    counts = [[value if words.random() < 0.4 else 0 for value in row] for row in counts]
    npy(to / "counts.npy", counts)
    sparse(to / "counts.npz", counts)
    sparse(to / "csc.npz", counts, format=vector([b"csc"], "|S3", "3s"))
    sparse(to / "shape.npz", counts, shape=vector([90, 9], "<i8", "q"))
    sparse(to / "starts.npz", counts, indptr=vector([0, 1], "<i4", "i"))
    csv(to / "three_wide.csv", [(*c, 0.0) for c in centres])
    csv(to / "five.csv", [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0), (7.0, 8.0), (9.0, 1.0)])

    # A table as people have it: an id, text with a comma, gaps in several spellings; another day's; decimal commas.
    (to / "customers.csv").write_text(
        "customer_id,name,city,age,income,orders\n1001,Ann,Paris,31,1000,3\n1002,Bob,Rome,,3000,5\n"
        '1003,Cy,NA,50,n/a,1\n1004,"Dee, X",Paris,40,2000.5,2\n1005,Eve,Rome,28,1800,9\n1006,Flo,Oslo,66,4100,4\n')
    (to / "tomorrow.csv").write_text("orders,city,income,age,customer_id\n4,Rome,,30,2001\n7,Bern,2500,NULL,2002\n")
    (to / "comma.csv").write_text("Preis;Menge\n1.234,5;2\n-0,25;1e3\n7,125;1.000.000\n")
    (to / "dates.csv").write_text("when,x\n2024-02-29,1\n2024-03-01,2\n")

    # Three linear models of a target in the same place: x1 + x2 / 10, 5 - x1, and 9 + 2 x1 - x2 / 10, of rows 0, 1, 2, 0, 1, 2, ...
    lines = []
    for i in range(240):
        x1, x2 = round(rng.uniform(-2, 2), 3), round(rng.uniform(10, 30), 2)
        y = (x1 + x2 / 10, 5 - x1, 9 + 2 * x1 - x2 / 10)[i % 3]
        lines.append((x1, round(y + rng.gauss(0, 0.02), 4), x2))
    csv(to / "lines.csv", lines, ["age", "cost", "size of it"])
    npy(to / "lines.npy", [(x1, x2, y) for x1, y, x2 in lines], "<f8", "d")

    # What cannot be used.
    (to / "empty.csv").write_bytes(b"")
    (to / "folder").mkdir()
    (to / "truncated.npy").write_bytes((to / "plane.npy").read_bytes()[:1000])
    (to / "garbage.npy").write_bytes(bytes(rng.randrange(256) for _ in range(500)))
    (to / "ragged.csv").write_text("1,2\n3,4\n5\n")
    (to / "text.csv").write_text("x,y\n1,2\n3,four\n")
    (to / "nan.csv").write_text("x,y\n1,2\n3,nan\n")
    npy(to / "nan.npy", [(1.0, 2.0), (3.0, 4.0), (float("nan"), 6.0)])
    npy(to / "inf.npy", [(1.0, 2.0), (3.0, float("inf"))])
    csv(to / "negative_weights.txt", [(-1 if i == 4 else 1,) for i in range(300)])
    csv(to / "zero_weights.txt", [(0,)] * 300)
    csv(to / "few_weights.txt", [(1,)] * 299)


main()
