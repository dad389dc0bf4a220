"""Bike rentals by temperature: three linear models in the same place, which k-means cannot tell apart; draws an SVG.

usage: bike_sharing.py [data/bike_sharing.csv.gz [PICTURE.svg]]
"""

import sys

import numpy as np

import manymeans
from manymeans import KMeans, RegressionClustering

COLOURS = ["#4a5a9f", "#d9822b", "#b3273f"]
WIDTH, HEIGHT = 380, 300  # of a panel


class Panel:
    """A diagram whose corner is at (left, top) of the picture."""

    def __init__(self, left, top, limits, width=WIDTH, height=HEIGHT):
        self.left, self.top, self.width, self.height = left, top, width, height
        self.x_most, self.y_most = limits
        self.parts = [f'<path d="M{left} {top}v{height}h{width}" fill="none" stroke="#444"/>']

    def at(self, x, y):
        across = self.left + self.width * x / self.x_most
        return f"{across:.1f} {self.top + self.height * (1 - y / self.y_most):.1f}"

    def text(self, x, y, words, style=""):
        self.parts.append(f'<text x="{self.left + x}" y="{self.top + y}" {style}>{words}</text>')

    def axes(self, title, x_name, y_name, x_ticks, y_ticks):
        self.text(0, -12, title, 'font-weight="bold"')
        self.text(self.width, self.height + 32, x_name, 'text-anchor="end"')
        self.text(6, 12, y_name)
        for tick in x_ticks:
            across = round(self.width * tick / self.x_most, 1)
            self.text(across, self.height + 16, tick, 'text-anchor="middle"')
        for tick in y_ticks:
            self.text(-6, round(self.height * (1 - tick / self.y_most) + 4, 1), tick, 'text-anchor="end"')

    def points(self, x, y, colour):
        dots = "".join(f"M{self.at(*point)}h0" for point in zip(x, y, strict=True))
        style = 'stroke-width="2.6" stroke-linecap="round" stroke-opacity="0.55"'
        self.parts.append(f'<path d="{dots}" stroke="{colour}" {style}/>')

    def line(self, x, y, colour, dashes=""):
        corners = "L".join(self.at(*point) for point in zip(x, y, strict=True))
        style = f'fill="none" stroke-width="3" stroke-dasharray="{dashes}"'
        self.parts.append(f'<path d="M{corners}" stroke="{colour}" {style}/>')


def draw(path, panels):
    parts = [part for panel in panels for part in panel.parts]
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 700" font-family="sans-serif" font-size="12">'
    with open(path, "w") as file:
        file.write("\n".join([head, '<rect width="900" height="700" fill="white"/>', *parts, "</svg>"]) + "\n")


def main():
    data = sys.argv[1] if sys.argv[1:] else "data/bike_sharing.csv.gz"
    hour, temperature, count = manymeans.read(data, columns="hr,temp,cnt", dtype="float64").points.T
    temperature = 41 * temperature  # the file has shares of 41 degrees

    both = np.column_stack([temperature / temperature.std(), count / count.std()])
    kmeans = KMeans(3, n_init=8, random_state=0).fit(both)
    lines = RegressionClustering(3, random_state=0).fit(temperature[:, np.newaxis], count)
    one = RegressionClustering(1, random_state=0).fit(temperature[:, np.newaxis], count)
    print(f"one line explains {100 * one.r2_:.0f} % of the variance, three explain {100 * lines.r2_:.0f} %")

    centres = kmeans.cluster_centers_[:, 1].argsort()
    models = np.argsort(lines.intercept_ + 20 * lines.coef_[:, 0])  # by rentals at 20 degrees
    for k in models:
        often = np.bincount(hour[lines.labels_ == k].astype(int), minlength=24).argsort()[::-1][:3]
        print(
            f"model: {lines.intercept_[k]:6.1f} + {lines.coef_[k, 0]:5.2f} x degrees, "
            f"{np.mean(lines.labels_ == k):4.0%} of the hours, most often at {', '.join(map(str, often))} o'clock"
        )

    left = Panel(55, 50, (42, 1000))
    left.axes(
        "k-means of temperature and rentals", "degrees Celsius", "rentals an hour", range(0, 41, 10), [0, 500, 1000]
    )
    right = Panel(495, 50, (42, 1000))
    right.axes("regression clustering", "degrees Celsius", "rentals an hour", range(0, 41, 10), [0, 500, 1000])
    shown = np.arange(len(count)) % 7 == 0  # 7: all hours of the day
    for place, colour in enumerate(COLOURS):
        for panel, labels, k in ((left, kmeans.labels_, centres[place]), (right, lines.labels_, models[place])):
            mine = shown & (labels == k)
            panel.points(temperature[mine], count[mine], colour)
    ends = np.array([1.0, 41.0])
    for k in models:
        y = np.clip(lines.intercept_[k] + lines.coef_[k, 0] * ends, 0, 1000)
        right.line(ends, y, "white")
        right.line(ends, y, "black", "6 3")

    below = Panel(55, 440, (23, 1), width=820, height=190)
    below.axes(
        "how often each model predicts an hour of the day best (the models never saw the hour)",
        "o'clock", "share", range(0, 24, 3), [0, 0.5, 1],
    )  # fmt: skip
    for place, colour in enumerate(COLOURS):
        share = [np.mean(lines.labels_[hour == h] == models[place]) for h in range(24)]
        below.line(range(24), share, colour)
    draw(sys.argv[2] if sys.argv[2:] else "bike_sharing.svg", [left, right, below])


if __name__ == "__main__":
    main()
