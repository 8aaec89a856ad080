# shellcheck shell=bash disable=SC2154,SC2034 # variables come from, and go to, run
# The regression guard: plait beside the programs of perf/limits, in the same rounds, and nothing else. Under 3 minutes. Prints
# each ratio with its bound (report/guard.py has them), and fails beyond one. It tells only where the cores are plait's alone.
# Sourced by run.

# ranks|environment|variants|points
guard_sections() {
  local K=1024 M=1048576
  cat <<END
2||plait|limit-line|allreduce_inplace:8,allreduce_inplace:512,barrier:8
2||plait|limit-direct|allreduce_inplace:$((64 * K)),allreduce_inplace:$M,allreduce_inplace:$((16 * M)),allreduce:$M,allgather:$M,reduce_scatter:$M,alltoall:$M
2|BENCH_TOUCH=1|plait|limit-direct|allreduce_inplace:$((64 * K)),allreduce_inplace:$M
2||plait-plain|limit-staged|allreduce_inplace:$((64 * K)),allreduce_inplace:$M,allreduce_inplace:$((16 * M))
4||plait|limit-combine|allreduce_inplace:8,allreduce_inplace:$((64 * K)),allreduce_inplace:$M
END
}

guard_round() {
  local ranks envs ours theirs its v name e cmd
  while IFS='|' read -r ranks envs ours theirs its; do
    (
      export BENCH_POINTS=$its BENCH_PIN
      BENCH_PIN=$(pin_for "$ranks")
      for v in $envs; do export "${v?}"; done
      peers "$ranks" | grep -E "^($ours|$theirs)\|" | while IFS='|' read -r name e cmd; do
        one "$name" "$e" "$cmd" | sed "s/^/${envs:-untouched},/"
      done
    ) </dev/null
  done < <(guard_sections)
}

guard() {
  local round file=$OUT/guard.csv rounds=${GUARD_ROUNDS:-7} end=$((SECONDS + 130))
  export BENCH_BUDGET=${BENCH_BUDGET:-0.03} PEERS_WAIT=${PEERS_WAIT:-5}
  build_plait
  build_limits
  build_bench_plait
  begin_comparison
  : >"$file"
  for ((round = 1; round <= rounds && SECONDS < end; round++)); do guard_round | sed "s/^/$round,/" >>"$file"; done
  ! grep -q ',apart$' "$file" || echo "# the cores stayed apart for $(grep -c ',apart$' "$file") of $(wc -l <"$file") points"
  python3 "$here/report/guard.py" "$file"
}
