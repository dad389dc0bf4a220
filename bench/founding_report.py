"""Tables and charts of the founding experiments, from the results of one machine or of several.

Everything on the page comes from experiments.json and from results. So a title names the shape that was measured."""

import dataclasses
import re
from statistics import median

import founding_rows
import report
from svg_chart import Scale, line_chart

AXES = {"name": "shape", "block": "threads of a block", "distances": "distances a read"}
NAMES = {"opencl-cpu": "processor as its first OpenCL device", "opencl-gpu": "GPU as its first OpenCL device"}
DASHES = ("", "8 4", "12 3 2 3")  # of the first machine, the second, ...
PUBLISHED = "2 3"
LOG_FROM = 10  # an axis whose ends are so far apart is logarithmic
INTRODUCTION = """# The founding experiments: results

`./dev bench founding` writes this page. [The five studies](../../../docs/developer/founding.md) has claims and reasons.

- Seconds are those of the iterations alone. *Whole* adds what comes before and after them: transfers, validation, first
  centroids, the last labels. Published times are the studies' own.
- `~`: a plain program did fewer iterations or starts, or a fit ended before, as the notes say. Its time was
  multiplied to the study's number. *Whole* was not.
- *all threads* are those of the machine. *-*: not measured, for the reason below the table.
- Points are uniform random numbers of the study's shape. They also replace real data.
- In charts a line has one colour on all machines. Its dashes name the machine. Dots are published.

Machines and runs:
"""


@dataclasses.dataclass
class Value:
    """One cell: what was measured, whether it was multiplied, and the whole run, where it is known."""

    y: float
    multiplied: bool = False
    whole: float | None = None


def merged(documents):
    """{name of a machine: {about, runs, left out}}. A later run replaces rows of an earlier one, by their dates."""
    machines = {document["name"]: {"about": [], "runs": {}, "left out": {}} for document in documents}
    for document in sorted(documents, key=lambda document: document["run"]["date"]):
        found = machines[document["name"]]
        found["about"].append(document)
        found["runs"].update(document["runs"])
        found["left out"].update(document["left out"])
    return machines


def ended_early(row, run, result):
    """(iterations done, wanted) of a fit that ended by itself before the study's iterations, or nothing."""
    each = row.params["iterations"] * run["share"]  # some programs count all models together, others one of them
    done, wanted = result.get("iterations", each), each * row.params["models"]
    early = not each - 1 < done <= each and done < wanted - 1 and not row.params["threshold"]
    return (done, round(wanted)) if early else None


def values_of(experiment, row, run, x):
    """{label of the result: Value} at x. A program that prints several results fills several lines, or several x."""
    found, key = {}, experiment.get("y", "seconds")
    for number, result in enumerate(run["repeats"][0]):
        repeats = [repeat[number] for repeat in run["repeats"]]
        other = result.get("step", "") != row.program.get("step", result.get("step", ""))  # another line shows it
        if other or key not in result or ("distances" in result and float(result["distances"]) != x):
            continue
        per = row.params[experiment["per"]] if "per" in experiment else 1
        done, wanted = ended_early(row, run, result) or (1, 1)
        share = run["share"] * done / wanted if key == "seconds" or key.endswith("joules") else 1
        whole = median(one["whole"] for one in repeats) / per if key == "seconds" and "whole" in result else None
        found[result.get("step", "")] = Value(median(one[key] for one in repeats) / share / per, share < 1, whole)
    return found


def measured(table, experiment, found):
    """({label: {x: Value}}, notes) of an experiment on one machine."""
    about = found["about"][0]
    lines, missing, early = {}, {}, {}
    for x, case in founding_rows.cases(experiment, about["quick"]):
        params = founding_rows.params_of(table, experiment, case, about["quick"])
        for label, line in experiment["lines"].items():
            row = founding_rows.row_of(table, line, params, about["machine"]["usable_cpus"])
            lacking = row.needs - set(about["has"])
            if lacking or row.key not in found["runs"]:
                why = (
                    f"this machine has no {NAMES.get(min(lacking), min(lacking))}"
                    if lacking
                    else found["left out"].get(row.key, "not asked for")
                )
                missing.setdefault((label, why), []).append(shown(x))
                continue
            run = found["runs"][row.key]
            ends = [ended_early(row, run, result) for result in run["repeats"][0]]
            early.setdefault(label, []).extend(
                f"{end[0]} of {end[1]} iterations at {shown(x)}" for end in ends[:1] if end
            )
            values = values_of(experiment, row, run, x)
            if not values:
                lacks = row.program.get("step") or experiment.get("y", "seconds")
                missing.setdefault((label, f"its results have no {lacks}"), []).append(shown(x))
            for step, value in values.items():
                lines.setdefault(label.format(step=step), {})[x] = value
    if not lines:
        return lines, [f"nothing was measured: {reason}" for reason in sorted({reason for _, reason in missing})]
    notes = [f"{label.replace(', {step}', '')} ended early: {', '.join(at)}" for label, at in early.items() if at]
    together, comma = {}, "; " if experiment["x"] == "name" else ", "  # names of shapes have commas of their own
    for (label, why), at in missing.items():
        together.setdefault((comma.join(at), why), []).append(label.replace(", {step}", ""))
    return lines, notes + [f"{'; '.join(labels)} at {at}: {why}" for (at, why), labels in together.items()]


