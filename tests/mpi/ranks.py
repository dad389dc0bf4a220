#!/usr/bin/env python3
"""Fits by `mpirun manymeans fit` beside the same fits by one process: ranks.py MPIRUN PROGRAM [--only NAME | --kills COUNT].

Every answer (digests, models, labels) has to be that of one process, bit for bit, with 1 to 4 ranks. What goes wrong on
one rank has to end all of them, soon, with a message that says where. Nothing may hang: every command runs under a
watchdog. Standard library only.
"""

import argparse
import array
import gzip
import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

WATCHDOG = 60
SOON = 10
LAUNCHER_KNOWS = "detected that one or more processes exited with non-zero status"

# name: (file of points, flags that decide the answer, ranks)
FITS = {
    "plain": ("points.npy", ["-k", "7", "--stop", "strict"], (1, 2, 3, 4)),
    "float64": ("points64.npy", ["-k", "5", "--scale", "standard"], (2, 3)),
    "ensemble": ("points.fvecs", ["-k", "3,9", "--models", "3", "--init", "k-means||", "--stop", "inertia:1e-6"], (3,)),
    "strategies": ("points.fbin", ["-k", "4..6", "--models", "2", "--init", "random", "--strategy", "task",
                                   "--stop", "labels:0.001"], (4,)),
    "weights": ("points.npy", ["-k", "6", "--weights", "weights.npy", "--stop", "shift:1e-9"], (2, 4)),
    "weights of a column": ("points.npz", ["-k", "6", "--weights", "3", "--init", "first"], (3,)),
    "text": ("points.csv", ["-k", "6", "--scale", "minmax", "--empty", "keep"], (3,)),
    "logarithms": ("points.u8bin", ["-k", "5", "--log", "1-2", "--scale", "robust"], (3,)),
    "quartiles": ("points.csv", ["-k", "4", "--scale", "robust"], (3,)),
    "text of one type": ("points.csv.gz", ["-k", "6", "--dtype", "float64"], (2,)),
    "short text": ("short.csv", ["-k", "5", "--weights", "w"], (4,)),
    "bytes": ("points.u8bin", ["-k", "12", "--empty", "drop", "--init", "random", "--stop", "strict"], (4,)),
    "given": ("points.npy", ["--init", "three.csv", "-k", "3"], (3,)),
    "as many clusters as rows": ("few.npy", ["-k", "3", "--empty", "keep"], (2, 4)),
    "many rows": ("large.npy", ["-k", "5", "--init", "random", "--max-iter", "3"], (2,)),
    "a single row": ("one.npy", ["-k", "1"], (3,)),
}  # fmt: skip


# The same of linear models.
REGRESSIONS = {
    "linear models": ("points.npy", ["--target", "3", "-k", "3"], (1, 2, 4)),
    "linear models by clusters": ("points64.npy", ["--target", "1", "-k", "2,3", "--models", "2", "--init", "kmeans",
                                                   "--weights", "weights.npy", "--scale", "standard"], (3,)),
    "linear models of text": ("points.csv", ["--target", "2", "-k", "3", "--init", "kmeans-x", "--swaps", "2"], (2,)),
    "linear models of few rows": ("few.npy", ["--target", "2", "-k", "1"], (4,)),
}  # fmt: skip

# The same of trees.
TREES = {
    "a tree": ("points.npy", ["-k", "60", "--refine", "2"], (1, 2, 3, 4)),
    "a tree of a sample": ("points64.npy", ["-k", "40", "--refine", "1", "--sample", "500", "--branching", "2",
                                            "--weights", "weights.npy", "--max-size", "90", "--quota", "inertia"], (2, 3)),
    "a tree of directions": ("points.csv", ["-k", "30", "--refine", "0", "--metric", "cosine", "--min-size", "60",
                                            "--quota", "inertia"], (3,)),
    "a tree of bytes": ("points.u8bin", ["-k", "300", "--refine", "1", "--max-size", "11"], (4,)),
    "a tree of few rows": ("few.npy", ["-k", "3", "--refine", "2"], (2, 4)),
}  # fmt: skip

