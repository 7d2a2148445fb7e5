# a model goes on with what is new
make_log >log.csv
{ head -n 1 log.csv; sed 1d log.csv | head -n 230; } >old.csv
{ head -n 1 log.csv; sed 1d log.csv | tail -n 60; echo "somebody,i1,4,0"; echo "somebody,novelty,4,0"; } >new.csv
crosswise train old.csv --preset paper --core 1 --dim 4 --batch 16 --epochs 4 --eval-every 2 --quiet --out m.safetensors 2>/dev/null
cp m.safetensors before
crosswise update m.safetensors new.csv --out n.safetensors 2>/dev/null | sed 's/ in [0-9.]* s$//'
cmp m.safetensors before
crosswise info n.safetensors --json | sed -n '/"update": {/,/}/p'
grep -c '"before": {' n.run.json
# nobody gets what is in a log
sed -s 1d log.csv new.csv | cut -d , -f 1,2 | tr , ' ' | sort -u >known
crosswise recommend n.safetensors --all --k 40 | sed 1d | cut -f 1,2 | tr '\t' ' ' | sort >listed
comm -12 known listed
grep -c '^somebody ' listed
# the same on any threads; killed, it goes on
crosswise update m.safetensors new.csv --quiet --threads 3 --out three.safetensors 2>/dev/null
cmp n.safetensors three.safetensors
RANDOM=${KILL_SEED:-3}
many="--update-share 20 --batch 2 --checkpoint-every 0.01s --quiet"
for _ in 1 2 3 4 5 6; do
    "$CROSSWISE" update m.safetensors new.csv $many --resume --out part.safetensors 2>/dev/null &
    sleep "0.0$((RANDOM % 10))"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
done
crosswise update m.safetensors new.csv $many --resume --out part.safetensors 2>/dev/null
crosswise update m.safetensors new.csv $many --out whole.safetensors 2>/dev/null
cmp whole.safetensors part.safetensors
# what is refused
try() { crosswise update "$@" --quiet || echo "exit code $?"; }
try m.safetensors
try m.safetensors new.csv
try m.safetensors new.csv --out m.safetensors
try m.safetensors new.csv --out new.csv
try m.safetensors old.csv --out o.safetensors
try new.csv m.safetensors --out o.safetensors
try m.safetensors new.csv --out o.safetensors --dim 8
try m.safetensors new.csv --out o.safetensors --update-share 0
cmp m.safetensors before
LC_ALL=C ls
