#!/usr/bin/env python3
"""The program where the system fails it: program_faults.py PROGRAM CASE. Standard library only, no shims.

Whatever happens, the program ends by itself with the exit code of its error, says which file, and every output is whole
or as it was before.
"""

import array
import ctypes
import errno
import mmap
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

PROGRAM = ""
SEED = 20240607


def fail(message):
    sys.exit("FAILED: " + message)


def npy(path, rows, columns, seed=1):
    """Noise as float32, so that a fit of it goes on for long."""
    dice = random.Random(seed)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117) + "\n"
    values = array.array("f", (dice.random() for _ in range(rows * columns)))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())
    return path


def start(*arguments, **options):
    words = [PROGRAM, *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def run(*arguments, **options):
    process = start(*arguments, **options)
    out, err = process.communicate()
    return process.returncode, out, err


def expect(code, result, *words):
    """The exit code, and what the message has to say."""
    found, _, err = result
    if found != code or any(str(word) not in err for word in words):
        fail(f"exit {found} with {err!r}; {code} and {words} were expected")


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".manymeans")]


def is_whole(path):
    """Whether an output is complete; absent counts."""
    if not path.exists():
        return True
    if path.suffix == ".npz":
        try:
            return zipfile.ZipFile(path).testzip() is None
        except zipfile.BadZipFile:
            return False
    content = path.read_bytes()
    shape = content[:128].split(b"'shape': (")[1].split(b")")[0].replace(b",", b" ").split()
    item = int(content[:128].split(b"'descr': '")[1].split(b"'")[0][2:])
    count = 1
    for length in shape:
        count *= int(length)
    return len(content) == 10 + struct.unpack("<H", content[8:10])[0] + count * item


def outputs(folder):
    """Command lines that write, and what they write, each more than 8 KiB."""
    points = npy(folder / "points.npy", 20000, 3)
    run("fit", points, "-k", 3, "--max-iter", 2, "--quiet", "--model", folder / "model.npz")
    wide = npy(folder / "wide.npy", 600, 500)
    # Values that every format can hold.
    whole = folder / "whole.csv"
    whole.write_text("1,2,3\n" * 20000)
    run("convert", whole, folder / "whole.u8bin", "--dtype", "uint8", "--quiet")
    run("fit", whole, "-k", 1, "--quiet", "--model", folder / "whole.npz")
    yield ["fit", wide, "-k", 20, "--max-iter", 2, "--quiet", "--model"], "out.npz"
    for name in "labels.npy", "labels.csv":
        yield ["fit", points, "-k", 3, "--max-iter", 2, "--quiet", "--labels"], name
        yield ["predict", folder / "model.npz", points, "--quiet", "--labels"], name
    yield ["fit", whole, "-k", 1, "--quiet", "--append"], "appended.csv"
    yield ["predict", folder / "whole.npz", whole, "--quiet", "--append"], "appended.csv"
    for name in "summary.csv", "summary.json":
        yield ["fit", wide, "-k", 20, "--max-iter", 2, "--quiet", "--summary"], name
    yield ["fit", wide, "-k", 20, "--max-iter", 2, "--quiet", "--report"], "page.html"
    for ending in "npy", "npz", "csv", "fvecs", "bvecs", "ivecs", "fbin", "u8bin", "i8bin":
        yield ["convert", folder / "whole.u8bin", "--quiet"], "converted." + ending


