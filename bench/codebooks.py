#!/usr/bin/env python3
"""Product and residual codebooks of manymeans and of faiss: seconds of training and of coding, error of the codes.

usage: codebooks.py [--rounds N] [--long N] [--out FILE]     a Python with manymeans and faiss

Rows are 1,000 Gaussian groups with noise, float32. Both sides train by default on two threads: products on 256 rows for
each code, residuals on 1,024 (manymeans) and 256 (faiss). "same rows" gives both the rows that manymeans chooses. One
process runs the sides in turns, and the medians of three rounds count. --long is the number of rounds of residuals that
faiss trains with its default beam of 5, ten minutes each. manymeans trains without a beam. The error is the mean squared
error of a row, coded by manymeans with the codebooks of either side. Writes a table in Markdown.
"""

import argparse
import statistics
import sys
import time

import faiss
import manymeans
import numpy as np

ROWS = 1_000_000
THREADS = 2
BEAM = 5  # faiss trains and codes with it by default
FEW = 100_000  # rows that are coded with the beam


def mixture(columns):
    random = np.random.default_rng(1)
    centres = random.normal(size=(1000, columns)).astype(np.float32)
    points = centres[random.integers(0, 1000, ROWS)]
    points += random.standard_normal((ROWS, columns), dtype=np.float32)
    return points


def timed(work, points):
    """Seconds of the clock, and of the processors."""
    begun, used = time.perf_counter(), time.process_time()
    work(points)
    return time.perf_counter() - begun, time.process_time() - used


def error(quantizer, points):
    total = 0.0
    for first in range(0, len(points), 1 << 16):
        rows = points[first : first + (1 << 16)]
        total += float(((rows - quantizer.inverse_transform(quantizer.transform(rows))) ** 2).sum(dtype=np.float64))
    return total / len(points)


class Product:
    same_coding = True

    def __init__(self, threads):
        self.ours = manymeans.ProductQuantizer(16, 256, random_state=0, n_threads=threads)
        self.theirs = faiss.ProductQuantizer(128, 16, 8)

    def errors(self, points):
        return [error(self.ours, points)]

    def errors_of_faiss(self, points):
        self.ours.codebooks_ = faiss.vector_to_array(self.theirs.centroids).reshape(16, 256, 8)
        return self.errors(points)


class Residual:
    beam = BEAM

    def __init__(self, threads):
        self.ours = manymeans.ResidualQuantizer(4, 1024, random_state=0, n_threads=threads)
        self.theirs = faiss.ResidualQuantizer(64, 4, 10)
        self.theirs.max_beam_size = self.beam
        self.same_coding = self.beam == 1

    def errors(self, points):
        self.ours.set_params(beam=BEAM)
        beam = error(self.ours, points[:FEW])
        self.ours.set_params(beam=1)
        return [error(self.ours, points), beam]

    def errors_of_faiss(self, points):
        self.ours.codebooks_ = faiss.vector_to_array(self.theirs.codebooks).reshape(4, 1024, 64)
        return self.errors(points)


class ResidualWithoutBeam(Residual):
    beam = 1


def measure(kind, points, training, rounds):
    """Seconds and errors of both sides, by round: [ours, theirs]."""
    found = []
    for number in range(rounds):
        pair = kind(THREADS)
        fit, train = timed(pair.ours.fit, training), timed(pair.theirs.train, training)
        transform = timed(pair.ours.transform, points)
        code = timed(pair.theirs.compute_codes, points) if pair.same_coding else (float("nan"),)
        ours, theirs = pair.errors(points), pair.errors_of_faiss(points)
        found.append([(*fit, transform[0], ours), (*train, code[0], theirs)])
        print(kind.__name__, number, found[-1], file=sys.stderr, flush=True)
    return found


def lines(name, rounds):
    medians = [[statistics.median(one[side][what] for one in rounds) for what in range(3)] for side in (0, 1)]
    for side, package in enumerate(("manymeans", "faiss")):
        errors = " | ".join(f"{value:.3f}" for value in [*rounds[0][side][3], float("nan")][:2])
        ratio = f"{medians[0][0] / medians[1][0]:.2f}" if side == 0 else "1"
        seconds = " | ".join(f"{value:.2f}" for value in medians[side])
        text = f"| {name} | {package} | {ratio} | {seconds} | {errors} |"
        yield text.replace("nan", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--long", type=int, default=1)
    parser.add_argument("--out")
    options = parser.parse_args()
    faiss.omp_set_num_threads(THREADS)
    table = [
        f"| codebooks | package | training to faiss's | training, s | processors, s | coding, s | error | beam {BEAM} |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    points = mixture(128)
    table += lines("product, 16 x 256", measure(Product, points, points, options.rounds))
    rows = manymeans.fit(np.arange(ROWS, dtype=np.float64)[:, None], 1 << 16, init="random", max_iter=0).best()
    rows = np.sort(rows.cluster_centers[:, 0].astype(int))  # those that the quantiser chooses, in its order
    table += lines("product, same rows", measure(Product, points, points[rows], options.rounds))
    points = mixture(64)
    alike = measure(ResidualWithoutBeam, points, points, options.rounds)
    table += lines("residual, 4 x 1024, trained without beam", alike)
    if options.long:
        table += lines("residual, 4 x 1024", measure(Residual, points, points, options.long))
    with open(options.out, "w") if options.out else sys.stdout as file:
        file.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
