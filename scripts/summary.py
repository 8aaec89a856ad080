"""Sums up the logs that `meson test` left in build folders: counts single GoogleTest cases, names what was skipped and why,
repeats which failed, and ends with one line: N passed, N failed, N skipped. Exit status 1 when anything failed.

Usage: python3 scripts/summary.py [--skipped "NAME: REASON"]... [--times TEXT] BUILD_FOLDER/meson-logs/LOG.json...
--skipped: what could not even be built here, and so is in no log.
--times: what took how long, to be repeated near the end.
"""

import argparse
import json
import pathlib
import re
import sys

CASE_END = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)(?:, where .*)? \(\d+ ms\)$")
CASE_BEGIN = re.compile(r"^\[ RUN +\] (\S+)$")
SKIP_PLACE = re.compile(r"^\S+:\d+: Skipped$")
LONGEST_REASON = 300
LAST_WORDS = 12  # lines of a failed program that has no single cases
SLOWEST = 4  # tests of a folder that are named
STATE = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def cases_of(stdout, end_of_program):
    """(name, state, text in between) of each GoogleTest case that a program printed. One that began and never ended
    has failed: the program died in it, as end_of_program says."""
    found, name, text = [], None, []
    for line in stdout.splitlines():
        begin, end = CASE_BEGIN.match(line), CASE_END.match(line)
        if begin:
            name, text = begin[1], []
        elif end and name:
            found.append((name, STATE[end[1]], text))
            name = None
        elif name:
            text.append(line)
    if name:
        found.append((name, "failed", text + [end_of_program]))
    return found


def reason_of(text):
    lines = [line.strip() for line in text if line.strip() and not SKIP_PLACE.match(line)]
    reason = "; ".join(lines)
    if len(reason) > LONGEST_REASON:
        return reason[:LONGEST_REASON] + " ..."
    return reason or "no reason given"


def results_of(test):
    """(name, state, reason) of each thing counted in one entry of meson's log."""
    result, name = test["result"], name_of(test)
    output = test.get("stdout", "").rstrip("\n") + "\n" + test.get("stderr", "")
    good = result in ("OK", "EXPECTEDFAIL")
    # A case's words may still be in the program's buffer when it is killed.
    late = f"it had not ended after {test['duration']:.0f} s, and was killed" if result == "TIMEOUT" else "the program ended in this test"
    found = [(f"{name}: {case}", state, reason_of(text)) for case, state, text in cases_of(test.get("stdout", ""), late)]
    if found:
        if not good and result != "SKIP" and not any(state == "failed" for _, state, _ in found):
            found.append((name, "failed", f"{result}, though no single test failed"))
        return found
    if result == "SKIP":
        return [(name, "skipped", reason_of(output.splitlines()[-1:]))]
    if good:
        return [(name, "passed", "")]
    return [(name, "failed", "\n    ".join([result, *(line[:LONGEST_REASON] for line in output.splitlines()[-LAST_WORDS:])]))]


def load(log):
    for line in log.read_text(errors="replace").splitlines():
        if line.strip():
            yield json.loads(line)


def arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--skipped", action="append", default=[])
    parser.add_argument("--times", default="")
    parser.add_argument("logs", nargs="*", type=pathlib.Path)
    return parser.parse_args()


def name_of(test):
    return test["name"].split(" / ")[-1]  # behind its suites


def slowest_of(tests):
    first = sorted(tests, key=lambda test: -test["duration"])[:SLOWEST]
    return ", ".join(f"{name_of(test)} {test['duration']:.0f} s" for test in first)


def print_skipped(skipped):
    """skipped: {reason: {name: [folders]}}. A line for each reason."""
    if skipped:
        print("== skipped, and why")
    for reason, names in sorted(skipped.items()):
        print(f"  {reason}:", "; ".join(f"{name} ({', '.join(folders)})" for name, folders in names.items()))


def main(logs, unbuilt, times):
    counts, failed, skipped = dict.fromkeys(STATE.values(), 0), [], {}
    counts["skipped"] = len(unbuilt)
    for one in unbuilt:
        name, _, reason = one.partition(": ")
        skipped.setdefault(reason, {})[name] = ["all"]
    for log in logs:
        folder = str(log.parent.parent)
        tests, ran = list(load(log)), 0
        for test in tests:
            for name, state, reason in results_of(test):
                ran += 1
                counts[state] += 1
                if state == "skipped":
                    skipped.setdefault(reason, {}).setdefault(name, []).append(folder)
                elif state == "failed":
                    failed.append(f"  {folder}: {name}: {reason}")
        print(f"== {folder}: {ran} tests; the slowest: {slowest_of(tests)}")
    print_skipped(skipped)
    if times:
        print(f"== {times}")
    if failed:
        print("== FAILED (logs are above)", *failed, sep="\n")
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


given = arguments()
sys.exit(main(given.logs, given.skipped, given.times))
