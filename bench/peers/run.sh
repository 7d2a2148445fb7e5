#!/bin/sh
# run.sh - crosswise against PyTorch and implicit on the same data and two threads, in turn.
#   bench/peers/run.sh [ROUNDS]
# Makes a virtual environment in build/peers and installs torch and implicit there from PyPI,
# which are several gigabytes; nothing of crosswise needs them.  Each round (2) measures every
# side once; the best of all rounds is compared.  PEERS_PYTHON names another interpreter that has
# both packages, PEERS_DATA another dataset folder.
set -eu
cd "$(dirname "$0")/../.."
. bench/peers/common.sh
rounds=${1:-2} threads=2
python=${PEERS_PYTHON:-build/peers/bin/python}

if [ ! -x "$python" ]; then
    python3 -m venv build/peers
    build/peers/bin/pip install --quiet numpy scipy torch implicit ||
        { echo "torch and implicit could not be installed from PyPI; without them there is nothing to compare with" >&2 &&
            rm -rf build/peers && exit 1; }
fi
make_data
export OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=$threads

# Threads of OpenMP that wait by spinning are fast on an idle machine and several times slower on a
# busy one: the better of both ways counts.
peer() { # SUBJECT
    for policy in active passive; do
        OMP_WAIT_POLICY=$policy "$python" bench/peers/peer.py "$1" "$data" --threads $threads
    done | smallest
}

# The first epochs of the deferred Adam take longer than the many that follow.
train() { # FIELD OPTION...
    crosswise_seconds "$@" --epochs 7 --threads $threads
}

for round in $(seq "$rounds"); do
    echo "round $round of $rounds"
    keep "torch cpr epoch" "$(peer cpr)"
    for optimizer in adam adam-deferred; do
        keep "cpr epoch, $optimizer" "$(train train_s --method cpr --beta 3 --optimizer $optimizer --eval-every 0)"
    done
    keep "implicit bpr epoch" "$(peer bpr)"
    for optimizer in adam adam-deferred; do
        keep "bpr epoch, $optimizer" "$(train train_s --method bpr --optimizer $optimizer --eval-every 0)"
    done
    keep "implicit als sweep" "$(peer als)"
    keep "ials sweep" "$(train train_s --method ials --eval-every 0)"
    keep "torch evaluation" "$(peer evaluate)"
    keep "implicit evaluation" "$(peer recommend)"
    keep "evaluation" "$(train eval_s --method bpr --optimizer adam-deferred --eval-every 1)"
done
echo "best of all, crosswise first; ratio is how many times faster it is"
compare "cpr epoch, adam" "torch cpr epoch"
compare "cpr epoch, adam-deferred" "torch cpr epoch"
compare "bpr epoch, adam" "implicit bpr epoch"
compare "bpr epoch, adam-deferred" "implicit bpr epoch"
compare "ials sweep" "implicit als sweep"
compare evaluation "torch evaluation"
compare evaluation "implicit evaluation"
