#!/usr/bin/env python3
"""Checks the built site: every page is there, every link leads somewhere, nothing comes from other hosts, nothing is wider than the window.

usage: check_site.py SITE PAGES [--screenshots FOLDER]

SITE is what MkDocs made of PAGES. With --screenshots, every page of the navigation is opened in headless Chromium, 1280 and 400 pixels wide.
"""

import argparse
import html.parser
import pathlib
import re
import sys
import tempfile
import urllib.parse

import browser

# Attributes by which a page fetches something by itself, and relations of <link> that do the same.
FETCHED = {("script", "src"), ("img", "src"), ("img", "srcset"), ("source", "src"), ("source", "srcset"), ("iframe", "src"), ("video", "src"),
           ("audio", "src"), ("embed", "src"), ("object", "data"), ("image", "href"), ("use", "href"), ("input", "src")}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}
OTHER_HOST = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class Page(html.parser.HTMLParser):
    """What a page fetches, where its links lead, its anchors, and pictures without a text."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.links, self.anchors, self.silent = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and FETCHED_LINKS & set(values.get("rel", "").split()):
            self.fetched.append(values.get("href", ""))
        self.fetched += [values[name] for name in values if (tag, name) in FETCHED]
        if tag == "img" and len(values.get("alt", "")) < 10:
            self.silent.append(values.get("src", ""))


def other_hosts(name, page, text):
    places = [place for place in page.fetched if OTHER_HOST.match(place)] + IN_STYLE.findall(text)
    return [f"{name}: fetches {place} from another host" for place in places]


def broken_links(site, name, pages):
    """Links and fetched files that are not there, or have no such anchor."""
    problems = []
    for place in pages[name].links + pages[name].fetched:
        parts = urllib.parse.urlsplit(place)
        if parts.scheme or parts.netloc:
            continue
        target = (site / name).parent / urllib.parse.unquote(parts.path) if parts.path else site / name
        if not target.is_file():
            problems.append(f"{name}: {place} leads to no file")
            continue
        found = pages.get(target.resolve().relative_to(site.resolve()).as_posix())
        anchor = urllib.parse.unquote(parts.fragment)
        if anchor and found and anchor not in found.anchors and anchor != "__skip":
            problems.append(f"{name}: {place} leads to no heading")
    return problems


def missing_pages(site, sources):
    """A page of the tree has to be a page of the site."""
    names = [path.relative_to(sources) for path in sources.rglob("*.md")]
    made = {name: name.with_name("index.html" if name.name == "README.md" else name.stem + ".html") for name in names}
    return [f"{name}: there is no page {page} of it" for name, page in made.items() if not (site / page).is_file()]


def navigation(site, pages):
    """The pages that the start page's navigation lists, in its order."""
    text = (site / "index.html").read_text()
    sidebar = text[text.index("md-sidebar--primary") : text.index("md-sidebar--secondary")]
    names = [urllib.parse.urlsplit(link).path for link in Page(sidebar).links]
    return list(dict.fromkeys(["index.html"] + [name for name in names if name in pages]))


def unlisted(pages, listed):
    """Pages of docs/ have to be in the navigation; source files and results of single measurements are reached by links."""
    return [f"{name}: is not in the navigation of mkdocs.yml" for name in pages if name.startswith("docs/") and name not in listed]


def check(site, sources):
    texts = {path.relative_to(site).as_posix(): path.read_text() for path in sorted(site.rglob("*.html"))}
    pages = {name: Page(text) for name, text in texts.items()}
    problems = missing_pages(site, sources)
    for name, page in pages.items():
        problems += other_hosts(name, page, texts[name])
        problems += [f"{name}: the picture {place} has no text for those who cannot see it" for place in page.silent]
        if name != "404.html":  # its links are those of a server's root
            problems += broken_links(site, name, pages)
        if "```" in re.sub(r"<pre.*?</pre>", "", texts[name], flags=re.DOTALL):
            problems.append(f"{name}: a fence of code was not understood")
    for path in site.rglob("*.css"):
        problems += [f"{path.relative_to(site)}: fetches {place}" for place in IN_STYLE.findall(path.read_text())]
    return pages, problems


# A site with one fault of each kind, and what has to be said of each.
FAULTY = {
    "index.html": '<a href="none.html"></a><a href="#none"></a><img src="a.svg" alt="short"><script src="//host/a.js"></script>',
    "other.html": '<link rel="stylesheet" href="https://host/a.css"><style>p { background: url(http://host/a.png) }</style><p>```sh',
    "a.svg": "",
}
FAULTS = ["none.html leads to no file", "#none leads to no heading", "a.svg has no text", "fetches //host/a.js", "fetches https://host/a.css",
          "fetches http://host/a.png", "a fence of code", "there is no page missing.html"]


def self_test():
    """What check() does not find of a site that has these faults alone."""
    with tempfile.TemporaryDirectory() as folder:
        site, sources = pathlib.Path(folder, "site"), pathlib.Path(folder, "pages")
        site.mkdir()
        sources.mkdir()
        for name, text in FAULTY.items():
            (site / name).write_text(text)
        (sources / "missing.md").write_text("")
        found = check(site, sources)[1]
    missed = [f"check_site.py does not find: {fault}" for fault in FAULTS if not any(fault in problem for problem in found)]
    return missed + ([f"check_site.py finds too much: {found}"] if len(found) > len(FAULTS) else [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("pages", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    pages, problems = check(arguments.site, arguments.pages)
    listed = navigation(arguments.site, pages)
    problems += unlisted(pages, listed) + self_test()
    if arguments.screenshots and not problems:
        problems += browser.look_at(arguments.site, listed, arguments.screenshots)
    print("\n".join(problems) if problems else f"{len(pages)} pages, nothing to complain about")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
