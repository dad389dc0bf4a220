"""`./dev bench gpu` without a GPU: what the report says of measured and of missing numbers, power from readings of a
counter, and the script run whole on another backend.

usage: bench_gpu_report.py PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from peer_tools import ROOT, expect
import compare_gpu
import energy
import forked
import gpu_peers
import gpu_report
import suite_rows

SUITE = {"name": "gpu", "about": "About.",
         "rows": [{"name": "big", "n": 100, "d": 2, "k": 4, "floor": 2.0, "at_most": 5, "aim": 3, "published": {"FlashLib": 9}},
                  {"name": "small", "n": 100, "d": 2, "k": 4, "at_most": 1, "aim": 0.5},
                  {"name": "bare", "n": 100, "d": 2, "k": 4}]}
ABOUT = {"machine": {"cpu": "cpu", "usable_cpus": 2}, "device": "", "quick": False, "not found": {"torch": "torch"},
         "no joules": "no counter", "run": {"command": "./dev bench gpu", "date": "today", "commit": "c"}}


def result(row, ms, peers, warm=None, **more):
    found = {"row": row, "kind": "noise", "ms": ms, "warm": warm, "single": {"1": [1.0, 1.0], "11": [1 + ms / 100, 1 + ms / 50]}, "certified": 0.95, "candidates": 2.25, "checked": 10, "wrong": 0,
             "digest_of_cpu": True, "compared_iterations": 11, "peers": peers}
    return {**found, **more}


def check_report():
    results = [result("big", 4.0, {"FlashLib": {"ms": 8.0, "watts": 500.0}, "cpu backend": {"ms": 400.0, "rough": True}},
                      warm={"ms": 3.5, "watts": 600.0}),
               result("small", 2.0, {"FlashLib": {"failed": "Error: no"}, "cpu backend": {"ms": 3.0}}, wrong=1,
                      digest_of_cpu=False, compared_iterations=1),
               result("bare", 2.0, {})]
    text = gpu_report.page(SUITE, ABOUT, results, ["huge / noise"])
    for line in ("| big / noise | 4 | 4 .. 8 (2) | 3.5 | 5 | 3 | 2.0 (50%) | 8 (2.00x) | ~400 (100.00x) |",
                 "| small / noise | 2 | 2 .. 4 (2) | - | 1 **missed** | 0.5 | - | - | 3 (1.50x) |",
                 "| bare / noise | 2 | 2 .. 4 (2) | - | - | - | - | - | - |",
                 "| big / noise | 95.00% | 2.25 | 0 of 10 | same, 11 iterations | 2.4 | 4 |",
                 "| small / noise | 95.00% | 2.25 | 1 of 10 | **DIFFERS** | - | - |",
                 "`./dev bench gpu`, today, commit c", "- torch was not found here (torch is missing)", "- no joules: no counter", "- left out: huge / noise",
                 "- published, not measured: FlashLib, big: 9 ms", "- small / noise: FlashLib: Error: no"):
        expect(line in text.splitlines(), f"this line is missing: {line}\n{text}")


def check_suites(folder):
    path = folder / "mine.json"

    def loaded(suite):
        path.write_text(json.dumps(suite))
        try:
            return suite_rows.load_suite(path, ("name", "n"))
        except SystemExit as refusal:
            return str(refusal)

    found = loaded({"defaults": {"n": 5}, "rows": [{"name": "a"}, {"name": "b", "n": 6}]})
    expect(found["name"] == "mine" and found["about"] == "", "a suite needs neither a name nor a word about it")
    expect([row["n"] for row in found["rows"]] == [5, 6], "defaults of all rows")
    expect("row 2 (b) has no n; every row needs name, n" in loaded({"rows": [{"name": "a", "n": 1}, {"name": "b"}]}),
           "what a row lacks is said before anything is measured")
    expect("there are no rows" in loaded({"name": "empty"}), "a suite without rows")


def check_spread():
    times = {"single": {"1": [1.0] * 20, "11": [1 + i / 100 for i in range(20)]}}
    expect(gpu_report.spread_of(times) == "2 .. 17 (20)", gpu_report.spread_of(times))
    slow = {1: [1.0, 3.0, 1.0], 11: [2.0, 4.0, 2.5]}  # one pair of fits was beside something else
    expect(gpu_peers.per_iteration(slow) == 100, "the median of the differences")


class Counter:
    """A meter of a board that takes 50 watts."""

    def __init__(self):
        self.read = self.joules = lambda: 50 * energy.time.perf_counter()


def check_energy():
    found = energy.watts_of(Counter(), lambda: energy.time.sleep(0.05))
    expect(abs(found - 50) < 1, f"{found} W are not 50")
    recorder = energy.Recorder(Counter())
    recorder.readings = [(0.0, 100.0), (1.0, 150.0), (2.0, 450.0), (3.0, 460.0)]
    expect(recorder.watts(0.5, 2.5) == 300, "power between two moments is of the readings between them")
    expect(recorder.watts(2.5, 9) is None, "one reading is no power")
    for meter in (energy.Meter(), energy.PackageMeter()):
        expect((meter.joules() is None) == bool(meter.lacking), "without a counter it is said why")


def check_peers():
    expect(set(gpu_peers.missing(["flash-kmeans", "cpu backend"])) <= {"flash-kmeans"}, "our own backend is never missing")
    slow = gpu_peers.scikit_learn("unused", None, {"n": 10**9, "d": 100, "k": 1000}, 2, 5)
    expect(slow["failed"].startswith("left out"), "scikit-learn is not started where an iteration would take an hour")


def ends_at_once(pipe):
    raise SystemExit(3)


def peer(points, row):
    if row["d"] == 1:
        raise MemoryError("too large\nfor it")
    return None if row["d"] == 2 else lambda iterations: None


def check_processes():
    expect(forked.apart(divmod, 7, 4) == (1, 3), "what it returns")
    lost = forked.Forked(ends_at_once)
    expect(lost.receive() == {"failed": "its process ended with exit code 3"}, "a process that ends says nothing")
    lost.send("measure")
    lost.end()
    gpu_peers.ON_GPU["test"] = ("numpy", peer)
    gpu_peers._seconds = lambda fit, iterations: 0.5 + iterations / 4
    gpu_peers.POWER_SECONDS = 0.05
    found = [gpu_peers.on_gpu(["test"], None, {"d": d}, 11, 3, Counter())["test"] for d in (1, 2, 3)]
    begin = energy.time.perf_counter()
    blind = gpu_peers.on_gpu(["test"], None, {"d": 3}, 11, 3, type("Blind", (), {"read": None}))["test"]
    expect(blind == {"ms": 250, "watts": None} and energy.time.perf_counter() - begin < 5, "without a counter no power")
    expect(found[0] == {"failed": "MemoryError: too large"}, "a peer that fails")
    expect(found[1] == {"failed": "one model only"}, "a peer that cannot")
    expect(found[2]["ms"] == 250 and abs(found[2]["watts"] - 50) < 1, f"a quarter of a second an iteration: {found[2]}")


def check_points():
    row = {"n": 300_000, "d": 3, "k": 8}
    noise, mixture = (compare_gpu.points_of(row, kind) for kind in ("noise", "mixture"))
    expect(np.array_equal(noise, compare_gpu.points_of(row, "noise")), "points are the same in every run")
    expect(len(np.unique(noise[:, 0])) > 0.9 * len(noise), "pieces differ from each other")
    expect(abs(noise.std() - 1) < 0.01 and mixture.std() > 1.5, "a mixture is wider than noise")
    expect(compare_gpu.points_of({**row, "dtype": "float64"}, "noise").dtype == np.float64, "the row's type")


def run(script, *arguments):
    done = subprocess.run([sys.executable, str(ROOT / "bench" / script), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    expect(done.returncode == 0, f"{script} ended with exit code {done.returncode}")
    return done.stdout


def check_scripts(program, folder):
    run("compare_gpu.py", "--program", program, "--backend", "cpu", "--quick", "--rows", "10k", "--kinds", "mixture", "--out",
        folder)
    found = json.loads((folder / "gpu.json").read_text())
    expect([one["kind"] for one in found["results"]] == ["mixture"], "only the kind that was asked for")
    one = found["results"][0]
    expect(one["checked"] == 2000 and one["wrong"] == 0 and one["digest_of_cpu"], "all labels are right")
    expect("ms" in one["peers"]["scikit-learn"] and "ms" in one["peers"]["reference backend"], "peers on the host took part")


def main():
    check_report()
    check_spread()
    check_energy()
    check_peers()
    check_processes()
    check_points()
    with tempfile.TemporaryDirectory(prefix="manymeans-peers-", dir=".") as folder:
        check_suites(pathlib.Path(folder))
        check_scripts(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder).resolve())
    print("the report of bench gpu is as documented")


main()
