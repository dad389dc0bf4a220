"""A line chart as an SVG file: linear or logarithmic axes, markers, and a key of the lines.

The key is at the ends of the lines, or below the plot if its names are long. Standard library.
"""

import math
from html import escape
from typing import NamedTuple

PLOT, HEIGHT = 570, 456  # pixels; the key takes what it needs
LEFT, TOP, BOTTOM = 72, 56, 72
LETTER = 7  # pixels of a letter of 13, about
SAMPLE, KEY_LINE = 30, 18  # of the key: the length of its pieces of lines, and the height of a name
WIDEST = 760  # a wider picture has its key below the plot
COLOURS = ("#2a6fbb", "#c8501e", "#2e8b57", "#7b4fa3", "#8a6d1d", "#555555", "#c2348b", "#0f8b9d")
INK, SOFT, GRID = "#1f2328", "#59636e", "#e3e6ea"


class Scale(NamedTuple):
    """What an axis shows. labels: {value: text} where values are only places."""

    name: str
    logarithmic: bool = False
    labels: dict | None = None


class Axis:
    """Maps values to pixels, and knows the values that get a line of the grid."""

    def __init__(self, values, logarithmic, first, last):
        self.logarithmic, self.first, self.last = logarithmic, first, last
        low, high = min(values), max(values)
        self.ticks = self._decades(low, high) if logarithmic else self._round_numbers(min(low, 0), high)
        self.low, self.high = self.ticks[0], self.ticks[-1]
        if logarithmic and len(self.ticks) > 9:  # the ends stay where they are
            self.ticks = [tick for tick in self.ticks if math.isclose(math.log10(tick), round(math.log10(tick)))]

    @staticmethod
    def _decades(low, high):
        """1, 2 and 5 times the powers of ten that lie between, and one beyond each end."""
        powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
        ticks = [m * 10.0**power for power in powers for m in (1, 2, 5)]
        return [t for t in ticks if t <= low][-1:] + [t for t in ticks if low < t < high] + [t for t in ticks if t >= high and t > low][:1]

    @staticmethod
    def _round_numbers(low, high):
        rough = (high - low or 1) / 6
        size = 10 ** math.floor(math.log10(rough))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= rough)
        return [step * i for i in range(math.floor(low / step), math.ceil(high / step) + 1)]

    def __call__(self, value):
        ends = (self.low, self.high, value)
        low, high, at = (math.log(v) for v in ends) if self.logarithmic else ends
        return self.first + (at - low) / (high - low) * (self.last - self.first)


def _text(x, y, words, anchor="middle", size=13, colour=SOFT, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"{extra}>{escape(words)}</text>'


def _number(value):
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e5, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):g}{letter}"
    return f"{value:g}"


def _marker(shape, x, y, colour):
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    if shape == 1:
        return f'<rect x="{x - 3.6:.1f}" y="{y - 3.6:.1f}" width="7.2" height="7.2" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 4.8:.1f} l4.6 8 h-9.2 z" fill="{colour}"/>'


