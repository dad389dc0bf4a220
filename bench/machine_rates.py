"""What the machine itself can do, as `manymeans bench --calibrate` measures it; nothing where the program lacks that."""

import functools
import json
import os
import re
import subprocess
import tempfile

LINE = re.compile(r'^[\s"]*([A-Za-z][\w .-]*?)"?\s*[:=\s]\s*([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)\b')


def _numbers(value, prefix=""):
    if isinstance(value, dict):
        return {name: number for key, inner in value.items() for name, number in _numbers(inner, f"{prefix}{key} ").items()}
    return {prefix.strip(): float(value)} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}


def parsed(text):
    """{name: number} of JSON, or of lines such as "amx_bf16_gflops: 3100"."""
    try:
        read = json.loads(text)
        return _numbers(read.get("rates", read) if isinstance(read, dict) else {})  # not the costs of the screens
    except ValueError:
        found = (LINE.match(line) for line in text.splitlines())
        return {match[1]: float(match[2]) for match in found if match}


@functools.cache
def measured(program, threads):
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    if not re.search(r"^\s+bench\s", help_text, re.MULTILINE):
        return {}
    # It may write what it finds; that must not change the program that is being measured.
    with tempfile.TemporaryDirectory(prefix="manymeans-rates-") as folder:
        environment = {**os.environ, "MANYMEANS_NUM_THREADS": str(threads), "HOME": folder, "XDG_CONFIG_HOME": folder}
        command = [program, "bench", "--calibrate"]
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=120)
    return parsed(done.stdout) if done.returncode == 0 else {}
