# X.run.json.partial was a fixed name that followed links; the record belongs to its model
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
flags="set --dim 4 --epochs 2 --quiet"
echo precious >victim
ln -s victim m.run.json.partial
crosswise train $flags --preset paper --out m.safetensors
cat victim
[ -L m.run.json.partial ] && rm m.run.json.partial
# the record names the checksum of the model
grep -A 1 '"model": {' m.run.json | sed 's/[0-9a-f]\{32\}/HASH/'
# two trainings of one model at a time leave one of them, whole
crosswise train $flags --preset paper --seed 1 --out one.safetensors
crosswise train $flags --preset paper --seed 2 --out two.safetensors
for _ in 1 2 3; do
    for seed in 1 2; do "$CROSSWISE" train $flags --preset paper --seed $seed --out m.safetensors & done
    wait
    for name in one two; do cmp -s m.safetensors $name.safetensors && winner=$name; done
    grep -A 1 '"model": {' m.run.json >ours
    grep -A 1 '"model": {' $winner.run.json | cmp - ours
done
rm ours
ls | sort
