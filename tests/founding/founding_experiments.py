"""`./dev bench founding`: the page says what was measured, and the driver runs every experiment at small shapes.

usage: founding_experiments.py [FOLDER of the programs]      without it, the page alone. It ends with 77 without NumPy.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import founding_report
import founding_rows
import founding_run

CPUS = 2
TABLE = {
    "defaults": {"columns": 2, "models": 1, "iterations": 10, "threshold": 0, "rows": 1000},
    "speeds": {"cuda": 50},
    "programs": {
        "plain": {
            "command": "plain --rows {rows} --models {models} --iterations {iterations}",
            "rate": 1000.0,
            "cut": ["iterations"],
        },
        "ours": {"command": "ours -k {clusters} -m {models} --json", "rate": 1e9},
    },
    "experiments": [
        {
            "name": "figure",
            "study": 1,
            "figure": "figure 7-1",
            "title": "Strategies",
            "x": "models",
            "values": [1, 2, 64],
            "shape": {"rows": 50000, "clusters": 7},
            "lines": {"plain": "plain", "ours": "ours --threads {all}", "device": "ours --backend cuda"},
            "published": {"source": "table 1", "the study": [9.0, None, 90.0]},
            "claims": "Claim.",
            "ratio_title": "Plain against ours",
            "ratios": {"plain / ours": ["plain", "ours"]},
        }
    ],
}


def expect(held, message):
    if not held:
        raise SystemExit(f"FAILED: {message}")


def document(name, seconds, share=1):
    """Results of one machine. seconds: {line of the figure: [of each x]}; None is left out."""
    runs, left_out, figure = {}, {}, TABLE["experiments"][0]
    for (_, case), number in zip(founding_rows.cases(figure), range(3)):
        for label, values in seconds.items():
            params = founding_rows.params_of(TABLE, figure, case, False)
            key = founding_rows.row_of(TABLE, figure["lines"][label], params, CPUS).key
            if values[number] is None:
                left_out[key] = "the budget of 5 s was used up"
            else:
                runs[key] = {"share": share if label == "plain" else 1, "repeats": [[{"seconds": values[number]}]]}
    machine = {"cpu": f"processor of {name}", "usable_cpus": CPUS, "memory": "1 kB", "devices": []}
    return {
        "name": name,
        "machine": machine,
        "has": [],
        "quick": False,
        "run": {"date": "2026-11-29", "commit": "c", "command": f"./dev bench founding --name {name}"},
        "study": 1,
        "runs": runs,
        "left out": left_out,
    }


def written(documents):
    """(the page, {file: SVG}) of these results."""
    with tempfile.TemporaryDirectory() as folder:
        page = founding_report.write(TABLE, documents, pathlib.Path(folder)).read_text()
        return page, {path.name: path.read_text() for path in pathlib.Path(folder).glob("*.svg")}


def texts(svg):
    """[(left, right, top, bottom, words)] of an SVG's texts. A letter is 7 pixels wide, in the title 9."""
    found = []
    pattern = r'<text x="(\S+)" y="(\S+)" text-anchor="(\w+)" font-size="(\d+)"[^>]*>([^<]*)<'
    for x, y, anchor, size, words in re.findall(pattern, svg):
        width = len(words.replace("&#x27;", "'")) * (7 if size == "13" else 9)
        left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        found.append((left, left + width, float(y) - 0.8 * int(size), float(y) + 2, words))
    return found


def check_no_overlaps(name, svg):
    width, boxes = float(re.search(r'width="(\d+)"', svg)[1]), texts(svg)
    for number, one in enumerate(boxes):
        expect(one[0] >= 0 and one[1] <= width + 1, f"{name}: '{one[4]}' leaves the picture")
        for other in boxes[number + 1 :]:
            apart = one[0] >= other[1] - 1 or other[0] >= one[1] - 1 or one[2] >= other[3] or other[2] >= one[3]
            expect(apart, f"{name}: '{one[4]}' covers '{other[4]}'")


def check_titles():
    page, files = written([document("A", {"plain": [4.0, 8.0, 160.0], "ours": [2.0, 8.0, 320.0]})])
    expect(set(files) == {"figure.svg", "figure-ratio.svg"}, f"charts: {set(files)}")
    words = [box[4] for box in texts(files["figure.svg"])]
    expect("Study 1, figure 7-1: Strategies" in words, f"the title: {words}")
    expect(
        "seconds (N = 50,000, D = 2, K = 7, 10 iterations)" in words, f"the shape is the one that was measured: {words}"
    )
    expect({"1", "2", "64", "models"} <= set(words), "the x axis has the values that were measured, and its name")
    expect({"plain", "ours", "published: the study"} <= set(words) and "device" not in words, f"lines: {words}")
    for line in (
        "| plain | 4 | 8 | 160 |",
        "| published: the study | 9 | - | 90 |",
        "| **plain / ours** (ratio) | 2 | 1 | 0.5000 |",
        "- A: device at 1, 2, 64: this machine has no cuda",
        "Published: table 1.",
    ):
        expect(line in page.splitlines(), f"this line is missing: {line}\n{page}")
    for name, svg in files.items():
        check_no_overlaps(name, svg)


