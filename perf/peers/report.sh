# shellcheck shell=bash disable=SC2154,SC2034,SC2086 # variables come from, and go to, run; commands are words
# The whole comparison in one command, within REPORT_MINUTES (28): writes the tables and pictures of docs/performance.md.
# Sourced by run. REPORT_SECTIONS and REPORT_PEERS (regexes): only these.
#
# A section has a quick round of all settings, from which the best two of each peer and size go on, and then rounds until its
# share of the time is spent. In a round all take turns, plait and the limits two each, as
# what is asked of them is finer: a quarter, and of others a half.

results=
deadline=0 # of the whole, in $SECONDS
shares_left=0

K=1024
M=1048576

# points COLLECTIVES SIZES
points() {
  local c s all=
  for c in ${1//,/ }; do
    for s in ${2//,/ }; do all+=,$c:$s; done
  done
  echo "${all#,}"
}

# name|share of the time|ranks|where|environment|choice of settings: quick, that of another section, or a regex|points
sections() {
  local small=8,64,512 large=$((4 * K)),$((16 * K)),$((64 * K)),$((256 * K)),$M,$((4 * M)),$((16 * M)),$((64 * M))
  local few=8,$((64 * K)),$M,$((16 * M)) alike='plait$|limit-combine|.*-def|impi-yield|ompi5?-rd'
  local late="BENCH_MODE=stragglers BENCH_SIZES=$((64 * K))|quick|stragglers:$((64 * K))"
  cat <<END
pair|330|2|here||quick|$(points allreduce_inplace "$small,$large,$((256 * M))"),$(points allreduce "$small,$large")
touched|140|2|here|BENCH_TOUCH=1|pair|$(points allreduce_inplace "$large")
others|270|2|here||quick|$(points reduce_scatter,allgather,broadcast,alltoall,pingpong,sendbw "8,$((4 * K)),$((64 * K)),$M,$((16 * M))"),barrier:8
crowd4|120|4|here||quick|$(points allreduce_inplace "$few,$((4 * K))")
crowd8|140|8|here||quick|$(points allreduce_inplace "$few,$((4 * K))")
touched4|40|4|here|BENCH_TOUCH=1|crowd4|$(points allreduce_inplace $((64 * K)),$M)
touched8|50|8|here|BENCH_TOUCH=1|crowd8|$(points allreduce_inplace $((64 * K)),$M)
stragglers4|50|4|here|$late
stragglers8|60|8|here|$late
idle4|30|4|here|BENCH_MODE=idle BENCH_SIZES=$((64 * K)) BENCH_SLEEP=0.6|$alike|-
idle8|35|8|here|BENCH_MODE=idle BENCH_SIZES=$((64 * K)) BENCH_SLEEP=0.6|$alike|-
jitter|20|2|here|BENCH_MODE=jitter BENCH_SIZES=8|plait|limit-line|.*-def|-
start|20|2|here|BENCH_MODE=start|plait|.*-def|-
hosts2|220|2|hosts||quick|$(points allreduce_inplace "$few,$((4 * K))"),$(points pingpong,sendbw "8,$((16 * K)),$((64 * K))")
hosts4|120|4|hosts||quick|$(points allreduce_inplace "$few")
END
}

# launch WHERE NAME ENVIRONMENT COMMAND
launch() {
  if [ "$1" = here ]; then one "${@:2}"; else one_across "${@:2}" | grep -v '^#'; fi
}
# Defaults come before other settings: a quick round may end early.
variants_of() {
  if [ "$1" = here ]; then peers "$2"; else peers_across $(($2 / 2)); fi | grep -E "^(${REPORT_PEERS:-[^|]*})\|" |
    awk -F'|' '{ print $1 !~ /^(limit|plait)|-def$/, $0 }' | sort -s -k1,1n | cut -d' ' -f2-
}

# turns WHERE RANKS CHOICE: those variants which are in the file CHOICE. Those of plait and the limits come again after half of them.
turns() {
  local all ours half
  all=$(variants_of "$1" "$2" | awk -F'|' 'NR == FNR { split($0, of, " "); chosen[of[1]] = 1; next } $1 in chosen' "$3" -)
  ours=$(grep -E '^(limit|plait)' <<<"$all")
  half=$((($(wc -l <<<"$all") + $(wc -l <<<"$ours") + 1) / 2))
  head -n "$half" <<<"$all"
  echo "$ours"
  tail -n +$((half + 1)) <<<"$all"
}

# a_round WHERE RANKS CHOICE END: CHOICE is a file of variants and their points, or a regex; no turn begins after END.
a_round() {
  local name envs cmd all
  if [ -e "$3" ]; then all=$(turns "$1" "$2" "$3"); else all=$(variants_of "$1" "$2" | grep -E "^($3)\|"); fi
  while IFS='|' read -r name envs cmd; do
    [ -n "$name" ] && ((SECONDS < $4)) || continue
    if [ -e "$3" ]; then
      BENCH_POINTS=$(awk -v n="$name" '$1 == n { print $2 }' "$3") launch "$1" "$name" "$envs" "$cmd"
    else
      launch "$1" "$name" "$envs" "$cmd"
    fi
  done <<<"$all"
  [ "$1" = here ] || [ "$2" != 2 ] || iperf
}

# What the quick round takes is small, for it only chooses: settings for sizes between go by the next below.
quick_points() {
  tr , '\n' <<<"$1" | grep -E ":(8|$((4 * K))|$((16 * K))|$((64 * K))|$M|$((16 * M)))$" | paste -sd,
}

# quick_round NAME RANKS WHERE POINTS SECONDS: at most half of them, but 10 at least.
quick_round() {
  local most=$(($5 > 20 ? $5 / 2 : 10))
  BENCH_BUDGET=0.008 BENCH_POINTS=$(quick_points "$4") limit=20 a_round "$3" "$2" '.*' $((SECONDS + most)) |
    sed "s/^/$1,0,/" >>"$results"
}

# rounds NAME RANKS WHERE CHOICE SECONDS: at least one, and those for which there is time.
rounds() {
  local end=$((SECONDS + $5)) took=0 count=0 start
  while ((count == 0 || SECONDS + took <= end)) && ((SECONDS < deadline)); do
    start=$SECONDS count=$((count + 1))
    limit=60 a_round "$3" "$2" "$4" "$deadline" | sed "s/^/$1,$count,/" >>"$results"
    took=$((SECONDS - start))
    grep -q "^$1,$count," "$results" || break # nobody was chosen
  done
  echo "fact,rounds,$1,$count" >>"$results"
  ((count > 0)) || echo "# $1: no time was left: a larger REPORT_MINUTES, or fewer REPORT_SECTIONS, leave some"
}

# section NAME RANKS WHERE ENVIRONMENT CHOICE POINTS SECONDS
section() {
  local v start=$SECONDS choice=$5
  echo "# $1: $2 ranks"
  export BENCH_PIN
  BENCH_PIN=$(pin_for "$2")
  for v in $4; do export "${v?}"; done
  [ "$3" = here ] || begin_hosts "$2"
  export BENCH_BUDGET=${REPORT_BUDGET:-0.03}
  [ "$5" != quick ] || quick_round "$1" "$2" "$3" "$6" "$7"
  if [ "$6" != - ]; then
    [ "$5" != quick ] || choice=$1
    python3 "$here/report/choose.py" "$results" "$choice" "$6" >"$OUT/choice"
    choice=$OUT/choice
  fi
  rounds "$1" "$2" "$3" "$choice" $(($7 - (SECONDS - start)))
}

begin_hosts() {
  lab
  lab_begin
  add_pair
  write_agent
  export BENCH_RT=${BENCH_RT:-0} BENCH_POINTS=
  layout="$(($1 / 2)) $(($1 / 2))"
}

# Installed, in KiB: plait's library stripped, the peers' without headers and tools where packages are so cut.
library_sizes() {
  local one
  strip -o "$OUT/stripped" "$PLAIT_BUILD/lib/libplait.so" && echo "fact,library,plait,$(($(stat -c %s "$OUT/stripped") / 1024))"
  dpkg-query -W -f 'fact,library,${Package},${Installed-Size}\n' libopenmpi3 libmpich12 libgloo0 2>/dev/null
  for one in ompi5 mpich5 impi oneccl; do
    [ ! -d "$B/wheels/$one" ] || echo "fact,library,$one of PyPI,$(du -sk --exclude 'python3*' "$B/wheels/$one/lib" | cut -f1)"
  done
}

facts() {
  local one
  echo "fact,date,$(date -u +%Y-%m-%d)"
  echo "fact,processor,$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
  echo "fact,kernel,$(uname -sr)"
  library_sizes
  versions | sort -u | while read -r one; do echo "fact,release,$one"; done
  for one in line direct combine staged cma; do [ -x "$B/limits/$one" ] || echo "fact,missing,limits/$one"; done
  for one in ompi ompi5 mpich mpich5 impi oneccl gloo; do [ -x "$B/bench_$one" ] || echo "fact,missing,$one"; done
}

# What is counted, not timed, and what a communicator keeps.
counted() {
  ninja -C "$PLAIT_BUILD" perf/bench_growth perf/bench_memory >/dev/null 2>>"$OUT/errors.log" || return 0
  "$PLAIT_BUILD/perf/bench_growth" 2>>"$OUT/errors.log" | sed 's/^/growth,1,/'
  for ranks in 2 64; do
    "$PLAIT_BUILD/tools/run/plait-run" -n $ranks --prefix none "$PLAIT_BUILD/perf/bench_memory" --large 1 2>>"$OUT/errors.log" |
      sed "s/,/;/g; s/^/fact,memory $ranks,/"
  done
}

report() {
  local name share rest ranks where envs choice its seconds begun
  deadline=$((SECONDS + ${REPORT_MINUTES:-28} * 60 - 20))
  results=$OUT/report-$(date +%Y%m%d-%H%M%S).csv
  export PEERS_WAIT=${PEERS_WAIT:-5}
  : >"$OUT/failed.log"
  begin_comparison
  install_packages
  install_wheels
  build
  [ -x "$B/bench_plait" ] || {
    echo "run: there is no plait to measure" >&2
    return 1
  }
  { facts && counted; } >"$results"
  shares_left=$(sections | grep -E "^(${REPORT_SECTIONS:-[^|]*})\|" | awk -F'|' '{ s += $2 } END { print s }')
  while IFS='|' read -r name share rest; do
    seconds=$(((deadline - SECONDS) * share / shares_left))
    shares_left=$((shares_left - share))
    its=${rest##*|} rest=${rest%|*}
    IFS='|' read -r ranks where envs choice <<<"$rest"
    begun=$SECONDS
    (section "$name" "$ranks" "$where" "$envs" "$choice" "$its" "$seconds") </dev/null || echo "# $name: no results"
    echo "# $name: took $((SECONDS - begun)) s of $seconds"
  done < <(sections | grep -E "^(${REPORT_SECTIONS:-[^|]*})\|")
  {
    [ ! -s "$BENCH_NEAR" ] || echo "fact,near,$(od -An -tf8 -N24 -w24 "$BENCH_NEAR" | xargs | tr ' ' ,),$(od -An -tu8 -j24 "$BENCH_NEAR" | tr -d ' ')"
    sort "$OUT/failed.log" | uniq -c | awk '{ print "fact,failed," $2 " (" $1 " x)" }'
  } >>"$results"
  python3 "$here/report/write.py" "$results" "${REPORT_DOCS:-$top/docs}"
  echo "# results: $results"
  ! grep -E '^[^,]*,[^,]*,(plait|limit)[^,]*,.*,WRONG,' "$results" # that of a peer is in the document
}
