"""What fit(comm=...) gives to a program of mpi4py: python_ranks.py, on all ranks. Says what is wrong, and counts it."""

import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

import numpy as np

try:
    from mpi4py import MPI
except ImportError:
    print("left out: there is no mpi4py")
    sys.exit(0)

import manymeans

wrong = 0


def expect(right, what):
    global wrong
    if not right:
        wrong += 1
        print("WRONG:", what, flush=True)


def error_of(call):
    try:
        call()
    except (Exception, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def fits(comm, rows, mine):
    """Uneven shards, the last one without rows; weights; several models; a checkpoint."""
    X = np.random.default_rng(5).normal(size=(rows, 4)).astype(np.float32)
    weights = np.arange(rows) % 3 / 2
    for options in ({"k": [3, 8], "models": 2, "seed": 2}, {"k": 5, "init": "k-means||", "stop": "strict"},
                    {"k": 4, "sample_weight": weights}, {"k": 3, "init": X[:3].astype(np.float64)}):  # fmt: skip
        whole = manymeans.fit(X, n_threads=1, **options)
        if "sample_weight" in options:
            options["sample_weight"] = weights[mine]
        shared = manymeans.fit(X[mine], n_threads=1, comm=comm, **options)
        expect(shared.digest == whole.digest, f"the digest with {sorted(options)}")
        expect(shared.models[0].digest == whole.models[0].digest, "the digest of a model")
        labels = np.concatenate(comm.allgather(shared.models[0].labels))
        expect(np.array_equal(labels, whole.models[0].labels), "labels")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(comm.bcast(folder)) / "checkpoint"
        stopped = manymeans.fit(X[mine], 6, tol=0, comm=comm, checkpoint=path, checkpoint_every=1,
                                callback=lambda progress: progress.phase == "initialise" or progress.iteration < 2)  # fmt: skip
        expect(stopped.models[0].stop_reason == "callback", "a callback stops all")
        going_on = manymeans.fit(X[mine], 6, tol=0, comm=comm, checkpoint=path, resume=True)
        expect(going_on.digest == manymeans.fit(X, 6, tol=0).digest, "a checkpoint")
        comm.Barrier()


def errors(comm, X):
    rank = comm.Get_rank()
    error = error_of(lambda: manymeans.fit(X, 3, seed=int(rank == 1), comm=comm))
    expect("UsageError" in error and "rank 0 was given other options" in error, error)
    error = error_of(lambda: manymeans.fit(X, "nonsense" if rank == 2 else 3, comm=comm))
    expect("nonsense" in error and (rank == 2 or "[rank 2]" in error), error)
    broken = X.copy()
    broken[3, 1] = np.nan if rank == 1 else 0
    error = error_of(lambda: manymeans.fit(broken, 3, comm=comm))
    expect(error.startswith("BadDataError: [X] row 13, column 1"), error)

    def fail(progress):
        raise RuntimeError("enough")

    error = error_of(lambda: manymeans.fit(X, 3, callback=fail if rank == 1 else None, comm=comm))
    expect("enough" in error if rank == 1 else error == "StoppedError: [rank 1] [callback] it raised an exception", error)

    def no_numbers():
        raise ValueError("there are none")
        yield 3

    error = error_of(lambda: manymeans.fit(X, no_numbers() if rank == 1 else 3, comm=comm))
    expect(rank == 1 or error.startswith("UsageError: [rank 1] "), error)
    expect("a communicator of mpi4py" in error_of(lambda: manymeans.fit(X, 3, comm=7)), "what is no communicator")


def interrupts(comm, X):
    """Ctrl-C of a rank that waits for another one."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rank = comm.Get_rank()

    def disturb(progress):
        if progress.phase != "initialise" and rank == 0:
            time.sleep(0.5)
        if progress.phase != "initialise" and rank == 1 and not disturbed:
            disturbed.append(threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)))
            disturbed[0].start()

    disturbed = []
    error = error_of(lambda: manymeans.fit(X, 3, tol=0, callback=disturb, comm=comm))
    expected = "KeyboardInterrupt: " if rank == 1 else "StoppedError: [rank 1] [interrupted] KeyboardInterrupt"
    expect(error == expected, error)


def main():
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    rows = 500
    begin, end = (rows * part // max(1, size - 1) for part in (rank, rank + 1))
    fits(comm, rows, slice(begin, min(end, rows)))
    errors(comm, np.random.default_rng(rank).normal(size=(10, 2)))
    interrupts(comm, np.random.default_rng(rank).normal(size=(100, 2)))
    sys.exit(min(wrong, 100))


if __name__ == "__main__":
    main()
