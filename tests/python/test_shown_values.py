"""Messages show values as users write them: NumPy 2 would write np.float64(1.5)."""

import inspect
import pathlib
import re

import numpy as np
import pandas
import pytest

import manymeans
from manymeans import KMeans, RegressionClustering

X = np.arange(12.0).reshape(6, 2)
BAD = [
    np.float64(2.5),
    [np.bool_(True)],
    [np.float64(2.5)],
    {np.int64(1): np.uint64(2)},
    np.str_("seven"),
    np.datetime64("2020-01-01"),
]

CALLS = {
    "k": lambda value: manymeans.fit(X, value),
    "tol": lambda value: manymeans.fit(X, 2, tol=[value]),
    "seed": lambda value: manymeans.fit(X, 2, seed=value),
    "progress": lambda value: manymeans.fit(X, 2, progress=value),
    "callback": lambda value: manymeans.fit(X, 2, callback=value),
    "checkpoint": lambda value: manymeans.fit(X, 2, checkpoint=[value]),
    "random_state": lambda value: manymeans.criteria(X, [0, 0, 1, 1, 2, 2], random_state=value),
    "columns": lambda value: manymeans.read("x.csv", columns={"a": value}.values),
    "missing": lambda value: manymeans.read("x.csv", missing=[value]),
    "decimal": lambda value: manymeans.read("x.csv", decimal=value),
    "like": lambda value: manymeans.read("x.csv", like=value),
    "criterion": lambda value: manymeans.fit(X, 2).best(criterion=lambda model: [value]),
    "no criterion": lambda value: manymeans.fit(X, 2).best(criterion=value),
    "ask": lambda value: manymeans.fit_shards(value, 2),
    "label": lambda value: manymeans.compare([0.0, 1], np.array([0.5, 1])),
    "label of an object": lambda value: manymeans.compare([0, 1], pandas.Series([value, 1], dtype=object)),
    "points": lambda value: manymeans.fit(pandas.DataFrame({"a": [1, value]}, dtype=object), 1),
    "lists": lambda value: manymeans.fit(pandas.DataFrame({"a": [[1.0, 2.0], np.float64(3)]}), 1),
    "value of a list": lambda value: manymeans.fit(pandas.DataFrame({"a": [[1.0, np.str_("x")], [1.0, 2.0]]}), 1),
    "weights": lambda value: manymeans.fit(X, 2, sample_weight=np.str_("x")),
    "target": lambda value: RegressionClustering(1).fit(X, np.array([value] * 6, dtype=object)),
    "init": lambda value: KMeans(1, init=np.array([[value, 1]], dtype=object), n_init=1).fit(X),
    "switch": lambda value: manymeans.multiply(X, X, transpose_a=value),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_messages(call):
    seen = 0
    for value in BAD:
        try:
            CALLS[call](value)
        except (ValueError, TypeError) as error:
            assert not re.search(r"\b(np|numpy)\.\w+(\(|_)", str(error)), error
            seen += 1
    assert seen


def test_no_message_shows_a_value_in_another_way():
    """What is no text of the package goes through `shown`."""
    of_self = r"self\.(?:stop_reason|reason|status|answer)"
    texts = r"\{(name|value|" + of_self + r"|type\(self\)\.__name__|os\.fsdecode\(path\)|model|__name__)!r"
    folder = pathlib.Path(inspect.getfile(manymeans)).parent
    for file in folder.glob("*.py"):
        for line in file.read_text().splitlines():
            rest = re.sub(texts, "", line) if file.name != "_wording.py" else ""
            assert "!r" not in rest, f"{file.name}: {line}"
