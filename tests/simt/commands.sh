#!/bin/sh
# commands - what evaluate and recommend print is the same from lists of a device, which here is the
# engine on fibres, and what a device does not do is said.
#   commands.sh CROSSWISE ENGINE
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$1" "$folder/crosswise"
cp "$2" "$folder/crosswise-cuda.so"
cd "$folder"
./crosswise simulate --users 150 --items 260 --interactions 4000 --relevant 0.5 --popularity 0.5 --quiet --out sim

# train NAME OPTION...
train() {
    name=$1
    shift
    ./crosswise train sim --dim 16 --epochs 2 --batch 64 --device cpu --quiet --out "$name" "$@" >/dev/null
}

# same COMMAND...: the bytes that it prints do not depend on --device
same() {
    ./crosswise "$@" --device cpu >cpu.out
    ./crosswise "$@" --device cuda >cuda.out
    cmp cpu.out cuda.out || { echo "$*: not the same" >&2 && exit 1; }
}

# refused TEXT COMMAND...
refused() {
    text=$1
    shift
    if ./crosswise "$@" >out 2>err; then echo "$*: it was not refused" >&2 && exit 1; fi
    grep -qF -e "$text" err || { cat err >&2 && exit 1; }
}

train mf --method bpr
train cosine --method cross --scorer cosine
train two --method dice
train graph --method bpr --backbone lightgcn
train towers --method bpr --backbone neumf
for model in mf cosine two graph; do
    same evaluate sim $model --k 20,5 --groups 3 --bootstrap 20 --json
    same recommend $model --all --k 13
done
same evaluate sim mf --popularity 0.5 --mask-valid
same evaluate sim mf --popularity-sweep=-1,0,1 --split valid
same recommend mf --all --popularity 0.5 --exclude none --json
same recommend mf --user 3 --k 250
refused "--device is 'cuda:7'; there is 1 GPU, from cuda:0 on" evaluate sim mf --device cuda:7
refused "--device is 'tpu'; it must be auto, cpu, mpi, cuda or cuda:N" recommend mf --all --device tpu
refused "those of backbone neumf are made by --device cpu" evaluate sim towers --device cuda
refused "lists have at most 256 items; --k is 257" evaluate sim mf --device cuda --k 257
./crosswise recommend mf --all --diversity 0.5 --k 3 --device cuda 2>&1 >cuda.out | grep -q "are made by the CPU"
./crosswise recommend mf --all --diversity 0.5 --k 3 >cpu.out
cmp cpu.out cuda.out

# A device that is lost in the middle leaves a message and a checkpoint, or neither a model nor half of one; training goes
# on from there, here and on the CPU.
on_device() {
    name=$1
    shift
    ./crosswise train sim --method bpr --preset paper --dim 8 --batch 256 --epochs 4 --eval-every 2 --checkpoint-every 1 --device cuda \
        --quiet --out "$name" "$@"
}
on_device whole >/dev/null
for nth in 5 120 250; do
    code=0
    rm -f lost*
    SIMT_FAULT="work $nth 1" on_device lost >out 2>err || code=$?
    [ $code -eq 1 ] || { echo "work $nth: exit code $code" >&2 && exit 1; }
    [ "$(wc -l <err)" -eq 1 ] && grep -q "GPU 0 is lost (CUDA says: fibres were cut)" err || { cat err >&2 && exit 1; }
    [ ! -e lost ] && [ -z "$(find . -name '*.tmp*')" ] || { ls >&2 && exit 1; }
    [ "$nth" -lt 250 ] || [ -f lost.checkpoint ] || { echo "work $nth: there is no checkpoint" >&2 && exit 1; }
    on_device lost --resume >/dev/null
    cmp whole lost || { echo "work $nth: it goes on otherwise" >&2 && exit 1; }
done
for nth in 3 40; do
    code=0
    SIMT_FAULT="memory $nth 1" on_device none >out 2>err || code=$?
    [ $code -eq 1 ] && [ ! -e none ] && grep -q "^crosswise: GPU 0 has no memory left$" err || { cat err >&2 && exit 1; }
done
(export SIMT_BYTES=100000 && refused "training takes " train sim --dim 8 --device cuda --out none)
(export SIMT_BYTES=1000 && refused "lists of 245 items take " recommend mf --all --device cuda)
(export SIMT_FAULT="work 9 1" && refused "; --device cpu does without it" recommend mf --all --device cuda)
refused "which does not train method ease: its parameters are found in closed form" train sim --method ease --device cuda --out none

# Begun on one, ended on the other.
on_device mixed --epochs 2 --checkpoint-end --optimizer adam-deferred >/dev/null
on_device mixed --resume --optimizer adam-deferred --device cpu --force >/dev/null
on_device mixed --epochs 6 --checkpoint-end --optimizer adam-deferred --device cpu --force >/dev/null
on_device mixed --epochs 8 --resume --optimizer adam-deferred --force 2>err >/dev/null
