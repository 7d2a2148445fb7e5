# on a terminal a live line shows the progress and the time left
command -v script >/dev/null || { echo "no script here: there is no terminal to look at"; exit 77; }
script -qec true typescript </dev/null >/dev/null 2>&1 || { echo "no /dev/pts here: there is no terminal to look at"; exit 77; }
crosswise simulate --users 400 --items 200 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END_OF_PLAN'
{"options": {"preset": "paper", "dim": 64, "batch": 32, "epochs": 30, "eval-every": 2, "patience": 30}, "seeds": 3,
 "tables": [{"methods": ["bpr", "cpr"]}]}
END_OF_PLAN
script -qec "$CROSSWISE experiment plan.json set --out out" typescript </dev/null >/dev/null
tr '\r' '\n' <typescript | grep -o '[0-9] of 6 runs; cpr on mf, seed [0-9], .* about 0:00:[0-9]* left' |
    sed 's/[0-9]\+/N/g; s/N, .* \[/N, ... [/; s/\[[# ]*\] */[...] /' | sort -u
tr '\r' '\n' <typescript | grep -c ' of 6  set, .* on mf, seed'
