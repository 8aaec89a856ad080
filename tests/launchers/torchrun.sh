#!/usr/bin/env bash
# plait under torchrun; see launch.sh. Only where torch is there already: it is large, and nothing else here needs it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/launch.sh"

launcher=torchrun
rank_variable=RANK
variables='^(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|GROUP_RANK|GROUP_WORLD_SIZE|ROLE_RANK|ROLE_WORLD_SIZE|MASTER_|TORCHELASTIC_(RUN_ID|RESTART_COUNT|USE_AGENT_STORE))'
python=/usr/bin/python3
"$python" -c 'import torch.distributed.run' 2>/dev/null || skip "$python has no torch (Debian package python3-torch)"
version() { "$python" -c 'import torch; print("torchrun of PyTorch", torch.__version__)'; }

# A rendezvous on a port that is free, not on 29400. --redirects, --tee: PyTorch 1.13 does not start under Python 3.11 with
# its own defaults for these.
launch() {
  local n=$1
  shift
  limited "$python" -m torch.distributed.run --nnodes=1 --nproc_per_node="$n" \
    --rdzv_backend=c10d --rdzv_endpoint=127.0.0.1:0 --redirects=1 --tee=1 --log_dir="$folder/logs" --no_python "$@"
}

begin
check "$@"
