"""The experiments of bench/founding/experiments.json as rows: one command of one program on one machine.

A command is the same text on every machine: `@points:...` stands for a file. So results of several machines meet
under their commands.
"""

import dataclasses
import json

from run_context import HERE

TABLE = HERE / "founding" / "experiments.json"
START = 0.1  # seconds of a process and its points, at least
POINT_SECONDS = 2e-8  # of making or reading a value of the points
QUICK_ROWS, QUICK_ITERATIONS, QUICK_CLUSTERS = 600, 3, 20


@dataclasses.dataclass
class Row:
    """One command. `key` names its results: the whole command, also where fewer iterations stand in for all."""

    key: str
    command: str
    program: dict
    params: dict
    needs: set
    expected: float = 0
    share: float = 1  # of the iterations, or of the models

    def threads(self):
        words = self.command.split()
        return int(words[words.index("--threads") + 1]) if "--threads" in words else 1


def load_table():
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for program in table["programs"].values():
        for word, text in table["texts"].items():
            program["command"] = program["command"].replace(word, text)
    return table


def cases(experiment, quick=False):
    """[(x, parameters), ...] of a figure's axis."""
    key = experiment["x"]
    found = (
        [(case["name"], case) for case in experiment["cases"]]
        if key == "name"
        else [(value, {key: value}) for value in experiment["values"]]
    )
    return found[-1:] if quick else found


def params_of(table, experiment, case, quick):
    params = {**table["defaults"], **experiment["shape"], **case}
    if quick:
        params["clusters"] = min(params["clusters"], QUICK_CLUSTERS)
        params["rows"] = min(params["rows"], max(QUICK_ROWS, params["rows"] // 1000))
        params["iterations"] = min(params["iterations"], QUICK_ITERATIONS)
    return params


def row_of(table, line, params, cpus):
    """The row of a line of a figure: [NEED?] [VARIABLE=VALUE...] PROGRAM [OPTION...]."""
    words, needs = line.split(), set()
    if words[0].endswith("?"):
        needs.add(words.pop(0)[:-1])
    variables = [words.pop(0) for _ in [word for word in words if "=" in word]]
    program = table["programs"][words[0]]
    if "needs" in program:
        needs.add(program["needs"])
    if "--backend" in words:
        needs.add(words[words.index("--backend") + 1])
    values = {**params, "all": cpus}
    command = " ".join([*variables, program["command"], *words[1:]]).format(**values)
    return Row(command, command, program, params, needs)


def expected_seconds(table, row, cpus, has):
    """A guess from the number of multiply-adds. A device is some times as fast as a thread: `speeds` of the table."""
    params = row.params
    work = params["rows"] * params["columns"] * params["clusters"] * params["models"] * params["iterations"]
    if "product" in row.command:
        work = params["rows"] ** 3
    if params["threshold"]:
        work /= 3  # fits to the end take about a third of the iterations that they may take
    devices = ["cuda"] if "cuda" in row.needs else [name for name in ("opencl-gpu", "opencl-cpu") if name in has][:1]
    on_device = row.needs & {"cuda", "opencl"} and devices
    rate = row.program["rate"] * (table["speeds"][devices[0]] if on_device else min(row.threads(), cpus))
    return START + row.program.get("start", 0) + POINT_SECONDS * params["rows"] * params["columns"] + work / rate


def shortened(row, longest, cut):
    """The same row with fewer iterations or models, so that it takes `longest` seconds. Plain code takes the same time
    for each of them, so its time is multiplied afterwards."""
    if row.expected <= longest or cut not in row.program.get("cut", ()):
        return row
    whole = row.params[cut]
    few = max(1, int(whole * longest / row.expected))
    words = row.command.split()
    words[words.index(f"--{cut}") + 1] = str(few)
    return dataclasses.replace(row, command=" ".join(words), share=few / whole, expected=row.expected * few / whole)


def rows_of(table, studies, cpus, quick=False, has=()):
    """[(Row, experiment), ...] of these studies, each command once. Figures share rows: a row needs
    what all of them need."""
    found = {}
    for experiment in table["experiments"]:
        if studies and experiment["study"] not in studies:
            continue
        for _, case in cases(experiment, quick):
            params = params_of(table, experiment, case, quick)
            for line in experiment["lines"].values():
                row = row_of(table, line, params, cpus)
                found.setdefault(row.key, (row, experiment))[0].needs.intersection_update(row.needs)
    for row, _ in found.values():
        row.expected = expected_seconds(table, row, cpus, has)
    return list(found.values())
