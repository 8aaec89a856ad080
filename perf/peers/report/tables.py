"""The tables of the document, as Markdown."""
import statistics

import aims
from results import FAMILIES, MAPPED, NAMES, OURS, PLAIN, family, number, size_text

KINDS = {"plait": MAPPED, "plait-plain": PLAIN}


def table(head, rows):
    if not rows:
        return "Not measured in this run."
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(r) + " |" for r in rows])


class Judged:
    """plait at one point, beside limit and peers, and what was asked. Where plait had turns with the cores apart only, it is beside
    what the others took in such turns, else beside what they took in others; beside nobody where the best
    of them may be one that had no such turn."""

    def __init__(self, results, section, collective, size, plait):
        cell = results.at(section, collective, size, plait)
        self.us = cell.us if cell else None
        self.apart = cell.apart if cell else None
        self.limit = results.limit(section, collective, size, KINDS[plait], self.apart)
        self.peer = results.best_peer(section, collective, size, self.apart)
        self.aim = aims.aim_for(section, collective, size, plait)
        self.of_limit = self.us / self.limit if self.us and self.limit else None
        self.ahead = self.peer[0] / self.us if self.us and self.peer else None
        defaults = results.best(section, collective, size, lambda v: family(v) not in OURS and v.endswith("-def"), self.apart)
        self.over_default = defaults[0] / self.us if self.us and defaults else None

    def questions(self):
        """(asked, measured, met) for each bound."""
        aim = self.aim
        if aim is None or self.us is None:
            return []
        found = []
        if aim.us:
            unit, each = aim.unit
            found.append((f"at most {aim.us * each:g} {unit}", f"{number(self.us * each)} {unit}", self.us <= aim.us))
        if aim.limit and self.of_limit:
            found.append((f"within {aim.limit:g} x limit", f"{self.of_limit:.2f}", self.of_limit <= aim.limit))
        if aim.ahead and self.ahead:
            asked = aim.ahead
            if aim.section == "others" and self.limit and self.peer[0] > aims.FAR_PEER * self.limit and aim.plait == "plait":
                asked = aims.FAR_AHEAD
            found.append((f"{asked:g} x ahead" if asked > 1 else "not behind", f"{self.ahead:.2f}", self.ahead >= asked))
        if aim.default and self.over_default:
            found.append((f"{aim.default:g} x ahead of defaults", f"{self.over_default:.2f}", self.over_default >= aim.default))
        return found


def value(cell, scale=1):
    return "" if cell is None else number(cell.us * scale) + ("°" if cell.once else "") + ("‡" if cell.apart else "")


def latencies(results, section, collective):
    """All families by size, each at its best setting for the size; how far plait is from the limit and from the best of them."""
    sizes = results.sizes(section, collective)
    present = [f for f in FAMILIES if any(results.best_of(section, collective, b, f) for b in sizes)]
    head = ["", "limit", "plait"] + [NAMES[f] for f in present] + ["of limit", "ahead", "asked"]
    rows = []
    for b in sizes:
        judged = Judged(results, section, collective, b, "plait")
        row = [size_text(b) if b else "-", number(judged.limit) if judged.limit else "-", value(results.at(section, collective, b, "plait"))]
        for f in present:
            best = results.best_of(section, collective, b, f)
            row.append(value(results.at(section, collective, b, best[1])) if best else "-")
        rows.append(row + verdict(judged))
    return table(head, rows) + plain_memory(results, section, collective, sizes)


def plain_memory(results, section, collective, sizes):
    """The same for plait with plain memory, beside the best of the peers of the table above."""
    sizes = [b for b in sizes if results.at(section, collective, b, "plait-plain")]
    if not sizes or collective == "barrier":
        return ""
    rows = []
    for b in sizes:
        judged = Judged(results, section, collective, b, "plait-plain")
        rows.append([size_text(b), number(judged.limit) if judged.limit else "-", number(judged.us) + ("‡" if judged.apart else ""),
                     f"{number(judged.peer[0])} `{judged.peer[1]}`" if judged.peer else "-"] + verdict(judged))
    return "\n\nPlain memory:\n\n" + table(["", "limit", "plait", "best peer", "of limit", "ahead", "asked"], rows)


def verdict(judged):
    return [f"{judged.of_limit:.2f}" if judged.of_limit else "-", f"{judged.ahead:.2f}" if judged.ahead else "-", asked(judged)]


def asked(judged):
    return ", ".join(f"{what}{'' if met else ' (missed)'}" for what, _, met in judged.questions()) or "-"


def settings(results, section, collective):
    """Which setting of each family was the best at each size: what the columns above are."""
    parts = []
    for f in FAMILIES:
        by = {}
        for b in results.sizes(section, collective):
            best = results.best_of(section, collective, b, f)
            if best:
                by.setdefault(best[1][len(f) + 1:], []).append(size_text(b) if b else "-")
        if by:
            parts.append(f"{NAMES[f]}: " + "; ".join(f"`{setting}` at {', '.join(at)}" for setting, at in by.items()))
    return "Best settings. " + ". ".join(parts) + "." if parts else ""


