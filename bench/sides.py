"""One program in a comparison: how it is run, what its runs say, and the number that counts."""

import json
import os
import sys
from statistics import median

import peer_table
from measured_process import run

FIT_PHASES = ("validate", "upload", "fit")  # together: the library call that takes points and returns results
SEEDING_PHASE = "fit: initialise"
LOGGED_PASSES = 40  # kept of a longer log


class RowFailed(Exception):
    """This program cannot be measured for this row, or its numbers would be wrong."""


class LeftOut(Exception):
    """This row cannot be measured here, and nothing is wrong."""


class Side:
    """One program: its runs so far by the number of iterations asked for, and what stays the same in all of them."""

    def __init__(self, row):
        self.row, self.runs, self.kept = row, {}, {}

    def measure(self, iterations, answer=()):
        finished = run([*self.command(iterations), *map(str, answer)], self.environment())
        result, kept = self.read(json.loads(finished.output))
        result.update(wall=finished.wall_seconds, peak_memory=finished.peak_memory, others=finished.others_share)
        # Peers say what their fits took: Python's start takes longer than some fits, and never the same.
        result.setdefault("processor_seconds", finished.cpu_seconds)
        self.check(result, kept, iterations)
        self.runs.setdefault(iterations, []).append(result)
        self.kept[iterations] = kept

    def check(self, result, kept, iterations):
        done = kept["iterations"]
        if self.row["measure"] == "per iteration" and set(done) != {iterations}:
            raise RowFailed(f"{self.name} did {done} iterations, not {iterations}: it converged")
        if set(kept["threads"]) != {self.row["threads"]}:
            raise RowFailed(f"{self.name} used {kept['threads']} threads, not {self.row['threads']}")
        # A thread that this program does not speak of shows here. Processor time is counted in ticks of 10 ms.
        if result["processor_seconds"] > 1.15 * self.row["threads"] * self.clock_of_processor(result) + 0.1:
            raise RowFailed(f"{self.name} used more processor time than {self.row['threads']} threads have")

    def clock_of_processor(self, result):
        return result["seconds"]

    def processors_used(self, result):
        """On average while it ran: fewer than its threads where it waited, or where other programs took them."""
        return result["processor_seconds"] / max(self.clock_of_processor(result), 1e-9)

    def of_each(self, key):
        """Seconds of each repeat: per iteration, per iteration run, or of the whole; `key` says which clock."""
        few, many = self.row["iterations"][0], self.row["iterations"][-1]
        values = [one[key] for one in self.runs[many]]
        if self.row["measure"] == "per iteration run":
            return [value / max(1, sum(self.kept[many]["iterations"])) for value in values]
        share = self.kept[many].get("share", 1)  # of the models that a peer was asked for
        if self.row["measure"] == "per iteration":
            before = [one[key] for one in self.runs[few]]
            return [(b - a) / (many - few) / share for a, b in zip(before, values)]
        return [value / share for value in values]

    def summary(self):
        many = self.row["iterations"][-1]
        return {
            "counts": median(self.of_each("seconds")),
            "counts_each": self.of_each("seconds"),
            "processor_counts": median(self.of_each("processor_seconds")),
            "seconds": {i: median(one["seconds"] for one in runs) for i, runs in self.runs.items()},
            "wall_seconds": {i: median(one["wall"] for one in runs) for i, runs in self.runs.items()},
            "processors": median(self.processors_used(one) for one in self.runs[many]),
            "peak_memory": max(one["peak_memory"] for one in self.runs[many]),
            "runs": self.runs,
            **self.kept[many],
        }


class Ours(Side):
    name = "manymeans"

    def __init__(self, row, program, prepared, initial_of_one):
        super().__init__(row)
        self.fit = [str(program), "fit", prepared["points"], "-k", ",".join(map(str, row["ks"]))]
        self.fit += ["--models", str(row["models"])]
        if row["measure"] == "initialisation":
            self.fit += ["--init", "k-means++", "--seed", str(row["seed"])]
        elif self.alone():
            self.fit += ["--init", initial_of_one]
        else:
            self.fit += ["--init", "random", "--seed", str(row["seed"])]
        self.fit += ["--stop", row["stop"], "--threads", str(row["threads"]), "--json", *row["flags"]]
        self.seeds = prepared["seeds"]

    def alone(self):
        return self.row["models"] == 1 and len(self.row["ks"]) == 1

    def command(self, iterations):
        return [*self.fit, "--max-iter", str(iterations)]

    def environment(self):
        return {**os.environ, "MANYMEANS_CPU_ISA": self.row["isa"]} if self.row["isa"] else None

    def clock_of_processor(self, result):
        return result["wall"]

    def read(self, output):
        models, provenance = output["models"], output["provenance"]
        if not self.alone() and [model["seed"] for model in models] != self.seeds:
            raise RowFailed("the seeds of the models are not those that the initial centroids were made from")
        phases = provenance["seconds"]
        counted = (SEEDING_PHASE,) if self.row["measure"] == "initialisation" else FIT_PHASES
        result = {"seconds": sum(phases[phase] for phase in counted), "phases": phases, "digest": output["digest"]}
        kept = {name: provenance[name] for name in ("plan", "instruction_set", "certified_share", "resolved_share")}
        kept.update({name: provenance[name] for name in ("algorithm", "reason") if name in provenance})
        kept["iterations"] = [model["iterations"] for model in models]
        kept["threads"] = [provenance["threads"]]
        kept["pass_log"] = pass_log(output)
        return result, kept


def pass_log(output):
    """The log of passes, where the program writes one: a list of objects with counts, among them `changed`."""
    for place in (output, output["provenance"], *output["models"][:1]):
        for value in place.values():
            if isinstance(value, list) and value and isinstance(value[0], dict) and "changed" in value[0]:
                return value[:LOGGED_PASSES]
    return None


class Other(Side):
    """A peer. `ours` has run before: where a peer never stops by itself, it gets our numbers of iterations."""

    def __init__(self, row, peer, prepared, ours):
        super().__init__(row)
        self.peer, self.ours, self.name = peer, ours, peer.name
        self.fit = [sys.executable, str(peer_table.WORKERS / peer.worker), prepared["points"], prepared["initial"]]
        self.fit += ["--threads", str(row["threads"]), "--models", str(self.models())]
        if row["measure"] == "initialisation":
            self.fit += ["--seeding", str(row["ks"][0]), "--seed", str(row["seed"])]

    def all_models(self):
        return self.row["models"] * len(self.row["ks"])

    def models(self):
        return min(self.row.get("peer_models", self.all_models()), self.all_models())

    def command(self, iterations):
        limits = [iterations]
        if self.row["measure"] != "per iteration" and (not self.peer.stops or self.row["stop"] != "strict"):
            limits = [max(1, count) for count in self.ours.kept[iterations]["iterations"]]
        return [*self.fit, "--max-iter", ",".join(map(str, limits))]

    def environment(self):
        return self.peer.environment(self.row["threads"], self.row["isa"])

    def read(self, output):
        pools = output["pools"]
        if any(pool["num_threads"] > self.row["threads"] for pool in pools):
            raise RowFailed(f"{self.name}: thread pools beyond the limit of {self.row['threads']}: {pools}")
        result = {key: output.pop(key) for key in ("seconds", "processor_seconds")}
        if self.models() < self.all_models():
            output["share"] = self.models() / self.all_models()
        return result, output