def test_full_disk(folder):
    """A limit on the size of files, and where it can be had a disk that is full."""
    tried = 0
    for arguments, name in outputs(folder):
        target = folder / name
        target.write_bytes(b"before")
        limit = 8192
        result = run(*arguments, target, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        expect(4, result, target, os.strerror(errno.EFBIG))
        if target.read_bytes() != b"before" or leftovers(folder):
            fail(f"{arguments}: {target} was touched, or something was left: {leftovers(folder)}")
        tried += 1
    if tried < 10:
        fail(f"only {tried} outputs were tried")
    disk = folder / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=64k none {disk} && "$@"; code=$?; ls -A {disk} >&2; exit $code'
    if subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=64k none {disk}"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("*** no file system can be mounted here: only the limit on file sizes was tried ***")
        return
    fit = [PROGRAM, "fit", folder / "wide.npy", "-k", "50", "--max-iter", "2", "--quiet", "--model", disk / "out.npz"]
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *map(str, fit)], capture_output=True, text=True,
                          check=False)
    expect(4, (done.returncode, done.stdout, done.stderr), disk / "out.npz", os.strerror(errno.ENOSPC))
    if not done.stderr.endswith("another disk (written: nothing; not written: " + f"{disk / 'out.npz'})\n"):
        fail(f"something was left on the full disk: {done.stderr!r}")


