"""From measured rows to what a suite wants: ratios, shares of what the machine can do, and whether they are reached.

A row of a suite that has several variants of its data is judged by its worst one.
"""

BUSY = 0.15  # more of the processors in other hands, and a success proves nothing
LOWER_IS_BETTER = {"memory", "seconds"}


def ratios(row):
    """How many times faster than each peer we are. Peers that were not held to the row's instruction set do not count."""
    ours = row["manymeans"]["counts"]
    return {name: peer["counts"] / ours for name, peer in row["peers"].items() if not peer.get("not_held")}


def distances(row):
    """Evaluated by the textbook in one iteration of all models."""
    return row["data"]["n"] * sum(row["ks"]) * row["models"]


def rate(row, *words):
    """What the machine was measured to do in the same run, where the program says it: the first name with all words."""
    for name, value in row.get("rates", {}).items():
        if all(word in name.lower() for word in words):
            return value
    return None


def _matrix_share(row):
    peak = rate(row, "amx", "gflops") or rate(row, "matrix", "gflops")
    return 2e-9 * distances(row) * row["data"]["d"] / row["manymeans"]["counts"] / peak if peak else None


def _speedup(row, rows, fewer):
    """This row's speed over that of the same row on fewer threads."""
    for other in rows:
        same = all(other[name] == row[name] for name in ("suite", "name", "variant", "isa"))
        if same and other["threads"] == fewer:
            return other["manymeans"]["counts"] / row["manymeans"]["counts"], other
    return None, None


def _bandwidth_share(row, rows):
    speedup, fewer = _speedup(row, rows, 2)
    now, before = rate(row, "read"), fewer and rate(fewer, "read")
    return speedup / (now / before) if speedup and now and before else None


def value_of(what, row, rows):
    """The measured value of one wanted thing; None where it cannot be told."""
    found = ratios(row)
    if what == "best peer":
        return min(found.values(), default=None)
    if what in ("matrix rate", "memory", "seconds"):
        return {"matrix rate": lambda: _matrix_share(row),
                "memory": lambda: row["manymeans"]["peak_memory"] / row["data"]["bytes"],
                "seconds": lambda: row["manymeans"]["counts"]}[what]()
    if what == "speedup over 2 threads":
        return _speedup(row, rows, 2)[0] if row["threads"] > 2 else None
    if what == "share of the bandwidth ratio":
        return _bandwidth_share(row, rows) if row["threads"] > 2 else None
    return found.get(what)


def wanted_of(row):
    """{thing: number} for this row; a thing may be wanted on some thread counts only: {"16": 6}."""
    result = {}
    for what, number in row["wanted"].items():
        if isinstance(number, dict):
            number = number.get(str(row["threads"]))
        if number is not None:
            result[what] = number
    return result


def groups(rows):
    """Rows that are variants of one, in order."""
    found = {}
    for row in rows:
        found.setdefault((row["suite"], row["name"], row["threads"], row["isa"]), []).append(row)
    return list(found.values())


def _complete(what, group, known):
    """Whether nothing is missing that could make it worse: all variants, and for the best peer all peers that can;
    and whether the machine was ours."""
    if len(known) < len(group[0]["all_variants"]):
        return "not all variants measured"
    missing = sorted({name for row in group for name in row["able_peers"] if name not in row["peers"]})
    if what == "best peer" and missing:
        return f"not measured: {', '.join(missing)}"
    if what != "memory" and any(row["others_share"] > BUSY for row in group):
        return "other programs were in the way"
    return None


def verdicts(rows):
    """One entry a group and wanted thing: {row, what, wanted, value, variant, reached, lacking}.

    reached is None where that cannot be told, and lacking says why. A failure can be told from a part of the
    measurements, a success only from all of them.
    """
    result = []
    for group in groups(rows):
        for what, number in wanted_of(group[0]).items():
            values = [(value_of(what, row, rows), row) for row in group]
            known = [(value, row) for value, row in values if value is not None]
            entry = {"row": group[0], "what": what, "wanted": number, "value": None, "variant": "", "reached": None,
                     "lacking": "not known"}
            if known:
                worst = max if what in LOWER_IS_BETTER else min
                entry["value"], row = worst(known, key=lambda pair: pair[0])
                entry["variant"], entry["lacking"] = row["variant"], _complete(what, group, known)
                good = entry["value"] <= number if what in LOWER_IS_BETTER else entry["value"] >= number
                entry["reached"] = None if good and entry["lacking"] else good
            result.append(entry)
    return result
