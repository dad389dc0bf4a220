#!/usr/bin/env python3
"""Reading the KDD sample, data/kddcup99_10percent.csv.gz (494,021 rows, 38 columns of numbers and 4 of text), by manymeans
beside pyarrow's CSV reader, on the same processors.

usage: reading.py [--rounds R]     a Python with manymeans and pyarrow; ./dev bench reading has one

Both run in this process and take turns; the least time of each counts, since whatever else runs on the machine only
ever adds; on a busy machine look at the seconds of the processors. The process is bound to as many processors as there are threads, so that helpers of a library count, too.
"""

import argparse
import os
import pathlib
import time

import machine
import pyarrow
import pyarrow.csv

import manymeans

DATA = str(pathlib.Path(__file__).resolve().parent.parent / "data" / "kddcup99_10percent.csv.gz")


def by_manymeans(threads):
    return manymeans.read(DATA, numeric_only=True, n_threads=threads).points.shape


def by_pyarrow(threads, **convert):
    table = pyarrow.csv.read_csv(
        DATA,
        read_options=pyarrow.csv.ReadOptions(use_threads=threads > 1, autogenerate_column_names=True),
        convert_options=pyarrow.csv.ConvertOptions(**convert),
    )
    return table.shape


def numeric_columns():
    table = pyarrow.csv.read_csv(DATA, read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True))
    return [field.name for field in table.schema if not pyarrow.types.is_string(field.type)]


def seconds(reader, threads):
    """By the clock, and of the processors."""
    begin, used = time.perf_counter(), time.process_time()
    reader(threads)
    return time.perf_counter() - begin, time.process_time() - used


def measure(threads, rounds):
    os.sched_setaffinity(0, sorted(PROCESSORS)[:threads])
    pyarrow.set_cpu_count(threads)
    pyarrow.set_io_thread_count(threads)
    numeric = numeric_columns()
    floats = {name: pyarrow.float32() for name in numeric}
    readers = {
        "manymeans: 38 columns of float32, as a matrix": by_manymeans,
        "pyarrow: all 42 columns, types found": by_pyarrow,
        "pyarrow: the 38 of numbers, types found": lambda t: by_pyarrow(t, include_columns=numeric),
        "pyarrow: the 38 of numbers as float32": lambda t: by_pyarrow(t, include_columns=numeric, column_types=floats),
    }
    times = [[seconds(reader, threads) for reader in readers.values()] for _ in range(rounds)]
    least = ([min(kind) for kind in zip(*column, strict=True)] for column in zip(*times, strict=True))
    return dict(zip(readers, least, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    counts = [count for count in (1, 2) if count <= len(PROCESSORS)]
    results = [measure(count, rounds) for count in counts]
    print(f"pyarrow {pyarrow.__version__}, {machine.describe()['cpu']}, least of {rounds} turns.\n")
    heads = "".join(f" {c} thread{'s' * (c > 1)}, s | beside manymeans | processor, s | beside |" for c in counts)
    print(f"| reader |{heads}\n| --- |{' ---: |' * 4 * len(counts)}")
    for name in results[0]:
        cells = ""
        for found in results:
            ours = next(iter(found.values()))
            cells += "".join(f" {its:.3f} | {its / our:.2f} |" for its, our in zip(found[name], ours, strict=True))
        print(f"| {name} |{cells}")


PROCESSORS = os.sched_getaffinity(0)
if __name__ == "__main__":
    main()
