# metrics of rows whose exposure is known, from evaluation to the choice of a model
crosswise simulate --users 150 --items 60 --relevant 0.5 --uniform-test 10 --seed 3 --quiet --out set
{
    echo item,propensity
    tail -n +2 set/id2idx_i.csv | LC_ALL=C awk -F, '{ printf "%s,%.3f\n", $1, 1 / (1 + $2 % 7) }'
} >good.csv
crosswise train set --method pop --out pop.safetensors --quiet >/dev/null
only() { grep -E '^(Recall|ARP|Unbiased|IPS|SNIPS)'; }
crosswise evaluate set pop.safetensors --k 5,10 | only
crosswise evaluate set pop.safetensors --k 5,10 --split uniform --bootstrap 100 | only
crosswise evaluate set pop.safetensors --k 5 --uniform-exposure --popularity-sweep=0 | only
crosswise evaluate set pop.safetensors --k 5,10 --propensity good.csv --bootstrap 100 --threads 1 | tee one | only
crosswise evaluate set pop.safetensors --k 5,10 --propensity good.csv --bootstrap 100 --threads 3 | cmp - one
crosswise evaluate set pop.safetensors --k 5 --propensity-power 0.5 --propensity-min 0.2 | only
# all items alike: weights say nothing, and SNIPS is what uniform exposure would be
crosswise evaluate set pop.safetensors --k 5 --propensity-power 0 --json | grep -o '"snips_recall@5": [0-9.]*' | sed 's/snips/unbiased/' >alike
crosswise evaluate set pop.safetensors --k 5 --uniform-exposure --json | grep -o '"unbiased_recall@5": [0-9.]*' | cmp - alike
crosswise evaluate set pop.safetensors --k 5 --propensity good.csv --json | grep -cE '"(snips_recall|snips_dcg|ips_precision|ips_ndcg|exposure|propensities)(@5)?"'
# training stops by them, and the record has what it was told
fast="--preset paper --dim 4 --epochs 4 --eval-every 2 --batch 64"
train() { crosswise train set $fast "$@" 2>>err || tail -n 1 err; }
train --method bpr --metric snips_recall@5 --metric-propensity good.csv --out a.safetensors | only
train --method cpr --metric snips_recall@5 --metric-propensity good.csv --out b.safetensors >/dev/null
grep -c '"metric_propensities"' a.run.json
train --method bpr --metric unbiased_recall@5 --out c.safetensors >/dev/null
grep -o '"best": [0-9.]*' c.run.json | tail -n 1 | sed 's/.*: //' >best
grep -o '"unbiased_recall@5": [0-9.]*' c.run.json | sed 's/.*: //' | grep -cFf best >/dev/null && echo "stopped by it"
train --method bpr --metric-propensity-power 0.5 --out d.safetensors | only
crosswise compare a.run.json b.run.json --data set --bootstrap 100 | grep -oE '^(Recall|IPS|SNIPS)[^ ]* ?[A-Za-z]*@5'
# a bucket of random exposure chooses the model
awk -F, 'FNR == 1 { file++; if (file == 3) print; next }
    file == 1 { user[$2] = $1 } file == 2 { item[$2] = $1 } file == 3 { print user[$1] "," item[$2] }
' set/id2idx_u.csv set/id2idx_i.csv set/valid.csv | head -n 30 >bucket.csv
crosswise tune set --out t --trials 2 --metric unbiased_recall@5 --valid bucket.csv --set dim=4,epochs=4,eval-every=2 --quiet
grep -c '"metric": "unbiased_recall@5"' t.run.json
crosswise tune set --out s --trials 2 --metric ips_ndcg@5 --set dim=4,epochs=4,eval-every=2,metric-propensity=good.csv --quiet
grep -c '"ips_ndcg@5"' s.run.json >/dev/null && echo "tuned by it"
# an experiment has columns for them
cat >plan.json <<'END'
{"options": {"preset": "paper", "dim": 4, "batch": 64, "epochs": 4, "eval-every": 2, "metric": "snips_dcg@5",
             "metric-propensity": "good.csv"},
 "seeds": 1, "tables": [{"title": "Methods", "methods": ["bpr"]}]}
END
crosswise experiment plan.json set --out made --quiet
head -n 1 made/results.csv | tr , '\n' | grep -E 'snips|ips'
# what is refused
train --method bpr --metric snips_recall@5
train --method bpr --metric ips_recall@5
train --method bpr --metric-propensity good.csv --metric-propensity-power 1
train --method bpr --metric-propensity-min 0.1
crosswise tune set --out u --metric snips_dcg@5 || echo "exit code $?"
refuse() { crosswise evaluate set pop.safetensors "$@" || echo "exit code $?"; }
refuse --propensity good.csv --propensity-power 1
refuse --propensity good.csv --uniform-exposure
refuse --propensity-power 1 --split uniform
refuse --propensity-min 0.1
refuse --propensity nowhere.csv
sed '4s/,.*/,1.5/' good.csv >bad.csv
refuse --propensity bad.csv
sed '4s/,.*/,0/' good.csv >bad.csv
refuse --propensity bad.csv
# a row of an item that nobody had in training
mkdir cold
printf 'user,item\n1,1\n2,1\n2,2\n' >cold/train.csv
printf 'user,item\n1,3\n' >cold/test.csv
crosswise train cold --method pop --out cold.safetensors --quiet >/dev/null
crosswise evaluate cold cold.safetensors --propensity-power 0.5 || echo "exit code $?"
crosswise evaluate cold cold.safetensors --propensity-power 0.5 --propensity-min 0.1 --k 2 | grep SNIPS
