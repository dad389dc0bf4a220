"""Seeds, from what scikit-learn calls random_state."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import UsageError
from ._parameters import integer
from ._wording import shown


def seed_of(random_state: Any) -> int:
    """Give the seed that a scikit-learn random_state means.

    An int is taken as it is. A generator draws a number. If nothing was drawn from it since ``RandomState(s)`` or
    ``numpy.random.seed(s)``, this number is s, with the meaning that s has in scikit-learn.

    Raises
    ------
    UsageError
        For anything else.

    """
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return integer("random_state", random_state, 0, 2**64 - 1)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63))
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if not isinstance(random_state, np.random.RandomState):
        raise UsageError(f"[random_state] is {shown(random_state)}; an int, None or a generator of NumPy is right")
    seed = _unused_seed(random_state)
    drawn = int(random_state.randint(0, 2**63, dtype=np.int64))  # also here: the next fit shall get another seed
    return drawn if seed is None else seed


def _unused_seed(generator: np.random.RandomState) -> int | None:
    """Give s for a generator that is in the state of RandomState(s)."""
    state: Any = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937" or state["has_gauss"]:
        return None
    seed = int(state["state"]["key"][0])  # the first word of the state is the seed itself
    fresh: Any = np.random.RandomState(seed).get_state(legacy=False)
    same = state["state"]["pos"] == fresh["state"]["pos"] and np.array_equal(
        state["state"]["key"], fresh["state"]["key"]
    )
    return seed if same else None
