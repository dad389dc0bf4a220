"""What every measuring script needs to say of itself: the tree, the machine, the program, the command."""

import datetime
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import machine
from measured_process import run
from sides import RowFailed

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def worker(*arguments):
    command = [sys.executable, str(HERE / "prepare_and_judge.py"), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RowFailed(f"prepare_and_judge.py {arguments[0]} failed")
    return json.loads(done.stdout)


def shown(path):
    """Relative to the tree where it lies inside it: results are published, folders of this machine are not."""
    path = pathlib.Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def command_line():
    scripts = {"founding_run.py": ["founding"], "compare_gpu.py": ["gpu"], "whole.py": ["whole"],
               "opencl_peer.py": ["opencl"]}
    words = ["./dev", "bench", *scripts.get(pathlib.Path(sys.argv[0]).name, [])]
    for word in sys.argv[1:]:
        words.append(shown(word) if os.path.isabs(word) or (os.sep in word and os.path.exists(word)) else word)
    return shlex.join(words)


def results_of(about):
    """Folder of the results of this machine."""
    return HERE / "results" / machine.name(about["machine"])


def this_run(missing):
    """Command, commit and date of this run; missing: peers that are not here."""
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    described = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True) if shutil.which("git") else None
    return {"command": command_line(), "commit": described.stdout.strip() if described and not described.returncode else "unknown",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "peers missing": missing}


def about_run(options, suite, missing):
    """What a page of results begins with; suite: its name and about."""
    info = json.loads(run([str(options.program), "info", "--json"]).output)
    return {
        "suite": suite["name"],
        "about": suite["about"],
        "quick": options.quick,
        "machine": machine.describe(),
        "runs": [this_run(missing)],
        "manymeans": {key: info[key] for key in info if isinstance(info[key], (str, int, float))},
    }
