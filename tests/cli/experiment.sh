# a small plan: tables, the same on any number of jobs, found again, extended, one writer at a time
split=(--cap 1/60 --holdout 0.3) # the split of the paper
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 "${split[@]}" --quiet --out set
cat >plan.json <<'END'
{
  "title": "Small",
  "options": {"preset": "paper", "dim": 8, "batch": 128, "epochs": 4, "eval-every": 1},
  "seeds": 3,
  "tables": [
    {"title": "Methods", "tune": {"kind": "halving", "rungs": [1, 2], "keep": 2},
     "methods": ["pop", {"method": "bpr", "grid": {"lr": [0.003, 0.03]}},
                 {"method": "cpr", "grid": {"lr": [0.01, 0.03], "reg": [0, 0.01]}}]},
    {"title": "Bias", "train_sets": [0.5, "train.csv"], "methods": ["cpr"], "seeds": [7]},
    {"title": "Samples", "methods": ["cpr"], "seeds": 1, "tune": {"kind": "random", "draws": 2},
     "grid": {"lr": {"from": 0.001, "to": 0.1, "scale": "log"}}, "vary": [{"cycle": [2, 3]}]}
  ]
}
END
crosswise experiment plan.json set --out one --quiet
cat one/tables.md
ls one
crosswise experiment plan.json set --out two --jobs 2 --threads 1 --isa ref --quiet
grep -o '"isa": *"[a-z]*"' two/results.json | sort -u
cmp one/tables.md two/tables.md
cmp one/results.csv two/results.csv
cut -d , -f 1-5,7-9 one/results.csv
times() { find one/runs -type f -printf '%f %T@\n' | sort; }
times >before
crosswise experiment plan.json set --out one --quiet # finds everything
times | cmp before -
sed 's/"seeds": 3/"seeds": 4/' plan.json >more.json
crosswise experiment more.json set --out one 2>&1 >/dev/null | sed 's/, [0-9.]* s$//; s/recall@20 [0-9.]* at epoch [0-9]*/recall/'
crosswise experiment plan.json set --out one --json | sed 's/.*"event":"\([a-z]*\)".*/\1/'
echo "--- a plan that comes with crosswise, printed"
crosswise experiment compare --print-plan >mine.json
head -n 2 mine.json
crosswise experiment mine.json set --dry-run --quiet | grep -q '^set .* cpr '
echo "--- dry run"
crosswise experiment plan.json set --dry-run --json | grep -o '"dry_run":true,"runs":[0-9]*,"jobs":1'
crosswise experiment plan.json set --dry-run | sed -n '/^set/s/ *[0-9]*\.[0-9]* *[0-9]*\.[0-9]*//p'
echo "--- a second process"
exec 9>>one/experiment.lock
flock -n 9
listing one >before
crosswise experiment plan.json set --out one || echo "exit code $?"
listing one | cmp - before
