#!/usr/bin/env python3
"""Exit 0 if the running Python has everything that a requirements file asks for (name==version or name>=version)."""

import re
import sys
from importlib import metadata


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def satisfied(line):
    name, relation, wanted = re.fullmatch(r"([\w.-]+)\s*(==|>=)\s*([\w.]+)", line).groups()
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return found == wanted if relation == "==" else numbers(found) >= numbers(wanted)


lines = (line.split("#")[0].strip() for line in open(sys.argv[1], encoding="utf-8"))
sys.exit(0 if all(satisfied(line) for line in lines if line) else 1)
