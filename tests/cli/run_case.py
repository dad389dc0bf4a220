#!/usr/bin/env python3
"""Runs one golden test of the command line program. Standard library only.

A case file holds steps. Each step is a shell line and what it must do:

    # a comment
    $ manymeans fit missing.csv -k 2
    1> a line of standard output
    2> a line of standard error
    exit 3

`exit 0` may be left out. Lines stand in order and all must be there; `1> ...` stands for any number of lines.
Inside a line <any> stands for any text, <num> for a number, <time> for a duration, <digest> for 32 hexadecimal
digits, <seed> for a whole number. A line without these is compared as it is.

The steps run in one empty folder, in bash, with the inputs of make_inputs.py in it, the program and this folder's
helpers on the PATH.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

PLACEHOLDERS = {
    "<any>": r".*",
    "<num>": r"[-+]?[0-9.]+(e[-+]?[0-9]+)?",
    "<time>": r"([1-9]\.[0-9]{2}s|([0-9]\.[0-9]{2}|[0-9]{2}\.[0-9]|[0-9]{3})(ms|us)|[0-9]{2}s|[0-9]+m[0-9][0-9]s|[0-9]+h[0-9][0-9]m)",
    "<digest>": r"[0-9a-f]{32}",
    "<seed>": r"[0-9]+",
}


class Step:
    def __init__(self, command, line):
        self.command, self.line = command, line
        self.out, self.err, self.exit = [], [], 0


def parse(path):
    steps = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if text.startswith("$ "):
            steps.append(Step(text[2:], number))
        elif text.startswith(("1>", "2>")) and steps:
            (steps[-1].out if text[0] == "1" else steps[-1].err).append(text[3:])
        elif text.startswith("exit ") and steps:
            steps[-1].exit = int(text[5:])
        elif text.strip() and not text.startswith("#"):
            sys.exit(f"{path}:{number}: cannot be understood: {text}")
    if not steps:
        sys.exit(f"{path}: there is no step")
    return steps


def pattern(lines):
    """One regular expression for all lines."""
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*")
            continue
        pieces = re.split("(" + "|".join(PLACEHOLDERS) + ")", line)
        parts.append("".join(PLACEHOLDERS.get(piece) or re.escape(piece) for piece in pieces) + r"\n")
    return "".join(parts)


def check_stream(name, expected, found):
    if found and not found.endswith("\n"):
        return [f"{name} does not end with a newline"]
    if re.fullmatch(pattern(expected), found):
        return []
    return [f"{name}: expected", *("    " + line for line in expected), "  found", *("    " + x for x in found.splitlines())]


def run(step, folder, environment):
    done = subprocess.run(
        ["bash", "-c", step.command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        # A parent that runs in the background may ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    problems = check_stream("standard output", step.out, done.stdout.decode("utf-8", "replace"))
    problems += check_stream("standard error", step.err, done.stderr.decode("utf-8", "replace"))
    if done.returncode != step.exit:
        problems.append(f"exit code: expected {step.exit}, found {done.returncode}")
    return problems


def main():
    program, case = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    here = pathlib.Path(__file__).resolve().parent
    environment = {
        "PATH": os.pathsep.join([str(program.parent), str(here / "helpers"), os.environ["PATH"]]),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "CASES": str(here),
        "ROOT": str(here.parent.parent),
    }
    for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "XDG_CACHE_HOME", "MANYMEANS_PYTHON"):
        if name in os.environ:
            environment[name] = os.environ[name]
    with tempfile.TemporaryDirectory(prefix="manymeans-cli-") as folder:
        subprocess.run([sys.executable, str(here / "make_inputs.py"), folder], check=True)
        for step in parse(case):
            problems = run(step, folder, environment)
            if problems:
                sys.exit(f"{case}:{step.line}: $ {step.command}\n  " + "\n  ".join(problems))


main()