def _grid(x, y, names, x_ticks):
    lines, ends = [], [-math.inf, -math.inf]  # names that are too wide for one row take two
    for tick in y.ticks:
        at = y(tick)
        lines.append(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{PLOT}" y2="{at:.1f}" stroke="{GRID}"/>')
        lines.append(_text(LEFT - 8, at + 4.5, _number(tick), "end"))
    for tick in x_ticks or x.ticks:
        words = names[0].labels[tick] if names[0].labels else _number(tick)
        half = LETTER * len(words) / 2
        for row, end in enumerate(ends[: 2 if names[0].labels else 1]):
            if x(tick) - half > end:  # one that would cover the tick before it is left out
                lines.append(_text(x(tick), HEIGHT - BOTTOM + 20 + 16 * row, words))
                ends[row] = x(tick) + half
                break
    lines.append(f'<line x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{PLOT}" y2="{HEIGHT - BOTTOM}" stroke="{SOFT}"/>')
    lines.append(_text((LEFT + PLOT) / 2, HEIGHT - BOTTOM + (42 if ends[1] < 0 else 58), names[0].name))
    lines.append(_text(LEFT, TOP - 12, names[1].name, "start"))
    return lines


def _spread(places, low, high):
    """Heights for labels that would overlap, moved apart, kept in order and between low and high."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    gap = min(16, (high - low) / max(1, len(places) - 1))
    result, last = list(places), low - gap
    for i in order:
        result[i] = last = max(places[i], last + gap)
    last = high + gap
    for i in reversed(order):
        result[i] = last = min(result[i], last - gap)
    return result


def _line(places, style, marked):
    """A line through places, and its marker at the marked ones."""
    number, dashes = style
    colour, shape = COLOURS[number % len(COLOURS)], (number % len(COLOURS) + number // len(COLOURS)) % 3
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
    return [line, *(_marker(shape, a, b, colour) for a, b in marked)]


def _key(series, y, below):
    """(lines of SVG, height of the picture). The order is that of the last points: the highest line comes first."""
    ends = [y(points[-1][1]) for _, _, points in series]
    if below:
        order = sorted(range(len(ends)), key=lambda i: ends[i])
        left, heights = LEFT, [HEIGHT + 4 + KEY_LINE * order.index(i) for i in range(len(ends))]
    else:
        left, heights = PLOT + 12, _spread(ends, TOP, HEIGHT - BOTTOM)
    lines = []
    for at, (style, name, _) in zip(heights, series):
        lines += _line([(left, at), (left + SAMPLE, at)], style, [(left + SAMPLE / 2, at)])
        lines.append(_text(left + SAMPLE + 8, at + 4.5, name, "start", 13, COLOURS[style[0] % len(COLOURS)]))
    return lines, HEIGHT + KEY_LINE * len(series) * below


def line_chart(title, x_scale, y_scale, series, mark=None, styles=None):
    """SVG text. series: [(name, [(x, y), ...]), ...]; empty ones are left out, the others keep their colours. Values on
    a logarithmic axis must be positive; the x axis ends at the first and last x. mark: a height that gets a line.
    styles: {name: (number of its colour and marker, dashes)}; else lines are solid and numbered as they come."""
    series = [((styles or {}).get(name, (i, "")), name, points) for i, (name, points) in enumerate(series) if points]
    xs = sorted({x for _, _, points in series for x, _ in points})
    x = Axis(xs, x_scale.logarithmic, LEFT + 10, PLOT - 10)
    x.low, x.high = xs[0], xs[-1] if len(xs) > 1 else xs[0] * 2 + 1
    ys = [value for _, _, points in series for _, value in points] + [mark] * (mark is not None)
    y = Axis(ys, y_scale.logarithmic, HEIGHT - BOTTOM, TOP)
    key = SAMPLE + 24 + LETTER * max(len(name) for _, name, _ in series)
    below = PLOT + 12 + key > WIDEST
    width = max(LEFT + key, PLOT + 40) if below else PLOT + 12 + key
    width = max(width, LEFT + 9 * len(title), LEFT + LETTER * len(y_scale.name))  # the title is larger, and bold
    names, height = _key(series, y, below)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             f'font-family="Helvetica, Arial, sans-serif" role="img">', f"<title>{escape(title)}</title>",
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             _text(LEFT, 24, title, "start", 16, INK, ' font-weight="bold"')]
    lines += _grid(x, y, (x_scale, y_scale), xs if len(xs) <= 16 else None)
    if mark is not None:
        lines.append(f'<line class="mark" x1="{LEFT}" y1="{y(mark):.1f}" x2="{PLOT}" y2="{y(mark):.1f}" stroke="{INK}" '
                     'stroke-dasharray="6 4"/>')
    for style, _, points in series:
        places = [(x(a), y(b)) for a, b in points]
        lines += _line(places, style, places)
    return "\n".join([*lines, *names, "</svg>"]) + "\n"
