# Damage to what crosswise reads back, through the whole command: flipped bytes, files cut short, emptied
# or exchanged.  Each time it must say which file is to blame, or print what it printed before; never crash,
# hang, or print other figures without a word.  Every byte:
#   CROSSWISE=build/gcc/crosswise CROSSWISE_TORTURE=1 bash -eu tests/cli/corrupt.sh
positions=1 # flipped bytes of each file
if [ -n "${CROSSWISE_TORTURE:-}" ]; then
    positions=${POSITIONS:-1000000}
    CROSSWISE=$(realpath "$CROSSWISE")
    cd "$(mktemp -d)" || exit 1
    trap 'rm -rf "$PWD"' EXIT
fi
run() { timeout 60 "$CROSSWISE" "$@" --threads 1; }

# What is damaged, and the commands that read it.
small="--method bpr --dim 4 --batch 64 --eval-every 1 --quiet"
run simulate --users 60 --items 40 --interactions 300 --relevant 0.5 --popularity 0.5 --core 1 --uniform-test 5 \
    --quiet --out set
mkdir pair state
run train set --preset paper $small --epochs 2 --out pair/a.safetensors
run train set --preset paper $small --epochs 2 --lr 0.01 --out pair/b.safetensors
run train set --preset paper $small --epochs 2 --checkpoint-end --checkpoint state/half --out half.safetensors
echo '{"options": {"preset": "paper", "dim": 4, "batch": 64, "epochs": 2, "eval-every": 1},
       "tables": [{"methods": ["pop", "bpr"]}]}' >plan.json
run experiment plan.json set --out lab --quiet
use_data() { run describe set --json && run evaluate set pair/a.safetensors --json; }
use_model() {
    run info pair/a.safetensors --json && run recommend pair/a.safetensors --all &&
        run evaluate set pair/a.safetensors --json
}
use_records() { run compare pair/a.run.json pair/b.run.json --data set --bootstrap 20 --json; }
use_lab() { run experiment plan.json set --out lab --quiet && cat lab/tables.md lab/results.csv; }
use_results() { run report lab --out page --force --quiet && cat page/tables.md page/*.csv; }
use_state() {
    run train set --preset paper $small --epochs 3 --checkpoint state/half --resume --out whole.safetensors &&
        md5sum whole.safetensors
}

tried=0 failed=0
complain() {
    failed=$((failed + 1))
    echo "$area: $1 (exit code $code)"
    head -n 3 message
}
# Use what was damaged, whose blame one of the files $2... must be; $1 says what was done.  Then undo it.
judge() {
    local what=$1 file named=no
    shift
    code=0
    "use_$area" >found 2>message || code=$?
    tried=$((tried + 1))
    for file in "$@"; do
        if grep -qF "$file" message; then named=yes; fi
    done
    if [ $code = 1 ] || [ $code = 2 ]; then
        if [ $named = no ] || [ "$(grep -vc ": warning: " message)" != 1 ]; then complain "$what does not lead to one clear line"; fi
    elif [ $code != 0 ]; then
        complain "$what is not met with an error"
    elif ! cmp -s found expected && ! grep -q "warning: .*since the dataset was made" message; then
        complain "$what changes what is said"
    fi
    restore
}
restore() {
    rm -rf "${place:?}"
    cp -r saved "$place"
}
flip() { # FILE POSITION BIT
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %x $((byte ^ 1 << $3)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
damage() { # FILE: its bytes, spread over all of it; its end; all of it
    local size step at n=0
    size=$(stat -c %s "$1")
    step=$((size > positions ? size / positions : 1))
    for ((at = (step - 1) / 2; at < size; at += step)); do
        flip "$1" "$at" $((n++ % 8))
        judge "$1 with byte $at flipped" "$1"
    done
    truncate -s $((size * 2 / 3)) "$1"
    judge "$1 cut short" "$1"
    : >"$1"
    judge "$1 emptied" "$1"
}
exchange() { # FILE FILE
    mv "$1" aside
    mv "$2" "$1"
    mv aside "$2"
    judge "$1 and $2 exchanged" "$1" "$2"
}
begin() { # AREA PLACE: how the next damages are judged, and what is put back after each
    area=$1 place=$2 tried=0 failed=0
    rm -rf saved
    cp -r "$place" saved
    "use_$area" >expected 2>message
    restore
}
finish() { echo "$area: ${CROSSWISE_TORTURE:+$tried damages, }$failed not met"; }

begin data set
for file in set/dataset.json set/truth/* set/*.csv; do damage "$file"; done
exchange set/truth/user_propensity.npy set/truth/user_conformity.npy
exchange set/truth/item_propensity.npy set/truth/item_quality.npy
exchange set/valid.csv set/test.csv
finish
begin model pair
damage pair/a.safetensors
finish
begin records pair
damage pair/a.run.json
exchange pair/a.safetensors pair/b.safetensors
exchange pair/a.safetensors pair/a.run.json
finish
begin lab lab
for file in lab/runs/*.json lab/data/*.json; do damage "$file"; done
exchange lab/runs/*.json
exchange lab/runs/pop-*.json lab/data/*.json
finish
begin results lab
damage lab/results.json
exchange lab/results.json lab/experiment.json
finish
begin state state
damage state/half
finish
