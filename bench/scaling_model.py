#!/usr/bin/env python3
"""What a fit over many devices takes, by a model. Prints the tables of docs/developer/scaling_model.md.

Bytes and counts are those of the contract and of the code; rates are measured ones of bench/results/, or assumed where
the table of rates says so. Standard library only.
"""

import dataclasses
import math

# H200 of one host, bench/results/h200/four_h200.md: adding up a share each, bytes of int64 and microseconds.
EXCHANGE = {
    2: [(8e3, 15.4), (402e3, 15.9), (3.17e6, 18.0), (12.9e6, 46.4), (35.7e6, 115.4), (142e6, 432)],
    4: [(8e3, 62), (402e3, 63), (3.17e6, 70), (12.9e6, 81), (35.7e6, 202), (142e6, 699)],
}
# The same page: rows, columns, clusters, models, milliseconds of an iteration on one to four.
DEVICES = [
    (16e6, 128, 1024, 1, (13.85, 7.18, 4.83, 3.60)),
    (2e6, 128, 65536, 1, (57.2, 30.1, 20.5, 15.8)),
    (4e6, 8, 400, 1, (0.814, 0.473, 0.402, 0.340)),
    (1e6, 16, 50, 64, (2.26, 1.14, 0.83, 0.59)),
]
NVLINK = 333e9  # bytes a second from and to a device, fitted to the last point of four
EVENTS = {1: 0.0, 2: 15.4e-6, 3: 38e-6, 4: 62e-6, 8: 124e-6}  # seconds until all have waited for all; eight: assumed
SESSION = 50e-6  # seconds of a pass that several devices add, whatever they do; fitted
UPDATE = 0.095e-9  # seconds for a value of a prototype, which each device computes; fitted

# bench/results/h200/ranks/ranks16.txt: rows, columns, clusters, seconds of 16 threads and of 16 ranks of one thread.
RANKS = [(4e6, 16, 64, 0.760, 0.822), (1e6, 128, 256, 1.113, 1.405)]
RANKS_PASSES = 31  # 30 iterations and the last labels

# bench/results/h200/device_seeding/README.md and results_on_device.md: rows, columns, clusters, method, seconds. Two rates
# are fitted to the first two points, so they check only the form of the model. The rounds of the third are passes.
SEEDING = [
    (60e3, 784, 1000, "k-means++", 0.097),
    (2e6, 128, 300, "k-means++", 0.061),
    (10e6, 1024, 40_000, "k-means||", 16.0),
]

ROUNDS = 5  # of k-means||, each of about k candidates
ASKED = 4  # collectives for each centre of k-means++
HEADER = 64  # bytes that each rank says to all before a collective


@dataclasses.dataclass
class Machine:
    name: str
    pass_rate: float  # operations a second of a rank in passes
    trial_rate: float  # of k-means++, whose candidates are few
    add_rate: float  # of the rounds of k-means||
    step: float  # seconds of a step of k-means++, whatever it compares
    solve: float  # seconds for a value of a prototype
    latency: float  # seconds of a message
    bandwidth: float  # bytes a second between two ranks
    reading: float  # bytes a second of the files, all ranks together
    late: float  # share by which the slowest rank is behind


@dataclasses.dataclass
class Job:
    rows: float
    columns: int
    clusters: int
    ranks: int
    init: str
    exponents: int = 56  # binary digits from the largest value of a column to the lowest set bit of any
    iterations: int = 100


def limbs(job):
    """The contract's G: the smallest for which every term is exact, at most 4 for float32."""
    bits = 62 - int(job.rows - 1).bit_length()
    return min(4, math.ceil((job.exponents + 2) / bits))


def statistics_bytes(job):
    """What is added up in a pass: sums, weight and rows of each cluster, as int64."""
    return 8 * job.clusters * (limbs(job) * job.columns + 2)


def all_reduce(machine, ranks, size):
    hops = math.ceil(math.log2(ranks))
    return 2 * hops * machine.latency + 2 * (ranks - 1) / ranks * size / machine.bandwidth


def all_gather(machine, ranks, size):
    """`size` bytes of all ranks together."""
    return math.ceil(math.log2(ranks)) * machine.latency + size / machine.bandwidth


def header(machine, ranks):
    return all_gather(machine, ranks, HEADER * ranks)


def comparing(rows, candidates, columns):
    return 2 * rows * candidates * columns


def trials(clusters):
    return 2 + int(math.log(clusters))


def greedy(machine, rows, clusters, columns):
    """k-means++ by one rank."""
    return clusters * machine.step + comparing(rows, clusters * trials(clusters), columns) / machine.trial_rate


def seeding(machine, job):
    """Parts of the seeding and their seconds."""
    rows, d, k = job.rows / job.ranks, job.columns, job.clusters
    if job.init == "random":
        return {"seeding: rows drawn": all_gather(machine, job.ranks, 16 * k * job.ranks)}
    if job.init == "k-means++":
        waits = 0 if job.ranks == 1 else k * ASKED * (header(machine, job.ranks) + all_reduce(machine, job.ranks, 256))
        return {"seeding: steps": greedy(machine, rows, k, d), "seeding: ranks wait for each other": waits}
    candidates = ROUNDS * k
    gathered = 0 if job.ranks == 1 else all_gather(machine, job.ranks, 4 * candidates * d)
    return {
        "seeding: rounds": comparing(rows, candidates, d) / machine.add_rate,
        "seeding: candidates to all ranks": gathered,
        "seeding: k-means++ of the candidates, by every rank": greedy(machine, candidates, k, d),
    }


