#!/usr/bin/env python3
"""Which settings go on after the quick round, and where.

choose.py RESULTS SECTION POINTS   POINTS is COLLECTIVE:BYTES,...; prints a line for each variant: NAME POINTS
The best two settings of each peer go on at a point, where the peer is within three times of the best; from 64 MiB on, where most of
the time goes, one setting, and peers within one and a half times. A
size that the quick round left out goes by the largest below it.
"""
import collections
import sys

from results import FAMILIES, OURS, Results, family

WITHIN, SETTINGS = 3, 2
LARGE, WITHIN_LARGE, SETTINGS_LARGE = 64 << 20, 1.5, 1


def reference(results, section, collective, size):
    measured = [b for b in results.sizes(section, collective) if b <= size]
    return measured[-1] if measured else size


def chosen(results, section, collective, size):
    at = reference(results, section, collective, size)
    cells = results.cells.get((section, collective, at), {})
    best = results.best_peer(section, collective, at)
    within, settings = (WITHIN_LARGE, SETTINGS_LARGE) if size >= LARGE else (WITHIN, SETTINGS)
    names = [v for v in cells if family(v) in OURS]
    for one in FAMILIES:
        fit = sorted((c.us, v) for v, c in cells.items() if family(v) == one and c.us <= within * best[0])
        names += [v for _, v in fit[:settings]]
    return names


def main():
    results, section = Results(sys.argv[1]), sys.argv[2]
    points = collections.defaultdict(list)
    for point in sys.argv[3].split(","):
        collective, size = point.split(":")
        # A point that is split among ranks may have got another number of bytes: the barrier has none.
        for variant in chosen(results, section, collective, 0 if collective == "barrier" else int(size)):
            points[variant].append(point)
    for variant, its in points.items():
        print(variant, ",".join(its))


if __name__ == "__main__":
    main()
