"""Section "Digest"."""

import struct

from .random_numbers import LABEL_SUM, WORD, philox
from .stop_rules import RULES
from .xxh3 import xxh3_128

LABEL_KEY = 0x6D616E796D65616E
STOP_CODES = {"strict": 1, "cycle": 6, "max_iter": 7} | {name: number for name, (number, _) in RULES.items()}


def label_sum(labels):
    """The sum of all rows' label terms mod 2^128."""
    total = 0
    for row, label in enumerate(labels):
        words = philox((row & WORD, row >> 32, label, LABEL_SUM), LABEL_KEY)
        total += sum(value << 32 * i for i, value in enumerate(words))
    return total % (1 << 128)


def hexadecimal(parts):
    low, high = parts
    return f"{high:016x}{low:016x}"


def model_hash(model, kind):
    """XXH3-128 of a model, (low, high)."""
    total = label_sum(model.labels)
    data = struct.pack("<QQQ", len(model.prototypes), len(model.prototypes[0]), kind.code)
    data += b"".join(kind.bytes(value) for c in model.prototypes for value in c)
    data += struct.pack("<dQQ", model.inertia, model.iterations, STOP_CODES[model.stop])
    return xxh3_128(data + struct.pack("<QQ", total % (1 << 64), total >> 64))


def ensemble_digest(hashes):
    return hexadecimal(xxh3_128(b"".join(struct.pack("<QQ", *one) for one in hashes)))