def iteration(machine, job):
    """Parts of an iteration and their seconds."""
    compute = comparing(job.rows / job.ranks, job.clusters, job.columns) / machine.pass_rate
    return {
        "pass": compute,
        "waiting for the slowest rank": machine.late * compute,
        "adding up": all_reduce(machine, job.ranks, statistics_bytes(job)) + header(machine, job.ranks),
        "solving, by every rank": machine.solve * job.clusters * job.columns,
    }


def label_bytes(clusters):
    return 1 if clusters <= 256 else 2 if clusters <= 65536 else 4


def once(machine, job):
    bytes_each = 4 * job.columns
    return {
        "reading": job.rows * bytes_each / machine.reading,
        **seeding(machine, job),
        "labels to one .npy": job.rows * label_bytes(job.clusters) / machine.reading,
    }


H200 = Machine("H200", pass_rate=540e12, trial_rate=25e12, add_rate=540e12, step=60e-6, solve=2e-9, latency=10e-6,
               bandwidth=50e9, reading=20e9, late=0.05)  # fmt: skip
CORE = Machine("core", pass_rate=150e9, trial_rate=88e9, add_rate=88e9, step=1e-5, solve=30e-9, latency=5e-6,
               bandwidth=12.5e9 / 64, reading=20e9, late=0.15)  # fmt: skip
HOST = dataclasses.replace(CORE, name="core of one host", latency=1e-6, bandwidth=5e9)


def table(title, columns, rows):
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def shown(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.3g} {unit}"
    return ""


def exchange(devices, size):
    """A share each: read from all others, and written to all others."""
    events = EVENTS[devices]
    return max(events, events / 2 + 2 * (devices - 1) / devices * size / NVLINK)


def check_exchange():
    rows = []
    for devices, points in EXCHANGE.items():
        for size, measured in points:
            model = exchange(devices, size) * 1e6
            row = [
                f"{devices}",
                f"{size / 1e6:.3g} MB",
                f"{measured:.0f} us",
                f"{model:.0f} us",
                f"{model / measured:.2f}",
            ]
            rows.append(row)
    table("adding up on H200 of one host", ["devices", "int64", "measured", "model", "model / measured"], rows)


def check_devices():
    rows = []
    for n, d, k, models, measured in DEVICES:
        update = UPDATE * k * d * models
        size = statistics_bytes(Job(n, d, k * models, 1, "random"))
        cells = [f"{n / 1e6:.0f}M x {d}, k = {k}{f', {models} models' if models > 1 else ''}", f"{measured[0]} ms"]
        for devices in (2, 3, 4, 8):
            each = (measured[0] * 1e-3 - update) / devices + update + exchange(devices, size) + SESSION
            known = f"{measured[devices - 1]} ({each * 1e3:.3g})" if devices < 8 else f"{each * 1e3:.3g}"
            cells.append(known)
        rows.append(cells)
    table("an iteration, ms: measured (model)", ["fit", "one", "two", "three", "four", "eight: model"], rows)


def check_ranks():
    rows = []
    for n, d, k, threads, ranks in RANKS:
        job = Job(n, d, k, 16, "k-means||")
        apart = iteration(HOST, job)
        more = RANKS_PASSES * (apart["adding up"] + apart["solving, by every rank"] * 15 / 16)
        more += seeding(HOST, job)["seeding: k-means++ of the candidates, by every rank"] * 15 / 16
        unexplained = ranks - threads - more
        rows.append([f"{n / 1e6:.0f}M x {d}, k = {k}", f"{threads:.3f} s", f"{ranks:.3f} s", f"{threads + more:.3f} s",
                     f"{unexplained:.3f} s, {unexplained / threads:.0%}"])  # fmt: skip
    columns = ["fit", "threads", "ranks", "ranks, model", "not in the model"]
    table("16 ranks of one thread beside 16 threads", columns, rows)


def check_seeding():
    rows = []
    for n, d, k, init, measured in SEEDING:
        model = sum(seeding(H200, Job(n, d, k, 1, init)).values())
        name = f"{n:.0f} x {d}, k = {k}, {init}".replace("|", "\\|")
        rows.append([name, f"{measured:.3f} s", f"{model:.3f} s", f"{model / measured:.2f}"])
    table("seeding on one H200", ["fit", "measured", "model", "model / measured"], rows)


def tell(title, machine, job):
    each, whole = iteration(machine, job), once(machine, job)
    rows = [[name, shown(seconds), "once"] for name, seconds in whole.items()]
    one = sum(each.values())
    rows += [[name, shown(seconds), f"{seconds / one:.1%} of an iteration"] for name, seconds in each.items()]
    rows.append([f"**{job.iterations} iterations**", f"**{shown(job.iterations * one)}**", ""])
    rows.append(["**all**", f"**{shown(job.iterations * one + sum(whole.values()))}**", ""])
    print(f"\n{limbs(job)} limbs, {statistics_bytes(job) / 1e6:.3g} MB added up in a pass, "
          f"{job.rows / job.ranks * 4 * job.columns / 1e9:.3g} GB of points on a rank")  # fmt: skip
    table(title, ["part", "seconds", "when"], rows)


def main():
    check_exchange()
    check_devices()
    check_ranks()
    check_seeding()
    large = Job(1e9, 128, 100_000, 64, "k-means||")
    tell("10^9 x 128, k = 10^5, 64 GPUs", H200, large)
    tell("the same, init = random", H200, dataclasses.replace(large, init="random"))
    long = Job(1e10, 32, 1000, 1000, "k-means++")
    tell("10^10 x 32, k = 1000, 1000 ranks of one thread", CORE, long)
    tell("the same, init = k-means||", CORE, dataclasses.replace(long, init="k-means||"))


if __name__ == "__main__":
    main()
