"""The parameter limit: a function has at most five parameters, or a struct that says what they are.

clang-tidy could count them, but sees no kernels (src/backend/cuda/README.md). This reads the text of all files as clang-format has laid
it out: a type and a name stand side by side in lists of parameters, and in no list of arguments.
"""

import re

LIMIT = 5
PLACES = ("src/", "product/", "cli/", "include/", "python/bindings/")
NOT_OURS = "src/core/os/old_glibc.cpp"  # declares functions of the C library
ENDINGS = (".h", ".cpp", ".inc", ".cu", ".cuh")

# Comments, literals and lines of the preprocessor: their brackets and commas are no code.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'"""
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)
BRACKET = re.compile(r"->|[(){}\[\],>]|(?<=\w)<")
NESTED = "~"  # stands for a pair of brackets and what is inside
PARAMETER = re.compile(r"[\w~][&*.]*\s+[a-z_]\w*|\w\s+~~", re.IGNORECASE)
NO_PARAMETER = re.compile(r"\b(?:new|return|throw|case|else)\s")


def violations(path, text):
    """Lists of more than LIMIT parameters in the file `path` (relative to the root), as sentences."""
    if not path.startswith(PLACES) or not path.endswith(ENDINGS) or path == NOT_OURS:
        return []
    return [
        f"{path}:{line}: {count} parameters, more than {LIMIT}; let a struct say what belongs together"
        for line, count in parameter_lists(text)
        if count > LIMIT
    ]


def parameter_lists(text):
    """(line, how many parameters) of each list in round brackets that is one of parameters."""
    text = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " " if found[0][0] in "/# \t" else '"', found[0]), text)
    found, start = [], 0
    open_lists = [("", 0, [""])]  # the bracket, its place, and what stands between its commas
    for token in BRACKET.finditer(text):
        open_lists[-1][2][-1] += text[start : token.start()]
        start = token.end()
        if token[0] in ("(", "{", "[", "<"):
            open_lists[-1][2][-1] += NESTED
            open_lists.append((token[0], token.start(), [""]))
        elif token[0] == ",":
            open_lists[-1][2].append("")
        elif token[0] in (")", "}", "]"):
            while open_lists[-1][0] == "<":  # it was a comparison
                open_lists.pop()
            bracket, place, parts = open_lists.pop()
            if bracket == "(" and any(is_parameter(part) for part in parts):
                found.append((text.count("\n", 0, place) + 1, len(parts)))
        elif token[0] == ">" and open_lists[-1][0] == "<":
            open_lists.pop()
        else:
            open_lists[-1][2][-1] += token[0]
    return found


def is_parameter(part):
    return PARAMETER.search(part) is not None and NO_PARAMETER.search(part) is None


# (code, how many parameters its list with the most has): the script's own test.
EXAMPLES = [
    ("void f(int a, int b);", 2),
    ("void f(int a, int b, int c, int d, int e, int f);", 6),
    ("__device__ __forceinline__ void f(T a, const T& b, T* c, T&&... d,\n    int /*e*/, std::map<int, X> f) {", 6),
    ("template <int kA, int kB, int kC, int kD, int kE, int kF>\nvoid f(const float (&a)[kA], int b);", 2),
    ("void f(const std::array<int, 6>& a, int b = g(1, 2, 3, 4, 5, 6), X c = {1, 2, 3, 4, 5, 6});", 3),
    ("auto f = [&a, b](int c, int d, int e, int f, int g, int h) { return c; };", 6),
    ("C::C(int a, int b, int c, int d, int e, int f) : a_(a), b_(b) {}", 6),
    ("void (*launch)(int a, int b, int c, int d, int e, int f);", 6),
    ("f(a, b * c, d < e, g(h), i->j, k);", 0),
    ("f(a, b, c, d, e, [&](int g) { return g; });", 1),
    ("f(a, b, c, d, e, new int);", 0),
    ('f("int a", b, c, d, e, g);  // (int a, int b, int c, int d, int e, int f)', 0),
    ('asm volatile(A "b" B : C(0), C(1), C(2), C(3), C(4), C(5));', 0),
    ("#define F(int a, int b, int c, int d, \\\n          int e, int f)", 0),
    ("kernel<T, 2><<<blocks, threads, 0, stream>>>(a, b, c, d, e, f);", 0),
    ("if (a < b && c > d) f(int64_t{1}, b > c, c, d, e, f);", 0),
]


def self_test():
    """Examples that the script counts wrongly, as sentences; none when it works."""
    return [
        f"parameter limit: {code} has {most} parameters, not {counted}"
        for code, most in EXAMPLES
        if (counted := max((count for _, count in parameter_lists(code)), default=0)) != most
    ]
