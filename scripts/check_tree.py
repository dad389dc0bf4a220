#!/usr/bin/env python3
"""Checks that need nothing but git and Python: include rule, parameters, file lengths and names, private paths, quotes, links."""

import pathlib
import re
import subprocess
import sys

import include_rule
import parameter_limit
import prose

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = {"src": 600, "product": 600, "cli": 600, "include": 600, "scripts": 600, "CMakeLists.txt": 150}
# Names that tools demand, so more than one file has them.
SHARED_NAMES = {"CMakeLists.txt", "README.md", "pyproject.toml", "__init__.py"}
# Places that exist on one person's machine only.
PRIVATE = re.compile(r"(?<![\w.\-/])/(?:%s)/" % "|".join(["home", "root", "Users", "work", "mnt"]))

# In a document: the code block below this line stands in that file, word for word.
QUOTE = re.compile(r"<!-- from (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)

# Pages that describe the tree as it is; others record what was measured.
PAGES = ("docs/", "README", "HACKING", "CONTRIBUTING", "bench/results/EXPERIMENTS.md")
README = re.compile(r"(?:src|product|cli|python|tests|scripts)/(?:.*/)?README\.md$|bench/README\.md$")  # of folders, likewise

# In a document: a file of the tree.
REFERENCE = re.compile(r"`([\w./-]+\.(?:h|cpp|cu|cuh|py|md|cmake))`")

# In a document: a link to a heading of a page, and a heading.
LINK = re.compile(r"\]\(([\w./-]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

# Options of other programs that documents name.
FOREIGN_OPTIONS = {"--bind-to", "--map-by", "--mpi", "--long", "--nredo", "--prefix", "--args", "--gtest_filter",
                   "--use_fast_math", "--n_clusters", "--n_jobs"}

# Numbers that stand in a document or in a help text, and the constants that they quote.
NUMBERS = [
    ("include/manymeans/options.h", r"kdtree \(few columns: at most (\d+)", "src/backend/cpu/tree/kd_tree.h", "kMaxTreeColumns"),
    ("include/manymeans/options.h", r"at most \d+, (\d+) on CUDA", "src/backend/cuda/bounding_boxes/boxed_points.h", "kMaxBoxColumns"),
    ("docs/user/opencl.md", r"`kdtree` \(up to (\d+) columns", "src/backend/opencl/tree/leaf_tree.h", "kMaxTreeColumns"),
]

# Files that repeat the version of CMakeLists.txt.
VERSIONS = {"CITATION.cff": r"^version: (\S+)$", "README.md": r"^  version = \{(\S+)\}$", "conda/recipe.yaml": r'^  version: "(\S+)"$',
            "python/cuda/pyproject.toml": r'^(?:version = |dependencies = \["manymeans==)"?([\d.]+)"'}

# Calls of the CUDA runtime that the library makes in these files only: elsewhere they would race with other threads, or wait
# for a device for ever.
ONE_PLACE = {
    "cudaFuncSetAttribute": ({"kernel_memory.cpp"}, "allow_all_shared_memory()"),
    "cudaStreamSynchronize": ({"cuda_memory_space.cu", "kept_memory.cpp"}, "Stream::synchronize()"),
    "cudaEventSynchronize": (set(), "Event::synchronize()"),
    "cudaDeviceSynchronize": ({"cuda_memory_space.cu"}, "Stream::synchronize()"),
    "cudaMemcpy(": (set(), "read_back() or copy_to_device()"),
}

# What gives views: clang 14 and 15, which build the fuzzers on Debian 12, cannot compile those of GCC 12's library.
VIEWS = re.compile(r"std::(?:views|ranges::(?:views|subrange|unique|remove|remove_if|partition|stable_partition|rotate|search"
                   r"|search_n|equal_range|find_end))\b")


def tracked_files():
    """Files of the tree; those not yet added count too."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


def text_of(name):
    """The file's text, or None where it is not text."""
    raw = (ROOT / name).read_bytes()
    return None if b"\0" in raw[:4096] else raw.decode("utf-8", errors="replace")


def check_length(name, text):
    path = pathlib.PurePosixPath(name)
    if path.suffix == ".lock":
        return []
    limit = MAX_LINES.get(path.name, MAX_LINES.get(path.parts[0]) if len(path.parts) > 1 else None)
    lines = text.count("\n")
    return [f"{name}: {lines} lines, more than {limit}; split it"] if limit and lines > limit else []


def check_private(name, text):
    places = [
        f"{name}:{number}: names a place that other machines lack: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), 1)
        if PRIVATE.search(line) or str(ROOT) + "/" in line
    ]
    return places


def check_quotes(name, text):
    if not name.endswith(".md"):
        return []
    return [
        f"{name}: the code block marked 'from {source}' differs from that file"
        for source, code in QUOTE.findall(text)
        if not (ROOT / source).is_file() or code not in text_of(source)
    ]


def is_page(name):
    return name.startswith(PAGES) or README.match(name) is not None


def check_references(name, text, names):
    """Files that a page names are files of the tree, unless a build makes them or NAME stands for a name."""
    if not is_page(name):
        return []
    ends = {"/".join(path.split("/")[first:]) for path in names for first in range(path.count("/") + 1)}
    return [f"{name}: names {found}, which is no file of the tree" for found in sorted(set(REFERENCE.findall(text)))
            if found not in ends and not found.startswith("build/") and "NAME" not in found]


def check_anchors(name, text):
    """Links lead to headings, whose anchors are their words in lower case."""
    if not name.endswith(".md"):
        return []
    problems = []
    for path, anchor in LINK.findall(text):
        page = (ROOT / name).parent / path if path else ROOT / name
        found = page.read_text(encoding="utf-8") if page.is_file() else ""
        anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(found)}
        if anchor not in anchors and f'<a id="{anchor}">' not in found:
            problems.append(f"{name}: links to {path}#{anchor}, which is no heading")
    return problems


def check_options(name, text, code):
    """Options that a page quotes stand in some code."""
    if not is_page(name) or not name.endswith(".md"):
        return []
    quoted = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9_-]+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    return [f"{name}: quotes {option}, which no program here has" for option in sorted(quoted - FOREIGN_OPTIONS)
            if not re.search(rf"{option}(?![\w-])", code)]


