#!/usr/bin/env python3
"""write.py RESULTS DOCS: puts the tables of a report into DOCS/performance.md, between its markers, and draws DOCS/performance-*.svg."""
import pathlib
import re
import sys

import aims
import plot
import tables
from results import FAMILIES, MAPPED, NAMES, PLAIN, Results

OTHERS = ["reduce_scatter", "allgather", "broadcast", "alltoall", "pingpong", "sendbw"]


def with_settings(results, section, collective):
    return tables.latencies(results, section, collective) + "\n\n" + tables.settings(results, section, collective)


def others(results):
    parts = [f"{c}:\n\n{tables.latencies(results, 'others', c)}" for c in [*OTHERS, "barrier"] if results.sizes("others", c)]
    return "\n\n".join(parts)


def hosts(results, section):
    parts = [f"{c}:\n\n{with_settings(results, section, c)}" for c in ("allreduce_inplace", "pingpong", "sendbw") if results.sizes(section, c)]
    rates = tables.line_rates(results) if section == aims.LINE_SECTION else None
    if rates:
        parts.append(f"At 16 MiB plait moves {rates[0]:.2f} GB/s each way, and sums; `iperf3 --bidir` moves {rates[1]:.2f}.")
    return "\n\n".join(parts)


def growth_table(results):
    rows, shown = [], (2, 8, 64, 256, 1024, 65536)
    for (kind, algorithm, unit), by in sorted(tables.growth(results).items()):
        rows.append([kind, algorithm] + [f"{by[x]:g}" if x in by else "-" for x in shown] + [unit])
    return tables.table(["", "algorithm", *map(str, shown), "unit"], rows)


def costs(results):
    parts = []
    libraries = [one.rsplit(",", 1) for one in results.facts["library"]]
    parts.append("Libraries as installed, plait's stripped, in MiB:\n\n"
                 + tables.table(["", "MiB"], [[name, f"{int(kib) / 1024:.1f}"] for name, kib in libraries]))
    parts.append("The first result of 2 ranks, from the begin of `main()`, in ms:\n\n" + tables.modes(results, ["start"], "start", "", 1e-3))
    parts.append("Memory of a process then, in KiB, shared pages shared out:\n\n" + tables.modes(results, ["start"], "memory", ""))
    parts.append("Jitter: calls back to back, each timed by itself:\n\n" + tables.jitter(results))
    return "\n\n".join(parts)


def communicator(results):
    """What bench_memory printed, commas and all."""
    parts = [f"{ranks} ranks:\n\n" + "\n".join("    " + line.replace(";", ",") for line in results.facts[f"memory {ranks}"])
             for ranks in (2, 64) if results.facts[f"memory {ranks}"]]
    return "\n\n".join(parts) or "Not measured in this run."


def idle(results):
    return tables.modes(results, ["idle4", "idle8"], "idle", "% of a core", 1e-4)


def stragglers(results):
    return tables.modes(results, ["stragglers4", "stragglers8"], "stragglers", "us an iteration")


def crowd(results, n):
    parts = [with_settings(results, f"crowd{n}", "allreduce_inplace"),
             "Touched:\n\n" + tables.latencies(results, f"touched{n}", "allreduce_inplace")]
    return "\n\n".join(parts)


BLOCKS = {
    "machine": tables.machine,
    "aims": tables.verdicts,
    "in-place": lambda r: with_settings(r, "pair", "allreduce_inplace"),
    "out-of-place": lambda r: with_settings(r, "pair", "allreduce"),
    "touched": lambda r: tables.latencies(r, "touched", "allreduce_inplace"),
    "others": others,
    "crowd4": lambda r: crowd(r, 4),
    "crowd8": lambda r: crowd(r, 8),
    "stragglers": stragglers,
    "idle": idle,
    "hosts2": lambda r: hosts(r, "hosts2"),
    "hosts4": lambda r: hosts(r, "hosts4"),
    "costs": costs,
    "memory": communicator,
    "growth": growth_table,
}


