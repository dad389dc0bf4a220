#!/usr/bin/env python3
"""Programs and libraries that are built, installed or packed: search paths and hardening, as readelf shows them.

    check_artefacts.py [--hardened] [--glibc=2.28] PATH...    files, or folders with all their ELF files

No search path has an empty or relative element, which would load libraries from the current folder. With --hardened the
tables of the linker are read-only after the start, code is position-independent, and functions check their stack.
With --glibc no function of a newer C library is needed, and no libstdc++.
"""

import argparse
import pathlib
import re
import subprocess
import sys


def elf_files(paths):
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and not file.is_symlink() and file.open("rb").read(4) == b"\x7fELF":
                yield file


def readelf(option, file):
    return subprocess.run(["readelf", "--wide", option, str(file)], check=True, capture_output=True, text=True).stdout


def version(text):
    return [int(part) for part in text.split(".")]


def problems_of(file, hardened, glibc):
    dynamic = readelf("--dynamic", file)
    for kind, path in re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        for element in path.split(":"):
            if not element.startswith(("/", "$ORIGIN")):
                yield f"{kind} [{path}] has the element '{element}', which depends on the current folder"
    if hardened and "Dynamic section" in dynamic:
        if "NOW" not in dynamic or "GNU_RELRO" not in readelf("--program-headers", file):
            yield "is linked without -z relro -z now"
        if not re.search(r"Type:\s+DYN", readelf("--file-header", file)):
            yield "is not position-independent"
        if "__stack_chk_fail" not in readelf("--dyn-syms", file):
            yield "was compiled without -fstack-protector-strong"
    if glibc:
        for symbol, found in re.findall(r" UND (\S+)@GLIBC_([\d.]+)", readelf("--dyn-syms", file)):
            if version(found) > version(glibc):
                yield f"needs {symbol} of glibc {found}; src/core/os/old_glibc.cpp can take an older one than {glibc}"
        if "libstdc++" in dynamic:
            yield "needs libstdc++.so, which may be older where it is installed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hardened", action="store_true")
    parser.add_argument("--glibc")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    asked = parser.parse_args()
    files = list(elf_files(asked.paths))
    found = [f"{file}: {problem}" for file in files for problem in problems_of(file, asked.hardened, asked.glibc)]
    if not files:
        found.append("there is no ELF file to check")
    print("\n".join(found) if found else f"{len(files)} files have absolute search paths")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
