# what tune refuses, by name, and that it leaves nothing behind
crosswise simulate --users 60 --items 40 --relevant 0.5 --popularity 0.5 --quiet --out set
try() { crosswise tune set --trials 2 --set dim=4,epochs=1 --quiet "$@" || echo "exit code $?"; }
crosswise tune --out x || echo "exit code $?"
crosswise tune set || echo "exit code $?"
try --out x --budget 10
try --out x --budget -3m
try --out x --methods cpr,unknown
try --out x --backbones mf,mf
try --out x --metric arp@20
try --out x --set dim
try --out x --set method=bpr
try --out x --set dim=0
try --out x --trials -1
try --out x --folds 21
try --out x --valid nowhere.csv
printf 'user,item\nnobody,1\n' >bucket.csv
try --out x --valid bucket.csv
printf 'user,item\n0,0\n' >bucket.csv
try --out x --valid bucket.csv --folds 2
printf 'mine\n' >x.safetensors
try --out x
rm x.safetensors
mkdir x.tune
printf 'mine\n' >x.tune/letter
try --out x
ls
ls x.tune
rm -r x.tune
try --out x
try --out x --seed 4
try --out x --seed 4 --anew
crosswise train set --tune --quiet || echo "exit code $?"