def check_ratio_line():
    _, files = written([document("A", {"plain": [4.0, 8.0, 16.0], "ours": [1.0, 2.0, 8.0]})])
    svg = files["figure-ratio.svg"]
    mark = re.search(r'class="mark" x1="\S+" y1="(\S+)"', svg)
    one = next(box for box in texts(svg) if box[4] == "1" and box[0] < 72)
    expect(mark and abs(float(mark[1]) - (one[3] - 2 - 4.5)) < 0.2, "the line stands at 1")
    heights = [float(point.split(",")[1]) for point in re.search(r'polyline points="([^"]*)"', svg)[1].split()]
    expect(all(height < float(mark[1]) for height in heights), "ratios of 2 and 4 lie above it")
    expect('class="mark"' not in files["figure.svg"], "a chart of seconds has no such line")


def check_merged():
    first = document("A", {"plain": [4.0, None, 16.0], "ours": [2.0, 4.0, 8.0]}, share=0.5)
    again = document("A", {"plain": [None, 6.0, None], "ours": [2.0, 4.0, None]})
    page, files = written([first, again, document("B", {"plain": [1.0, 2.0, None], "ours": [5.0, 5.0, 8.0]})])
    for line in (
        "| plain (A) | ~8 | 6 | ~32 |",
        "| plain (B) | 1 | 2 | - |",
        "| **plain / ours (B)** (ratio) | 0.2000 | 0.4000 | - |",
        "- B: plain at 64: the budget of 5 s was used up",
    ):
        expect(line in page.splitlines(), f"this line is missing: {line}\n{page}")
    expect("- A: plain at" not in page, "what a later run measured is not missing")
    expect("ours (B)" in files["figure.svg"], "both machines are in one chart")
    check_no_overlaps("lines that end at one height", files["figure.svg"])


def check_runs():
    """A later run wins, in whatever order the files are given. The page has the command of each, and each host."""
    early = document("A", {"plain": [4.0, None, 16.0], "ours": [2.0, 4.0, 8.0]})
    late = document("A", {"plain": [5.0, 6.0, None], "ours": [None, None, None]})
    late["run"] = {"date": "2026-11-30", "commit": "d", "command": "./dev bench founding 1 --after early.json"}
    late["machine"] = {**late["machine"], "memory": "4194304 kB"}
    page, files = written([late, early, document("B", {"plain": [1.0, 2.0, 3.0], "ours": [5.0, 5.0, 8.0]})])
    for line in (
        "| plain (A) | 5 | 6 | 16 |",
        "- **A**: processor of A, 2 processors, 0 GiB. Devices: none. Joules: of GPU and processors.",
        "- **A**: processor of A, 2 processors, 4 GiB. Devices: none. Joules: of GPU and processors.",
        "  - study 1, 2026-11-30, commit d: `./dev bench founding 1 --after early.json`",
    ):
        expect(line in page.splitlines(), f"this line is missing: {line}\n{page}")
    styles = founding_report.styles(["A", "B"], ["plain (A)", "ours (A)", "plain (B)", "published: x"])
    expect(styles["plain (A)"][0] == styles["plain (B)"][0] != styles["ours (A)"][0], f"colours: {styles}")
    expect(len({styles[one][1] for one in ("plain (A)", "plain (B)", "published: x")}) == 3, f"dashes: {styles}")
    expect("stroke-dasharray" in files["figure.svg"], "lines of the second machine are dashed")


def check_products():
    """One program times our product and that of cuBLAS; `manymeans multiply` times one call."""
    table = founding_rows.load_table()
    figure = next(one for one in table["experiments"] if one["name"] == "products")
    params = founding_rows.params_of(table, figure, figure["cases"][-1], False)
    rows = {label: founding_rows.row_of(table, line, params, CPUS) for label, line in figure["lines"].items()}
    expect(rows["cuBLAS"].key == rows["manymeans, CUDA"].key, "both are of one run")
    line = "float32 1000 1000 1000 0.000066 0.000040 1000000 0 9.1 0.0 0.0"
    run = {"share": 1, "repeats": [founding_run.results_of(rows["cuBLAS"], line)]}
    for label, seconds in (("manymeans, CUDA", 0.000066), ("cuBLAS", 0.000040)):
        found = founding_report.values_of(figure, rows[label], run, "1000")
        expect([value.y for value in found.values()] == [2 / seconds], f"{label}: {found}")
    alone = {"share": 1, "repeats": [founding_run.results_of(rows["cuBLAS"], line.replace("0.000040", "-"))]}
    expect(not founding_report.values_of(figure, rows["cuBLAS"], alone, "1000"), "no cuBLAS, no line")
    summary = '{\n "rows": 1000, "seconds": 0.5, "gflops": 4.0\n}'
    found = founding_run.results_of(rows["manymeans, 1 thread"], summary)
    expect(found[0]["gflops"] == 4.0, f"a product on the processor: {found}")


