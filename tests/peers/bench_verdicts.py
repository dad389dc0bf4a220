"""How ./dev bench judges: the worse of a row's data counts, missing measurements are no success, merging keeps the later.

usage: bench_verdicts.py PROGRAM (which is not needed)
"""

from peer_tools import expect
import merging
import suite_rows
import verdicts

SUITE = {
    "name": "test",
    "rows": [{"name": "row", "k": "2..4", "models": 2, "threads": [2, 16], "isa": [None, "avx2"],
              "variants": {"noise": {"set": "noise", "n": 1000, "d": 4, "seed": 1},
                           "mixture": {"set": "mixture", "n": 1000, "d": 4, "components": 2, "separation": 4, "seed": 1}},
              "wanted": {"scikit-learn": 8, "best peer": 6, "memory": 2, "speedup over 2 threads": {"16": 6}}}],
}


def measured(row, ours, peers, memory=20_000):
    peers = {name: {"counts": value} for name, value in peers.items()}
    return {**row, "data": {**row["data"], "bytes": 16_000}, "peers": peers,
            "others_share": 0.0, "able_peers": list(peers) or ["scikit-learn"], "manymeans": {"counts": ours, "peak_memory": memory}}


def reached(rows):
    return {(entry["what"], entry["row"]["threads"]): (entry["reached"], entry["variant"]) for entry in verdicts.verdicts(rows)}


def check_rows():
    rows = suite_rows.expanded(SUITE)
    expect(len(rows) == 8 and len({suite_rows.key(row) for row in rows}) == 8, "2 variants x 2 thread counts x 2 isa")
    expect(rows[0]["ks"] == [2, 3, 4], "the range of k")
    expect(len(suite_rows.expanded(SUITE, "noise, 16 threads, avx2")) == 1, "a pattern picks one row")
    return [row for row in rows if row["isa"] is None]


def check_verdicts(rows):
    by_title = {(row["variant"], row["threads"]): row for row in rows}
    good = measured(by_title["noise", 2], 1.0, {"scikit-learn": 10.0, "faiss-cpu": 7.0})
    worse = measured(by_title["mixture", 2], 1.0, {"scikit-learn": 9.0, "faiss-cpu": 5.0}, memory=40_000)
    both = reached([good, worse])
    expect(both["scikit-learn", 2] == (True, "mixture"), "9 is the worse of 10 and 9, and enough for 8")
    expect(both["best peer", 2] == (False, "mixture"), "5 is not enough for 6")
    expect(both["memory", 2] == (False, "mixture"), "of memory the most is the worst")
    expect(reached([good])["best peer", 2] == (None, "noise"), "one variant of two is no success")
    expect(reached([worse])["best peer", 2] == (False, "mixture"), "but it is enough to fail")
    lacking = [{**row, "able_peers": ["scikit-learn", "faiss-cpu", "third"]} for row in (good, good | {"variant": "mixture"})]
    expect(reached(lacking)["best peer", 2][0] is None, "without a peer that could take part the best is not known")
    expect(reached(lacking)["scikit-learn", 2][0] is True, "but a comparison with another one is")
    busy = [{**good, "others_share": 0.5}, {**worse, "others_share": 0.0}]
    expect(reached(busy)["scikit-learn", 2][0] is None, "on a busy machine nothing is reached")
    expect(reached(busy)["best peer", 2][0] is False, "but missed")
    alone = measured(by_title["noise", 2], 1.0, {})
    expect(reached([alone])["best peer", 2] == (None, ""), "without a peer nothing is known")
    not_held = {**good, "peers": {"scikit-learn": {"counts": 10.0}, "faiss-cpu": {"counts": 1.0, "not_held": True}}}
    expect(verdicts.ratios(not_held) == {"scikit-learn": 10.0}, "a peer on other instructions does not count")
    many = measured(by_title["noise", 16], 0.2, {"scikit-learn": 10.0})
    expect(reached([good, many])["speedup over 2 threads", 16] == (False, "noise"), "5 times is not 6")


def check_merging(rows):
    result = {"suite": "test", "quick": False, "machine": {"cpu_family_model_stepping": [1, 2, 3], "cpu": "x"}, "runs": [1]}
    old = {**result, "notes": [f"{suite_rows.title(rows[1])}: left out: the budget"], "rows": [measured(rows[0], 2.0, {})]}
    new = {**result, "notes": [], "rows": [measured(rows[0], 1.0, {}), measured(rows[1], 3.0, {})], "runs": [2]}
    about, merged, notes = merging.merged([old, new])
    expect([row["manymeans"]["counts"] for row in merged] == [1.0, 3.0], "the later measurement of a row counts")
    expect(about["runs"] == [1, 2], "both runs are named")
    expect(notes == [], "what was left out and measured later is no longer noted")
    try:
        merging.merged([old, {**new, "quick": True}])
    except SystemExit:
        return
    expect(False, "a trial was merged with a measurement")


def main():
    rows = check_rows()
    check_verdicts(rows)
    check_merging(rows)
    print("rows, verdicts and merging are as documented")


main()
