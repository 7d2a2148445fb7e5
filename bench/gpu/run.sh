#!/bin/sh
# run - epochs on the GPU of this machine: ours, for each method, and PyTorch's of the first of them.
#   bench/gpu/run.sh [CROSSWISE [FOLDER]]
# CROSSWISE is the command (build/release/crosswise), FOLDER a dataset folder, made when it is not there
# (build/gpu-shape, of the size of MovieLens-10M).  Seconds of an epoch are the median of five after the first.
# PyTorch is measured where python3 has it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
crosswise=${1:-$here/../../build/release/crosswise} folder=${2:-$here/../../build/gpu-shape}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ -d "$folder" ] ||
    "$crosswise" simulate --users 61770 --items 6958 --interactions 1533956 --quiet --out "$folder"
"$crosswise" info --devices

# epoch METHOD BACKBONE [OPTION...]
epoch() {
    method=$1 backbone=$2
    shift 2
    "$crosswise" train "$folder" --method "$method" --backbone "$backbone" --preset paper --dim 128 --epochs 6 \
        --eval-every 0 --device cuda --quiet --out "$scratch/model" --force "$@" >/dev/null
    seconds=$(tr -d ' \n' <"$scratch/model.run.json" | grep -o '"train_s":[0-9.e-]*' | cut -d: -f2 | tail -n 5 |
        sort -g | sed -n 3p)
    printf '%-14s %-9s %s s an epoch\n' "$method" "$backbone" "$seconds"
}

epoch cpr mf --beta 3
for method in cpr-rand bpr dice cause ubpr rel-mf bce mse wmf fs-pair fs-point cross cross-softmax cross-all sl psl bsl; do
    epoch $method mf
done
for method in cpr bpr dice cross-softmax; do epoch $method lightgcn; done
python3 -c 'import torch' 2>/dev/null || { echo "python3 has no torch: PyTorch was not measured" && exit 0; }
python3 "$here/peer.py" "$folder"
