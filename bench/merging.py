"""One result of several runs of a suite: its rows may be measured one at a time, on a machine lent for minutes."""

import suite_rows


def merged(results):
    """(about, rows, notes) of all results; of a row measured twice the later measurement counts."""
    about = {**results[0], "runs": []}
    rows, notes = {}, []
    for result in results:
        for what in ("suite", "quick"):
            if result[what] != about[what]:
                raise SystemExit(f"cannot merge: {what} is {about[what]} here and {result[what]} there")
        if result["machine"]["cpu_family_model_stepping"] != about["machine"]["cpu_family_model_stepping"]:
            raise SystemExit(f"cannot merge: measured on {about['machine']['cpu']} and on {result['machine']['cpu']}")
        for one in result["runs"]:
            about["runs"] += [one] if one not in about["runs"] else []
        for row in result["rows"]:
            rows[suite_rows.key(row)] = row
        notes += [note for note in result["notes"] if note not in notes]
    titles = {suite_rows.title(row) for row in rows.values()}
    notes = [note for note in notes if not (note.rsplit(": left out", 1)[0] in titles and ": left out" in note)]
    for name in ("rows", "notes"):
        about.pop(name, None)
    return about, list(rows.values()), notes
