"""Results of a comparison as a Markdown page and as JSON with everything that was measured."""

import json

MIB = 1 << 20


def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" if i == 0 else "---:" for i in range(len(head))) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _seconds(value):
    return f"{value:.4f}" if value < 1 else f"{value:.3f}"


def _main_row(row):
    ours, peer = row["manymeans"], row.get("scikit-learn")
    wanted = f"{row['wanted_ratio']:.1f}" if "wanted_ratio" in row else ""
    cells = [row["name"], str(row["threads"]), _seconds(ours["seconds_per_iteration"])]
    many = row["iterations"][-1]
    memory = f"{ours['peak_memory'] / MIB:.0f}"
    if not peer:
        return [*cells, "not installed", "", wanted, "", _seconds(ours["seconds"][many]), "", memory, ""]
    ratio = peer["seconds_per_iteration"] / ours["seconds_per_iteration"]
    mark = " (too low)" if ratio < row.get("wanted_ratio", 0) else ""
    too_much = " (too much)" if ours["peak_memory"] > peer["peak_memory"] else ""
    work = peer["processor_seconds_per_iteration"] / max(ours["processor_seconds_per_iteration"], 1e-9)
    cells += [_seconds(peer["seconds_per_iteration"]), f"{ratio:.2f}{mark}", wanted, f"{work:.2f}"]
    cells += [_seconds(ours["seconds"][many]), _seconds(peer["seconds"][many])]
    return [*cells, memory + too_much, f"{peer['peak_memory'] / MIB:.0f}"]


def _phase_row(row):
    ours = row["manymeans"]
    runs = ours["runs"][row["iterations"][-1]]
    phases = {name: sorted(run["phases"][name] for run in runs)[len(runs) // 2] for name in runs[0]["phases"]}
    wanted = ("read", "validate", "upload", "fit", "fit: initialise", "fit: passes", "fit: update", "fit: finish")
    cells = [row["name"], str(row["threads"])] + [_seconds(phases[name]) if name in phases else "" for name in wanted]
    return [*cells, _seconds(ours["wall_seconds"][row["iterations"][-1]]), f"{runs[0]['certified_share']:.2%}"]


def _check_row(row):
    checks = row["checks"]
    cells = [row["name"], str(row["threads"]), f"{checks['checked']} of {checks['checked']}", f"{checks['inertia']:.9g}"]
    if "peer_inertia" not in checks:
        return [*cells, "", "", ""]
    cells += [f"{checks['peer_inertia']:.9g}", f"{checks['largest_inertia_difference']:.1e}"]
    return [*cells, f"{checks['equal_labels']:.4%}"]


def markdown(about, rows, notes):
    machine, versions = about["machine"], _versions(about, rows)
    lines = [f"# {about['suite']}: manymeans and scikit-learn", "", about["about"], ""]
    if about["quick"]:
        lines += ["**A trial with a twentieth of the points, run once. These numbers mean nothing.**", ""]
    lines += [f"`{about['command']}`, {about['date']}, commit {about['commit']}", ""]
    lines += [f"{machine['cpu']} (family, model, stepping {', '.join(map(str, machine['cpu_family_model_stepping']))}), "
              f"{machine['usable_cpus']} processors, {machine['memory']}; {machine['system']}. {versions}", ""]
    lines += [f"- {note}" for note in notes] + [""] * bool(notes)
    if not rows:
        return "\n".join(lines)
    first, last = rows[0]["iterations"]
    lines += [f"Seconds per iteration = (T({last}) - T({first})) / {last - first}; medians of alternating runs. "
              "How to read the tables: docs/benchmarks.md.", ""]
    lines += _table(["", "threads", "manymeans s/iteration", "scikit-learn s/iteration", "ratio", "wanted",
                     "ratio of processor time", f"manymeans T({last}) s", f"scikit-learn T({last}) s", "manymeans peak MiB", "scikit-learn peak MiB"],
                    [_main_row(row) for row in rows])
    lines += ["", f"Where manymeans spends T({last}), in seconds; `fit` holds the four after it:", ""]
    lines += _table(["", "threads", "read", "validate", "upload", "fit", "initialise", "passes", "update", "finish",
                     "whole process", "certified"], [_phase_row(row) for row in rows])
    lines += ["", "Checks of the answers (best model of an ensemble; the difference is the largest over all models):", ""]
    lines += _table(["", "threads", "labels equal to the reference", "manymeans inertia", "scikit-learn inertia",
                     "difference", "equal labels"], [_check_row(row) for row in rows])
    return "\n".join(lines) + "\n"


def _versions(about, rows):
    parts = [f"manymeans {about['manymeans'].get('version', '')}".strip()]
    if rows:
        parts[0] += f" ({rows[0]['manymeans']['runs'][rows[0]['iterations'][0]][0]['instruction_set']})"
    for row in rows[:1]:
        if "scikit-learn" in row:
            found = row["scikit-learn"]["runs"][row["iterations"][0]][0]["versions"]
            parts += [f"{name} {version}" for name, version in found.items()]
    return ", ".join(parts) + "."


def write(folder, name, about, rows, notes, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    everything = json.dumps({**about, "notes": notes, "rows": rows}, indent=1)
    (folder / f"{name}.json").write_text(everything + "\n", encoding="utf-8")
