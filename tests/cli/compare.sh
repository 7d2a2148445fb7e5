# runs against each other, paired by seed
split=(--cap 1/60 --holdout 0.3) # the split of the paper
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 "${split[@]}" --quiet --out set
for seed in 0 1 2; do
    for method in bpr cpr; do
        crosswise train set --preset paper --method $method --dim 8 --batch 128 --epochs 3 --eval-every 1 --lr 0.01 \
            --seed $seed --quiet --out $method-$seed.safetensors
    done
done
crosswise compare bpr-?.run.json cpr-?.run.json
crosswise compare bpr-?.run.json cpr-?.run.json --data set --bootstrap 200
crosswise compare bpr-?.run.json cpr-?.run.json --json | grep -c '"wilcoxon_p"'
echo "--- what does not fit is said"
crosswise compare bpr-0.run.json bpr-0.run.json cpr-1.run.json
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 --seed 1 "${split[@]}" --quiet --out other
crosswise train other --method pop --metric recall@5 --quiet --out pop.safetensors
crosswise compare bpr-0.run.json pop.run.json | head -n 2
mv cpr-0.safetensors moved
crosswise compare bpr-0.run.json cpr-0.run.json --data set | tail -n 2
echo "--- what is refused"
crosswise compare bpr-0.run.json || echo "exit code $?"
crosswise compare bpr-0.run.json nowhere.json || echo "exit code $?"
crosswise compare bpr-0.run.json set/dataset.json || echo "exit code $?"
echo '{' >broken.json
crosswise compare bpr-0.run.json broken.json || echo "exit code $?"
crosswise compare bpr-0.run.json cpr-1.run.json --part train || echo "exit code $?"
echo "--- records of earlier versions have other options"
older() { sed -z "s/\"optimizer\": \"adam\"/\"adam\": \"$1\",\n    \"margin\": null/; s/,\n  \"signed\": true,\n  \"xxh3_128\": \"[0-9a-f]*\"//"; }
older dense <bpr-1.run.json >dense-1.json
older lazy <bpr-2.run.json >lazy-2.json
crosswise compare bpr-0.run.json dense-1.json lazy-2.json | head -n 2
