"""Results of a comparison as a Markdown page and as JSON with everything that was measured."""

import json

import suite_rows
import verdicts

MIB = 1 << 20
SHOWN_PASSES = 12
UNIT = {"per iteration": "s an iteration", "per iteration run": "s an iteration run", "whole fit": "s a fit",
        "initialisation": "s"}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" if i == 0 else "---:" for i in range(len(head))) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def seconds(value):
    return f"{value:.2e}" if value < 0.001 else f"{value:.4f}" if value < 1 else f"{value:.3f}"


def _share(value):
    return f"{value:.2%}" if value is None or value < 0.9999 or value == 1 else f"{value:.4%}"


def _peer_names(rows):
    names = []
    for row in rows:
        names += [name for name in row["peers"] if name not in names]
    return names


def _verdict_rows(rows):
    for entry in verdicts.verdicts(rows):
        row, value, what = entry["row"], entry["value"], entry["what"]
        at_most = what in verdicts.LOWER_IS_BETTER
        name = suite_rows.title({**row, "variant": ""})
        said = {True: "reached", False: "**missed**", None: entry["lacking"]}
        unit = " x the points" if what == "memory" else " s" if what == "seconds" else "x"
        if what == "matrix rate":
            cells = ["" if value is None else f"{value:.1%}", f"at least {entry['wanted']:.0%}"]
        else:
            number = "" if value is None else seconds(value) if what == "seconds" else f"{value:.2f}"
            cells = [number + unit * bool(number), f"{'at most' if at_most else 'at least'} {entry['wanted']:g}{unit}"]
        yield [name, what, *cells, entry["variant"], said[entry["reached"]]]


def _measured_row(row, names):
    found, ours = verdicts.ratios(row), row["manymeans"]
    cells = [suite_rows.title(row), UNIT[row["measure"]], seconds(ours["counts"])]
    for name in names:
        peer = row["peers"].get(name)
        if not peer:
            cells.append("")
        elif name in found:
            extrapolated = " (extrapolated)" if "share" in peer else ""
            cells.append(f"{seconds(peer['counts'])} ({found[name]:.2f}x){extrapolated}")
        else:
            cells.append(f"{seconds(peer['counts'])} (not held to {row['isa']})")
    best = min(found, key=found.get, default="")
    return [*cells, f"{found[best]:.2f}x {best}" if best else ""]


def _memory_row(row, names):
    ours = row["manymeans"]["peak_memory"]
    cells = [suite_rows.title(row), f"{row['data']['bytes'] / MIB:.1f}", f"{ours / MIB:.0f}", f"{ours / row['data']['bytes']:.2f}"]
    return cells + [f"{row['peers'][name]['peak_memory'] / MIB:.0f}" if name in row["peers"] else "" for name in names]


