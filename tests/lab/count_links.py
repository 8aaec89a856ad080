"""Reads `icl-info --json` of a pod; prints how many bytes its ports sent so far."""
import json
import sys

pod = json.load(sys.stdin)
print(sum(port["counters"]["tx_bytes"] for chip in pod["chips"] for port in chip["ports"]))
