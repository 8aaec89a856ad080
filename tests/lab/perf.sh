# shellcheck shell=bash disable=SC2154,SC2034 # variables come from, and go to, what sources it
# One run of plait-perf over the hosts, checked. Sourced by tests, after lab.sh. PLAIT_PERF: the program.

: "${PLAIT_PERF:?set by meson: path of plait-perf}"

# perf_checked LAYOUT COLLECTIVE [OPTION...]: good on all ranks, every element right, and more bytes between the hosts
# than the calls were given, where there is more than one host.
perf_checked() {
  local layout=$1 collective=$2 rows=$lab_folder/rows.json before payload crossed
  shift 2
  rm -f "$rows"
  before=$(received_by_all "$root_network")
  start_ranks "$layout" "$PLAIT_PERF" "$collective" "$@" --json "$rows"
  wait_ranks 300
  expect_good
  payload=$(python3 "$lab_sources/check_rows.py" "$rows" "$collective" "$world") ||
    fail "$collective over $layout, IPv$family: wrong, see above"
  crossed=$(($(received_by_all "$root_network") - before))
  [[ $layout != *" "* ]] || ((crossed > payload)) ||
    fail "$collective over $layout: $crossed bytes crossed $root_network, less than the $payload it was about"
  printf 'good: %s over %s, IPv%d: payload %d, crossed %d bytes\n' "$collective $*" "$layout" "$family" \
    "$payload" "$crossed"
}