def fill(text, results):
    for name, block in BLOCKS.items():
        begin, end = f"<!-- report: {name} begin -->", f"<!-- report: {name} end -->"
        if begin not in text:
            continue
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        text = re.sub(pattern, lambda _: f"{begin}\n\n{block(results)}\n\n{end}", text, flags=re.S)
    return text


def latency_lines(results, section, collective):
    sizes = results.sizes(section, collective)

    def points(get):
        return [(b, us) for b in sizes if (us := get(b))]

    def best(one):
        return lambda b: (found := results.best_of(section, collective, b, one)) and found[0]

    def plait(variant):
        return lambda b: (cell := results.at(section, collective, b, variant)) and cell.us

    lines = [plot.Line(NAMES[v], points(plait(v)), i, "plait") for i, v in enumerate(("plait", "plait-plain"))]
    lines += [plot.Line(NAMES[f], points(best(f)), i + 2) for i, f in enumerate(FAMILIES)]
    lines.append(plot.Line("limit", points(lambda b: results.limit(section, collective, b, MAPPED)), role="limit"))
    if any(v in PLAIN and v not in MAPPED for b in sizes for v in results.cells[section, collective, b]):
        lines.append(plot.Line("limit, plain memory", points(lambda b: results.limit(section, collective, b, PLAIN)), role="other limit"))
    return lines


PICTURES = {
    "in-place": ("pair", "allreduce_inplace", "allreduce in place, 2 ranks"),
    "out-of-place": ("pair", "allreduce", "allreduce out of place, 2 ranks"),
    "touched": ("touched", "allreduce_inplace", "allreduce in place, buffers rewritten before each, 2 ranks"),
    "crowd4": ("crowd4", "allreduce_inplace", "allreduce in place, 4 ranks on few cores"),
    "crowd8": ("crowd8", "allreduce_inplace", "allreduce in place, 8 ranks on few cores"),
    "hosts2": ("hosts2", "allreduce_inplace", "allreduce in place over TCP, 2 hosts"),
    "hosts4": ("hosts4", "allreduce_inplace", "allreduce in place, 2 hosts of 2 ranks"),
    **{c: ("others", c, f"{c}, 2 ranks") for c in OTHERS},
}


GROWTH = {
    "steps": ("steps of a rank", "ranks"),
    "messages": ("messages that a rank sends", "ranks"),
    "bytes": ("vectors that a rank sends", "ranks"),
    "plan": ("time to plan, of one rank", "ranks"),
    "segments": ("16 MiB among 8 ranks, simulated, over segments", "segments"),
    "streams": ("16 MiB in 64 segments among 8 ranks, simulated, over streams under way", "streams"),
}


def pictures(results, docs):
    for name, (section, collective, title) in PICTURES.items():
        svg = plot.draw(title, "bytes", "us", latency_lines(results, section, collective))
        if svg:
            (docs / f"performance-{name}.svg").write_text(svg)
    grown = tables.growth(results)
    for kind, (title, x_name) in GROWTH.items():
        of_kind = [(algorithm, unit, by) for (k, algorithm, unit), by in grown.items() if k == kind]
        # Where lines lie on each other the earlier ones are seen beside the later.
        lines = [plot.Line(algorithm, by.items(), i, width=max(1.5, 8 - i)) for i, (algorithm, _, by) in enumerate(of_kind)]
        svg = plot.draw(title, x_name, of_kind[0][1] if of_kind else "", lines)
        if svg:
            (docs / f"performance-growth-{kind}.svg").write_text(svg)


def main():
    results, docs = Results(sys.argv[1]), pathlib.Path(sys.argv[2])
    document = docs / "performance.md"
    text = document.read_text()
    document.write_text(fill(text, results))
    for name in BLOCKS:
        if f"<!-- report: {name} begin -->" not in text:
            print(f"write.py: {document} has no place for {name}", file=sys.stderr)
    pictures(results, docs)


if __name__ == "__main__":
    main()
