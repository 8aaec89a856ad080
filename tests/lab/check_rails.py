#!/usr/bin/env python3
"""Checks what flight recorders say of a rail that was taken out and came back: which, to whom, why, and that both rails
carried. Prints it.

Usage: check_rails.py RAIL RECORD...
"""

import json
import sys

name, paths = sys.argv[1], sys.argv[2:]
for path in paths:
    with open(path) as file:
        record = json.load(file)
    rails, events = record["rails"], record["rail_events"]
    at = [rail["name"] for rail in rails].index(name)
    if min(rail["bytes"] for rail in rails) == 0:
        sys.exit(f"{path}: a rail has carried nothing: {rails}")
    if rails[at]["deaths"] == 0 or rails[at]["returns"] == 0:
        sys.exit(f"{path}: {name} is not counted to have died and come back: {rails}")
    mine = [event for event in events if event["rail"] == at]
    said = [event["what"] for event in mine]
    if said[:1] != ["out"] or "settled" not in said or said[-1:] != ["back"]:
        sys.exit(f"{path}: of {name} it says {said}")
    for event in mine:
        if event["rank"] != 1 - record["rank"] or event["operation"] == 0:
            sys.exit(f"{path}: an event of no rank, or of no operation: {event}")
    out = mine[0]
    again = next(event for event in mine if event["what"] == "settled")
    if not out["why"]:
        sys.exit(f"{path}: it does not say why {name} is out")
    print(
        f"rank {record['rank']}: {name} out in operation {out['operation']}: {out['why']}; settled"
        f" {out['ms_ago'] - again['ms_ago']} ms later, {again['parts']} parts ({again['bytes']} bytes) sent again; back"
        f" after {out['ms_ago'] - mine[-1]['ms_ago']} ms"
    )
