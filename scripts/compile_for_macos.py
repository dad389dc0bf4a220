#!/usr/bin/env python3
"""Compile library and program for macOS on 64-bit Arm: compile_for_macos.py BUILD, a folder with compile_commands.json.

Zig has the headers of macOS and the C++ library of LLVM. This machine has the headers of other libraries. Nothing is
linked or run.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ["hwy", "fmt", "Random123", "fast_float", "nlohmann", "CLI", "CL", "xxhash.h", "xxh3.h", "zlib.h", "zconf.h"]
HEADERS += ["zstd.h", "zstd_errors.h", "lzma.h", "lzma", "bzlib.h"]
FLAGS = "-target aarch64-macos -c -O0 -g0 -std=c++20 -ffp-contract=off -frounding-math -Wno-unknown-pragmas -Werror=return-type"
PARTS = ("src/", "cli/", "product/", "build/")
KERNELS = ROOT / "src/backend/cpu/kernels"


def link_headers(folder):
    """Put headers into a folder of their own: this machine's C library, in the same folder, is not macOS's."""
    folder.mkdir(exist_ok=True)
    for name in HEADERS:
        found = pathlib.Path("/usr/include") / name
        if found.exists() and not (folder / name).is_symlink():
            (folder / name).symlink_to(found)


def commands(build):
    """Each file, relative to the root, with the definitions and the folders of its own headers."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = os.path.relpath(entry["file"], ROOT)
        flags = [
            word for word in shlex.split(entry["command"]) if word.startswith(("-D", "-I")) and word != "-DFMT_SHARED"
        ]
        if file.startswith(PARTS):
            yield file, flags
        if file.endswith("kernels_portable.cpp"):
            for neon in sorted(KERNELS.glob("kernels_neon*.cpp")):  # an x86 processor's build has none
                yield str(neon), ["-mcpu=apple_m2", *(flag for flag in flags if not flag.startswith("-DHWY"))]


def compile_one(build, number, file, flags):
    more = ["-DFMT_HEADER_ONLY", "-DTOOLCHAIN_MISS_SYS_AUXV_H", "-isystem", build / "headers"]
    command = [sys.executable, "-m", "ziglang", "c++", *FLAGS.split(), *flags, *more, "-o", build / f"{number}.o", file]
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(build / "zig"), "ZIG_LOCAL_CACHE_DIR": str(build / "zig")}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **cache}, capture_output=True, text=True)
    print(f"{'compiled' if done.returncode == 0 else 'FAILED'} {file}", flush=True)
    if done.returncode != 0:
        print(done.stderr, flush=True)
    return done.returncode == 0


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    link_headers(build / "headers")
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        jobs = [workers.submit(compile_one, build, i, *job) for i, job in enumerate(commands(build))]
        failed = sum(not job.result() for job in jobs)
    print(f"{len(jobs) - failed} of {len(jobs)} files compile for macOS")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