def check_rows():
    params = founding_rows.params_of(TABLE, TABLE["experiments"][0], {"models": 2}, False)
    row = founding_rows.row_of(TABLE, "plain", params, CPUS)
    row.expected = 10
    few = founding_rows.shortened(row, 5, "iterations")
    expect(
        few.key == row.key and few.share == 0.5 and few.command == row.key.replace("--iterations 10", "--iterations 5"),
        few.command,
    )
    whole = founding_rows.row_of(TABLE, "ours", params, CPUS)
    expect(founding_rows.shortened(whole, 0, "iterations") is whole, "only plain programs are shortened")


def check_early_end():
    """A fit that ended by itself is compared by its iterations."""
    early = document("A", {"plain": [4.0, 8.0, 16.0], "ours": [1.0, 2.0, 8.0]})
    for key, run in early["runs"].items():
        run["repeats"][0][0]["iterations"] = 5 if "--models 1 " in key else 10
    page, _ = written([early])
    expect("| plain | ~8 | 8 | 16 |" in page.splitlines(), f"five of ten iterations took 4 s\n{page}")
    expect("- A: plain ended early: 5 of 10 iterations at 1" in page.splitlines(), f"a note says so\n{page}")


def check_without_number():
    """A result that lacks what a figure shows is missing, and the page says so."""
    blind = document("A", {"plain": [4.0, 8.0, 16.0], "ours": [1.0, 2.0, 8.0]})
    for run in blind["runs"].values():
        if run["repeats"][0][0]["seconds"] == 16.0:
            run["repeats"][0][0] = {}
    page, _ = written([blind])
    expect("- A: plain at 64: its results have no seconds" in page.splitlines(), f"a reason\n{page}")


def check_digests():
    """One question has one answer: what differs in backend or threads must not differ in digest."""
    runner = object.__new__(founding_run.Runner)
    runner.digests = {}
    for command, digest, fine in (
        ("manymeans fit a --json --threads 1", "x", True),
        ("manymeans fit b --json", "y", True),
        ("manymeans fit a --json --threads 2", "x", True),
        ("manymeans fit a --json", "y", False),
    ):
        try:
            runner.compare(founding_rows.Row(command, command, {}, {}, set()), {"digest": digest})
        except SystemExit as refusal:
            expect(not fine and "differ" in str(refusal), f"{command}: {refusal}")
        else:
            expect(fine, f"{command}: two answers made one table")


def check_quick(programs):
    """The whole table: each row is measured, or has a reason."""
    with tempfile.TemporaryDirectory(prefix="manymeans-bench-") as folder:
        command = [
            sys.executable,
            str(ROOT / "bench/founding_run.py"),
            "--quick",
            "--programs",
            programs,
            "--out",
            folder,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-2000:]}")
        documents = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("founding-*.json"))]
        files = {path.name: path.read_text() for path in pathlib.Path(folder).glob("*.svg")}
    expect([one["study"] for one in documents] == [1, 2, 3, 4, 5], "a file for each study")
    table = founding_rows.load_table()
    for one in documents:
        rows = founding_rows.rows_of(table, [one["study"]], one["machine"]["usable_cpus"], True)
        expect({row.key for row, _ in rows} == set(one["runs"]) | set(one["left out"]), "no row is left out silently")
        known = re.compile("this machine has|the program .* was not built")
        bad = {why for why in one["left out"].values() if not known.match(why)}
        expect(not bad, f"rows failed: {bad}\n{done.stderr[-2000:]}")
        expect(any("manymeans fit" in key for key in one["runs"]), "manymeans took part")
    for name, svg in files.items():
        check_no_overlaps(name, svg)


def main():
    if importlib.util.find_spec("numpy") is None:
        print("NumPy is missing: the driver cannot make points")
        sys.exit(77)
    check_rows()
    check_titles()
    check_ratio_line()
    check_merged()
    check_runs()
    check_products()
    check_early_end()
    check_without_number()
    check_digests()
    if sys.argv[1:]:
        check_quick(sys.argv[1])
    print("the founding experiments run, and the page says what was measured")


main()
