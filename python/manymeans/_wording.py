"""The library's messages in the words of Python: parameters for flags, rows from 0, columns by name."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

# The library's names for the arguments of a user of Python.
_PARAMETERS = {
    "points": "X", "initial prototypes": "init", "prototypes": "centers", "weights": "sample_weight",
    "every": "checkpoint_every", "members": "ensemble", "search_time": "time",
}  # fmt: skip

# Arrays, whose columns are counted as rows are. The columns of files are counted from 1, as in `columns=`.
_ARRAYS = {"points", "initial prototypes", "prototypes", "target"}

# Texts with more than one flag, or with another name in Python.
_PHRASES = {
    "--missing mean, median or a number": 'missing="mean", missing="median" or a number',
    "strategy data": 'manymeans.fit(X, k, strategy="data")',  # estimators of one k have no strategy
    "--numeric-only": "numeric_only=True",
    "--shard reads all files of a pattern": "one file is read",
    "a wider --dtype": "a wider dtype",
}
_NAMES = {"clusters": "k", "device": "backend", "threads": "n_threads", "device_memory": "memory"}

_VALUES = (
    r"-?\d+(?:\.\d+)?|yes|no|drop|mean|median|onehot|standard|cpu|reference|float32|float64|bfloat16|auto|brute|farthest|keep|"
    r"k-means\+\+|k-means\|\||random|first"
)
_TOKEN = re.compile(
    r"column \d+ \('(?P<name>[^']*)'\)"
    r"|(?<!\w)'[^']*'"  # what a user wrote, and command lines
    r"|\b(?P<of>rows?) (?P<row>\d+)(?: and (?P<other>\d+) on)?(?!\d|,? (?:to|counted))(?P<line> \(line \d+\))?"
    r"(?:, column (?P<column>\d+)(?! \('|\d))?"
    r"|(?P<phrase>" + "|".join(map(re.escape, _PHRASES)) + ")"
    r"|--(?:long|arrow)\b"  # flags of other programs
    rf"|--(?P<flag>[a-z][a-z-]*)(?: (?P<value>(?:{_VALUES})(?!\w)|,(?!\w)))?"
)
_PLACE = re.compile(
    r"(?P<rank>\[(?:rank|problem) \d+\] )?(?P<error>\w*(?:Error|Exception|Interrupt): )?(?:\[(?P<place>[^\]]*)\] )?"
)


# As in cli/streams/printable.cpp. Line breaks stay, and so do surrogates: names of files stay as they are.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def printable(text: str) -> str:
    """Escape what would control a terminal, turn the text around, or not be seen there."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


# How NumPy shows its scalars: np.float64(1.5), np.str_('a'), np.True_, numpy.datetime64('2020-01-01').
_SCALAR = re.compile(r"\b(?:np|numpy)\.(?:\w+\(('[^']*'|[^()]*)\)|(True|False)_)")


def shown(value: Any) -> str:
    """Show a value in a message as users write it, cut off where it is long."""
    return f"{_SCALAR.sub(lambda found: found[1] or found[2], repr(value)):.60}"


def in_python(text: str) -> str:
    """Say what the library says as users of Python need it. Quoted text stays unchanged.

    Parameters
    ----------
    text : str
        A message of the library; ``[place] ...`` where it is an error.

    Returns
    -------
    text : str
        For ``[points] row 3, column 2 is NaN`` this is ``[X] row 2, column 1 is NaN``.

    """
    found = _PLACE.match(text)
    assert found is not None  # it matches nothing, too
    if found["error"] is not None:
        return text  # another rank's Python has said it so
    place = found["place"]
    rest = _TOKEN.sub(lambda token: _said(token, of_array=place in _ARRAYS), text[found.end() :])
    if place is None:
        return (found["rank"] or "") + rest
    if place in _PARAMETERS and not (place == "weights" and rest.startswith("'")):  # those are a column's or a file's
        place = _PARAMETERS[place]
    return f"{found['rank'] or ''}[{place}] {rest}"


# Parameters of `read` that its messages name, with their value. Quoted text stays unchanged.
_OF_READ = re.compile(
    r"(?<!\w)'[^']*'|^\[[^\]]*\]"
    r"|(?<!\w)(?P<name>columns|exclude|numeric_only|missing|categories|most_categories|decimal|dtype|id|weights|format|header)="
    r'(?P<value>True|"[^"]*"|-?\d+)?'
)


def of_read(text: str, own: Container[str] = (), given: str = "path") -> str:
    """Say whose parameters a message of `read` names, where another function has read the file.

    Parameters
    ----------
    text : str
        A message in the words of Python.
    own : container of str, optional
        Parameters that this function has, too.
    given : str, default="path"
        What `read` would get.

    Returns
    -------
    text : str
        For ``leave it out with exclude=`` this is ``leave it out with manymeans.read(path, exclude=...)``.

    """

    def said(found: re.Match[str]) -> str:
        if not found["name"] or found["name"] in own:
            return found[0]
        return f"manymeans.read({given}, {found['name']}={found['value'] or '...'})"

    return _OF_READ.sub(said, text)


# Advice to leave out or change a column that a model needs. Quoted text stays unchanged.
_OF_MODEL = re.compile(
    r"(?<!\w)'[^']*'"
    r"|(?P<text>; (?:leave the column out with exclude=, all that hold text with numeric_only=True, or )?make each text"
    r' a column with categories="onehot"(?:, or leave the column out with exclude=)?)'
    r"|, or leave (?:it|the column) out with (?:exclude|columns)=|leave the column out with exclude=, or (?=make)"
)


def of_model(text: str) -> str:
    """Give only the advice of `read` that keeps the columns of a model, where rows are read for it.

    Parameters
    ----------
    text : str
        A message in the words of Python.

    Returns
    -------
    text : str
        For ``fill gaps with missing=, or leave the column out with exclude=`` this is ``fill gaps with missing=``.

    """
    return _OF_MODEL.sub(
        lambda found: "; the model was fitted to numbers" if found["text"] else found[0] if found[0][0] == "'" else "",
        text,
    )


# Advice that names parameters of `read`, of columns that are left out.
_OF_COLUMNS = re.compile(
    r"(?:: | \()exclude=\)?|, or id=, which lets it name the rows"
    "|(?<=their place) in the file"
)


def of_array(text: str) -> str:
    """Leave the parameters of `read` out of a warning about a column, where the points are no file.

    Parameters
    ----------
    text : str
        A message in the words of Python.

    Returns
    -------
    text : str
        For ``leave it out: exclude=, or make numbers of days of it`` this is ``leave it out, or make ...``.

    """
    return _OF_COLUMNS.sub("", text)


def _said(token: re.Match[str], *, of_array: bool) -> str:
    if token["name"] is not None:
        return f"column '{token['name']}'"
    if token["row"] is not None:
        other = "" if token["other"] is None else f" and {int(token['other']) - 1} on"
        row = f"{token['of']} {int(token['row']) - 1}{other}{token['line'] or ''}"
        if token["column"] is None:
            return row
        return f"{row}, column {int(token['column']) - 1}" if of_array else f"{row}, column {token['column']} (from 1)"
    if token["phrase"] is not None:
        return _PHRASES[token["phrase"]]
    if token["flag"] is not None:
        return _parameter(token["flag"], token["value"])
    return token[0]


def _parameter(flag: str, value: str | None) -> str:
    name = flag.replace("-", "_")
    name = _NAMES.get(name, name)
    if value is None:
        return f"{name}="
    return f"{name}={value}" if value[0] in "-0123456789" else f'{name}="{value}"'
