# the model of a raw log knows all of its rows; killed or not, it is the same
make_log >log.csv
flags="--core 1 --dim 4 --batch 16 --epochs 6 --eval-every 2"
crosswise train log.csv --preset paper $flags --out m.safetensors 2>&1 | grep -c '^refit  *2 '
sed '1d; s/,/ /' log.csv | cut -d , -f 1 | sort >known
crosswise recommend m.safetensors --all --k 25 | sed 1d | cut -f 1,2 | tr '\t' ' ' | sort >listed
[ -s listed ] || echo "nothing is listed"
comm -12 known listed
# metrics are those of a training without it
crosswise train log.csv --preset paper $flags --no-refit --quiet --out n.safetensors
metrics() { crosswise info "$1" --json | sed -n '/"valid"/,/^    }/p'; }
cmp <(metrics m.safetensors) <(metrics n.safetensors)
crosswise info m.safetensors --json | sed -n '/"refit": {/,/}/p'
crosswise info n.safetensors --json | grep -c '"refit": {' || true
# one thread or three, stopped at every epoch or not
crosswise train log.csv --preset paper $flags --quiet --threads 3 --out three.safetensors
cmp m.safetensors three.safetensors
crosswise train log.csv --preset paper $flags --quiet --checkpoint-every 1 --checkpoint-end --out end.safetensors
crosswise train log.csv --preset paper $flags --quiet --checkpoint-every 1 --resume --out end.safetensors
cmp m.safetensors end.safetensors
RANDOM=${KILL_SEED:-3}
for _ in 1 2 3 4 5 6; do
    "$CROSSWISE" train log.csv --preset paper $flags --batch 2 --checkpoint-every 0.01s --quiet --resume \
        --out part.safetensors 2>/dev/null &
    sleep "0.0$((RANDOM % 10))"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
done
crosswise train log.csv --preset paper $flags --batch 2 --quiet --resume --out part.safetensors 2>/dev/null # what it warns of depends on the kills
crosswise train log.csv --preset paper $flags --batch 2 --quiet --out whole.safetensors
cmp whole.safetensors part.safetensors
# a folder is trained to be measured on, unless it is asked for
crosswise prepare log.csv --core 1 --out set --quiet
crosswise train set --preset paper $flags --quiet --out d.safetensors
cmp d.safetensors n.safetensors
crosswise train set --preset paper $flags --quiet --refit --out e.safetensors
cmp e.safetensors m.safetensors
crosswise evaluate set e.safetensors --quiet --json | grep -c recall@20
crosswise train set --preset paper $flags --quiet --refit --no-refit || echo "exit code $?"
crosswise train log.csv --method pop --core 1 --quiet --out pop.safetensors
crosswise info pop.safetensors --json | sed -n '/"refit": {/,/}/p'
LC_ALL=C ls
