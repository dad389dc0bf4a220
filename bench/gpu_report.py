"""The report of `./dev bench gpu`: Markdown of what compare_gpu.py measured."""

import gpu_peers
import report

NO_NUMBER = "-"


def joules(found, ms):
    """Of an iteration: power while the same is repeated, times its time; None where either is not known."""
    watts = (found or {}).get("watts")
    return None if watts is None or ms is None else watts * ms / 1e3


def spread_of(result):
    """The least and the greatest of few repeats; of many, those that a tenth lies beyond on either side."""
    each = sorted(gpu_peers.each_iteration(result["single"]))
    beyond = len(each) // 10
    return f"{each[beyond]:.3g} .. {each[-1 - beyond]:.3g} ({len(each)})"


def _number(value, form=".3g"):
    return NO_NUMBER if value is None else f"{value:{form}}"


def _peer_cell(found, ms):
    if "ms" not in found:
        return NO_NUMBER
    mark = "~" if found.get("rough") or "extrapolated from" in found else ""
    return f"{mark}{found['ms']:.3g} ({found['ms'] / ms:.2f}x)"


def peer_names(results):
    return list(dict.fromkeys(name for result in results for name in result["peers"]))


def _target_cells(row, ms):
    """At most, aim, floor (share): a row may have any of them, or none."""
    reached = " **missed**" if "at_most" in row and ms > row["at_most"] else ""
    floor = f"{row['floor']} ({row['floor'] / ms:.0%})" if "floor" in row else NO_NUMBER
    return [f"{row.get('at_most', NO_NUMBER)}{reached}", str(row.get("aim", NO_NUMBER)), floor]


def times(suite, results):
    wanted, names = {row["name"]: row for row in suite["rows"]}, peer_names(results)
    rows = []
    for result in results:
        row, ms = wanted[result["row"]], result["ms"]
        rows.append([f"{result['row']} / {result['kind']}", f"{ms:.4g}", spread_of(result),
                     _number((result["warm"] or {}).get("ms"), ".4g"), *_target_cells(row, ms),
                     *(_peer_cell(result["peers"].get(name, {}), ms) for name in names)])
    return report.table(["", "ms", "each repeat", "passes alone", "at most", "aim", "floor (share)", *names], rows)


def checks(results):
    names, rows = [name for name in peer_names(results) if name in gpu_peers.ON_GPU], []
    for result in results:
        count = result["compared_iterations"]
        same = f"same, {count} iteration{'s' * (count > 1)}" if result["digest_of_cpu"] else "**DIFFERS**"
        peers = [result["peers"].get(name, {}) for name in names]
        energies = [joules(result["warm"], result["ms"]), *(joules(found, found.get("ms")) for found in peers)]
        rows.append([f"{result['row']} / {result['kind']}", f"{result['certified']:.2%}", f"{result['candidates']:.2f}",
                     f"{result['wrong']} of {result['checked']}", same, *map(_number, energies)])
    head = ["", "certified", "candidates each", "labels wrong", "cpu's digest", "J", *(f"J {name}" for name in names)]
    return report.table(head, rows)


def _notes(suite, about, results, left_out):
    yield from (f"{name} was not found here ({module} is missing)" for name, module in about["not found"].items())
    if about["no joules"]:
        yield f"no joules: {about['no joules']}"
    for row in suite["rows"]:
        yield from (f"published, not measured: {name}, {row['name']}: {ms} ms" for name, ms in row.get("published", {}).items())
    for result in results:
        for name, found in result["peers"].items():
            if "failed" in found:
                yield f"{result['row']} / {result['kind']}: {name}: {found['failed']}"
            elif "extrapolated from" in found:
                yield f"{result['row']} / {result['kind']}: {name}: extrapolated from {found['extrapolated from']}"
    yield from (f"left out: {name}" for name in left_out)


def page(suite, about, results, left_out):
    """Markdown. `about`: machine, device, quick, run, "not found" and "no joules"; results as compare_gpu.measure gives them."""
    where = about["machine"]
    run = about["run"]
    lines = [f"# {suite['name']}", "", suite["about"], "", f"`{run['command']}`, {run['date']}, commit {run['commit']}", "",
             f"{about['device'] or 'No CUDA device'}; host: {where['cpu']}, {where['usable_cpus']} processors.", ""]
    if about["quick"]:
        lines += ["**A trial with a twentieth of the points, run once. These numbers mean nothing.**", ""]
    if results:
        lines += [*times(suite, results), "", *checks(results), ""]
    lines += [f"- {note}" for note in _notes(suite, about, results, left_out)]
    return "\n".join(lines) + "\n"
