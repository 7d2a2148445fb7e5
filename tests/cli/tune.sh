# a race leaves the best model under the plain name, and is the same on any threads and in pieces
crosswise simulate --users 150 --items 80 --relevant 0.5 --popularity 0.5 --quiet --out set
fast=dim=8,batch=64,epochs=6,eval-every=1,patience=4
plain() { sed '/"seconds"/d; /^  "xxh3_128"/d' "$1.tune/results.json"; } # without what no two runs share
for threads in 1 3; do
    crosswise tune set --out best-$threads --trials 8 --set $fast --threads $threads --quiet
done
cmp best-1.safetensors best-3.safetensors
cmp <(plain best-1) <(plain best-3)
ls
# what it prints
crosswise tune set --out best-1 --trials 9 --set $fast 2>err | sed 's/[0-9][0-9.e-]*/#/g' | tail -n 4
sed 's/  *[a-z]* on .*//' err
crosswise tune set --out best-1 --trials 9 --set $fast --json >events
grep -c '"event":"done"' events
# more trials later are those of one go
crosswise tune set --out part --trials 3 --set $fast --quiet
crosswise tune set --out part --trials 8 --set $fast --quiet
cmp best-3.safetensors part.safetensors
cmp <(plain best-3) <(plain part)
# the page says first what came of it, and needs nothing but itself
grep -oE 'The (best|choice) of 8 trials on validation is' best-3.html | head -n 1
grep -o 'Made by: crosswise tune set --out best-3 --trials 8' best-3.html | head -n 1
if grep -E 'src="|href="[^#]' best-3.html; then echo "the page needs other files"; fi
# few users are judged by several parts; one is as it was before there were folds
grep -c '"folds": 5' best-3.tune/results.json best-3.run.json
grep -o 'judged by 5 folds' best-3.html | head -n 1
crosswise tune set --out one --trials 3 --folds 1 --set $fast --quiet
if grep -l '"folds"' one.tune/runs/trial-*.json; then echo "one part has no list of folds"; fi
# a log works as well, and recommending follows the model's own dial
make_log >log.csv
crosswise tune log.csv --core 1 --out log --trials 3 --set $fast --quiet
crosswise recommend log.safetensors --user u1 --k 2 | wc -l
# train --tune is the same thing
crosswise train set --tune --dim 8 --batch 64 --epochs 2 --eval-every 1 --lr 0.01 --reg 0.1 --beta 2 --method cpr --backbone mf --out via --quiet
ls via*
grep -c '"trial":' via.tune/results.json