def quotients(experiment, lines):
    """{label: {x: Value}} of the ratios of an experiment, where both were measured."""
    found = {}
    for label, (above, below) in experiment.get("ratios", {}).items():
        both = [x for x in lines.get(above, {}) if x in lines.get(below, {})]
        if both:
            found[label] = {x: Value(lines[above][x].y / lines[below][x].y) for x in both}
    return found


def of_all(machines, one):
    """Lines of all machines together. one(found) -> lines; a label names its machine where there are several."""
    by_machine = {name: one(found) for name, found in machines.items()}
    by_machine = {name: lines for name, lines in by_machine.items() if lines}
    return {
        label if len(by_machine) == 1 else f"{label} ({name})": values
        for name, lines in by_machine.items()
        for label, values in lines.items()
    }


def published(experiment, xs):
    found = {label: values for label, values in experiment.get("published", {}).items() if label != "source"}
    return {
        f"published: {label}": {x: Value(y) for x, y in zip(xs, values) if y is not None}
        for label, values in found.items()
    }


def shown(value):
    return f"{value:,}" if isinstance(value, int) and value > 9999 else str(value)


def shape_text(table, experiment, quick):
    """What stays the same on the axis: N = 1,000,000, D = 2, ..."""
    every = [
        founding_rows.params_of(table, experiment, case, quick) for _, case in founding_rows.cases(experiment, quick)
    ]
    words = []
    for key, what in (
        ("rows", "N = {}"),
        ("columns", "D = {}"),
        ("clusters", "K = {}"),
        ("models", "{} models"),
        ("iterations", "{} iterations"),
    ):
        value = every[0][key]
        if (
            len({params[key] for params in every}) == 1
            and not (key == "models" and value == 1)
            and experiment.get("y") != "gflops"
        ):
            words.append(what.format(shown(value)) if value != 1 else what.format(1).removesuffix("s"))
    return ", ".join(words)


def unit(experiment):
    return experiment.get("unit", "seconds a start" if "per" in experiment else "seconds")


def styles(machines, labels):
    """{label: (number, dashes)}: a line has one colour on all machines, and each machine has its dashes."""
    dashes, numbers, found = {f" ({name})": dash for name, dash in zip(machines, DASHES)}, {}, {}
    for label in labels:
        machine = next((end for end in dashes if label.endswith(end)), "")
        number = numbers.setdefault(label.removesuffix(machine), len(numbers))
        found[label] = (number, PUBLISHED if label.startswith("published: ") else dashes.get(machine, ""))
    return found


def axis_of(experiment):
    return experiment.get("axis", AXES.get(experiment["x"], experiment["x"]))


def chart(experiment, machines, title, y_name, lines, mark=None):
    xs = [x for x, _ in founding_rows.cases(experiment)]
    named = experiment["x"] == "name"
    place = {x: i + 1 for i, x in enumerate(xs)} if named else {x: x for x in xs}
    ys = [value.y for values in lines.values() for value in values.values()] + [mark] * (mark is not None)
    series = [(label, [(place[x], value.y) for x, value in values.items()]) for label, values in lines.items()]
    x_scale = Scale(
        axis_of(experiment),
        not named and max(xs) / min(xs) >= LOG_FROM,
        dict(zip(place.values(), place)) if named else None,
    )
    y_scale = Scale(y_name, min(ys) > 0 and max(ys) / min(ys) >= LOG_FROM)
    return line_chart(title, x_scale, y_scale, series, mark, styles(machines, lines))


def title_of(experiment):
    return f"Study {experiment['study']}, {experiment['figure']}: {experiment['title']}"


def charts(table, experiment, machines):
    """{file: SVG}: what was measured beside what was published, and ratios with a line at 1."""
    xs = [x for x, _ in founding_rows.cases(experiment)]
    lines = of_all(machines, lambda found: measured(table, experiment, found)[0]) | published(experiment, xs)
    if not lines:
        return {}
    quick = any(about["quick"] for found in machines.values() for about in found["about"])
    shape = shape_text(table, experiment, quick)
    y_name = f"{unit(experiment)}{f' ({shape})' if shape else ''}"
    found = {f"{experiment['name']}.svg": chart(experiment, machines, title_of(experiment), y_name, lines)}
    ratios = of_all(machines, lambda one: quotients(experiment, measured(table, experiment, one)[0]))
    if ratios:
        what = "ratio of rates" if experiment.get("y") == "gflops" else "ratio of times"
        title = f"Study {experiment['study']}, {experiment['figure']}: {experiment['ratio_title']}"
        found[f"{experiment['name']}-ratio.svg"] = chart(
            experiment, machines, title, f"{what}{f' ({shape})' if shape else ''}", ratios, 1
        )
    return found


