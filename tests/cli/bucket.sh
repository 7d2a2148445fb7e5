# a random bucket: what it tells is kept in the model, and followed by what comes after
crosswise simulate --users 600 --items 200 --quality 0.8 --popularity 0.8 --quiet --out set
# items of a low number are good in it, whoever is asked
awk -F, 'BEGIN { print "user,item,liked" }
    FNR == 1 { next }
    FILENAME ~ /_u/ { user[n_users++] = $1; next }
    { item[n_items++] = $1 }
    END { for (k = 0; k < 600; k++) {
        i = (k * 37) % n_items
        print user[(k * 7) % n_users] "," item[i] "," ((i < n_items / 3 || k % 5 == 0) ? 1 : 0) } }' \
    set/id2idx_u.csv set/id2idx_i.csv >bucket.csv
fast="--dim 8 --batch 128 --epochs 6 --eval-every 2 --quiet"
# shellcheck disable=SC2086 # these are several words
crosswise train set $fast --out plain.safetensors
# shellcheck disable=SC2086
for threads in 1 3; do crosswise train set $fast --bucket bucket.csv --threads $threads --out told-$threads.safetensors; done
cmp told-1.safetensors told-3.safetensors
crosswise info told-1.safetensors | grep -E '^(dial|bucket\.(rows|liked|trained_on|is_used|verdict))' | sed 's/[0-9]*\.[0-9]*/#/g'
crosswise info plain.safetensors | grep bucket || echo 'nothing of a bucket'
# lists, evaluation and export follow it
crosswise recommend plain.safetensors --user 5 --k 5 | cut -f 2 | tr '\n' ' '
crosswise recommend told-1.safetensors --user 5 --k 5 | cut -f 2 | tr '\n' ' '
crosswise recommend told-1.safetensors --user 5 --k 5 --popularity 0 | cut -f 2 | tr '\n' ' '
crosswise recommend told-1.safetensors --history <(printf '131\n') --k 3 | cut -f 2,4
crosswise evaluate set told-1.safetensors | sed -n '2p' | sed 's/[0-9]*\.[0-9]*/#/g'
crosswise export told-1.safetensors --out export --quiet
LC_ALL=C ls export
printf 'user,item\n5,new\n' >new.csv
crosswise update told-1.safetensors new.csv --out newer.safetensors --quiet
crosswise info newer.safetensors | grep -E '^(dial|bucket.rows)' | sed 's/[0-9]*\.[0-9]*/#/g'
# in a race it decides, and may put two models together
race="--trials 3 --backbones mf --set dim=8,batch=128,epochs=6,eval-every=2"
# shellcheck disable=SC2086
crosswise tune set $race --bucket bucket.csv --out best 2>err | sed -n '1,2p' | grep -o 'The best of 3 trials by the bucket is'
sed 's/ on .*//; s/[0-9]*\.[0-9]*/#/g' err
crosswise info best.safetensors | grep -E '^(sum.*method|bucket.is_used)'
# shellcheck disable=SC2086
crosswise tune set $race --out best --quiet || echo "exit code $?"
# shellcheck disable=SC2086
crosswise tune set $race --bucket bucket.csv --folds 3 --out other --quiet || echo "exit code $?"
# without one it is said what a log cannot tell
# shellcheck disable=SC2086
crosswise tune set $race --out blind 2>/dev/null | tr '\n' ' ' | grep -o 'What a log cannot tell.*(--bucket)'