# The parts of points.npy, which are read as one set, have no rows, few, or many.
PARTS_OF_POINTS = (0, 5, 1700, 0, 1, 1295)


def write_npy(path, kind, shape, content):
    path.write_bytes(npy(kind, shape, content))


def npy(kind, shape, content):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content


def make_inputs(to, rows=3001):
    rng = random.Random(7)
    points = []
    for _ in range(rows):
        centre = rng.randrange(6)
        points.append([rng.gauss(centre % 3, 0.4), rng.gauss(centre // 3, 0.4), rng.uniform(0, 1)])
    flat = [value for row in points for value in row]
    floats = array.array("f", flat).tobytes()
    write_npy(to / "points.npy", "<f4", (rows, 3), floats)
    write_npy(to / "points64.npy", "<f8", (rows, 3), array.array("d", flat).tobytes())
    write_npy(to / "weights.npy", "<f8", (rows,), array.array("d", [rng.randrange(4) / 2 for _ in range(rows)]).tobytes())
    write_npy(to / "few.npy", "<f4", (3, 3), floats[:36])
    write_npy(to / "one.npy", "<f4", (1, 3), floats[:12])
    broken = array.array("f", flat)
    broken[3 * (rows - 5) + 1] = float("nan")
    write_npy(to / "broken.npy", "<f4", (rows, 3), broken.tobytes())
    first = 0
    for part, count in enumerate(PARTS_OF_POINTS):
        write_npy(to / f"part-{part}.npy", "<f4", (count, 3), floats[12 * first : 12 * (first + count)])
        first += count
    write_npy(to / "other-1.npy", "<f4", (6, 2), floats[:48])
    (to / "other-2.npy").write_bytes((to / "part-2.npy").read_bytes()[:-5])
    lines = [f"{x:.3f},{'nan' if row == rows - 5 else round(y, 3)},{z:.3f}\n" for row, (x, y, z) in enumerate(points)]
    (to / "broken.csv").write_text("x,y,z\n" + "".join(lines))
    three = (3).to_bytes(4, "little")
    (to / "points.fvecs").write_bytes(b"".join(three + floats[12 * i : 12 * i + 12] for i in range(rows)))
    (to / "points.fbin").write_bytes(rows.to_bytes(4, "little") + three + floats)
    (to / "points.u8bin").write_bytes(rows.to_bytes(4, "little") + three + bytes(rng.randrange(5) for _ in range(3 * rows)))
    (to / "points.csv").write_text("".join(",".join(f"{value:.5f}" for value in row) + "\n" for row in points))
    (to / "short.csv").write_text("x,y,w\n" + "".join(f"{x:.2f},{y:.1f},{x > 1:d}\n" for x, y, _ in points))
    (to / "lost.csv").write_text("".join(f"{i % 7},{i}\n" for i in range(20)) + "3,16777217\n")
    with gzip.open(to / "points.csv.gz", "wb") as file:
        file.write((to / "points.csv").read_bytes())
    (to / "three.csv").write_text("0,0,0\n1,1,0.5\n2,0,1\n")
    with zipfile.ZipFile(to / "points.npz", "w") as archive:
        archive.writestr("points.npy", npy("<f4", (rows, 3), floats))
    large = 250000
    write_npy(to / "large.npy", "|u1", (large, 32), rng.randbytes(32 * large))


def answer_of(model):
    """What a model file says, without times and the history of the fit."""
    with zipfile.ZipFile(model) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name not in ("json.npy", "seconds.npy")}


class Ranks:
    """The programs, and where they work."""

    def __init__(self, arguments, place):
        self.mpirun, self.program, self.place = arguments.mpirun, arguments.program, place
        self.problems = []

    def command(self, ranks, arguments):
        """One program for all ranks, or, where `arguments` is a list of lists, one with its own arguments for each."""
        if ranks == 0:
            return [self.program, *arguments]
        launch = self.launch()
        if not isinstance(arguments[0], list):
            return [*launch, "-n", str(ranks), self.program, *arguments]
        for each in arguments:
            launch += ["-n", "1", self.program, *each, ":"]
        return launch[:-1]

    def launch(self):
        return [self.mpirun, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "--mca",
                "odls_base_sigkill_timeout", "0"]  # fmt: skip

    def run(self, ranks, arguments):
        """Exit code, standard output, standard error, seconds."""
        return self.run_command(self.command(ranks, arguments))

    def run_command(self, command):
        ended = self.run_once(command)
        if ended[0] == 124:
            self.complain(f"this hangs: {command}")
        return ended

    def run_once(self, command, **variables):
        begin = time.monotonic()
        try:
            done = subprocess.run(command, cwd=self.place, capture_output=True, text=True, timeout=WATCHDOG, check=False,
                                  stdin=subprocess.DEVNULL, env=os.environ | variables)  # fmt: skip
        except subprocess.TimeoutExpired as late:
            return 124, "", (late.stderr or b"").decode(errors="replace"), WATCHDOG
        return done.returncode, done.stdout, done.stderr, time.monotonic() - begin

    def left_behind(self):
        """Files that the program means to remove or rename."""
        return sorted(path.name for path in self.place.glob(".manymeans*"))

    def complain(self, text):
        print("  WRONG:", text)
        self.problems.append(text)

    def fit(self, ranks, arguments):
        """The digest; labels.npy, labels.csv and model.npz are there afterwards."""
        command = "regress" if "--target" in arguments else "tree" if "--refine" in arguments else "fit"
        code, out, problem, _ = self.run(ranks, [command, *arguments, "--json"])
        if code != 0:
            self.complain(f"{ranks} ranks, {arguments}: exit code {code}: {problem}")
            return None
        try:
            return json.loads(out)["digest"]
        except (json.JSONDecodeError, KeyError) as error:
            self.complain(f"{ranks} ranks, {arguments}: {error} in {out!r}")
            return None

    def fails(self, ranks, arguments, code, *words):
        """All ranks end soon, with this exit code, and one of them says all of these words, once."""
        self.ends(self.command(ranks, arguments), code, words, lambda said: len(said) == 1)

    def fails_alone(self, command, code, *words, **variables):
        """All ranks end soon, before they join, with this exit code.

        Each rank says all of these words, unless the launcher ends it before.

        On a busy machine mpiexec of Open MPI 4.1 reports such an end, and then hangs or dies of a closed pipe in 6 of
        some 2000 runs. The command is repeated then.
        """
        found = self.run_once(command, **variables)
        for _ in range(2):
            if found[0] in (124, -signal.SIGPIPE) and LAUNCHER_KNOWS in found[2]:
                found = self.run_once(command, **variables)
        self.judge(command, code, words, lambda said: len(said) == len(set(said)) > 0, found)

    def ends(self, command, code, words, is_right):
        self.judge(command, code, words, is_right, self.run_command(command))

    def judge(self, command, code, words, is_right, ended):
        found, out, problem, seconds = ended
        said = [line for line in problem.splitlines() if line.startswith("manymeans: error: ")]
        said = [line for line in said if "[interrupted] stopped by a signal" not in line]
        if found != code or seconds > SOON or out or not is_right(said) or not all(word in said[0] for word in words):
            self.complain(f"{command}: exit code {found} instead of {code} after {seconds:.1f} s, {said or problem}, "
                          f"{out!r}; wanted {words}")  # fmt: skip


def same_answers(at):
    for name, (points, flags, counts) in (FITS | REGRESSIONS | TREES).items():
        wanted = None
        for ranks in (0, *counts):
            for file in ("labels.npy", "labels.csv", "model.npz"):
                (at.place / file).unlink(missing_ok=True)
            labels = "labels.csv" if ranks == 2 else "labels.npy"
            digest = at.fit(ranks, [points, *flags, "--seed", "3", "--labels", labels, "--model", "model.npz"])
            if ranks == 0:
                wanted = digest, (at.place / "labels.npy").read_bytes(), answer_of(at.place / "model.npz")
                if 2 in counts:
                    at.fit(0, [points, *flags, "--seed", "3", "--labels", "one.csv"])
                continue
            if digest is None:
                continue
            right = wanted[1] if labels == "labels.npy" else (at.place / "one.csv").read_bytes()
            if digest != wanted[0]:
                at.complain(f"{name}: the digest of {ranks} ranks is {digest}, not {wanted[0]}")
            if (at.place / labels).read_bytes() != right:
                at.complain(f"{name}: {labels} of {ranks} ranks is another file")
            if answer_of(at.place / "model.npz") != wanted[2]:
                at.complain(f"{name}: the model of {ranks} ranks is another one")
        print(f"  {name}: {', '.join(map(str, counts))} ranks")


def same_predictions(at):
    """Of centroids and of linear models: rows in place, rows that are gathered, more ranks than rows."""
    at.fit(0, ["points.npy", "-k", "7", "--scale", "standard", "--model", "model.npz"])
    at.fit(0, ["points.npy", "--target", "3", "-k", "3", "--model", "lines.npz"])
    outputs = ["--labels", "--distances", "--predictions"]
    for points, model, flags in (
        ("points.npy", "model.npz", outputs[:2]),
        ("few.npy", "model.npz", outputs[:2]),
        ("points.csv", "lines.npz", outputs),
        ("points.npy", "lines.npz", [*outputs, "--gating", "columns"]),
    ):
        wanted = {}
        for ranks, ending in ((0, "npy"), (0, "csv"), (1, "npy"), (2, "csv"), (3, "npy"), (4, "npy")):
            files = [f"{flag[2:]}.{ending}" for flag in flags if flag in outputs]
            named = [part for flag, file in zip(flags, files) for part in (flag, file)]
            code, out, problem, _ = at.run(ranks, ["predict", model, points, *named, *flags[len(files):], "--json"])
            if code != 0:
                at.complain(f"{ranks} ranks predict: exit code {code}: {problem}")
                continue
            found = [json.loads(out)["counts"], json.loads(out)["n_rows"]]
            found += [(at.place / file).read_bytes() for file in files]
            if found != wanted.setdefault(ending, found):
                at.complain(f"{ranks} ranks predict something else: {points}, {model}, {ending}")
        print(f"  {model}: {points}")


def several_files(at):
    """Parts of a file are that file, by a pattern or by names, however many ranks share them."""
    flags = ["-k", "7", "--stop", "strict", "--seed", "3", "--labels", "labels.npy"]
    wanted = at.fit(0, ["points.npy", *flags]), (at.place / "labels.npy").read_bytes()
    weighted = at.fit(0, ["points.npy", "-k", "5", "--weights", "weights.npy"])
    names = [f"part-{part}.npy" for part in reversed(range(len(PARTS_OF_POINTS)))]
    for ranks in (0, 1, 2, 3, 4):
        files = ["--shard", *(["part-*.npy"] if ranks % 2 else names)]
        found = at.fit(ranks, [*files, *flags]), (at.place / "labels.npy").read_bytes()
        if found != wanted:
            at.complain(f"{ranks} ranks give other files' answer: {found[0]}, not {wanted[0]}")
        if at.fit(ranks, [*files, "-k", "5", "--weights", "weights.npy"]) != weighted:
            at.complain(f"{ranks} ranks weigh the rows of several files otherwise")
    at.fails(2, ["fit", "--shard", "part-1.npy", "other-1.npy", "-k", "2"], 3, "part-1.npy", "other-1.npy", "columns")
    at.fails(3, ["fit", "--shard", "part-1.npy", "other-2.npy", "-k", "2"], 3, "other-2.npy", "cut off")
    at.fails(3, ["fit", "--shard", "none-*.npy", "-k", "2"], 3, "none-*.npy")
    fit = ["fit", "--shard", "part-1.npy", "part-2.npy", "-k", "2"]
    found = "rank 0 found 1705 rows, rank 1 found 3001"
    at.fails(2, [fit, ["fit", "points.npy", "-k", "2"]], 3, found)


def output_of_one_rank(at):
    code, out, problem, _ = at.run(3, ["fit", "points.npy", "-k", "4"])
    if code != 0 or out.count("digest of the ensemble") != 1 or problem:
        at.complain(f"three ranks print {out!r}, {problem!r}")
    # A warning that only the last rank has: an integer that float32 does not hold.
    code, out, problem, _ = at.run(3, ["fit", "lost.csv", "-k", "2", "--dtype", "float32", "--quiet"])
    alone = at.run(0, ["fit", "lost.csv", "-k", "2", "--dtype", "float32", "--quiet"])[2]
    if code != 0 or problem != alone or "16777217" not in problem:
        at.complain(f"three ranks warn {problem!r}")
    # A column that counts rows, in the first half of the file and in all of it.
    for name, counts in (("half.csv", lambda i: i % 50), ("counts.csv", lambda i: i)):
        (at.place / name).write_text("".join(f"{counts(i)},{i * 37 % 101}\n" for i in range(100)))
        alone = at.run(0, ["fit", name, "-k", "2", "--quiet"])[2]
        if at.run(2, ["fit", name, "-k", "2", "--quiet"])[2] != alone or ("counts the rows" in alone) != (name == "counts.csv"):
            at.complain(f"two ranks warn otherwise than one process of {name}: {alone!r}")
    code, out, problem, _ = at.run(2, ["fit", "points.npy", "-k", "4", "--labels", "-", "--quiet"])
    if code != 0 or len(out.splitlines()) != 3002:
        at.complain(f"labels to standard output have {len(out.splitlines())} lines, {problem!r}")
    if len(at.run(2, ["--version"])[1].splitlines()) != 1:
        at.complain("the version is said more than once")


def errors(at):
    fit = ["fit", "points.npy", "-k", "4"]
    at.fails(3, ["fit", "nothing.npy", "-k", "4"], 3, "[nothing.npy]")
    at.fails(3, ["fit", "broken.npy", "-k", "4"], 3, "[broken.npy] row 2997, column 2")
    for scale in ("none", "standard"):
        at.fails(3, ["fit", "broken.csv", "-k", "4", "--scale", scale], 3,
                 "[broken.csv] row 2997 (line 2998), column 2 ('y') is NaN")  # fmt: skip
    at.fails(3, ["fit", "few.npy", "-k", "4"], 2, "k")
    at.fails(2, ["fit", "-", "--format", "text", "-k", "4"], 2, "several ranks")
    at.fit(0, ["points.npy", "-k", "4", "--model", "model.npz"])
    predict = ["predict", "model.npz", "points.npy", "--labels", "labels.npy"]
    at.fails(3, ["predict", "model.npz", "broken.npy", "--labels", "labels.npy"], 3, "row 2997, column 2")
    at.fails(3, ["predict", "none.npz", "points.npy", "--labels", "labels.npy"], 3, "none.npz")
    at.fails(3, ["predict", "model.npz", "points.npy", "--labels", "/dev/full", "--quiet"], 4, "[rank 0]")
    at.fails(3, [*predict[:4], "/dev/full", "--distances", "d.csv", "--quiet"], 4, "[rank 0]", "not written: /dev/full, d.csv")
    at.fails(3, [predict, predict, ["predict", "model.npz", "nothing.npy", "--labels", "labels.npy"]], 3, "[rank 2]")
    at.fails(2, [predict, ["predict", "model.npz", "other-1.npy", "--labels", "labels.npy"]], 3, "[rank 1]", "columns")
    at.fit(0, ["points.npy", "-k", "4", "--seed", "1", "--model", "other.npz"])
    at.fails(2, [predict, ["predict", "other.npz", *predict[2:]]], 2, "other options")
    at.fails(2, [predict, [*predict[:3], "--distances", "d.npy"]], 2, "other options")
    regress = ["regress", "points.npy", "--target", "3", "-k", "2"]
    at.fails(3, ["regress", "broken.npy", *regress[2:]], 3, "row 2997, column 2")
    at.fails(2, [regress, [*regress, "--ridge", "0.5"]], 2, "other options")
    at.fails(2, [regress, [*regress[:3], "2", *regress[4:]]], 2, "other columns")
    tree = ["tree", "points.npy", "-k", "40"]
    at.fails(3, ["tree", "broken.npy", *tree[2:]], 3, "[broken.npy] row 2997, column 2")
    at.fails(2, [tree, [*tree, "--branching", "3"]], 2, "other options")
    at.fails(3, [*tree, "--tree", "none/t.npz"], 4, "[rank 0]", "none/t.npz")
    at.fails(3, [*tree, "--centroids", "/dev/full", "--quiet"], 4, "[rank 0]", "not written: /dev/full")
    at.fails(2, [fit, [*fit, "--scale", "minmax"]], 2, "another scale")
    os.mkfifo(at.place / "pipe")
    for init in ("-", "pipe"):
        at.fails(2, [*fit, "--init", init], 2, "[--init]", "several ranks")
        at.fails(2, [*fit, "--weights", init], 2, "[weights]", "several ranks")
    at.fails(2, ["predict", "pipe", "points.npy", "--labels", "labels.npy"], 2, "[MODEL]", "several ranks")
    # A column of DATA is one, whatever else has its name.
    (at.place / "w").mkdir()
    at.fit(2, ["short.csv", "-k", "4", "--weights", "w"])
    (at.place / "w").rmdir()
    at.fails(3, [fit, [*fit, "--seed", "1"], fit], 2, "rank 0 was given other options")
    at.fails(2, [fit, ["fit", "points.npy", "-k", "4", "--columns", "1,2"]], 2, "columns")
    at.fails(2, [fit, ["fit", "points64.npy", "-k", "4"]], 2, "float64")
    at.fails(3, [fit, fit, ["fit", "nothing.npy", "-k", "4"]], 3, "[rank 2]", "nothing.npy")
    at.fails(3, [*fit, "--model", "none/m.npz"], 4, "[rank 0]", "none/m.npz")
    at.fails(3, [*fit, "--labels", "/dev/full", "--quiet"], 4, "[rank 0]", "(written: nothing; not written: /dev/full)")
    # A rank that does not find the file that rank 0 has made.
    elsewhere = at.place / "elsewhere"
    elsewhere.mkdir()
    its = ["fit", str(at.place / "points.npy"), *fit[2:], "--labels", "labels.npy", "--quiet"]
    command = at.command(2, [[*fit, "--labels", "labels.npy", "--quiet"], its])
    at_last = len(command) - command[::-1].index("-n") - 1
    command[at_last:at_last] = ["-wdir", str(elsewhere)]
    at.ends(command, 4, ("[rank 1] [labels.npy] its rows of other ranks cannot be opened",), lambda said: len(said) == 1)
    if at.left_behind():
        at.complain(f"{at.left_behind()} were left behind")


def errors_before_joining(at):
    fit = ["fit", "points.npy", "-k", "4"]
    at.fails_alone(at.command(2, [*fit, "--bogus"]), 2, "[rank ", "--bogus")
    at.fails_alone(at.command(2, [fit, [*fit, "--bogus"]]), 2, "[rank 1]", "--bogus")
    for command in (["convert", "points.npy", "c.csv"], ["describe", "points.npy"], ["info"]):
        at.fails_alone(at.command(2, command), 2, "[rank ", f"'manymeans {command[0]}' is not shared by ranks")
    # A script of which one rank alone starts the program.
    script = f"if [ $OMPI_COMM_WORLD_RANK = 0 ]; then exec {shlex.quote(at.program)} info; else exec sleep {WATCHDOG}; fi"
    at.fails_alone([*at.launch(), "-n", "2", "sh", "-c", script], 2, "[rank 0]", "is not shared by ranks")
    # A launcher of another MPI, which the MPI of this program does not see.
    at.fails_alone([at.program, *fit], 4, "[rank 1] [MPI] 4 processes were started", "sees 1", "mpirun of Open MPI",
                   PMI_SIZE="4", PMI_RANK="1")  # fmt: skip


def interrupts(at):
    """All ranks get the signal, and one says so; what is done so far is written."""
    fit = ["fit", "large.npy", "-k", "300", "--stop", "strict", "--max-iter", "100000", "--labels", "labels.npy",
           "--checkpoint", "stopped.ckpt", "--every", "1", "--quiet"]  # fmt: skip
    (at.place / "labels.npy").unlink(missing_ok=True)
    with subprocess.Popen(at.command(3, fit), cwd=at.place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as running:  # fmt: skip
        while running.poll() is None and not (at.place / "stopped.ckpt").exists():
            time.sleep(0.01)
        for child in children_of(running.pid):
            os.kill(child, signal.SIGINT)
        try:
            _, problem = running.communicate(timeout=WATCHDOG)
        except subprocess.TimeoutExpired:
            at.complain("ranks go on after a signal")
            running.kill()
            return
    if running.returncode != 5 or problem.count("stopping after the current step") != 1:
        at.complain(f"after a signal: exit code {running.returncode}, {problem!r}")
    if not (at.place / "labels.npy").exists() or at.left_behind():
        at.complain("a fit that was interrupted wrote no labels")


def kill_one(at, arguments, wait, ranks=3, victim=-1):
    """Kills one of the ranks, the last, when wait(running) comes back; whether it was still there."""
    with subprocess.Popen(at.command(ranks, arguments), cwd=at.place, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as running:  # fmt: skip
        wait(running)
        victims = children_of(running.pid)
        if not victims or running.poll() is not None:
            running.wait(WATCHDOG)
            return False
        os.kill(victims[min(victim, len(victims) - 1)], signal.SIGKILL)
        begin = time.monotonic()
        try:
            code = running.wait(WATCHDOG)
        except subprocess.TimeoutExpired:
            at.complain("a rank was killed, and the others hang")
            running.kill()
            return True
        if code == 0 or time.monotonic() - begin > SOON:
            at.complain(f"a rank was killed: exit code {code} after {time.monotonic() - begin:.1f} s")
        return True


def children_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return sorted(int(child) for child in text.split())


def kills(at):
    flags = ["fit", "large.npy", "-k", "300", "--stop", "strict", "--max-iter", "80", "--seed", "2",
             "--init", "k-means||", "--labels", "labels.npy"]  # fmt: skip
    wanted = at.fit(0, flags[1:])
    labels = (at.place / "labels.npy").read_bytes()
    checkpoint = ["--checkpoint", "run.ckpt", "--every", "3", "--resume", "--quiet"]
    path = at.place / "run.ckpt"

    def is_written_again(running):
        before = path.stat().st_mtime_ns if path.exists() else 0
        while running.poll() is None and not (path.exists() and path.stat().st_mtime_ns > before):
            time.sleep(0.001)

    def labels_are_begun(running):
        while running.poll() is None and not any(name.startswith(".manymeans") for name in os.listdir(at.place)):
            time.sleep(0.0005)

    # While MPI starts, while the first centres are chosen, and in passes; then, if it comes in time, in the labels.
    moments = (lambda _: time.sleep(0.25), lambda _: time.sleep(0.5), is_written_again)
    killed = sum(kill_one(at, [*flags, *checkpoint], wait) for wait in moments)
    saved = path.exists()
    killed += kill_one(at, [*flags, *checkpoint], labels_are_begun)
    digest = at.fit(2, [*flags[1:], "--checkpoint", "run.ckpt", "--resume"])
    if digest != wanted or (at.place / "labels.npy").read_bytes() != labels:
        at.complain(f"after kills the digest is {digest}, not {wanted}")
    if killed < 1 or not saved:
        at.complain(f"{killed} kills are too few, or there was no checkpoint ({saved})")
    print(f"  {killed} kills")


def random_kills(at, count, seed):
    """Kills any rank of fits and trees of 2 to 4 ranks at any moment; after some kills, others go on to the answer."""
    rng = random.Random(seed)
    killed = 0
    while killed < count:
        kind = rng.choice([["fit", "--models", "2"], ["tree", "--refine", "20", "--branching", "6"]])
        flags = [kind[0], "large.npy", "-k", "200", *kind[1:], "--stop", "strict", "--max-iter", "40", "--seed",
                 str(rng.randrange(1000)), "--init", rng.choice(["k-means||", "random", "k-means++"]), "--labels",
                 "labels.npy"]  # fmt: skip
        begin = time.monotonic()
        wanted = at.fit(2, flags[1:])
        whole = time.monotonic() - begin
        labels = (at.place / "labels.npy").read_bytes()
        (at.place / "labels.npy").unlink()
        checkpoint = ["--checkpoint", "random.ckpt", "--every", "1", "--resume"]
        for _ in range(rng.randint(1, 4)):
            ranks = rng.randint(2, 4)
            moment = rng.uniform(0.1, 1.1) * whole
            killed += kill_one(at, [*flags, *checkpoint, "--quiet"], lambda _, s=moment: time.sleep(s), ranks,
                               rng.randrange(ranks))  # fmt: skip
        left = at.left_behind()  # SIGKILL while labels are written may do that, and nothing else
        digest = at.fit(rng.choice([0, 2, 3, 4]), [*flags[1:], *checkpoint])
        if at.left_behind() != left:
            at.complain(f"{at.left_behind()} were left behind by a fit that ended well")
        for name in left:
            (at.place / name).unlink()
        if digest != wanted or (at.place / "labels.npy").read_bytes() != labels:
            at.complain(f"after kills {flags} gave {digest}, not {wanted}, or other labels")
    print(f"  {killed} kills")


def checkpoints(at):
    flags = ["points.npy", "-k", "30", "--models", "2", "--stop", "strict", "--max-iter", "400", "--seed", "9"]
    wanted = at.fit(0, flags)
    for first, second in ((3, 2), (0, 4)):
        (at.place / "c").unlink(missing_ok=True)
        full = [*flags, "--checkpoint", "c", "--every", "1"]
        code, _, problem, _ = at.run(first, ["fit", *full, "--time-limit", "0.01", "--quiet"])
        if code != 0:
            at.complain(f"a time limit gives exit code {code}: {problem}")
        if not (at.place / "c").exists():
            at.complain(f"{first} ranks have left no checkpoint")
        digest = at.fit(second, [*full, "--resume"])
        if digest != wanted:
            at.complain(f"{second} ranks go on from {first} to {digest}, not {wanted}")
        if (at.place / "c").exists():
            at.complain("the checkpoint is still there")


PARTS = {
    "same answers": same_answers,
    "same predictions": same_predictions,
    "several files": several_files,
    "output": output_of_one_rank,
    "errors": errors,
    "errors before joining": errors_before_joining,
    "checkpoints": checkpoints,
    "interrupts": interrupts,
    "kills": kills,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpirun")
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--kills", type=int, metavar="COUNT", help="nothing but so many kills at random moments")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        at = Ranks(arguments, pathlib.Path(folder))
        make_inputs(at.place)
        if arguments.kills is not None:
            random_kills(at, arguments.kills, arguments.seed)
        for name, check in PARTS.items():
            if arguments.kills is not None or arguments.only not in (None, name):
                continue
            begin = time.monotonic()
            print(f"{name}:")
            check(at)
            print(f"  {time.monotonic() - begin:.1f} s", flush=True)
    if at.problems:
        sys.exit(f"{len(at.problems)} problems")


if __name__ == "__main__":
    main()
