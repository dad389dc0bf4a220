#!/usr/bin/env python3
"""manymeans against other libraries: the same points, initial centroids, iterations and threads. docs/developer/benchmarks.md says
how the numbers are made. This process needs the standard library only and stays small, see prepare_and_judge.py."""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time
from statistics import median

import machine
import machine_rates
import merging
import report
import suite_rows
from measured_process import ProcessFailed
from peer_table import PEERS
from run_context import HERE, ROOT, about_run, results_of, shown, worker
from sides import LeftOut, Other, Ours, RowFailed

SAMPLE = 100_000  # labels recomputed in NumPy by the contract
REFERENCE_SAMPLE = 2_000  # and by the reference backend, which is slow
NEEDED = ("name", "k")  # of a suite's row
BUSY = 0.05  # more of the processors in other hands is worth a note


def takes_part(peer, row, prepared):
    """None if a peer can do this row; else a sentence."""
    if prepared["dtype"] not in peer.dtypes:
        return f"{peer.name} has no {prepared['dtype']}"
    if prepared["d"] < peer.least_columns:
        return f"{peer.name} is for {peer.least_columns} columns and more"
    if row["measure"] == "initialisation" and not peer.seeds:
        return f"{peer.name} has no k-means++ that can be called alone"
    return None


def measure(row, ours, others, scratch, notes):
    """All runs, alternating. The last one of each program writes its answer. A peer that fails leaves the row."""
    answers = {}
    for repeat in range(row["repeats"]):
        for side in [ours, *others]:
            if side.kept.get("failed"):
                continue
            try:
                for iterations in row["iterations"]:
                    last = repeat == row["repeats"] - 1 and iterations == row["iterations"][-1]
                    side.measure(iterations, answer_flags(side, ours, scratch, answers) if last else ())
            except (RowFailed, ProcessFailed) as failure:
                if side is ours:
                    raise
                side.kept["failed"] = True
                answers.pop(side.name, None)
                notes.append(f"{suite_rows.title(row)}: {side.name} left out: {failure}")
    return answers


def answer_flags(side, ours, scratch, answers):
    if side is ours:
        return "--model", scratch / "model.npz", "--labels", scratch / "labels.npy"
    answers[side.name] = str(scratch / f"{side.name}.npz")
    return "--answer", answers[side.name]


def judge(row, options, prepared, ours, answers, scratch):
    many = row["iterations"][-1]
    if len({one["digest"] for one in ours.runs[many]}) > 1:
        raise RowFailed("two runs of manymeans have different digests")
    arguments = ["--points", prepared["points"], "--scratch", scratch, "--program", options.program, "--seed", row["seed"],
                 "--model", scratch / "model.npz", "--labels", scratch / "labels.npy", "--ks", json.dumps(row["ks"]),
                 "--sample", SAMPLE, "--reference-sample", REFERENCE_SAMPLE]
    if row["measure"] != "initialisation":
        judgement = worker("judge", *arguments, "--peers", json.dumps(answers))
    else:
        judgement = worker("judge", *arguments, "--peers", "{}")
        judgement.update(worker("judge-seeding", *arguments, "--peers", json.dumps(answers)))
    wrong = judgement["different"] + judgement["different_by_reference_backend"]
    if wrong:
        raise RowFailed(f"{wrong} of {judgement['checked']} labels are not those of the contract")
    return judgement


def compare(row, options, peers, notes):
    """Prepares, measures alternately, judges. Gives the row with all that was measured."""
    with tempfile.TemporaryDirectory(prefix="manymeans-bench-") as folder:
        scratch = pathlib.Path(folder)
        initial_of_one = str(scratch / "initial.npy")
        prepared = worker("prepare", "--data", json.dumps(row["data"]), "--cache", options.cache, "--initial-of-one",
                          initial_of_one, "--ks", json.dumps(row["ks"]), "--models", row["models"], "--seed", row["seed"],
                          *(["--data-folder", options.data_folder] if options.data_folder else []))
        if "missing" in prepared:
            raise LeftOut(prepared["missing"])
        ours = Ours(row, options.program, prepared, initial_of_one)
        reasons = {peer.name: takes_part(peer, row, prepared) for peer in peers}
        notes += [f"{suite_rows.title(row)}: {reason}" for reason in reasons.values() if reason]
        others = [Other(row, peer, prepared, ours) for peer in peers if not reasons[peer.name]]
        answers = measure(row, ours, others, scratch, notes)
        judgement = judge(row, options, prepared, ours, answers, scratch)
    others = [side for side in others if not side.kept.get("failed")]
    held = {side.name: {"not_held": True} if row["isa"] and row["isa"] not in side.peer.held else {} for side in others}
    busy = median(one["others"] for side in [ours, *others] for runs in side.runs.values() for one in runs)
    sizes = {key: prepared[key] for key in ("n", "d", "dtype", "bytes", "sha256")}
    able = [peer.name for peer in PEERS if not takes_part(peer, row, prepared)]
    return {**row, "data": {**row["data"], **sizes}, "others_share": busy, "checks": judgement, "able_peers": able,
            "rates": machine_rates.measured(options.program, row["threads"]), "manymeans": ours.summary(),
            "peers": {side.name: {**side.summary(), **held[side.name]} for side in others}}


