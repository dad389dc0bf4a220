#!/usr/bin/env python3
"""Puts the pages of the site together: those of the tree, at the same places, so that links between them stay right.

usage: stage_pages.py FOLDER

A link to a source file leads to a page that shows it, a link to a folder to what describes it, if anything does.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import cpp_reference
import python_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST_PAGES = ("README.md", "HACKING.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md", "docs/", "bench/results/")
SHOWN_AS_TEXT = {".py": "python", ".sh": "sh", ".cpp": "cpp", ".h": "cpp", ".cmake": "cmake", ".toml": "toml",
                 ".cff": "yaml", "": "text"}
COPIED = {".svg", ".png", ".txt", ".json", ".jsonl", ".md"}
FOLDERS = {"include/manymeans": "reference/cpp.md", "docs": "docs/README.md", "docs/user": "docs/README.md", "data": "data/README.md",
           "docs/developer": "docs/README.md"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.MULTILINE | re.DOTALL)


def tracked():
    """Files of the tree; those not yet added count too."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


class Stage:
    """The folder of pages, and what is still to be put there."""

    def __init__(self, folder):
        self.folder = folder
        self.names = tracked()
        self.problems = []
        self.done = set()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, name):
        """Stages the file of this name once; returns the name of its page."""
        suffix = pathlib.PurePosixPath(name).suffix
        page = name + ".md" if suffix in SHOWN_AS_TEXT else name
        if name in self.done:
            return page
        self.done.add(name)
        source = ROOT / name
        if suffix == ".md":
            self.write(name, self.with_links(name, source.read_text()))
        elif suffix in SHOWN_AS_TEXT:
            self.write(page, f"---\ntitle: {source.name}\n---\n# {name}\n\n````{SHOWN_AS_TEXT[suffix]}\n{source.read_text()}````\n")
        elif suffix in COPIED:
            self.write(name, source.read_text())
        else:
            self.problems.append(f"{name}: a link leads to a file that the site cannot show")
        return page

    def with_links(self, name, text):
        """The text of a page whose links lead to other pages; code stays as it is."""
        parts = FENCE.split(text)
        return "".join(part if number % 2 else LINK.sub(lambda found: self.link(name, found), part)
                       for number, part in enumerate(parts))

    def link(self, name, found):
        mark, label, address = found.groups()
        path, _, anchor = address.partition("#")
        if re.match(r"[a-z]+:", address) or not path:
            return found[0]
        target = (ROOT / name).parent.joinpath(path).resolve().relative_to(ROOT).as_posix()
        if target in self.names:
            page = self.add(target)
        elif (ROOT / target).is_dir():
            page = FOLDERS.get(target)
        else:
            self.problems.append(f"{name}: there is no {target}, to which '{label}' leads")
            return found[0]
        if page is None:
            return label
        up = "../" * name.count("/")
        return f"{mark}[{label}]({up}{page}{'#' + anchor if anchor else ''})"


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    stage = Stage(folder)
    for name in sorted(stage.names):
        if name.endswith(".md") and name.startswith(FIRST_PAGES):
            stage.add(name)
    stage.write("reference/cpp.md", cpp_reference.page(ROOT / "include" / "manymeans"))
    stage.write("reference/python.md", python_reference.page(ROOT / "python" / "manymeans"))
    shutil.copytree(pathlib.Path(__file__).parent / "assets", folder / "assets")
    print("\n".join(stage.problems) if stage.problems else f"{len(stage.done)} pages and files")
    return 1 if stage.problems else 0


if __name__ == "__main__":
    sys.exit(main())