def cell(value, what):
    if value is None or getattr(value, what) is None:
        return "-"
    number = getattr(value, what)
    text = f"{number:,.0f}" if number >= 1000 else report.seconds(number) if number < 1 else f"{number:.3g}"
    return "~" * value.multiplied + text


def section(table, experiment, machines):
    """Lines of the page: claim, table, ratios, notes."""
    xs = [x for x, _ in founding_rows.cases(experiment)]
    lines = of_all(machines, lambda found: measured(table, experiment, found)[0])
    ratios = of_all(machines, lambda found: quotients(experiment, measured(table, experiment, found)[0]))
    quick = any(about["quick"] for found in machines.values() for about in found["about"])
    text = ["", f"## {title_of(experiment)}", "", f"**Claim:** {experiment['claims']}", ""]
    text += [f"Unit: {unit(experiment)}. {shape_text(table, experiment, quick)}.".replace(" .", ""), ""]
    rows = [[label, *(cell(values.get(x), "y") for x in xs)] for label, values in lines.items()]
    rows += [
        [f"*{label}, whole*", *(cell(values.get(x), "whole") for x in xs)]
        for label, values in lines.items()
        if any(value.whole is not None for value in values.values())
    ]
    rows += [[label, *(cell(values.get(x), "y") for x in xs)] for label, values in published(experiment, xs).items()]
    rows += [[f"**{label}** (ratio)", *(cell(values.get(x), "y") for x in xs)] for label, values in ratios.items()]
    text += report.table([axis_of(experiment), *map(shown, xs)], rows) if rows else []
    if "published" in experiment:
        text += ["", f"Published: {experiment['published']['source']}."]
    if "data" in experiment:
        text += ["", f"The study's data were {experiment['data']}. Generated points of this shape took their place."]
    notes = [(name, note) for name, found in machines.items() for note in measured(table, experiment, found)[1]]
    return text + ["", *(f"- {name}: {note}" for name, note in notes)]


def machine_list(machines):
    """Each host with its runs, as a list: a table of devices would be too wide. Hosts of one name differ in memory."""
    lines = []
    for name, found in machines.items():
        hosts = {}
        for one in found["about"]:
            hosts.setdefault(one["machine"]["memory"], []).append(one)
        for memory, of_host in hosts.items():
            here, runs = of_host[0]["machine"], {}
            for one in of_host:
                about = f"{one['run']['date'][:10]}, commit {one['run']['commit']}: `{one['run']['command']}`"
                runs.setdefault(about, []).append(one["study"])
            lacking = "; ".join(of_host[0].get("no joules", []))
            lines += [
                f"- **{name}**: {here['cpu']}, {here['usable_cpus']} processors, {int(memory.split()[0]) >> 20} GiB. "
                f"Devices: {'; '.join(here['devices']) or 'none'}. Joules: {lacking or 'of GPU and processors'}.",
                *(f"  - {studies_text(studies)}, {about}" for about, studies in runs.items()),
            ]
    return lines


def studies_text(studies):
    return f"{'study' if len(studies) == 1 else 'studies'} {', '.join(map(str, sorted(studies)))}"


def page(table, machines, files):
    text = [INTRODUCTION, *machine_list(machines)]
    if any(about["quick"] for found in machines.values() for about in found["about"]):
        text += ["", "**A trial with small shapes. These numbers mean nothing.**"]
    studies = {about["study"] for found in machines.values() for about in found["about"]}
    for experiment in table["experiments"]:
        if experiment["study"] in studies:
            text += section(table, experiment, machines)
            text += [
                "",
                *(
                    f"![chart of {file[:-4]}]({file})"
                    for file in files
                    if re.fullmatch(rf"{experiment['name']}(-ratio)?\.svg", file)
                ),
            ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(text)).rstrip() + "\n"


def write(table, documents, out):
    """Writes README.md and a chart for each figure; returns the path of the page."""
    machines, files = merged(documents), {}
    studies = {document["study"] for document in documents}
    for experiment in table["experiments"]:
        if experiment["study"] in studies:
            files |= charts(table, experiment, machines)
    for file, svg in files.items():
        (out / file).write_text(svg, encoding="utf-8")
    (out / "README.md").write_text(page(table, machines, files), encoding="utf-8")
    return out / "README.md"
