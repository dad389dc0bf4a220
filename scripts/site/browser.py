"""Pages in headless Chromium: screenshots, and whether a page is as wide as its window."""

import pathlib
import re
import subprocess
import sys
import tempfile

WIDTHS = (1280, 400)
# Headless Chromium makes no window narrower than 500 pixels, so a page is looked at in a frame of the width that is wanted.
FRAME = """<!doctype html><title>frame</title><style>body {{ margin: 0 }}</style>
<iframe src="{address}" style="border: 0; width: {width}px; height: {height}px"></iframe>
<script>onload = () => {{
  const inside = document.querySelector("iframe").contentDocument.documentElement;
  document.title = `width ${{inside.scrollWidth}} of ${{inside.clientWidth}}, height ${{inside.scrollHeight}}`;
}}</script>"""


def chromium(profile, *arguments):
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={profile}",
               "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files",
               "--virtual-time-budget=3000", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit(f"chromium failed:\n{done.stderr[-2000:]}")
    return done.stdout


def look(folder, page, width, picture):
    """Writes the picture of a page; returns what is wrong with it."""
    address = page.resolve().as_uri()
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(address=address, width=width, height=1600))
    shown = chromium(folder / "profile", f"--screenshot={picture.resolve()}", f"--window-size={width},1600", "--dump-dom", frame.as_uri())
    measured = re.search(r"<title>width (\d+) of (\d+), height (\d+)", shown)
    if not measured or not picture.is_file():
        return "does not open"
    if int(measured[1]) > int(measured[2]):
        return f"is {measured[1]} pixels wide in a window of {measured[2]}"
    return "is empty" if int(measured[3]) < 300 else ""


def look_at(site, names, pictures):
    pictures.mkdir(parents=True, exist_ok=True)
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for width in WIDTHS:
                picture = pictures / f"{name.removesuffix('.html').replace('/', '-')}-{width}.png"
                wrong = look(pathlib.Path(folder), site / name, width, picture)
                problems += [f"{name}: {wrong} ({picture})"] if wrong else []
    return problems
