"""The contract's seeds and its initialisation `random` in NumPy, so that another library can start from the very rows
from which each model of an ensemble starts. Philox4x32-10 as in Random123."""

import numpy as np

MEMBER_SEED, RANDOM_ROW = 1, 4  # the contract's purposes
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def random_u64(key, index, draw, purpose):
    """The first two words of Philox(key; index low, index high, draw, purpose), for an array of indices."""
    index = np.atleast_1d(np.asarray(index, dtype=np.uint64))
    a, b = index & LOW, index >> HALF
    c, d = np.full_like(index, draw), np.full_like(index, purpose)
    low, high = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        left, right = MULTIPLIERS[0] * a, MULTIPLIERS[1] * c
        a, b, c, d = (right >> HALF) ^ b ^ np.uint64(low), right & LOW, (left >> HALF) ^ d ^ np.uint64(high), left & LOW
        low, high = (low + WEYL[0]) & 0xFFFFFFFF, (high + WEYL[1]) & 0xFFFFFFFF
    return a | (b << HALF)


def member_seed(seed, k, replica):
    return int(random_u64(seed, k, replica, MEMBER_SEED)[0])


def random_rows(n, k, seed):
    """The k rows with the smallest (random number, row)."""
    numbers = random_u64(seed, np.arange(n), 0, RANDOM_ROW)
    few = np.flatnonzero(numbers <= np.partition(numbers, k - 1)[k - 1])
    return few[np.argsort(numbers[few], kind="stable")][:k]
