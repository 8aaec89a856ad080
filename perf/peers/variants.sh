# shellcheck shell=bash disable=SC2154,SC2086 # variables come from run; commands are words
# The peers on one host, each at several settings. Sourced by run.

# A variant is NAME|ENVIRONMENT|COMMAND. The family is the part of the name before the first '-'; defaults end in -def.

# peers RANKS: one line a variant, of what is built. BENCH_PIN is for those who bind nobody.
peers() {
  local n=$1
  limits_of "$n"
  if [ -x "$B/bench_plait" ]; then cat <<X
plait||plait $n
plait-plain|BENCH_OWN_MEMORY=0|plait $n
X
  fi
  [ ! -x "$B/bench_ompi" ] || openmpi_of "$n"
  [ ! -x "$B/bench_ompi5" ] || openmpi5_of "$n"
  [ ! -x "$B/bench_mpich" ] || mpich_of "$n" mpich mpirun.mpich
  [ ! -x "$B/bench_mpich5" ] || mpich_of "$n" mpich5 "$B/wheels/mpich5/bin/mpirun"
  [ ! -x "$B/bench_impi" ] || intel_of "$n"
  [ ! -x "$B/bench_oneccl" ] || oneccl_of "$n"
  [ ! -x "$B/bench_ucc" ] || ucc_of "$n"
  [ ! -x "$B/bench_gloo" ] || gloo_of "$n"
  if [ -x "$B/sync.so" ] && $python -c 'import torch' 2>/dev/null; then cat <<X
torch-def|BENCH_PIN=0|torch $n
torch-pin|BENCH_PIN=1|torch $n
X
  fi
}

crowded() { [ "$1" -gt "$(nproc)" ]; }

limits_of() {
  local one list="line direct combine"
  [ "$1" != 2 ] || list+=" staged cma"
  for one in $list; do
    [ ! -x "$B/limits/$one" ] || echo "limit-$one||$B/limits/$one $1"
  done
}

openmpi_of() {
  local o="mpirun.openmpi -np $1 --bind-to core --mca btl_base_warn_component_unused 0"
  ! crowded "$1" || o="mpirun.openmpi -np $1 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
  local ob1="$o --mca pml ob1 --mca btl self,vader" tn="--mca coll_tuned_use_dynamic_rules 1"
  local u="$o --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any"
  cat <<X
ompi-def||$o $B/bench_ompi
ompi-eager64k||$ob1 --mca btl_vader_eager_limit 65536 --mca btl_vader_fbox_max 64 $B/bench_ompi
ompi-nocma||$ob1 --mca btl_vader_single_copy_mechanism none --mca btl_vader_eager_limit 32768 $B/bench_ompi
ompi-collsm||$ob1 --mca coll_sm_priority 100 $B/bench_ompi
ompi-rd||$ob1 $tn --mca coll_tuned_allreduce_algorithm 3 --mca coll_tuned_barrier_algorithm 3 $B/bench_ompi
ompi-ring||$ob1 $tn --mca coll_tuned_allreduce_algorithm 4 --mca coll_tuned_reduce_scatter_block_algorithm 3 --mca coll_tuned_allgather_algorithm 3 $B/bench_ompi
ompi-segring||$ob1 $tn --mca coll_tuned_allreduce_algorithm 5 --mca coll_tuned_allreduce_algorithm_segmentsize 262144 $B/bench_ompi
ompi-raben||$ob1 $tn --mca coll_tuned_allreduce_algorithm 6 --mca coll_tuned_bcast_algorithm 1 --mca coll_tuned_alltoall_algorithm 2 $B/bench_ompi
ompi-ucx|UCX_TLS=self,sm|$u $B/bench_ompi
ompi-ucx-raben|UCX_TLS=self,sm|$u $tn --mca coll_tuned_allreduce_algorithm 6 $B/bench_ompi
ompi-tcp||$o --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo $B/bench_ompi
X
}

# 5.0: vader is sm, and the launcher another.
openmpi5_of() {
  local o="$B/wheels/ompi5/bin/mpirun -np $1 --bind-to core"
  ! crowded "$1" || o="$B/wheels/ompi5/bin/mpirun -np $1 --map-by :OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1"
  local ob1="$o --mca pml ob1 --mca btl self,sm" tn="--mca coll_tuned_use_dynamic_rules 1"
  cat <<X
ompi5-def||$o $B/bench_ompi5
ompi5-eager64k||$ob1 --mca btl_sm_eager_limit 65536 --mca btl_sm_fbox_max 64 $B/bench_ompi5
ompi5-nocma||$ob1 --mca smsc ^cma --mca btl_sm_eager_limit 32768 $B/bench_ompi5
ompi5-rd||$ob1 $tn --mca coll_tuned_allreduce_algorithm 3 --mca coll_tuned_barrier_algorithm 3 $B/bench_ompi5
ompi5-raben||$ob1 $tn --mca coll_tuned_allreduce_algorithm 6 $B/bench_ompi5
ompi5-ucx|UCX_TLS=self,sm|$o --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any $B/bench_ompi5
X
}

