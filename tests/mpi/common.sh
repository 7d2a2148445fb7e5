# common.sh - what the tests of many processes share; sourced, in an empty folder of their own.
# shellcheck shell=bash
set -eu
: "${CROSSWISE:?the command that is tried}"

if ! command -v mpirun >/dev/null; then
    echo "there is no mpirun; apt-get install openmpi-bin libopenmpi-dev, and build again"
    exit 77
fi
if [ ! -e "$(dirname "$CROSSWISE")/crosswise-mpi.so" ]; then
    echo "the MPI engine was not built; apt-get install libopenmpi-dev, and build again"
    exit 77
fi

# Open MPI would refuse root and more processes than cores, and would spin while it waits.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
    echo "failed: $*" >&2
    exit 1
}

# many N WORD...: train with N processes, of so many threads each
threads=1
many() {
    local n=$1
    shift
    mpirun -n "$n" "$CROSSWISE" train "$@" --device mpi --threads $threads
}

# The last process of the job that this test has started, not of another test's.
last_process() {
    local pid last=
    for pid in $(ps -eo pid,args | awk -v c="$CROSSWISE" '$2 == c && /--device mpi/ { print $1 }'); do
        if [ "$(readlink "/proc/$pid/cwd")" = "$scratch" ]; then last=$pid; fi
    done
    echo "$last"
}

# Eight blocks of rows, so that seven processes all have some, and not the same number of them.
"$CROSSWISE" simulate --users 1500 --items 400 --relevant 0.2 --quiet --out set
