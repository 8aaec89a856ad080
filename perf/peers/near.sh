# shellcheck shell=bash disable=SC2154,SC2086 # variables come from run; commands are words
# A host may move the two cores of a virtual machine apart, for seconds at a time. Turns for which they were apart tell nothing beside
# others. Sourced by run.

begin_turns() {
  # distances of this run; whose turns were taken again; whose had to do with cores apart
  tee "$OUT/near" "$OUT/again" "$OUT/apart" </dev/null
}

# How long two cores take to exchange a line, in microseconds.
near() {
  env -u BENCH_SYNC BENCH_IMPL=near BENCH_MODE=sweep BENCH_TOUCH=0 BENCH_POINTS=allreduce_inplace:8 BENCH_PIN=1 BENCH_BUDGET=0.02 \
    $prio timeout 10 "$B/limits/line" 2 2>>"$OUT/errors.log" | cut -d, -f7
}

# Is this distance that of the nearest so far? Kept in a file: turns are taken in subshells.
is_near() {
  [ -n "$1" ] || return 0
  echo "$1" >>"$OUT/near"
  awk -v d="$1" 'NR == 1 || $1 < n { n = $1 } END { exit !(d < n * 1.6 + 0.02) }' "$OUT/near"
}

# a_turn RANKS LABEL COMMAND...: three times at most; what the last one printed counts, with ",apart" behind each line if the cores were
# apart that time, too. Ranks that share cores are moved about in any case.
a_turn() {
  local try out='' mark=''
  for try in 1 2 3; do
    if ((try < 3)) && ! crowded "$1" && ! is_near "$(near)"; then
      echo "$2" >>"$OUT/again"
      sleep 0.3
      continue
    fi
    out=$("${@:3}")
    if crowded "$1" || is_near "$(near)"; then break; fi
    if ((try == 3)); then
      mark=,apart
      echo "$2" >>"$OUT/apart"
    else
      echo "$2" >>"$OUT/again"
    fi
  done
  [ -z "$out" ] || sed "s/\$/$mark/" <<<"$out"
}
