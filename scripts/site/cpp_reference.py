"""The page of the C++ API: the public headers, each declaration with the comment above it."""

import re

ORDER = ["fit.h", "options.h", "points.h", "sparse.h", "sparse_file.h", "result.h", "regress.h", "io.h",
         "model_file.h", "json.h", "error.h", "comm.h", "mpi.h", "row_shards.h"]
INTRODUCTION = """# C++ API

This page is made from the comments of the public headers. `#include <manymeans/manymeans.h>` includes all of them but `<manymeans/mpi.h>`, which needs MPI.
[manymeans from C++](../docs/user/cpp.md) has a whole program, and says how to build with the library.
Everything is in the namespace `manymeans`.
"""
NAME = (
    re.compile(r"^(?:template <.*?>\s*)?(?:enum class|struct|class)\s+(\w+)", re.DOTALL),
    re.compile(r"^(?:using|constexpr \w+)\s+(\w+)\s*[={]"),
    re.compile(r"([\w~]+|operator\S+)\s*\("),
)


def namespace_lines(text):
    """The lines inside of namespace manymeans; nested namespaces (details) are left out."""
    inside = re.search(r"^namespace manymeans \{\n(.*)^\}", text, re.MULTILINE | re.DOTALL)
    kept = re.sub(r"^namespace \w+ \{\n.*?^\}[^\n]*\n", "", inside[1], flags=re.MULTILINE | re.DOTALL)
    return kept.split("\n")


def declarations(text):
    """Pairs (comment, code): what stands between empty lines or ends of declarations, each with the comment above it."""
    comment, code, depth = [], [], 0
    for line in namespace_lines(text):
        stripped = line.strip()
        if not code and stripped.startswith("//"):
            comment.append(stripped.lstrip("/").removeprefix(" "))
            continue
        if not code and not stripped:
            comment = []
            continue
        code.append(line)
        bare = re.sub(r"//.*|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])'", "", line)
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        if depth == 0 and bare.rstrip().endswith((";", "}")):
            yield comment, code
            comment, code = [], []


def name_of(code):
    text = "\n".join(code)
    for pattern in NAME:
        found = pattern.search(text)
        if found:
            return found[1]
    return text.split("=")[0].split()[-1].rstrip(";")


def without_bodies(code):
    """Members of a class keep their names; bodies of functions that take more than one line are left out."""
    text = "\n".join(code)
    if re.match(r"(?:template <.*>\s*)?(?:enum|struct|class)\b", text):
        text = re.sub(r"\n private:.*(?=\n\};)", "", text, flags=re.DOTALL)
        return re.sub(r"(\n  [^\n/]*\)[^\n;{]*) \{\n.*?\n  \}", r"\1;", text, flags=re.DOTALL)
    return re.sub(r"\)([^\n;{)]*) \{\n?.*\}$", r")\1;", text, flags=re.DOTALL)


def plain(line):
    """A line of a comment in which nothing means markup, and calls and names of members are code."""
    if "`" in line:
        return line
    line = re.sub(r"(?<!\w)(\w+\([^)]*\)|\w+::\w+|<manymeans/\w+\.h>)", r"`\1`", line)
    return "`".join(part if number % 2 else part.replace("<", "&lt;").replace("*", r"\*") for number, part in enumerate(line.split("`")))


def paragraphs(comment):
    """A comment as Markdown. Lines that begin with a name and two blanks ('points   N x D') are items of a list, indented ones code."""
    lines, item, code = [], False, False
    for line in comment:
        named = re.match(r"(\w+)  +(\S.*)", line)
        code = line.startswith("  ") and (code or not lines or not lines[-1] or lines[-1].endswith(":")) and not item
        if named and not item or line.startswith(("Returns ", "Throws ", "Time ")) or code and lines and lines[-1] and not lines[-1].startswith("    "):
            lines.append("")
        item = bool(named) or item and line.startswith(" ")
        lines.append(f"- `{named[1]}`: {plain(named[2])}" if named else "    " + line if code else plain(line.strip()))
    return "\n".join(lines)


def groups(text):
    """Declarations by name: functions of one name stand together, also where some have no comment of their own."""
    found = []
    for comment, code in declarations(text):
        if found and not comment and (name_of(code) == found[-1][0] or not found[-1][1]):
            found[-1][2].append(without_bodies(code))
        else:
            found.append((name_of(code), comment, [without_bodies(code)]))
    return found


def header(path):
    text = path.read_text()
    about = re.match(r"((?://[^\n]*\n)+)", text)[1]
    lines = [f"## {path.name}", "", f"`#include <manymeans/{path.name}>`", "", paragraphs(re.sub(r"(?m)^// ?", "", about).split("\n"))]
    for name, comment, code in groups(text):
        lines += [f"### {name}", "", paragraphs(comment), "", "```cpp", "\n".join(code), "```", ""]
    return "\n".join(lines)


def page(folder):
    names = [path.name for path in sorted(folder.glob("*.h")) if path.name != "manymeans.h"]
    ordered = [name for name in ORDER if name in names] + [name for name in names if name not in ORDER]
    return INTRODUCTION + "\n" + "\n".join(header(folder / name) for name in ordered)
