"""A line chart as an SVG file: linear or logarithmic axes, markers, labels at the ends of the lines. Standard library."""

import math
from html import escape

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 72, 150, 56, 56
COLOURS = ("#2a6fbb", "#c8501e", "#2e8b57", "#7b4fa3", "#8a6d1d", "#555555")
INK, SOFT, GRID = "#1f2328", "#59636e", "#e3e6ea"


class Axis:
    """Maps values to pixels. Logarithmic axes end at powers of `base`, linear ones at round numbers."""

    def __init__(self, values, logarithmic, first, last, base=10):
        self.logarithmic, self.first, self.last = logarithmic, first, last
        low, high = min(values), max(values)
        if logarithmic:
            self.ticks = self._powers(low, high, base)
        else:
            self.ticks = self._round_numbers(min(low, 0), high)
        self.low, self.high = self.ticks[0], self.ticks[-1]

    @staticmethod
    def _powers(low, high, base):
        first, last = math.floor(math.log(low, base) + 1e-9), math.ceil(math.log(high, base) - 1e-9)
        ticks = [float(base) ** i for i in range(first, max(last, first + 1) + 1)]
        if base == 10 and len(ticks) <= 3:  # few decades: 2 and 5 as well, and no more room than needed
            ticks = [m * t for t in ticks for m in (1, 2, 5)]
            inside = [t for t in ticks if low <= t <= high]
            below, above = [t for t in ticks if t < low][-1:], [t for t in ticks if t > high][:1]
            ticks = below + inside + above
        return ticks

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
    return f"{value:g}" if 0.001 <= abs(value) < 100000 or value == 0 else f"{value:.0e}"


def _marker(shape, x, y, colour):
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    if shape == 1:
        return f'<rect x="{x - 3.6:.1f}" y="{y - 3.6:.1f}" width="7.2" height="7.2" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 4.8:.1f} l4.6 8 h-9.2 z" fill="{colour}"/>'


def _grid(x, y, x_name, y_name, x_ticks):
    lines = []
    for tick in y.ticks:
        at = y(tick)
        lines.append(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" stroke="{GRID}"/>')
        lines.append(_text(LEFT - 8, at + 4.5, _number(tick), "end"))
    for tick in x_ticks or x.ticks:
        lines.append(_text(x(tick), HEIGHT - BOTTOM + 20, _number(tick)))
    lines.append(f'<line x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH - RIGHT}" y2="{HEIGHT - BOTTOM}" stroke="{SOFT}"/>')
    lines.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_name))
    lines.append(_text(LEFT, TOP - 12, y_name, "start"))
    return lines


def _spread(places, gap=16):
    """Heights for labels that would overlap, moved apart and kept in order."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    result, last = list(places), -math.inf
    for i in order:
        result[i] = last = max(places[i], last + gap)
    return result


def line_chart(title, x_name, y_name, series, x_log=False, y_log=False, x_base=10):
    """SVG text. series: [(name, [(x, y), ...]), ...]; empty ones are left out. Values must be positive on log axes."""
    series = [(name, points) for name, points in series if points]
    xs = sorted({x for _, points in series for x, _ in points})
    x = Axis(xs, x_log, LEFT + 10, WIDTH - RIGHT - 10, x_base)
    x.low, x.high = xs[0], xs[-1] if len(xs) > 1 else xs[0] * 2 + 1
    y = Axis([value for _, points in series for _, value in points], y_log, HEIGHT - BOTTOM, TOP)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
             f'font-family="Helvetica, Arial, sans-serif" role="img">', f"<title>{escape(title)}</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             _text(LEFT, 24, title, "start", 16, INK, ' font-weight="bold"')]
    lines += _grid(x, y, x_name, y_name, xs if len(xs) <= 16 else None)
    ends = _spread([y(points[-1][1]) for _, points in series])
    for i, (name, points) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        places = [(x(a), y(b)) for a, b in points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines += [_marker(i % 3, a, b, colour) for a, b in places]
        lines.append(_text(places[-1][0] + 12, ends[i] + 4.5, name, "start", 13, colour))
    return "\n".join([*lines, "</svg>"]) + "\n"
