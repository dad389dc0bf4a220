"""What MkDocs does otherwise than the viewers that people read the pages with: called by it for every page."""

import html
import re

BEGINS_BLOCK = re.compile(r"([-*] |\d+\. |\|)")

CODE_WITH_BARS = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")

TIMES = re.compile(r"(?<=[\w)\]]) \* (?=[\w(\[])|`[^`\n]*`")  # outside of code a product, which emphasises nothing


def products(line):
    return TIMES.sub(lambda found: found[0].replace(" * ", r" \* ") if found[0] == " * " else found[0], line)


def bars_in_code(found):
    """Code in a table writes a bar as \\| so that it ends no cell; the backslash is not to be shown."""
    return "<code>" + html.escape(found[1]).replace("\\|", "&#124;") + "</code>"


def separate_blocks(text):
    """Python-Markdown requires an empty line before a list or a table that follows a paragraph. It also requires four
    blanks for each level below a bullet; pages have two. Other viewers do not."""
    lines, fence, before, listed = [], None, "", False
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        border = line.lstrip().startswith("```")
        begins = BEGINS_BLOCK.match(line.lstrip())
        if fence is None and not border:
            if begins and before.strip() and not before.startswith(("#", "|")) and not in_list(lines):
                lines.append("")
            if line.strip() and indent == 0:
                listed = line.startswith(("- ", "* ")) or (listed and before.strip() != "")
            line = products(CODE_WITH_BARS.sub(bars_in_code, line) if begins and line.lstrip()[0] == "|" else line)
        elif fence is None and indent == 0:
            listed = False
        base = indent if fence is None else fence
        lines.append(" " * (base // 2 * 4 - base) + line if listed and base > 1 else line)
        if border:
            fence = indent if fence is None else None
        before = line
    return "\n".join(lines)


def in_list(lines):
    """Whether the paragraph at the end of these lines belongs to an item of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if BEGINS_BLOCK.match(line.lstrip()):
            return True
    return False


def on_page_markdown(markdown, page, **_):
    if page.file.src_uri.startswith(("bench/", "examples/", "include/", "LICENSE")):
        page.meta["search"] = {"exclude": True}  # tables of numbers and code, which would hide the rest
    elif page.file.src_uri.startswith("docs/user/"):
        page.meta["search"] = {"boost": 2}  # before what is for developers
    if page.parent is None:
        page.meta["hide"] = ["navigation"]  # which would list the page itself, and nothing else
    return separate_blocks(markdown).replace("```python notest", "```python")
