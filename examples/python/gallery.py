"""Draws pictures: two iterations, what one start misses, a hundred clusters, inertia against k, criteria of a page.

usage: gallery.py [FOLDER OF data/ [FOLDER FOR THE PICTURES]]
"""

import pathlib
import re
import sys

import numpy as np

import manymeans
from manymeans import EnsembleKMeans

COLOURS = ["#4a5a9f", "#d9822b", "#b3273f", "#3f8f5b", "#7a5195", "#2a9db5", "#8c6d31"]
SIZE, EDGE, TOP = 400, 20, 40  # of a square panel, and what is around it


class Square:
    """A panel with points of the plane, the widest extent of which fills it."""

    def __init__(self, left, title, points):
        self.left, self.least = left, points.min(axis=0)
        self.scale = SIZE / (points.max(axis=0) - self.least).max()
        self.parts = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>']
        self.parts.append(f'<rect x="{left}" y="{TOP}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#bbb"/>')

    def at(self, point):
        x, y = (point - self.least) * self.scale
        return f"{self.left + x:.1f} {TOP + SIZE - y:.1f}"

    def points(self, points, colour, width=2.4):
        dots = "".join(f"M{self.at(point)}h0" for point in points)
        style = f'stroke-width="{width}" stroke-linecap="round" stroke-opacity="0.6"'
        self.parts.append(f'<path d="{dots}" stroke="{colour}" {style}/>')

    def crosses(self, points):
        marks = "".join(f"M{self.at(point)}m-4 0h8m-4 -4v8" for point in points)
        self.parts.append(f'<path d="{marks}" stroke="white" stroke-width="4.5"/>')
        self.parts.append(f'<path d="{marks}" stroke="black" stroke-width="2"/>')

    def model(self, points, model, every, width=2.4):
        """Every so many rows, in the colours of their clusters, and the centroids."""
        shown, labels = points[::every], model.labels[::every]
        for place, colour in enumerate(COLOURS):
            self.points(shown[labels % len(COLOURS) == place], colour, width)
        self.crosses(model.cluster_centers)


def write(path, width, parts):
    height = SIZE + TOP + 40
    style = 'font-family="sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 0 {width} {height}" {style}>'
    ground = f'<rect width="{width}" height="{height}" fill="white"/>'
    path.write_text("\n".join([head, ground, *parts, "</svg>"]) + "\n")


def step_by_step(path):
    """Three groups, three centroids that begin in two of them, and two iterations."""
    groups = np.array([[0, 0], [620, 80], [260, 560]])
    offsets = np.random.default_rng(3).integers(-90, 91, (3, 40, 4, 2)).sum(axis=2)
    points = (groups[:, None] + offsets).reshape(-1, 2).astype(np.float64)
    first, panels = points[[0, 1, 40]], []
    centers = first
    for step, title in enumerate(("first centroids", "after 1 iteration", "after 2 iterations")):
        model = manymeans.fit(points, 3, init=first, max_iter=step).models[0]
        panels.append(Square(EDGE + step * (SIZE + EDGE), f"{title}: inertia {model.inertia:.3g}", points))
        moves = zip(centers, model.cluster_centers, strict=True)
        lines = "".join(f"M{panels[-1].at(a)}L{panels[-1].at(b)}" for a, b in moves)
        panels[-1].parts.append(f'<path d="{lines}" stroke="black" stroke-dasharray="4 3"/>')
        panels[-1].model(points, model, 1, width=5)
        centers = model.cluster_centers
    write(path, 3 * SIZE + 4 * EDGE, [part for panel in panels for part in panel.parts])


def one_start(data, path):
    """S1, which has 15 clusters: the worst and the best of 20 starts."""
    points = manymeans.read(data / "s1.txt.gz").points
    models = sorted(EnsembleKMeans(15, models_per_k=20, random_state=0).fit(points).models_, key=lambda m: m.inertia)
    panels = []
    for left, model, name in ((EDGE, models[-1], "worst"), (SIZE + 3 * EDGE, models[0], "best")):
        panels.append(Square(left, f"{name} of 20 starts: inertia {model.inertia:.3g}", points))
        panels[-1].model(points, model, 2)
        print(f"S1, {name} start: inertia {model.inertia:.4g}")
    write(path, 2 * SIZE + 4 * EDGE, panels[0].parts + panels[1].parts)


