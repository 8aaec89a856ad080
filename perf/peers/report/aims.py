"""What plait is measured against: the bounds that the tables answer, each a ratio of medians of the same rounds."""

K, M = 1 << 10, 1 << 20


class Aim:
    """For sizes from the first to the second, both included. `limit`: the most that plait's time may be of the limit's. `ahead`,
    `default`: the least that the best peer's time, or that of the best default, must be of plait's. `us`: the most microseconds,
    shown in `unit` of so many each."""

    def __init__(self, section, collective, sizes, plait="plait", limit=None, ahead=None, default=None, us=None, unit=("us", 1)):
        self.section, self.collective, self.sizes, self.plait = section, collective, sizes, plait
        self.limit, self.ahead, self.default, self.us, self.unit = limit, ahead, default, us, unit

    def covers(self, section, collective, size, plait):
        low, high = self.sizes
        return (section, collective, plait) == (self.section, self.collective, self.plait) and low <= size <= high


ALL, PLAIN = (0, 1 << 62), "plait-plain"
AIMS = [
    Aim("pair", "allreduce_inplace", (8, 8), us=0.16, ahead=2),
    Aim("pair", "allreduce_inplace", (64, 512), ahead=1),
    Aim("pair", "allreduce_inplace", (4 * K, 4 * K), us=0.6, ahead=1),
    Aim("pair", "allreduce_inplace", (16 * K, 256 * M), limit=1.25, ahead=2.5),
    Aim("touched", "allreduce_inplace", (4 * K, 4 * K), us=0.9, ahead=1),
    Aim("touched", "allreduce_inplace", (16 * K, 256 * M), limit=1.25, ahead=2.5),
    Aim("pair", "allreduce", (8, 512), ahead=1),
    Aim("pair", "allreduce", (4 * K, 16 * K), ahead=1.1),
    Aim("pair", "allreduce", (64 * K, 256 * M), ahead=1.8),
    *[Aim("others", c, ALL, ahead=1)
      for c in ("reduce_scatter", "allgather", "broadcast", "alltoall", "barrier", "pingpong", "sendbw")],
    *[Aim("others", c, ALL, plait=PLAIN, ahead=1)
      for c in ("reduce_scatter", "allgather", "broadcast", "alltoall", "pingpong", "sendbw")],
    *[a for c in ("allreduce_inplace", "allreduce")
      for a in (Aim("pair", c, (8, 16 * K), plait=PLAIN, ahead=1), Aim("pair", c, (64 * K, 16 * M), plait=PLAIN, ahead=1.25),
                Aim("pair", c, (64 * M, 64 * M), plait=PLAIN, ahead=1.8), Aim("pair", c, (256 * M, 256 * M), plait=PLAIN, ahead=1.25))],
    *[a for n in (4, 8)
      for a in (Aim(f"crowd{n}", "allreduce_inplace", (8, 8), ahead=1.5), Aim(f"crowd{n}", "allreduce_inplace", (4 * K, 4 * K), ahead=1),
                Aim(f"crowd{n}", "allreduce_inplace", (64 * K, M), ahead=4), Aim(f"crowd{n}", "allreduce_inplace", (16 * M, 16 * M), ahead=5),
                Aim(f"touched{n}", "allreduce_inplace", (64 * K, 64 * K), ahead=2), Aim(f"stragglers{n}", "stragglers", ALL, ahead=1.3),
                Aim(f"idle{n}", "idle", ALL, us=2000, unit=("% of a core", 1e-4)))],
    Aim("hosts2", "allreduce_inplace", (8, 8), ahead=1.35),
    Aim("hosts2", "allreduce_inplace", (64 * K, 64 * K), ahead=1.25),
    Aim("hosts2", "allreduce_inplace", (M, M), ahead=1, default=2),
    Aim("hosts2", "allreduce_inplace", (16 * M, 16 * M), ahead=2),
    Aim("hosts4", "allreduce_inplace", (64 * K, 16 * M), ahead=1.3),
    Aim("start", "start", ALL, us=30000, unit=("ms", 1e-3)),
]

# Times what the line moves by iperf3 --bidir, at this size.
LINE_SECTION, LINE_BYTES, LINE_TIMES = "hosts2", 16 * M, 2

# Wherever a peer is more than twice from its limit, plait is to be this far ahead of it.
FAR_PEER, FAR_AHEAD = 2, 1.5


def aim_for(section, collective, size, plait):
    return next((a for a in AIMS if a.covers(section, collective, size, plait)), None)
