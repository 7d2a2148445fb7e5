#!/bin/sh
# yardstick.sh - an epoch of CPR against a plain C program that does the same, in turn.
#   bench/peers/yardstick.sh YARDSTICK.c [ROUNDS [EPOCHS]]
# The program is compiled and run as: yardstick TRAIN.csv EPOCHS; it prints one line with
# "epoch_s": SECONDS, the best of its epochs.  The best of all rounds (3, of 3 epochs) is compared.
# PEERS_DATA names another dataset folder, whose train.csv is plain text.
set -eu
[ $# -ge 1 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
source=$(realpath "$1") rounds=${2:-3} epochs=${3:-3}
cd "$(dirname "$0")/../.."
. bench/peers/common.sh

make_data
${CC:-cc} -O3 -march=native -mprefer-vector-width=512 -ffast-math "$source" -o build/bench/yardstick -lm

crosswise_epoch() { # THREADS
    crosswise_seconds train_s --method cpr --beta 3 --ratio 3 --lr 1e-4 --reg 1e-3 --optimizer adam-deferred \
        --epochs "$epochs" --eval-every 0 --threads "$1"
}

for round in $(seq "$rounds"); do
    echo "round $round of $rounds, seconds an epoch"
    keep yardstick "$(build/bench/yardstick "$data/train.csv" "$epochs" |
        sed 's/.*"epoch_s": \([0-9.]*\).*/\1/')"
    keep "crosswise, 1 thread" "$(crosswise_epoch 1)"
    keep "crosswise, 2 threads" "$(crosswise_epoch 2)"
done
echo "best of all; ratio is how many times faster than the yardstick"
compare "crosswise, 1 thread" yardstick
compare "crosswise, 2 threads" yardstick
