#!/usr/bin/env python3
"""report_pages.py PROGRAM DATA [PICTURES]: opens pages of --report in headless Chromium without a network.

Each page is opened light and dark, 1280 and 400 pixels wide, with its folded parts open. It may not be wider than its window.
Texts of a chart may not overlap or leave the chart. No chart may be cut. Colours are the scheme's. Exit code 77: there is no
Chromium.
With PICTURES, pictures of the pages stay in that folder.
"""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))
from browser import WIDTHS, chromium  # noqa: E402 (it lies in another folder)

SCHEMES = {"light": ("1", "rgb(255, 255, 255)"), "dark": ("0", "rgb(20, 23, 27)")}
HEIGHT = 9000
MOST_BYTES = 2_000_000

# Chromium makes no window narrower than 500 pixels. So the pages are in frames, which have the widths of the test.
FRAMES = """<!doctype html><title>frames</title><style>body {{ margin: 0 }} iframe {{ border: 0 }}</style>
{frames}
<pre></pre>
<script>
const measure = (page) => {{
  const found = [], root = page.documentElement;
  for (const folded of page.querySelectorAll("details")) folded.open = true;
  const style = page.defaultView.getComputedStyle(page.querySelector(".manymeans"));
  if (root.scrollWidth > root.clientWidth) found.push(`the page is ${{root.scrollWidth}} wide`);
  for (const element of page.querySelectorAll("main > *, section > *")) {{
    const box = element.getBoundingClientRect();
    if (box.right > root.clientWidth + 1) found.push(`${{element.tagName}} ends at ${{box.right}}`);
  }}
  let charts = 0, texts = 0;
  for (const svg of page.querySelectorAll("svg")) {{
    ++charts;
    const outer = svg.getBoundingClientRect(), name = svg.getAttribute("aria-label");
    if (outer.right > root.clientWidth + 1) found.push(`${{name}}: it is cut at ${{outer.right}}`);
    if (outer.width < 1) found.push(`${{name}}: it is not there`);
    const all = [...svg.querySelectorAll("text")].map(text => ({{
      text: text.textContent, turned: text.hasAttribute("transform"), box: text.getBoundingClientRect() }}));
    texts += all.length;
    for (const {{ text, box }} of all) {{
      if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.bottom > outer.bottom + 1 || box.top < outer.top - 1)
        found.push(`${{name}}: '${{text}}' reaches out of the chart`);
    }}
    for (let i = 0; i < all.length; ++i) for (let j = i + 1; j < all.length; ++j) {{
      const a = all[i].box, b = all[j].box;
      if (all[i].turned && all[j].turned) continue;  // boxes of slanted texts meet where the texts do not
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) found.push(`${{name}}: '${{all[i].text}}' lies over '${{all[j].text}}'`);
    }}
  }}
  return {{ found: found.slice(0, 20), charts, texts, background: style.backgroundColor }};
}};
onload = () => {{
  const frames = [...document.querySelectorAll("iframe")];
  document.querySelector("pre").textContent = JSON.stringify(frames.map(frame => measure(frame.contentDocument)));
}};
</script>"""


def look(folder, looks, scheme, picture):
    """Measures pages at widths, and draws what is at the top of the window; returns what is wrong with them."""
    frame = folder / "frames.html"
    frames = [f'<iframe src="{page.resolve().as_uri()}" width="{width}" height="{HEIGHT}"></iframe>' for page, width in looks]
    frame.write_text(FRAMES.format(frames="\n".join(frames)))
    shown = chromium(folder / "profile", *picture, "--dump-dom", f"--blink-settings=preferredColorScheme={SCHEMES[scheme][0]}",
                     frame.as_uri())
    measured = re.search(r"<pre>(.*?)</pre>", shown, re.DOTALL)
    if not measured or not measured[1]:
        return [f"{scheme}: the pages do not open"]
    problems = []
    for (page, width), facts in zip(looks, json.loads(html.unescape(measured[1])), strict=True):
        wrong = facts["found"]
        if facts["background"] != SCHEMES[scheme][1]:
            wrong.append(f"the background is {facts['background']}")
        if facts["charts"] < 4 or facts["texts"] < 20:
            wrong.append(f"there are {facts['charts']} charts with {facts['texts']} texts")
        problems += [f"{page.stem}, {width} wide, {scheme}: {one}" for one in wrong]
    return problems


def make_pages(program, data, folder):
    """Pages of the commands that write them, and one with hostile names, many clusters and many columns."""
    hostile = folder / "hostile <b>&.csv"
    names = [f'"<script>alert({j})</script> \'{"名前" * 9}\' & {j}"' for j in range(500)]
    lines = [",".join(str((i * 7919 + j * j * 31 + i * j) % 1009) for j in range(500)) for i in range(400)]
    hostile.write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    runs = {
        "choose": ["choose", data / "s1.txt.gz", "-k", "2..20", "--models", "6", "--references", "4"],
        "fit": ["fit", data / "bike_sharing.csv.gz", "-k", "6", "--models", "5", "--numeric-only", "--scale", "standard"],
        "search": ["search", data / "s1.txt.gz", "-k", "30", "--rounds", "6"],
        "profile": ["fit", data / "bike_sharing.csv.gz", "-k", "12", "--numeric-only", "--profile", "season,hr", "--scale", "standard"],
        "regress": ["regress", data / "bike_sharing.csv.gz", "--target", "cnt", "--columns", "temp,atemp,hum,windspeed", "-k", "3,12", "--models", "3", "--profile", "season,workingday"],
        "hostile": ["fit", hostile, "-k", "120,7", "--models", "2", "--max-iter", "5"],
    }
    for name, command in runs.items():
        page = folder / f"{name}.html"
        subprocess.run([program, *command, "--quiet", "--report", page], check=True, stderr=subprocess.DEVNULL)
    return [folder / f"{name}.html" for name in runs]


def main():
    if not shutil.which("chromium"):
        print("left out: there is no Chromium")
        return 77
    program, data = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pages = make_pages(program, data, folder)
        problems += [f"{page.stem}: {page.stat().st_size} bytes" for page in pages if page.stat().st_size >= MOST_BYTES]
        looks = [(page, width) for page in pages for width in WIDTHS]
        for scheme in SCHEMES:
            problems += look(folder, looks, scheme, [])
            for page, width in looks if sys.argv[3:] else []:
                picture = pathlib.Path(sys.argv[3]).resolve() / f"{page.stem}-{width}-{scheme}.png"
                look(folder, [(page, width)], scheme, [f"--screenshot={picture}", f"--window-size={max(width, 500)},{HEIGHT}"])
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
