"""Sentences of the pages that a reader has to read twice: long ones, and words that hide what does what.

    python3 scripts/prose.py [FILE...]     lists them, with the share of each page; without files, those of PAGES

check_tree.py fails where a page has more of them than LIMIT allows.
"""

import pathlib
import re
import subprocess
import sys

PAGES = ("README.md", "HACKING.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/", "src/", "product/", "cli/", "python/", "tests/",
         "scripts/")
LIMIT = 10  # of 100 sentences
MAX_WORDS = 25
PHRASES = re.compile(
    r"\b(whoever|whichever|nobody|of which|of those|of these|the same of|what there is|in the place of|where there is"
    r"|has to be there|mend(?:s|ed)?|likewise)\b", re.IGNORECASE)
NO_PROSE = re.compile(r"\s*(\||<|#|!\[)")
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z0-9`*\[(])")
# What a link leads to is not read, and code is one word.
LINK, CODE = re.compile(r"\[([^\]]*)\]\([^)]*\)"), re.compile(r"`[^`]*`")


def sentences(text):
    """Pairs (number of its paragraph's first line, sentence) of a Markdown page."""
    paragraph, first, code = [], 1, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        fence = line.lstrip().startswith("```")
        code ^= fence
        ends = fence or code or not line.strip() or NO_PROSE.match(line) or re.match(r"\s*([-*]|\d+\.)\s", line)
        if ends and paragraph:
            whole = CODE.sub("CODE", LINK.sub(r"\1", " ".join(paragraph)))
            yield from ((first, sentence) for sentence in END.split(whole))
            paragraph = []
        if fence or code or not line.strip() or NO_PROSE.match(line):
            continue
        if not paragraph:
            first = number
        paragraph.append(re.sub(r"^\s*([-*]|\d+\.)\s+", "", line).strip())


def hard(text):
    """(the hard ones of a page's sentences, with why; how many sentences it has)."""
    found, count = [], 0
    for line, sentence in sentences(text):
        words = len(re.findall(r"[\w'’-]+", sentence))
        count += words > 2
        if phrase := PHRASES.search(sentence):
            found.append((line, f"'{phrase[0]}'", sentence))
        elif words > MAX_WORDS:
            found.append((line, f"{words} words", sentence))
    return found, count


def problems(name, text):
    """What check_tree.py says of a page."""
    if not name.endswith(".md") or not name.startswith(PAGES):
        return []
    found, count = hard(text)
    if 100 * len(found) <= LIMIT * max(count, LIMIT):
        return []
    return [f"{name}: {len(found)} of {count} sentences are hard to read, more than {LIMIT} in 100; "
            f"python3 scripts/prose.py {name} lists them"]


def self_test():
    """Problems of this file with a page that has two hard sentences of four."""
    page = ("It is short. A " + "word " * 26 + "end.\n\n- Nobody reads `a b c`.\n\n| " + "word " * 30 + "|\n\n```\n"
            + "word " * 30 + "\n```\nThe [end](" + "a/" * 30 + ") of it.\n")
    found, count = hard(page)
    works = [line for line, _, _ in found] == [1, 3] and count == 4 and problems("docs/a.md", page)
    return [] if works else [f"scripts/prose.py: it finds {found} of {count} in its own test"]


def main():
    names = sys.argv[1:]
    if not names:
        tracked = subprocess.run(["git", "ls-files", "*.md"], check=True, capture_output=True, text=True).stdout.split()
        names = [name for name in tracked if name.startswith(PAGES)]
    for name in names:
        found, count = hard(pathlib.Path(name).read_text())
        for line, why, sentence in found if sys.argv[1:] else []:
            print(f"{name}:{line}: {why}: {sentence}")
        if found:
            print(f"{100 * len(found) / max(1, count):5.1f} in 100, {len(found)} of {count}: {name}")


if __name__ == "__main__":
    main()
