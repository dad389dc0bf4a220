"""XXH3-128 without a seed, for the lengths that a digest has: more than eight bytes. From the description of xxHash."""

MASK = (1 << 64) - 1
P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def word(data, at, size=8):
    return int.from_bytes(data[at : at + size], "little")


def avalanche(h):
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & MASK
    return h ^ h >> 32


def folded(a, b):
    product = a * b
    return (product & MASK) ^ (product >> 64)


def mix16(data, at, secret):
    return folded(word(data, at) ^ word(SECRET, secret), word(data, at + 8) ^ word(SECRET, secret + 8))


def mix32(low, high, data, first, second, secret):
    low = (low + mix16(data, first, secret) & MASK) ^ (word(data, second) + word(data, second + 8) & MASK)
    high = (high + mix16(data, second, secret + 16) & MASK) ^ (word(data, first) + word(data, first + 8) & MASK)
    return low, high


def to_16(data):
    n = len(data)
    tail = word(data, n - 8)
    product = (word(data, 0) ^ tail ^ word(SECRET, 32) ^ word(SECRET, 40)) * P64[0]
    low, high = (product & MASK) + (n - 1 << 54) & MASK, product >> 64
    tail ^= word(SECRET, 48) ^ word(SECRET, 56)
    high = high + tail + (tail & 0xFFFFFFFF) * (P32[1] - 1) & MASK
    low ^= int.from_bytes(high.to_bytes(8, "little"), "big")
    product = low * P64[1]
    return avalanche(product & MASK), avalanche((product >> 64) + high * P64[1] & MASK)


def finished(low, high, n):
    mixed = low * P64[0] + high * P64[3] + n * P64[1] & MASK
    return avalanche(low + high & MASK), -avalanche(mixed) & MASK


def to_128(data):
    n = len(data)
    low, high = n * P64[0] & MASK, 0
    for i in reversed(range((n - 1) // 32 + 1)):
        low, high = mix32(low, high, data, 16 * i, n - 16 * (i + 1), 32 * i)
    return finished(low, high, n)


def to_240(data):
    n = len(data)
    low, high = n * P64[0] & MASK, 0
    for i in range(n // 32):
        low, high = mix32(low, high, data, 32 * i, 32 * i + 16, 32 * i if i < 4 else 3 + 32 * (i - 4))
        if i == 3:
            low, high = avalanche(low), avalanche(high)
    low, high = mix32(low, high, data, n - 16, n - 32, 136 - 17 - 16)
    return finished(low, high, n)


def add_stripe(acc, data, at, secret):
    for i in range(8):
        value = word(data, at + 8 * i)
        keyed = value ^ word(SECRET, secret + 8 * i)
        acc[i ^ 1] = acc[i ^ 1] + value & MASK
        acc[i] = acc[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32) & MASK


def merged(acc, secret, start):
    for i in range(4):
        start += folded(acc[2 * i] ^ word(SECRET, secret + 16 * i), acc[2 * i + 1] ^ word(SECRET, secret + 16 * i + 8))
    return avalanche(start & MASK)


def longer(data):
    n = len(data)
    acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]
    stripes = (len(SECRET) - 64) // 8
    for stripe in range((n - 1) // 64):
        add_stripe(acc, data, 64 * stripe, 8 * (stripe % stripes))
        if stripe % stripes == stripes - 1:
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ word(SECRET, len(SECRET) - 64 + 8 * i)) * P32[0] & MASK
    add_stripe(acc, data, n - 64, len(SECRET) - 64 - 7)
    low = merged(acc, 11, n * P64[0] & MASK)
    return low, merged(acc, len(SECRET) - 64 - 11, ~(n * P64[1]) & MASK)


def xxh3_128(data):
    """The hash as (low, high)."""
    n = len(data)
    if n <= 16:
        return to_16(data)
    if n <= 128:
        return to_128(data)
    return to_240(data) if n <= 240 else longer(data)
