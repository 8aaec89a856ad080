#!/usr/bin/env bash
# Runs one fuzzer for PLAIT_FUZZ_SECONDS (default 60). A test of suite 'fuzz': see scripts/fuzz.
#
# Usage: run.sh FUZZER CORPUS
# What it learns is kept beside the fuzzer, in FUZZER.corpus/, for the next run; an input that breaks it in
# FUZZER.findings/.
set -euo pipefail
fuzzer=$(realpath "$1") corpus=$2
seconds=${PLAIT_FUZZ_SECONDS:-60}
seed=${PLAIT_FUZZ_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
mkdir -p "$fuzzer.corpus" "$fuzzer.findings"
printf '%s: seed %s, %s s\n' "${fuzzer##*/}" "$seed" "$seconds"

# An input is one frame, one line, one file: none need be long, no parser may take a second or 64 MiB for one.
options=(-max_total_time="$seconds" -seed="$seed" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=64
  -artifact_prefix="$fuzzer.findings/" -print_final_stats=1 -verbosity=1)
# What the sanitizers say ends it.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
timeout -k 10 $((seconds + 120)) "$fuzzer" "${options[@]}" "$fuzzer.corpus" "$corpus" >"$log" 2>&1 || status=$?
if ((status != 0)); then
  tail -n 80 "$log" # the stack, and the input in base64
  printf 'FAILED with status %d; the input is in %s\n' "$status" "$fuzzer.findings/"
  exit 1
fi
grep -E '^(stat::number_of_executed_units|stat::peak_rss_mb|stat::average_exec_per_sec)' "$log" || true
