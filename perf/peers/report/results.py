"""What the rounds of a report measured.

A line of the file is SECTION,ROUND,IMPLEMENTATION,COLLECTIVE,RANKS,DTYPE,BYTES,ITERATIONS,MEDIAN,P99,ALG,BUS,P999 (times in
microseconds), SECTION,ROUND,WHAT,VALUE,UNIT, or fact,NAME,TEXT. Round 0 is the quick one of all settings. A line of times that ends
with ",apart" is of a time when the two cores were apart (near.h): it counts where there is no other of that setting.
"""
import collections
import statistics

OURS = ("limit", "plait")
FAMILIES = ["ompi", "ompi5", "mpich", "mpich5", "impi", "oneccl", "ucc", "gloo", "torch"]
NAMES = {"ompi": "Open MPI 4.1", "ompi5": "Open MPI 5.0", "mpich": "MPICH 4.0", "mpich5": "MPICH 5.0", "impi": "Intel MPI",
         "oneccl": "oneCCL", "ucc": "UCC", "gloo": "Gloo", "torch": "torch", "plait": "plait", "plait-plain": "plait, plain memory",
         "limit": "limit"}
# Of which kind of memory a program of perf/limits is the limit. Lines are it for both.
MAPPED = ("limit-line", "limit-direct", "limit-combine", "limit-tcp")
PLAIN = ("limit-line", "limit-staged", "limit-cma", "limit-tcp")


def family(variant):
    return variant.split("-")[0]


# So many times as long takes at most what is done with the cores apart: as an exchange of lines does.
MOST_BY_APART = 4


class Cell:
    """One point of one variant: its medians by round, and whether only the quick round had it, or only turns with the cores apart."""

    def __init__(self):
        self.rounds, self.quick, self.p999 = [], [], []
        self.rounds_apart, self.quick_apart = [], []

    @property
    def once(self):
        return not self.rounds and not self.rounds_apart

    @property
    def apart(self):
        return not self.rounds and not self.quick

    @property
    def values(self):
        return self.rounds or self.quick or self.rounds_apart or self.quick_apart

    def like(self, apart):
        """Only of turns with the cores apart, or only of others; None: there are none."""
        values = (self.rounds_apart or self.quick_apart) if apart else (self.rounds or self.quick)
        return statistics.median(values) if values else None

    @property
    def us(self):
        return statistics.median(self.values)

    @property
    def spread(self):
        return min(self.values), max(self.values)


class Results:
    def __init__(self, path):
        self.cells = collections.defaultdict(lambda: collections.defaultdict(Cell))  # (section, collective, bytes) -> variant
        self.lines = collections.defaultdict(list)  # (section, what, unit)
        self.facts = collections.defaultdict(list)
        self.wrong = []
        self.apart = collections.Counter()  # section -> lines
        with open(path) as file:
            for line in file:
                self._add(line.strip())

    def _add(self, line):
        words = line.split(",")
        if words[0] == "fact":
            self.facts[words[1]].append(",".join(words[2:]))
        elif len(words) == 5:
            self.lines[words[0], words[2], words[4]].append(float(words[3]))
        elif len(words) >= 12:
            if words[8] == "WRONG":
                self.wrong.append(line)
                return
            cell = self.cells[words[0], words[3], int(words[6])][words[2]]
            if words[-1] == "apart":
                self.apart[words[0]] += 1
                (cell.rounds_apart if int(words[1]) > 0 else cell.quick_apart).append(float(words[8]))
            else:
                (cell.rounds if int(words[1]) > 0 else cell.quick).append(float(words[8]))
            if len(words) > 12 and words[12] not in ("", "apart"):
                cell.p999.append(float(words[12]))

    def sizes(self, section, collective):
        return sorted(b for s, c, b in self.cells if (s, c) == (section, collective))

    def at(self, section, collective, size, variant):
        return self.cells.get((section, collective, size), {}).get(variant)

    def best(self, section, collective, size, wanted, apart=None):
        """(microseconds, variant) of the fastest of those for which wanted(variant); None where there is none. `apart`: only of turns
        with the cores apart, or only of others."""
        cells = self.cells.get((section, collective, size), {})
        times = [(c.us if apart is None else c.like(apart), v) for v, c in cells.items() if wanted(v)]
        return min((t for t in times if t[0] is not None), default=None)

    def best_of(self, section, collective, size, one):
        return self.best(section, collective, size, lambda v: family(v) == one)

    def best_peer(self, section, collective, size, apart=None):
        """None where it may be one of a library that had turns with the cores apart only."""
        found = self.best(section, collective, size, lambda v: family(v) not in OURS, apart)
        if found and apart is False:
            cells = self.cells[section, collective, size]
            known = {family(v) for v, c in cells.items() if not c.apart} | set(OURS)
            if any(family(v) not in known and c.us / MOST_BY_APART < found[0] for v, c in cells.items()):
                return None
        return found

    def limit(self, section, collective, size, kinds=MAPPED, apart=None):
        found = self.best(section, collective, size, lambda v: v in kinds, apart)
        return found[0] if found else None


def number(x):
    return f"{x:.3f}" if x < 1 else f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"


def size_text(n):
    return f"{n >> 20} MiB" if n >= 1 << 20 else f"{n >> 10} KiB" if n >= 1024 else f"{n} B"
