#!/bin/sh
# Tells plait in torchrun's variables what a launcher told in its own; as long as plait does not read those itself.
RANK=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}}
WORLD_SIZE=${WORLD_SIZE:-${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-$SLURM_NTASKS}}}
PLAIT_JOB=$(cksum <"$PLAIT_SECRET_FILE" | tr -d ' ')
export RANK WORLD_SIZE PLAIT_JOB
exec "$@"
