# plans that cannot be carried out are refused as a whole, naming the place; nothing is run
crosswise() { # without names that change with every new method or option
    "$CROSSWISE" "$@" 2>&1 | sed 's/-[0-9a-f]\{16\}//; s/; there are cpr.*//; s/; there are method,.*//; s/works on .*/works on .../'
    return "${PIPESTATUS[0]}"
}
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 --quiet --out set
try() { # plan text
    printf '%s\n' "$1" >plan.json
    crosswise experiment plan.json set --out out --quiet || echo "exit code $?"
    [ ! -e out ] || echo "left behind"
}
try '{"tables": [{"methods": ["cpr", "magic"]}]}'
try '{"tables": [{"methods": ["cpr"], "backbones": ["mf", "pop"]}]}'
try '{"options": {"lr": 0}, "tables": [{"methods": ["cpr"]}]}'
try '{"tables": [{"methods": ["cpr"]}, {"methods": ["bpr"], "grid": {"lr": [0.1, "fast"]}}]}'
try '{"tables": [{"methods": ["cpr"], "grid": {"reg": 0.1}}]}'
try '{"tables": [{"methods": ["cpr"], "options": {"seed": 1}}]}'
try '{"options": {"dimm": 8}, "tables": [{"methods": ["cpr"]}]}'
try '{"tables": [{"methods": [{"method": "cpr", "options": {"dimm": null}}]}]}'
try '{"tables": [{"methods": ["cpr"], "options": {"metric": "recall"}}]}'
try '{"tables": [{"methods": [{"method": "cpr-rand", "grid": {"beta": [2]}}]}]}'
try '{"tables": [{"methods": ["dice", {"method": "bpr", "options": {"margin": 5}}]}]}'
try '{"options": {"margin": 5}, "tables": [{"methods": ["bpr", "cpr"]}]}'
try '{"tables": [{"methods": ["cpr"], "vary": [{"k": [2, 3]}]}]}'
try '{"tables": [{"methods": ["cpr"], "grids": {}}]}'
try '{"tables": [{"methods": []}]}'
try '{"tables": []}'
try '{"seeds": [1, 1], "tables": [{"methods": ["cpr"]}]}'
try '{"tune": {"kind": "halving"}, "tables": [{"methods": ["cpr"]}]}'
try '{"tune": {"kind": "halving", "rungs": [5, 5]}, "tables": [{"methods": ["cpr"]}]}'
try '{"tune": {"kind": "halving", "rungs": [5]}, "options": {"epochs": 5}, "tables": [{"methods": ["cpr"]}]}'
try '{"tables": [{"methods": ["cpr"], "grid": {"lr": {"from": 0.1, "to": 1}}}]}'
try '{"tables": [{"methods": ["cpr"], "train_sets": ["train_9.csv"]}]}'
try '{"tables": [{"methods": ["cpr"]}'
crosswise experiment plan.json --out out || echo "exit code $?"
echo '{"tables": [{"methods": ["cpr"]}]}' >plan.json
crosswise experiment plan.json --out out || echo "exit code $?"
crosswise experiment plan.json set nowhere --out out || echo "exit code $?"
cp -r set damaged
echo 'no,numbers' >>damaged/train.csv
crosswise experiment plan.json set damaged --out out --quiet || echo "exit code $?"
crosswise experiment plan.json set ./set --out out || echo "exit code $?"
crosswise experiment nothing.json set --out out || echo "exit code $?"
crosswise experiment set --out out || echo "exit code $?"
crosswise experiment || echo "exit code $?"
crosswise experiment quick set || echo "exit code $?"
crosswise experiment quick set --out set || echo "exit code $?"
crosswise experiment quick set --out out --jobs 0 || echo "exit code $?"
crosswise experiment quick set --out out --checkpoint-every soon || echo "exit code $?"
[ ! -e out ] || ls out
# a run that fails by itself is recorded, and the others go on: everybody has everything but one item
mkdir dense
{ echo user,item; for u in 0 1 2 3 4 5; do for i in 0 1 2 3 4 5; do echo $u,$i; done; done; } |
    grep -v '^0,0$' >dense/train.csv
printf 'user,item\n0,0\n' | tee dense/valid.csv >dense/test.csv
cat >plan.json <<'END'
{"options": {"preset": "paper", "dim": 4, "batch": 4, "epochs": 2, "eval-every": 1}, "seeds": 2,
 "tables": [{"methods": ["pop", "cpr", {"method": "cpr-rand", "grid": {"lr": [0.1, 0.2]}}]}]}
END
crosswise experiment plan.json dense --out out --quiet || echo "exit code $?"
sed -n 3,9p out/tables.md
cut -d , -f 4,7-9 out/results.csv
echo "--- again"
crosswise experiment plan.json dense --out out --quiet || echo "exit code $?"
echo "--- retried"
crosswise experiment plan.json dense --out out --quiet --retry 2>&1 | wc -l