mpich_of() {  # RANKS NAME LAUNCHER
  local m="$3 -np $1 -bind-to core" b=$B/bench_$2
  ! crowded "$1" || m="$3 -np $1 -bind-to none"
  cat <<X
$2-def||$m $b
$2-release|MPIR_CVAR_DEVICE_COLLECTIVES=none MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=reduce_scatter_allgather|$m $b
$2-rd|UCX_TLS=self,sm MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling|$m $b
$2-ucx-rndv|UCX_TLS=self,sm UCX_RNDV_THRESH=16384 UCX_RNDV_SCHEME=get_zcopy|$m $b
X
}

intel() { echo "I_MPI_ROOT=$1 FI_PROVIDER_PATH=$1/lib"; }

intel_of() {
  local at=$B/wheels/impi e m
  e=$(intel "$at")
  m="$at/bin/mpiexec.hydra -np $1 $B/bench_impi"
  if crowded "$1"; then cat <<X
impi-def|$e I_MPI_PIN=0|$m
impi-yield|$e I_MPI_PIN=0 I_MPI_THREAD_YIELD=3|$m
impi-wait|$e I_MPI_PIN=0 I_MPI_WAIT_MODE=1|$m
X
  else cat <<X
impi-def|$e|$m
impi-shm|$e I_MPI_FABRICS=shm|$m
impi-raben|$e I_MPI_FABRICS=shm I_MPI_ADJUST_ALLREDUCE=2|$m
impi-heap|$e I_MPI_FABRICS=shm I_MPI_SHM_HEAP=1 I_MPI_SHM_HEAP_VSIZE=4096|$m
X
  fi
}

oneccl_of() {
  local at=$B/wheels/oneccl e m
  e="$(intel "$at") CCL_ROOT=$at CCL_LOG_LEVEL=error"
  m="$at/bin/mpiexec.hydra -np $1 $B/bench_oneccl"
  ! crowded "$1" || e+=" I_MPI_PIN=0"
  cat <<X
oneccl-def|$e|$m
oneccl-ofi|$e CCL_ATL_TRANSPORT=ofi|$m
X
}

ucc_of() {
  local o="mpirun.openmpi -np $1 --bind-to core"
  ! crowded "$1" || o="mpirun.openmpi -np $1 --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
  cat <<X
ucc-def|UCX_TLS=self,sm|$o $B/bench_ucc
ucc-knomial|UCX_TLS=self,sm UCC_TL_UCP_TUNE=allreduce:@knomial|$o $B/bench_ucc
ucc-sra|UCX_TLS=self,sm UCC_TL_UCP_TUNE=allreduce:@sra_knomial|$o $B/bench_ucc
X
}

gloo_of() {
  cat <<X
gloo-def|BENCH_PIN=0|gloo $1
gloo-pin|BENCH_PIN=1|gloo $1
gloo-bcube|BENCH_PIN=1 GLOO_ALGO=bcube|gloo $1
gloo-seg128k|BENCH_PIN=1 GLOO_SEGMENT=131072|gloo $1
gloo-hd|BENCH_PIN=1 GLOO_ALGO=hd|gloo $1
gloo-hd-poll|BENCH_PIN=1 GLOO_ALGO=hd GLOO_POLL=1|gloo $1
X
}

plait() {  # N processes under plait's launcher, bound like the others where there is a core each
  $prio timeout -k 2 "$limit" "$PLAIT_BUILD/tools/run/plait-run" -n "$1" --prefix none "$B/bench_plait"
}
wait_all() {
  local p bad=0
  for p in "$@"; do wait "$p" || bad=$?; done
  return $bad
}
gloo() {  # N processes; the first one prints
  local n=$1 r p="" st
  st=$(mktemp -d)
  for ((r = 0; r < n; r++)); do
    GLOO_STORE=$st RANK=$r WORLD_SIZE=$n $prio timeout -k 2 "$limit" "$B/bench_gloo" & p="$p $!"
  done
  wait_all $p
  r=$?
  rm -rf "$st"
  return $r
}
torch() {
  local n=$1 r p="" st
  st=$(mktemp -u)
  for ((r = 0; r < n; r++)); do
    TORCH_STORE=$st PEERS_SYNC_SO=$B/sync.so RANK=$r WORLD_SIZE=$n $prio timeout -k 2 "$limit" $python "$here/bench_torch.py" & p="$p $!"
  done
  wait_all $p
  r=$?
  rm -f "$st"
  return $r
}