def check_numbers():
    problems = []
    for page, pattern, source, constant in NUMBERS:
        quoted = re.search(pattern, text_of(page).replace('"\n                 "', ""))
        defined = re.search(rf"\b{constant} = (\d+);", text_of(source))
        if not quoted or not defined or quoted[1] != defined[1]:
            problems.append(f"{page}: '{pattern}' does not quote {constant} of {source}")
    return problems


def check_versions():
    version = re.search(r"^  VERSION (\S+)$", text_of("CMakeLists.txt"), re.MULTILINE)[1]
    found = {name: re.findall(pattern, text_of(name), re.MULTILINE) for name, pattern in VERSIONS.items()}
    return [f"{name}: has version {quoted}, and CMakeLists.txt has {version}" for name, quoted in found.items() if set(quoted) != {version}]


def check_calls(name, text):
    base = pathlib.PurePosixPath(name).name
    return [
        f"{name}: calls {call.rstrip('(')}; {instead} is for that"
        for call, (places, instead) in ONE_PLACE.items()
        if name.startswith(("src/", "product/")) and call in text and base not in places
    ]


def check_views(name, text):
    return [
        f"{name}: {found} does not compile where clang builds the fuzzers; take the algorithm of namespace std"
        for found in sorted({match[0] for match in VIEWS.finditer(text)})
        if name.startswith(("src/", "product/", "include/", "tests/fuzz/"))
    ]


def check_names(names):
    first, problems = {}, []
    for name in names:
        base = pathlib.PurePosixPath(name).name
        if base in SHARED_NAMES or name.startswith("."):
            continue
        if base in first:
            problems.append(f"{name}: {first[base]} has the same file name; give each its own")
        first.setdefault(base, name)
    return problems


def types_of(text):
    """Types that a file defines in a namespace that other files see, with that namespace."""
    spaces = []
    for line in text.splitlines():
        if opened := re.match(r"(?:inline )?namespace ?([\w:]*) \{", line):
            spaces.append(opened[1])
        elif spaces and re.match(r"\}  // namespace", line):
            spaces.pop()
        elif "" not in spaces and (found := re.match(r"(?:struct|class) (\w+)(?: final)?(?: :| ?\{)", line)):
            yield "::".join([*spaces, found[1]])


def check_types(names):
    """Two types of one name in one namespace: the linker takes one's destructor for the other's, without a word."""
    first, problems = {}, []
    for name in names:
        if not name.startswith(("src/", "product/", "include/")) or not name.endswith((".h", ".cuh", ".cpp", ".cu")):
            continue
        for found in types_of(text_of(name)):
            if first.setdefault(found, name) != name:
                problems.append(f"{name}: {first[found]} has a type {found}, too; give each its own name")
    return problems


def main():
    names = tracked_files()
    code = "\n".join(text_of(name) for name in names if name == "dev" or name.endswith((".py", ".cpp", ".h", ".sh")))
    problems = include_rule.self_test() + parameter_limit.self_test() + prose.self_test()
    problems += check_numbers() + check_versions() + check_names(names) + check_types(names)
    for name in names:
        text = None if name.startswith("data/") or name.endswith((".gz", ".npz")) else text_of(name)
        if text is not None:
            problems += include_rule.violations(name, text) + parameter_limit.violations(name, text)
            problems += check_length(name, text)
            problems += check_private(name, text) + check_quotes(name, text)
            problems += check_calls(name, text) + check_views(name, text) + check_references(name, text, names)
            problems += check_anchors(name, text) + check_options(name, text, code) + prose.problems(name, text)
    print("\n".join(problems) if problems else f"{len(names)} files, nothing to complain about")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
