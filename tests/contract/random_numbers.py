"""Section "Random": Philox4x32-10 of Random123 and what is drawn with it."""

M0, M1, W0, W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF
MEMBER_SEED, FIRST_CENTRE, CANDIDATE, RANDOM_ROW, OVERSAMPLING, LABEL_SUM = range(1, 7)


def philox(counter, key):
    """The four words for a counter of four words and a key of 64 bits."""
    a, b, c, d = counter
    k0, k1 = key & WORD, key >> 32
    for _ in range(10):
        left, right = M0 * a, M1 * c
        a, b, c, d = (right >> 32) ^ b ^ k0, right & WORD, (left >> 32) ^ d ^ k1, left & WORD
        k0, k1 = (k0 + W0) & WORD, (k1 + W1) & WORD
    return a, b, c, d


def u64(seed, index, draw, purpose):
    """The u of an index, a draw and a purpose."""
    words = philox((index & WORD, index >> 32, draw, purpose), seed)
    return words[0] | words[1] << 32


def mix(seed, k, replica):
    """The seed of a member."""
    return u64(seed, k, replica, MEMBER_SEED)


def pick(u, amounts):
    """The first index whose prefix sum is above floor(u * total / 2^64)."""
    target = u * sum(amounts) >> 64
    prefix = 0
    for i, amount in enumerate(amounts):
        prefix += amount
        if prefix > target:
            return i
    raise AssertionError("no amount is above zero")


def random_rows(count, q, seed, chosen=()):
    """`random`: the rows of the places after those chosen already, and whether only rows of weight zero were left."""
    rows, places = list(chosen), len(chosen) + count
    if len(set(q)) > 1:
        while len(rows) < places:
            taken = set(rows)
            left = [0 if i in taken else weight for i, weight in enumerate(q)]
            if not any(left):
                break
            rows.append(pick(u64(seed, len(rows), 1, RANDOM_ROW), left))
    taken = set(rows)
    others = sorted((u64(seed, i, 0, RANDOM_ROW), i) for i in range(len(q)) if i not in taken)
    return rows + [i for _, i in others[: places - len(rows)]]
