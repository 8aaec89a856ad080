#!/usr/bin/env python3
"""Checks what plait-perf --json wrote: no wrong element in any row, and as many ranks as there should be. Prints a floor
of the bytes that must have crossed between the hosts for the timed calls: whatever the algorithm, in each of these
collectives the hosts together have to receive at least what the call was given. A barrier takes a packet.

Usage: check_rows.py FILE COLLECTIVE RANKS
"""

import json
import sys

path, collective, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(path) as file:
    rows = json.load(file)
if not rows:
    sys.exit(f"{path}: not one row")
for row in rows:
    if row["collective"] != collective or row["ranks"] != ranks:
        sys.exit(f"{collective} of {ranks} ranks was to be measured, not {row}")
    if row["wrong"] != 0:
        sys.exit(f"wrong elements: {row}")
HEADERS = 54  # Ethernet, IPv4, TCP
print(sum((row["bytes"] or HEADERS) * row["iterations"] for row in rows))
