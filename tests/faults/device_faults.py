#!/usr/bin/env python3
"""The program on a device that does not answer: device_faults.py PROGRAM [CASE...]. Exit code 77 without a device.

A build with tests puts a kernel that never ends before the COUNT-th pass, upload or trial of seeding where
MANYMEANS_TEST_HANG says so, and gives up after the seconds of MANYMEANS_TEST_PATIENCE instead of two minutes. Whatever
hangs, the program ends by itself, says what happened, and its checkpoint leads to the same answer.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

import program_faults
from program_faults import expect, fail, npy, run, start

GRACE = 5  # seconds that a device has after a signal, see src/backend/device/patience.h
WATCH = 20  # seconds that threads in the driver have, see cli/streams/device_watch.cpp
AROUND = 15  # what starting the program and writing a checkpoint may take beside


# The program asks the backend for the label of one point before it reads a file: the first upload, and the first pass.


def environment(hang, patience=None):
    more = {"MANYMEANS_TEST_HANG": hang}
    if patience is not None:
        more["MANYMEANS_TEST_PATIENCE"] = str(patience)
    return {**os.environ, **more}


def digest(points, *arguments, backend="cpu"):
    code, out, err = run("fit", points, "--backend", backend, "--json", *arguments)
    if code != 0:
        fail(f"exit {code}: {err}")
    return json.loads(out)["digest"]


def ended(process, seconds, what):
    """(exit code, output, errors) of a process that has to end by then."""
    try:
        out, err = process.communicate(timeout=seconds)
    except program_faults.subprocess.TimeoutExpired:
        process.kill()
        fail(f"{what}: did not end within {seconds} s")
    return process.returncode, out, err


def resumed(points, checkpoint, expected, *arguments, backend="cpu"):
    """The checkpoint that was kept leads to the same answer, on another backend."""
    if not checkpoint.exists():
        fail(f"{checkpoint.name} was not kept")
    found = digest(points, *arguments, "--checkpoint", checkpoint, "--resume", backend=backend)
    if found != expected:
        fail(f"{checkpoint.name}: digest {found}, not {expected}")


FIT = ("-k", 50, "--tol", 0, "--max-iter", 40, "--init", "first")
MANY = ("-k", "8,30,31,100", "--models", 3, "--tol", 0, "--max-iter", 40, "--init", "random")


def test_patience(points, folder):
    """Nobody sends a signal: given up after a time that follows from the work."""
    checkpoint, expected = folder / "patience.ckpt", digest(points, *FIT)
    begin = time.monotonic()
    process = start(
        "fit", points, *FIT, "--backend", "cuda", "--checkpoint", checkpoint, "--every", 2, env=environment("pass:4", 4)
    )
    result = ended(process, 4 + AROUND, "a pass that hangs")
    expect(4, result, "the device does not answer", "--resume")
    print(f"  given up after {time.monotonic() - begin:.1f} s: {result[2].strip().splitlines()[-1]}")
    resumed(points, checkpoint, expected, *FIT)


def test_one_of_several(_, folder):
    """The others wait for it: they end with it, and those that are left resume from the checkpoint."""
    count = sum(re.match(r"cuda:\d", device) is not None for device in json.loads(run("info", "--json")[1])["devices"])
    if count < 2:
        print("  one device: nothing of this is tested")
        return
    fit = ("-k", 1000, "--tol", 0, "--max-iter", 12, "--init", "first")
    points = npy(folder / "shared.npy", 160_000, 60)  # as many as are shared
    expected = digest(points, *fit)
    left = ",".join(f"cuda:{device}" for device in range(max(1, count - 1)))
    hangs, fails = f"pass:{3 * count}", f"pass:{3 * count}:lost"
    for fault, code, why in ((hangs, 4, "the device does not answer"), (fails, 1, "cudaErrorLaunchFailure")):
        checkpoint = folder / f"{fault}.ckpt".replace(":", "-")
        saved = ("--checkpoint", checkpoint, "--every", 2)
        begin = time.monotonic()
        process = start("fit", points, *fit, "--backend", "cuda:all", *saved, env=environment(fault, 3))
        result = ended(process, 3 + AROUND, "one device of several")
        expect(code, result, why)
        print(f"  {count} devices, {fault}: {time.monotonic() - begin:.1f} s: {result[2].strip().splitlines()[-1]}")
        resumed(points, checkpoint, expected, *fit, backend=left)


def signalled(points, folder, number, arguments, name, hang):
    checkpoint, expected = folder / f"{name}.ckpt", digest(points, *arguments)
    process = start(
        "fit", points, *arguments, "--backend", "cuda", "--checkpoint", checkpoint, "--every", 2, env=environment(hang)
    )
    time.sleep(6)
    if process.poll() is not None:
        fail(f"{name}: it did not hang, exit {process.returncode}: {process.stderr.read()}")
    begin = time.monotonic()
    process.send_signal(number)
    result = ended(process, 2 * GRACE + AROUND + (20 if "task" in arguments else 0), name)
    expect(5, result, "the device does not answer")
    print(f"  {name}: ended {time.monotonic() - begin:.1f} s after the signal")
    resumed(points, checkpoint, expected, *(word for word in arguments if word not in ("--strategy", "task")))


def test_terminated(points, folder):
    signalled(points, folder, signal.SIGTERM, FIT, "SIGTERM", "pass:4")


def test_interrupted(points, folder):
    signalled(points, folder, signal.SIGINT, FIT, "Ctrl-C", "pass:4")
    signalled(points, folder, signal.SIGINT, MANY, "Ctrl-C of several models", "pass:5")


def test_tasks(points, folder):
    """Other threads may wait in the driver, where nobody reaches them."""
    signalled(points, folder, signal.SIGTERM, (*MANY, "--strategy", "task"), "SIGTERM of tasks", "pass:9")


def test_before_the_first_pass(points, folder):
    checkpoint = folder / "begin.ckpt"
    # The fifth call makes more steps than there is room for launches.
    for hang, *more in (
        ("upload:2", "-k", 50),
        ("seeding:3", "-k", 50, "--init", "k-means++"),
        ("seeding:5", "-k", 2000, "--init", "k-means++"),
    ):
        process = start("fit", points, *more, "--backend", "cuda", "--checkpoint", checkpoint, env=environment(hang))
        time.sleep(5)
        process.send_signal(signal.SIGTERM)
        expect(5, ended(process, 2 * GRACE + AROUND, hang), "the device does not answer")
        checkpoint.unlink(missing_ok=True)
        process = start("fit", points, *more, "--backend", "cuda", env=environment(hang, 3))
        expect(4, ended(process, 3 + AROUND, hang), "the device does not answer")


def test_a_long_pass(points, folder):
    """A device that is slow, but answers: a signal waits for the pass, and what there is is written."""
    labels = folder / "labels.npy"
    process = start("fit", points, *FIT, "--backend", "cuda", "--labels", labels, env=environment("pass:2:3"))
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    result = ended(process, 3 + AROUND, "a long pass")
    expect(5, result)
    if not labels.exists():
        fail(f"nothing was written: {result}")
    process = start("fit", points, *FIT, "--backend", "cuda", "--json", env=environment("pass:2:3"))
    result = ended(process, 3 + AROUND, "a long pass")
    if json.loads(result[1])["digest"] != digest(points, *FIT):
        fail("a long pass has another answer")


def test_predict(points, folder):
    model, labels = folder / "model.npz", folder / "predicted.npy"
    expect(0, run("fit", points, *FIT, "--backend", "cpu", "--model", model, "--quiet"))
    arguments = ("predict", model, points, "--labels", labels, "--backend", "cuda")
    process = start(*arguments, env=environment("pass:1", 3))
    # Its kernels are loaded when they are first launched, where the driver waits for the device: the watch sees it.
    expect(4, ended(process, 3 + WATCH + AROUND, "predict"), "the device does not answer")
    process = start(*arguments, env=environment("pass:1"))
    time.sleep(5)
    process.send_signal(signal.SIGTERM)
    expect(5, ended(process, AROUND, "predict"))
    if labels.exists():
        fail("labels of a pass that never ended")


def main():
    program_faults.PROGRAM = sys.argv[1]
    devices = json.loads(run("info", "--json")[1])["devices"]
    if not any(re.match(r"cuda:\d", device) and "cannot be used" not in device for device in devices):
        print("no CUDA device: nothing of this is tested")
        sys.exit(77)
    cases = [name for name in globals() if name.startswith("test_")]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="manymeans-device-"))
    try:
        points = npy(folder / "points.npy", 20_000, 40)
        for name in cases:
            if len(sys.argv) > 2 and name.removeprefix("test_") not in sys.argv[2:]:
                continue
            print(name, flush=True)
            globals()[name](points, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