def _phase_row(row):
    ours = row["manymeans"]
    runs = ours["runs"][last_key(ours["runs"])]
    phases = {name: sorted(run["phases"][name] for run in runs)[len(runs) // 2] for name in runs[0]["phases"]}
    wanted = ("read", "validate", "upload", "fit", "fit: initialise", "fit: passes", "fit: update", "fit: finish")
    cells = [suite_rows.title(row), str(sum(ours["iterations"]))]
    cells += [seconds(phases[name]) if name in phases else "" for name in wanted]
    return [*cells, _share(ours["certified_share"]), _share(ours["resolved_share"]),
            ours["instruction_set"], ours.get("algorithm", ""), ours.get("reason", ours["plan"])]


def last_key(runs):
    """The largest number of iterations; the keys are numbers when measured and text when read from JSON."""
    return max(runs, key=int)


def _pass_rows(row):
    """For each thing that is counted, its share of the labels in each of the first passes."""
    log = (row["manymeans"].get("pass_log") or [])[:SHOWN_PASSES]
    repeats = ["repeated"] if any(one.get("repeated") for one in log) else []
    for what in ["changed", *repeats, "skipped", "certified", "resolved"] if log else ():
        shares = [f"{one.get(what, 0) / max(one['labelled'], 1):.2%}" for one in log]
        yield [suite_rows.title(row) if what == "changed" else "", what, *shares, *[""] * (SHOWN_PASSES - len(log))]
    if log:
        each = [f"{one.get('candidates', 0) / one['resolved']:.1f}" if one.get("resolved") else "" for one in log]
        yield ["", "candidates each", *each, *[""] * (SHOWN_PASSES - len(log))]


def _check_row(row, names):
    checks = row["checks"]
    cells = [suite_rows.title(row), f"{checks['checked']} + {checks['checked_by_reference_backend']}",
             str(checks["by_canonical_distance"]), f"{checks['inertia']:.9g}"]
    for name in names:
        peer = checks["peers"].get(name)
        if not peer:
            cells.append("")
        elif "own_labels_nearest" not in peer:
            cells.append(f"{peer['inertia']:.9g}")
        else:
            equal = f"{peer['equal_labels']:.3%}" if peer["equal_labels"] is not None else "another model"
            cells.append(f"{peer['inertia']:.9g} ({peer['largest_inertia_difference']:.0e}; {equal}; "
                         f"{_share(peer['own_labels_nearest'])})")
    return cells


def _machine_lines(about, rows):
    at = about["machine"]
    lines = [f"{at['cpu']} (family, model, stepping {', '.join(map(str, at['cpu_family_model_stepping']))}; "
             f"AMX: {'yes' if at.get('amx') else 'no'}), {at['usable_cpus']} processors, {at['memory']}; {at['system']}.", ""]
    versions = {"manymeans": about["manymeans"].get("version", "")}
    for row in rows:
        for peer in row["peers"].values():
            versions.update(peer["versions"])
    lines += [", ".join(f"{name} {version}" for name, version in versions.items()) + ".", ""]
    rates = {(row["threads"], name): value for row in rows for name, value in row["rates"].items()}
    if rates:
        lines += ["The machine itself, measured in the same run (`machine_rates`):", ""]
        lines += table(["threads", "what", "measured"], [[str(threads), name, f"{value:g}"] for (threads, name), value in rates.items()])
        lines += [""]
    return lines


def _kernels_lines(rows):
    """Which kernels the peers really used: a peer that runs below what the processor can do would be no comparison."""
    found = {}
    for row in rows:
        for name, peer in row["peers"].items():
            blas = {f"{pool['prefix']} {pool['architecture']}" for pool in peer["pools"] if pool.get("architecture")}
            found.setdefault((name, row["isa"] or "as it comes"), set()).update(blas | ({peer["simd"]} if "simd" in peer else set()))
    if not found:
        return []
    lines = ["Kernels that the peers chose or were held to:", ""]
    return lines + [f"- {name}, {isa}: {', '.join(sorted(used))}" for (name, isa), used in found.items()] + [""]


def markdown(about, rows, notes):
    lines = [f"# {about['suite']}: manymeans and its peers", "", about["about"], ""]
    if about["quick"]:
        lines += ["**A trial with a twentieth of the points, run once. These numbers mean nothing.**", ""]
    lines += [f"- `{one['command']}`, {one['date']}, commit {one['commit']}"
              + (f"; not installed: {', '.join(one['peers missing'])}" if one["peers missing"] else "") for one in about["runs"]]
    lines += ["", *_machine_lines(about, rows)]
    if notes:
        lines += ["Notes:", "", *(f"- {note}" for note in notes), ""]
    if not rows:
        return "\n".join(lines)
    names = _peer_names(rows)
    lines += ["How the numbers are made and read: docs/developer/benchmarks.md.", "", "## What was wanted", "",
              "Of the variants of a row the worst counts.", ""]
    lines += table(["", "against", "measured", "wanted", "worst variant", ""], list(_verdict_rows(rows)))
    lines += ["", "## Seconds", "", "In brackets: how many times longer than manymeans.", ""]
    lines += table(["", "", "manymeans", *names, "best peer"], [_measured_row(row, names) for row in rows])
    lines += ["", "## Memory", "", "The most that the process ever held, MiB.", ""]
    lines += table(["", "points", "manymeans", "over the points", *names], [_memory_row(row, names) for row in rows])
    lines += ["", "## Where the time of manymeans goes", "", "The longest of the fits, in seconds; `fit` holds the four after it.", ""]
    lines += table(["", "iterations", "read", "validate", "upload", "fit", "initialise", "passes", "update", "finish",
                    "certified", "resolved", "instruction set", "algorithm", "plan"], [_phase_row(row) for row in rows])
    passes = [line for row in rows for line in _pass_rows(row)]
    if passes:
        lines += ["", "Pass by pass (the first is the labelling with the initial centroids), as shares of all labels, and canonical "
                  "distances for each label that was resolved:", ""]
        lines += table(["", "", *map(str, range(1, SHOWN_PASSES + 1))], passes)
    lines += ["", "## Checks of the answers", "", "Labels of manymeans recomputed: all of them agreed. Inertia in float64 by one "
              "function for all; in brackets: largest relative difference of a model's inertia from ours; labels equal to "
              "ours; labels that are the nearest of the program's own final centroids.", ""]
    lines += table(["", "labels recomputed", "by exact distance", "manymeans", *names], [_check_row(row, names) for row in rows])
    return "\n".join([*lines, "", *_kernels_lines(rows)])


def write(folder, name, about, rows, notes, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    everything = json.dumps({**about, "notes": notes, "rows": rows}, indent=1)
    (folder / f"{name}.json").write_text(everything + "\n", encoding="utf-8")