def hundred_clusters(data, path):
    points = manymeans.read(data / "birch1.txt.gz").points
    best = EnsembleKMeans(100, models_per_k=20, random_state=0).fit(points).best_
    panel = Square(EDGE, f"best of 20 starts: inertia {best.inertia:.3e}", points)
    panel.model(points, best, 25)
    print(f"Birch 1: inertia {best.inertia:.4g}")
    write(path, SIZE + 2 * EDGE, panel.parts)


def inertia_by_k(data, path):
    """S1 again: the inertia of the best of 20 starts for k = 5 .. 25, which falls slowly once k is 15."""
    points = manymeans.read(data / "s1.txt.gz").points
    found = EnsembleKMeans(range(5, 26), models_per_k=20, random_state=0).fit(points).best_of_k_
    inertia = np.array([found[k].inertia for k in range(5, 26)])
    across, up = np.linspace(70, 620, len(inertia)), TOP + SIZE * (1 - inertia / inertia.max())
    parts = ['<text x="70" y="26" font-weight="bold">S1: inertia of the best of 20 starts, against k</text>']
    parts.append(f'<path d="M60 {TOP}v{SIZE}h580" fill="none" stroke="#444"/>')
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(across, up, strict=True))
    parts.append(f'<path d="M{corners}" fill="none" stroke="{COLOURS[0]}" stroke-width="2"/>')
    for k, x, y in zip(range(5, 26), across, up, strict=True):
        radius, colour = (6, COLOURS[2]) if k == 15 else (3.5, COLOURS[0])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')
        if k % 5 == 0:
            parts.append(f'<text x="{x:.1f}" y="{TOP + SIZE + 20}" text-anchor="middle">{k}</text>')
    parts.append(f'<text x="646" y="{TOP + SIZE + 5}">k</text>')
    parts.append(f'<text x="52" y="{TOP + SIZE + 4}" text-anchor="end">0</text>')
    parts.append(f'<text x="52" y="{TOP + 5}" text-anchor="end">{inertia.max():.1e}</text>')
    write(path, 660, parts)


def report_criteria(data, path):
    """The first six criteria on the page of a choice for S1, in the style of the page, light."""
    points = manymeans.read(data / "s1.txt.gz").points
    page = manymeans.report(manymeans.choose_k(points, range(2, 21), models=5, references=3), points)
    charts = [chart for chart in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if " against k" in chart[:300]][:6]
    colours = dict(re.findall(r"(--\w+): ([^;]+);", page[: page.index("@media")]))
    rules = re.findall(r"^\.manymeans ((?:svg )?(?:text|\.(?:[mtgaoc]|band|chosen|k[01]l?)) {.*})$", page, re.MULTILINE)
    style = re.sub(r"var\((--\w+)\)", lambda found: colours[found[1]], "\n".join(rules)).replace(".manymeans ", "")
    width, height = (int(re.search(rf'{side}="(\d+)"', charts[0])[1]) for side in ("width", "height"))
    for place, chart in enumerate(charts):
        x, y = place % 3 * (width + EDGE), place // 3 * (height + EDGE)
        charts[place] = chart.replace("<svg", f'<svg x="{x}" y="{y}"', 1)
    wide, high = 3 * width + 2 * EDGE, 2 * height + EDGE
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" viewBox="0 0 {wide} {high}">'
    ground = f'<style>{style}</style>\n<rect width="{wide}" height="{high}" fill="white"/>'
    path.write_text("\n".join([head, ground, *charts, "</svg>"]) + "\n")


def main():
    data = pathlib.Path(sys.argv[1] if sys.argv[1:] else "data")
    folder = pathlib.Path(sys.argv[2] if sys.argv[2:] else ".")
    step_by_step(folder / "step_by_step.svg")
    one_start(data, folder / "one_start.svg")
    hundred_clusters(data, folder / "hundred_clusters.svg")
    inertia_by_k(data, folder / "inertia_by_k.svg")
    report_criteria(data, folder / "report_criteria.svg")


if __name__ == "__main__":
    main()