def busy_notes(row):
    """Whether other programs were in the way, and how many processors each side then had on average."""
    if row["others_share"] <= BUSY:
        return []
    had = ", ".join(f"{name} {side['processors']:.1f}" for name, side in [("manymeans", row["manymeans"]), *row["peers"].items()])
    return [f"{suite_rows.title(row)}: other programs used {row['others_share']:.0%} of the processors meanwhile; had on average: {had}"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/manymeans")
    parser.add_argument("--suite", type=pathlib.Path, default=HERE / "suites/cpu.json")
    parser.add_argument("--rows", metavar="REGEX", help="only rows whose title (see --list) matches")
    parser.add_argument("--peers", metavar="TEXT", default="", help="only peers whose name holds this; none: manymeans alone")
    parser.add_argument("--list", action="store_true", help="print the rows and about how long each takes; measure nothing")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the points, once: to try the machinery")
    parser.add_argument("--repeats", type=int, help="instead of what the suite says; medians count")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin no row that is expected to end later")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "build/bench-data", help="where points are kept")
    parser.add_argument("--data-folder", type=pathlib.Path, help="where mnist_train.npz is, if not in data/")
    parser.add_argument("--out", type=pathlib.Path,
                        help="folder for the results; default: bench/results/<machine>/ of a whole suite, else none")
    parser.add_argument("--merge", type=pathlib.Path, nargs="+", metavar="JSON",
                        help="measure nothing; make one report of these results (of one suite and one kind of machine)")
    options = parser.parse_args()
    options.program = options.program.resolve()
    if not options.merge and not options.program.exists():
        parser.error(f"there is no program {options.program}; ./dev build makes it")
    return options


def plan(rows, peers, usable_cpus):
    """Says what will be done and about how long it takes; gives the estimates."""
    print(f"{len(rows)} rows; roughly, on a machine that does nothing else:", file=sys.stderr)
    estimates = []
    for row in rows:
        why_not = suite_rows.obstacle(row, usable_cpus)
        estimates.append(0 if why_not else suite_rows.estimate(row, peers))
        print(f"  {'-' if why_not else f'{estimates[-1]:.0f}':>6} s  {suite_rows.title(row)}", file=sys.stderr)
    print(f"  {sum(estimates):6.0f} s  together", file=sys.stderr, flush=True)
    return estimates


def finish(about, rows, notes, options, out):
    text = report.markdown(about, rows, notes)
    if out:
        report.write(out, f"{about['suite']}-on-{machine.name(about['machine'])}", about, rows, notes, text)
    return text


def measure_all(options, about, peers, out):
    rows, notes, begin = [], [], time.monotonic()
    wanted = suite_rows.expanded(suite_rows.load_suite(options.suite, NEEDED), options.rows, options.quick, options.repeats)
    for row, expected in zip(wanted, plan(wanted, len(peers), about["machine"]["usable_cpus"])):
        title, now = suite_rows.title(row), time.monotonic() - begin
        why_not = suite_rows.obstacle(row, about["machine"]["usable_cpus"])
        if not why_not and options.budget and now + expected > options.budget:
            why_not = f"left out: {now:.0f} s are over, this row takes about {expected:.0f} s, the budget is {options.budget:.0f} s"
        if why_not:
            notes.append(f"{title}: {why_not}")
            continue
        print(f"{now:6.0f} s  {title} ...", file=sys.stderr, flush=True)
        try:
            rows.append(compare(row, options, peers, notes))
        except LeftOut as reason:
            notes.append(f"{title}: left out: {reason}")
            continue
        except (RowFailed, ProcessFailed) as failure:
            notes.append(f"{title}: FAILED: {failure}")
            continue
        notes += busy_notes(rows[-1])
        finish(about, rows, notes, options, out)  # so that a run that is ended early leaves what it has
    return rows, notes


def main():
    options = parse_arguments()
    if options.merge:
        about, rows, notes = merging.merged([suite_rows.load(path) for path in options.merge])
        out = options.out or results_of(about)
    else:
        suite = suite_rows.load_suite(options.suite, NEEDED)
        chosen = [peer for peer in PEERS if options.peers in peer.name]
        peers = [peer for peer in chosen if not peer.missing()]
        if options.list:
            plan(suite_rows.expanded(suite, options.rows, options.quick, options.repeats), len(peers), os.cpu_count())
            return 0
        missing = [peer.name for peer in chosen if peer.missing()]
        for name in missing:
            print(f"*** {name} is not installed for {pathlib.Path(sys.executable).name}: IT IS LEFT OUT ***", flush=True)
        about = about_run(options, suite, missing)
        whole = not (options.quick or options.rows or options.peers)
        out = options.out or (results_of(about) if whole else None)
        rows, notes = measure_all(options, about, peers, out)
    print(finish(about, rows, notes, options, out))
    if out:
        print(f"wrote {shown(out)}")
    return 1 if any("FAILED" in note for note in notes) else 0


sys.exit(main())
