"""Draws what compare.py measured, as SVG: the loss by epoch, and each run's accuracy."""

import html
import math
import statistics

WIDTH, HEIGHT = 430, 330  # of a panel's field
LEFT, TOP, GAP, ROW = 62, 66, 190, 24
COLOURS = ["#222222", "#888888", "#1f77b4", "#17a2c6", "#2ca02c", "#ff7f0e", "#d62728", "#9467bd", "#8c564b", "#e377c2",
           "#bcbd22", "#7f3f00"]
DASHES = ["", "5 3", "2 3"]  # where there are more curves than colours


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, colour="#dddddd"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def style(index):
    dash = DASHES[index // len(COLOURS) % len(DASHES)]
    return COLOURS[index % len(COLOURS)], f' stroke-dasharray="{dash}"' if dash else ""


def losses(runs):
    """The mean over the seeds, of each epoch."""
    return [statistics.mean(epochs) for epochs in zip(*([e["loss"] for e in r["epochs"]] for r in runs))]


def draw_losses(curves):
    """The left panel: logarithmic, a curve for each name."""
    values = [v for curve in curves.values() for v in curve if v > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    epochs = max(map(len, curves.values()))
    at_x = lambda epoch: LEFT + WIDTH * (epoch - 1) / max(epochs - 1, 1)
    at_y = lambda value: TOP + HEIGHT * (high - math.log10(max(value, 10 ** low))) / max(high - low, 1)
    out = [text(LEFT, TOP - 14, "training loss, by epoch", more='font-weight="bold"')]
    for power in range(low, high + 1):
        out += [line(LEFT, at_y(10 ** power), LEFT + WIDTH, at_y(10 ** power)),
                text(LEFT - 6, at_y(10 ** power) + 4, f"{10.0 ** power:g}", "end")]
    for epoch in range(1, epochs + 1, max(1, round(epochs / 8))):
        out.append(text(at_x(epoch), TOP + HEIGHT + 18, str(epoch), "middle"))
    for index, (name, curve) in enumerate(curves.items()):
        colour, dash = style(index)
        points = " ".join(f"{at_x(i + 1):.1f},{at_y(v):.1f}" for i, v in enumerate(curve))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}>'
                   f"<title>{html.escape(name)}</title></polyline>")
    return out


def accuracy_axis(accuracies):
    """The ends, and the distance of ticks, that hold all values."""
    low, high = min(accuracies), max(accuracies)
    step = next((s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10) if (high - low) / s <= 7), 20)
    return math.floor(low / step) * step, max(math.ceil(high / step), math.floor(low / step) + 1) * step, step


def draw_accuracies(accuracies, left):
    """The right panel, which is the legend, too: a row for each name, a dot for each run, a bar for their mean."""
    low, high, step = accuracy_axis([a for row in accuracies.values() for a in row])
    at_x = lambda value: left + WIDTH * (value - low) / (high - low)
    bottom = TOP + ROW * len(accuracies)
    out = [text(left, TOP - 14, "accuracy on test images (%), a dot for each seed", more='font-weight="bold"')]
    for i in range(round((high - low) / step) + 1):
        out += [line(at_x(low + i * step), TOP, at_x(low + i * step), bottom),
                text(at_x(low + i * step), bottom + 18, f"{low + i * step:.4g}", "middle")]
    for index, (name, row) in enumerate(accuracies.items()):
        y, (colour, dash) = TOP + ROW * (index + 0.5), style(index)
        out += [text(left - 38, y + 4, name, "end"),
                f'<line x1="{left - 32}" y1="{y}" x2="{left - 8}" y2="{y}" stroke="{colour}" stroke-width="3"{dash}/>']
        out += [f'<circle cx="{at_x(a):.1f}" cy="{y}" r="4" fill="{colour}" fill-opacity="0.55"/>' for a in row]
        mean = at_x(statistics.mean(row))
        out.append(f'<rect x="{mean - 1.2:.1f}" y="{y - 8}" width="2.4" height="16" fill="{colour}"/>')
    return out


def draw(title, runs):
    """runs: of each name, what its runs came to. Those without any are left out."""
    runs = {name: good for name, good in runs.items() if good}
    right = LEFT + WIDTH + GAP
    height = TOP + max(HEIGHT, ROW * len(runs)) + 36
    body = draw_losses({name: losses(r) for name, r in runs.items()})
    body += draw_accuracies({name: [100 * x["epochs"][-1]["accuracy"] for x in r] for name, r in runs.items()}, right)
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + WIDTH + 30}" height="{height}" '
         'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
         text(LEFT, 26, title, more='font-size="16"')] + body + ["</svg>", ""])
