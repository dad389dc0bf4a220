#!/usr/bin/env python3
"""The Python packages of a requirements file, as scripts/requirements.lock pins them: versions, and hashes of the files.

    locked.py WHAT...           prints the lines of the lock that these files or packages and their dependencies need
    locked.py --missing WHAT... prints those that the running Python does not have; exit code 1 if there are any
    locked.py --update UV       writes the lock again, by the program UV (from PyPI: uv)
"""

import pathlib
import re
import subprocess
import sys
from importlib import metadata

from pip._vendor.packaging.requirements import Requirement

SCRIPTS = pathlib.Path(__file__).parent
LOCK = SCRIPTS / "requirements.lock"


def name_of(text):
    return re.sub(r"[-_.]+", "-", text).lower()


def entries():
    """Of each locked package: its requirement, its lines for pip, and who asks for it (a file or a package)."""
    for text in re.findall(r"^[\w.-]+==(?:.*\n)(?:[ \t]+.*\n)*", LOCK.read_text(encoding="utf-8"), re.MULTILINE):
        lines = text.splitlines()
        comments = [line.strip("# ") for line in lines if line.lstrip().startswith("#")]
        pins = [line for line in lines if not line.lstrip().startswith("#")]
        askers = {comment.removeprefix("via ").removeprefix("-r scripts/") for comment in comments}
        yield Requirement(lines[0].rstrip(" \\")), "\n".join(pins), askers


def needed(what):
    """The closure: a package that a needed file or package asks for is needed."""
    rows, wanted = list(entries()), set(what)
    while more := {name_of(row[0].name) for row in rows if row[2] & wanted} - wanted:
        wanted |= more
    return [row for row in rows if name_of(row[0].name) in wanted and (row[0].marker is None or row[0].marker.evaluate())]


def installed(requirement):
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False


def update(uv):
    # flspp asks for an old NumPy, and runs with a newer one.
    files = sorted(str(file.relative_to(SCRIPTS.parent)) for file in SCRIPTS.glob("requirements-*.txt"))
    command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes",
               "--no-header", "--override", "-", "--output-file", str(LOCK), *files]
    subprocess.run(command, input="numpy>=2.0\n", text=True, cwd=SCRIPTS.parent, check=True)


if sys.argv[1] == "--update":
    update(sys.argv[2])
    sys.exit()
missing_only = sys.argv[1] == "--missing"
rows = [row for row in needed(sys.argv[1 + missing_only:]) if not (missing_only and installed(row[0]))]
sys.stdout.writelines(row[1] + "\n" for row in rows)
sys.exit(1 if missing_only and rows else 0)
