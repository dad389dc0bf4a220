#!/usr/bin/env python3
"""Kills checkpointed fits at random moments and lets them go on: kills.py PROGRAM [COUNT] [--seed SEED].

Each of COUNT rounds begins a fit (or, every second time, only the end of one: a checkpoint of its last pass is given,
so that most of the time goes into writing outputs), kills it with SIGKILL at a random moment, looks at every file that
it left, and goes on with --resume, on other threads, strategies and algorithms, perhaps to be killed again. In the end
the digest, the labels and the model must be those of the fit that nobody disturbed, byte for byte, and nothing else may
be left in the folder. Standard library only.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

# Flags that decide the answer; every fit of a round has the same.
FITS = {
    "concatenated": ["-k", "8,20,33", "--models", "2", "--tol", "0", "--max-iter", "40"],
    "k-means||": ["-k", "60", "--init", "k-means||", "--stop", "inertia:1e-9", "--tol", "0", "--max-iter", "60"],
    "drop": ["-k", "3..6", "--models", "2", "--init", "random", "--empty", "drop", "--stop", "shift:1e-9"],
    "weights": ["-k", "25", "--models", "3", "--weights", "weights.npy", "--stop", "labels:0.0001", "--max-iter", "50"],
    "float64": ["-k", "7,16", "--dtype", "float64", "--scale", "standard", "--tol", "0", "--max-iter", "40"],
    "tree": ["-k", "300", "--branching", "7", "--tol", "0", "--max-iter", "60", "--refine", "8", "--max-size", "400"],
}
FILES = ("m.npz", "l.csv")


def write_npy(path, kind, shape, content):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content)


def speed(fit, rng):
    """Flags that never change the answer."""
    strategy = ["--strategy", rng.choice(["concatenated", "data", "task"])] if fit.kind == "fit" else []
    return [
        "--threads", str(rng.randint(1, 3)), *strategy,
        "--algorithm", rng.choice(["auto", "matrix", "bounds", "kdtree", "brute"]),
    ]  # fmt: skip


def answer_of(model):
    """What a model file says, without times and the history of the fit."""
    with zipfile.ZipFile(model) as archive:
        broken = archive.testzip()
        if broken is not None:
            raise zipfile.BadZipFile(f"checksum of {broken}")
        return {name: archive.read(name) for name in archive.namelist() if name != "json.npy"}


class Fit:
    """One set of flags, and what the fit gives that nobody disturbs."""

    def __init__(self, program, data, name):
        self.program, self.data, self.name = program, data, name
        self.kind = "tree" if name == "tree" else "fit"
        self.flags = [str(data / flag) if flag.endswith(".npy") else flag for flag in FITS[name]]
        with tempfile.TemporaryDirectory(dir=data.parent) as folder:
            place = pathlib.Path(folder)
            begin = time.monotonic()
            self.digest = json.loads(self.run(place, []))["digest"]
            self.seconds = time.monotonic() - begin
            self.labels = (place / "l.csv").read_bytes()
            self.model = answer_of(place / "m.npz")
        # A disk that is full when the labels are written: the fit has ended, and its checkpoint stays.
        with tempfile.TemporaryDirectory(dir=data.parent) as folder:
            place = pathlib.Path(folder)
            (place / "l.csv").symlink_to("/dev/full")
            done = subprocess.run(self.command(["--checkpoint", "c"]), cwd=place, capture_output=True, check=False)
            if done.returncode != 4 or not (place / "c").exists():
                sys.exit(f"{self.name}: a full disk gave {done.returncode}, {done.stderr.decode()}")
            self.last = (place / "c").read_bytes()
            (place / "l.csv").unlink()
            (place / "m.npz").unlink()
            begin = time.monotonic()
            with subprocess.Popen(self.command(["--checkpoint", "c", "--resume"]), cwd=place,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:  # fmt: skip
                self.wait_for_output(running, place)
                middle = time.monotonic()
                _, problem = running.communicate()
            if running.returncode != 0:
                sys.exit(f"{self.name}: exit code {running.returncode}: {problem.decode()}")
            self.end_seconds = time.monotonic() - begin
            self.output_seconds = time.monotonic() - middle

    @staticmethod
    def wait_for_output(running, place):
        while running.poll() is None and not (place / "m.npz").exists():
            time.sleep(0.0002)

    def command(self, more, flags=("--threads", "2")):
        return [str(self.program), self.kind, str(self.data / "points.npy"), *self.flags, "--seed", "5", "--json",
                "--model", "m.npz", "--labels", "l.csv", *flags, *more]  # fmt: skip

    def run(self, place, more):
        done = subprocess.run(self.command(more), cwd=place, capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.name}: exit code {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()


def look(fit, place):
    """Every file is whole or absent; gives what is wrong."""
    problems = []
    try:
        if (place / "m.npz").exists() and answer_of(place / "m.npz") != fit.model:
            problems.append("the model file holds another answer")
        if (place / "c").exists() and zipfile.ZipFile(place / "c").testzip() is not None:
            problems.append("the checkpoint is damaged")
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        problems.append(f"an archive is not whole: {error}")
    if (place / "l.csv").exists() and (place / "l.csv").read_bytes() != fit.labels:
        problems.append("the labels are not whole")
    known = {*FILES, "c"}
    left = [name for name in os.listdir(place) if name not in known]
    if [name for name in left if not (name.startswith(".manymeans-") and name.endswith(".tmp"))]:
        problems.append(f"unknown files: {left}")
    return problems, len(left)


def wait_for_the_moment(fit, rng, running, place, ending):
    """A random one of the whole run, or a random one after the first output is there."""
    if not ending or rng.random() < 0.5:
        time.sleep(rng.uniform(0, 1.05 * (fit.end_seconds if ending else fit.seconds)))
        return
    fit.wait_for_output(running, place)
    time.sleep(rng.uniform(0, fit.output_seconds))


def one_round(fit, rng, ending, count):
    """Kills until the fit has ended; gives what is wrong."""
    with tempfile.TemporaryDirectory(dir=fit.data.parent) as folder:
        place = pathlib.Path(folder)
        if ending:
            (place / "c").write_bytes(fit.last)
        for attempt in range(3):  # the last one may run to its end
            more = ["--checkpoint", "c", "--every", str(rng.choice([1, 2, 7])), "--resume"]
            running = subprocess.Popen(fit.command(more, speed(fit, rng)), cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            killed = attempt == 0 or (attempt == 1 and rng.random() < 0.5)
            if killed:
                wait_for_the_moment(fit, rng, running, place, ending)
                count["ended before"] += running.poll() is not None
                running.kill()
            out, err = running.communicate()
            count["kills"] += running.returncode == -9
            if running.returncode not in (0, -9):
                return [f"exit code {running.returncode}: {err.decode()}"]
            count["while outputs were written"] += running.returncode == -9 and any(
                (place / name).exists() for name in FILES
            )
            problems, left = look(fit, place)
            count["unfinished files left by a kill"] += left
            if problems:
                return problems
            if running.returncode == 0:
                break
        found = json.loads(out.decode())
        problems = [] if found["digest"] == fit.digest else [f"digest {found['digest']}, not {fit.digest}"]
        for name in FILES:
            if not (place / name).exists():
                problems.append(f"{name} is missing")
        if (place / "c").exists():
            problems.append("the checkpoint is still there")
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("count", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=100_000)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    top = pathlib.Path(tempfile.mkdtemp(prefix="manymeans-kills-"))
    try:
        data = top / "data"
        data.mkdir()
        write_npy(data / "points.npy", "|u1", (arguments.rows, 6), rng.randbytes(arguments.rows * 6))
        write_npy(data / "weights.npy", "|u1", (arguments.rows,), rng.randbytes(arguments.rows))
        names = list(FITS)[: max(1, min(len(FITS), arguments.count // 4))]
        fits = [Fit(arguments.program.resolve(), data, name) for name in names]
        for fit in fits:
            print(f"{fit.name}: {fit.seconds:.2f} s, its end {fit.end_seconds:.2f} s, after the first output {fit.output_seconds:.3f} s, digest {fit.digest}", flush=True)
        count = dict.fromkeys(("kills", "while outputs were written", "ended before", "unfinished files left by a kill"), 0)
        rounds = 0
        while count["kills"] < arguments.count:
            fit, ending = fits[rounds // 2 % len(fits)], rounds % 2 == 1
            problems = one_round(fit, rng, ending, count)
            if problems:
                sys.exit(f"round {rounds}, {fit.name}{', its end' if ending else ''}: " + "; ".join(problems))
            rounds += 1
        print(f"{rounds} rounds, every one ended in the right digest, labels and model; {count}")
    finally:
        shutil.rmtree(top)


main()