def test_read_errors(folder):
    """A file whose reading fails in the middle: this process's memory, behind whose mapped part there is nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mmap.restype = ctypes.c_void_p
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    size = mmap.PAGESIZE
    address = libc.mmap(None, 2 * size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    libc.munmap(address + size, size)
    ctypes.memmove(address, (b"1,2\n" * size)[:size], size)
    for words in ["describe", "-"], ["fit", "-", "-k", "2"], ["convert", "-", str(folder / "out.npy")]:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
        os.lseek(memory, address, os.SEEK_SET)
        expect(3, run(*words, stdin=memory), "standard input", os.strerror(errno.EIO))
        os.close(memory)
    if (folder / "out.npy").exists():
        fail("half a file was converted")
    # A pipe that ends too early.
    whole = npy(folder / "whole.npy", 1000, 3).read_bytes()
    for length in 5, 100, 128, 5000, len(whole) - 1:
        process = start("describe", "-", "--format", "npy", stdin=subprocess.PIPE)
        process.stdin.buffer.write(whole[:length])
        _, err = process.communicate()
        expect(3, (process.returncode, "", err), "standard input")


def wait_until_mapped(process, path):
    for _ in range(2000):
        try:
            if str(path) in pathlib.Path(f"/proc/{process.pid}/maps").read_text():
                return
        except OSError:
            pass
        if process.poll() is not None:
            break
        time.sleep(0.005)
    fail(f"{path} was never mapped")


def test_cut_files(folder):
    """Files that are cut off or written to while they are used."""
    dice = random.Random(SEED)
    content = npy(folder / "content", 60000, 8).read_bytes()
    points = folder / "points.npy"
    endless = ["--stop", "strict", "--max-iter", "1000000", "--models", "4", "--quiet"]
    for change in "cut", "written":
        points.write_bytes(content)
        process = start("fit", points, "-k", 100, *endless, "--labels", folder / "labels.npy")
        wait_until_mapped(process, points)
        time.sleep(0.3)
        if change == "cut":
            os.truncate(points, 5000)
        else:
            with points.open("r+b") as file:
                file.seek(4000)
                file.write(b"1234")
        _, err = process.communicate(timeout=120)
        expect(3, (process.returncode, "", err), points, "cut off" if change == "cut" else "wrote to the file")
        if (folder / "labels.npy").exists() or leftovers(folder):
            fail("an answer was written for points that are gone")
    # At random moments: done before, or an error that names the file; never a signal.
    text = folder / "points.csv"
    lines = b"".join(b"%d,%d,%d\n" % (i, i * 7 % 11, i * 5 % 13) for i in range(60000))
    outcomes = {}
    for number in range(16):
        path, whole = ((points, content), (text, lines))[number % 2]
        path.write_bytes(whole)
        process = start(*(["describe", path] if number % 3 else ["fit", path, "-k", 8, "--max-iter", 20, "--quiet"]))
        time.sleep(dice.random() * 0.06)
        os.truncate(path, dice.randrange(len(whole)))
        _, err = process.communicate(timeout=120)
        outcomes[process.returncode] = outcomes.get(process.returncode, 0) + 1
        if process.returncode not in (0, 3) or (process.returncode == 3 and str(path) not in err):
            fail(f"exit {process.returncode} with {err!r}")
    print(f"cut at random moments: exit codes {outcomes}")


def test_signals(folder):
    """Signals at random moments: outputs whole or absent, and nothing left behind unless it was SIGKILL."""
    dice = random.Random(SEED)
    points = npy(folder / "points.npy", 40000, 8)
    model, labels, converted = folder / "model.npz", folder / "labels.npy", folder / "converted.npy"
    arguments = [["fit", points, "-k", "20", "--models", "4", "--max-iter", "10", "--quiet", "--model", model, "--labels",
                  labels], ["convert", points, converted, "--dtype", "float64", "--quiet"]]
    begin = time.monotonic()
    expect(0, run(*arguments[0]))
    longest = time.monotonic() - begin
    outcomes = {}
    for number in range(42):
        for path in model, labels, converted:
            path.unlink(missing_ok=True)
        kind = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[number % 3]
        process = start(*arguments[number % 2])
        time.sleep(dice.random() * longest)
        process.send_signal(kind)
        _, err = process.communicate(timeout=120)
        allowed = (0, -kind) if kind == signal.SIGKILL else (0, 5)
        early = process.returncode == -kind and err == ""  # before there was a handler
        if process.returncode not in allowed and not early:
            fail(f"{kind.name}: exit {process.returncode} with {err!r}")
        outcomes[process.returncode] = outcomes.get(process.returncode, 0) + 1
        for path in model, labels, converted:
            if not is_whole(path):
                fail(f"{kind.name}: {path} is not whole")
        left = leftovers(folder)
        if left and kind != signal.SIGKILL:
            fail(f"{kind.name}: {left} was left behind with exit {process.returncode}, {err!r}")
        for name in left:
            (folder / name).unlink()
    print(f"exit codes {outcomes}")


def test_same_output(folder):
    """Two programs write the same files: each file is, whole, that of one of them."""
    points = npy(folder / "points.npy", 20000, 4)
    common = ["fit", points, "-k", "9", "--max-iter", "3", "--quiet"]
    alone = []
    for seed in 1, 2:
        expect(0, run(*common, "--seed", seed, "--labels", folder / "alone.npy"))
        alone.append((folder / "alone.npy").read_bytes())
    if alone[0] == alone[1]:
        fail("the two fits do not differ")
    model, labels = folder / "model.npz", folder / "labels.npy"
    for _ in range(12):
        both = [start(*common, "--seed", seed, "--model", model, "--labels", labels) for seed in (1, 2)]
        for process in both:
            _, err = process.communicate()
            expect(0, (process.returncode, "", err))
        if labels.read_bytes() not in alone or not is_whole(model) or leftovers(folder):
            fail(f"the labels are nobody's, the model is damaged, or something was left: {leftovers(folder)}")
        expect(0, run("predict", model, points, "--quiet", "--labels", folder / "again.npy"))


def test_little_memory(folder):
    """Less and less address space: the same labels, or exit code 4."""
    points = npy(folder / "points.npy", 200000, 8)
    labels = folder / "labels.npy"
    common = ["fit", points, "-k", "16", "--models", "8", "--max-iter", "2", "--threads", "4", "--quiet"]
    expect(0, run(*common, "--labels", labels))
    expected = labels.read_bytes()
    outcomes = {}
    for mebibytes in [*range(24, 80, 4), 96, 128, 192, 256, 1024]:
        labels.unlink(missing_ok=True)

        def cap(limit=mebibytes << 20):
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        result = run(*common, "--labels", labels, preexec_fn=cap)
        if result[0] not in (0, 4) and run("--version", preexec_fn=cap)[0] != 0:
            continue  # not even its libraries can begin
        outcomes[result[0]] = outcomes.get(result[0], 0) + 1
        if result[0] not in (0, 4) or (result[0] == 4 and "memory" not in result[2]):
            fail(f"{mebibytes} MiB: exit {result[0]} with {result[2]!r}")
        if result[0] == 0 and labels.read_bytes() != expected:
            fail(f"{mebibytes} MiB: other labels")
    print(f"exit codes {outcomes}")
    if 0 not in outcomes or 4 not in outcomes:
        fail("one of the two outcomes was never seen")


def deflated_npz(path, rows, columns):
    """Zeros, a thousandth of their size in the file."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117) + "\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("points.npy", "w") as member:
        member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for _ in range(rows // 1000):
            member.write(bytes(4000 * columns))
    return path


def run_measured(*arguments):
    """As run(), and the most memory that the program had at once, in MiB: of its own, and of files that it mapped."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return (process.returncode, "", err.read().decode()), usage.ru_maxrss / 1024


def test_bombs(folder):
    """Small or plain files that stand for much: memory and time are bounded by what they hold, or they are refused."""

    def cap(mebibytes, seconds=60):
        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

        return limits

    # 400 MiB of points in less than one, under a limit: they go through a side file. First, since the system counts what
    # this process has taken before as the other's, too.
    packed = deflated_npz(folder / "packed.npz", 4_000_000, 25)
    result, mebibytes = run_measured("fit", packed, "-k", 1, "--memory", "64MiB", "--threads", 1, "--quiet",
                                     "--max-iter", 1)
    expect(0, result)
    print(f"400 MiB of deflated points, --memory 64MiB: {mebibytes:.0f} MiB at most")
    if mebibytes > 200:
        fail(f"{mebibytes} MiB were taken for 400 MiB of points, with --memory 64MiB")
    commas = folder / "commas.csv"
    commas.write_bytes(b"," * 100_000_000 + b"\n")
    expect(3, run("describe", commas, preexec_fn=cap(700)), commas, "more than 1048576 fields")
    commas.unlink()
    zeros = folder / "zeros.csv"
    zeros.write_bytes(b"1\n" + b"0" * 100_000_000 + b"\n")
    expect(0, run("describe", zeros, "--threads", 1, preexec_fn=cap(700, 30)))
    zeros.unlink()
    # A wide table with names: what is kept for each column is not kept by threads that have nothing to do, and names are
    # not compared each with each.
    wide = folder / "wide.csv"
    rows = (",".join(f"{kind}{i}" for i in range(200_000)) for kind in ("name", "1", "2"))
    wide.write_text("\n".join(rows) + "\n", encoding="ascii")
    expect(0, run("describe", wide, "--threads", 64, preexec_fn=cap(1500)))
    model = folder / "wide.npz"
    expect(0, run("fit", wide, "-k", 1, "--model", model, "--quiet", "--threads", 1, preexec_fn=cap(1500, 20)))
    labels = folder / "wide_labels.csv"
    expect(0, run("predict", model, wide, "--labels", labels, "--threads", 1, preexec_fn=cap(1500, 20)))
    for path in wide, model, labels:
        path.unlink()
    # Ranges that would count for ever.
    points = npy(folder / "points.npy", 100, 2)
    for k in "9223372036854775800..9223372036854775807", "-9223372036854775808..9223372036854775807", "1..999999999":
        expect(2, run("fit", points, "-k", k, preexec_fn=cap(700)), "[k]")
    # Threads that nobody has.
    expect(0, run("fit", points, "-k", 3, "--threads", 100_000, "--quiet"))
    expect(0, run("fit", points, "-k", "3,4", "--threads", 2**31 - 1, "--strategy", "task", "--quiet"))
    many = {**os.environ, "MANYMEANS_NUM_THREADS": "99999999999999999999"}
    expect(0, run("info", env=many))


def main():
    global PROGRAM
    PROGRAM = sys.argv[1]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="manymeans-faults-"))
    try:
        globals()["test_" + sys.argv[2]](folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
