"""Lines over logarithmic axes, as SVG: a colour a peer, limits dashed."""
import math
from html import escape

WIDTH, HEIGHT, LEFT, TOP, LEGEND = 640, 380, 72, 48, 240
COLOURS = ["#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#ff7f0e"]


class Axis:
    def __init__(self, values, base, pixels):
        self.base, self.pixels = base, pixels
        self.first = math.floor(math.log(min(values), base) + 1e-9)
        self.last = max(math.ceil(math.log(max(values), base) - 1e-9), self.first + 1)

    def at(self, value):
        return (math.log(value, self.base) - self.first) / (self.last - self.first) * self.pixels

    def ticks(self, room):
        step = max(1, math.ceil((self.last - self.first) * room / self.pixels))
        return [self.base ** p for p in range(self.first, self.last + 1, step)]


def plain(x):
    return f"{x:g}"


def binary(x):
    for unit in ("", "K", "M", "G"):
        if x < 1024 or unit == "G":
            return f"{x:g}{unit}"
        x /= 1024


class Line:
    """`colour`: an index. `role`: "plait" is drawn thick, "limit" dashed, "other limit" dotted, the rest thin."""

    def __init__(self, name, points, colour=0, role="", width=1.5):
        self.name, self.points, self.role = name, sorted((x, y) for x, y in points if x > 0 and y > 0), role
        self.colour, self.width = COLOURS[colour % len(COLOURS)], width

    def style(self):
        if self.role.endswith("limit"):
            return f'stroke="#222" stroke-width="1.5" stroke-dasharray="{"6 4" if self.role == "limit" else "2 3"}"'
        return f'stroke="{self.colour}" stroke-width="{3 if self.role == "plait" else self.width:g}"'


def draw(title, x_name, y_name, lines, x_text=binary, x_base=2):
    lines = [line for line in lines if line.points]
    if not lines:
        return None
    x = Axis([p[0] for line in lines for p in line.points], x_base, WIDTH)
    y = Axis([p[1] for line in lines for p in line.points], 10, HEIGHT)
    full_width, full_height = LEFT + WIDTH + LEGEND, TOP + HEIGHT + 52
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{full_width}" height="{full_height}" viewBox="0 0 {full_width} {full_height}">',
           "<style>text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd;fill:none}</style>",
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="24" style="font-size:15px;font-weight:bold">{escape(title)}</text>',
           f'<g transform="translate({LEFT} {TOP})">']
    for tick in y.ticks(34):
        at = HEIGHT - y.at(tick)
        out.append(f'<path class="grid" d="M0 {at:.1f}H{WIDTH}"/><text x="-8" y="{at + 4:.1f}" text-anchor="end">{plain(tick)}</text>')
    for tick in x.ticks(44):
        at = x.at(tick)
        out.append(f'<path class="grid" d="M{at:.1f} 0V{HEIGHT}"/><text x="{at:.1f}" y="{HEIGHT + 18}" text-anchor="middle">{x_text(tick)}</text>')
    out.append(f'<text x="{WIDTH}" y="{HEIGHT + 38}" text-anchor="end">{escape(x_name)}</text>')
    out.append(f'<text x="-{LEFT - 12}" y="-10">{escape(y_name)}</text>')
    for i, line in enumerate(lines):
        style = line.style()
        path = "".join(f"{'L' if k else 'M'}{x.at(a):.1f} {HEIGHT - y.at(b):.1f}" for k, (a, b) in enumerate(line.points))
        out.append(f'<path d="{path}" fill="none" {style}/>')
        out.append(f'<path d="M{WIDTH + 16} {i * 20 + 8}h24" fill="none" {style}/><text x="{WIDTH + 48}" y="{i * 20 + 12}">{escape(line.name)}</text>')
    return "\n".join(out + ["</g>", "</svg>"]) + "\n"
