#!/usr/bin/env python3
"""guard.py FILE: how far plait is from the limits, and how far it may be. Exits 1 beyond a bound, 2 where something was not measured.

A line is ROUND,TOUCHED,IMPLEMENTATION,COLLECTIVE,RANKS,DTYPE,BYTES,...: as bench.h prints it, with two fields before.
"""
import collections
import statistics
import sys

from results import size_text
from tables import KINDS

K, M = 1 << 10, 1 << 20
# (plait's variant, touched, ranks, collective, bytes): most that its time may be of the limit's. What was measured, and a third more.
BOUNDS = {
    ("plait", False, 2, "allreduce_inplace", 8): 2.2,
    ("plait", False, 2, "allreduce_inplace", 512): 1.7,
    ("plait", False, 2, "barrier", 0): 2.0,
    ("plait", False, 2, "allreduce_inplace", 64 * K): 1.5,
    ("plait", False, 2, "allreduce_inplace", M): 1.35,
    ("plait", False, 2, "allreduce_inplace", 16 * M): 1.5,
    ("plait", False, 2, "allreduce", M): 1.35,
    ("plait", False, 2, "allgather", M): 1.45,
    ("plait", False, 2, "reduce_scatter", M): 1.4,
    ("plait", False, 2, "alltoall", M): 1.4,
    ("plait", True, 2, "allreduce_inplace", 64 * K): 1.3,
    ("plait", True, 2, "allreduce_inplace", M): 1.35,
    ("plait-plain", False, 2, "allreduce_inplace", 64 * K): 1.3,
    ("plait-plain", False, 2, "allreduce_inplace", M): 1.3,
    ("plait-plain", False, 2, "allreduce_inplace", 16 * M): 1.4,
    ("plait", False, 4, "allreduce_inplace", 8): 2.0,
    ("plait", False, 4, "allreduce_inplace", 64 * K): 2.0,
    ("plait", False, 4, "allreduce_inplace", M): 1.6,
}


def read(path):
    """What was measured with the cores apart (near.h) counts where there are no others."""
    found, apart = collections.defaultdict(list), collections.defaultdict(list)
    wrong = []
    with open(path) as file:
        for line in file:
            w = line.strip().split(",")
            if w[8] == "WRONG":
                wrong.append(line.strip())
                continue
            into = apart if w[-1] == "apart" else found
            into[w[2], w[1] == "BENCH_TOUCH=1", int(w[4]), w[3], int(w[6])].append(float(w[8]))
    return {**apart, **found}, wrong


HEAD = (f"{'':<13}{'ranks':>5} {'collective':<18}{'bytes':>8}{'touched':>9}{'plait us':>11}{'limit us':>11}{'ratio':>8}"
        f"{'bound':>7}")


def main():
    found, wrong = read(sys.argv[1])
    beyond = missing = 0
    print(HEAD)
    for (variant, touched, ranks, collective, size), bound in BOUNDS.items():
        ours = found.get((variant, touched, ranks, collective, size))
        theirs = [statistics.median(v) for (name, *point), v in found.items()
                  if name in KINDS[variant] and point == [touched, ranks, collective, size]]
        if not ours or not theirs:
            missing += 1
            print(f"{variant:<13}{ranks:>5} {collective:<18}{size_text(size):>8}: not measured")
            continue
        us, limit = statistics.median(ours), min(theirs)
        far = us / limit > bound
        beyond += far
        print(f"{variant:<13}{ranks:>5} {collective:<18}{size_text(size):>8}{'yes' if touched else '':>9}{us:>11.3f}{limit:>11.3f}"
              f"{us / limit:>8.2f}{bound:>7.2f}{'  BEYOND' if far else ''}")
    for line in wrong:
        print("WRONG RESULT:", line)
    print(f"{len(BOUNDS) - beyond - missing} within, {beyond} beyond, {missing} not measured, {len(wrong)} wrong results")
    sys.exit(1 if beyond or wrong else 2 if missing else 0)


if __name__ == "__main__":
    main()