def modes(results, sections, collective, unit, scale=1):
    """One row a variant, one column a section."""
    sections = [s for s in sections if results.sizes(s, collective)]
    points = [(s, results.sizes(s, collective)[0]) for s in sections]
    names = sorted({v for s, b in points for v in results.cells[s, collective, b]}, key=order)
    rows = []
    for v in names:
        cells = [results.at(s, collective, b, v) for s, b in points]
        rows.append([f"`{v}`"] + [value(c, scale) or "-" for c in cells])
    return table([unit] + [f"{s}" for s in sections], rows)


def order(variant):
    one = family(variant)
    return (OURS.index(one) if one in OURS else 2, FAMILIES.index(one) if one in FAMILIES else 0, variant)


def jitter(results):
    sizes = results.sizes("jitter", "jitter")
    if not sizes:
        return ""
    rows = []
    for v in sorted(results.cells["jitter", "jitter", sizes[0]], key=order):
        cell = results.at("jitter", "jitter", sizes[0], v)
        seldom = sorted(cell.p999)[len(cell.p999) // 2] if cell.p999 else None
        rows.append([f"`{v}`", number(cell.us), number(seldom) if seldom else "-", f"{seldom / cell.us:.1f}" if seldom else "-"])
    return table(["8 B, 2 ranks", "median us", "99.9 % us", "ratio"], rows)


def growth(results):
    """(what, algorithm) -> {x: value}, of the counts that bench_program printed."""
    found = {}
    for (section, what, unit), values in results.lines.items():
        if section == "growth":
            kind, algorithm, x = what.split(" ")
            found.setdefault((kind, algorithm, unit), {})[int(x)] = values[0]
    return found


def verdicts(results):
    """Every aim with its worst point."""
    rows = []
    for aim in aims.AIMS:
        worst = {}
        for b in results.sizes(aim.section, aim.collective):
            if not aim.covers(aim.section, aim.collective, b, aim.plait):
                continue
            for what, measured, met in Judged(results, aim.section, aim.collective, b, aim.plait).questions():
                worst.setdefault(what, []).append((met, b, measured))
        for what, points in worst.items():
            missed = [p for p in points if not p[0]]
            shown = ", ".join(f"{m} ({size_text(b)})" for _, b, m in missed or points)
            rows.append([f"{aim.section}, {aim.collective}", NAMES[aim.plait], what, shown, "missed" if missed else "met"])
    return table(["section", "memory", "asked", "measured (where missed, else all)", ""], rows + against_the_line(results))


def line_rates(results):
    """GB/s each way: what plait moves while it sums, and what iperf3 moves; None where one is not there."""
    cell = results.at(aims.LINE_SECTION, "allreduce_inplace", aims.LINE_BYTES, "plait")
    line = [v for (section, what, _), values in results.lines.items() if section == aims.LINE_SECTION and "iperf3" in what for v in values]
    return (aims.LINE_BYTES / cell.us / 1e3, statistics.median(line)) if cell and line else None


def against_the_line(results):
    rates = line_rates(results)
    if not rates:
        return []
    times = rates[0] / rates[1]
    return [["hosts2, allreduce_inplace", "plait", f"{aims.LINE_TIMES} x iperf3 --bidir", f"{times:.2f} ({size_text(aims.LINE_BYTES)})",
             "met" if times >= aims.LINE_TIMES else "missed"]]


def machine(results):
    facts = results.facts
    lines = [f"{', '.join(facts['date'])}; {', '.join(facts['processor'])}; {', '.join(facts['kernel'])}. Peers: "
             + ", ".join(facts["release"]) + "."]
    if facts["missing"]:
        lines.append("Not there, and so not in the tables: " + ", ".join(facts["missing"]) + ".")
    for near in facts["near"]:
        nearest, farthest, usual, again = near.split(",")
        lines.append(f"A line went from core to core in {number(float(nearest))} to {number(float(farthest))} us; compared is what was "
                     f"measured where it took about {number(float(usual))}. Points taken again because it did not afterwards: {again}.")
    if results.apart:
        lines.append("Points measured with the cores otherwise all the same (‡ where a time is of such alone): "
                     + ", ".join(f"{n} {count}" for n, count in results.apart.items()) + ".")
    lines.append("Rounds: " + ", ".join(one.replace(",", " ") for one in facts["rounds"]) + ".")
    if facts["failed"]:
        lines.append("Ended with an error or by a time limit, in whole or in part: " + ", ".join(facts["failed"]) + ".")
    if results.wrong:
        lines.append(f"**Wrong results: {len(results.wrong)}**: " + "; ".join(results.wrong[:5]))
    else:
        lines.append("No result was wrong.")
    return "\n".join(lines)
