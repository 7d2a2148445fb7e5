# of two processes in one folder the second is refused, and the first loses nothing by it
crosswise simulate --users 400 --items 200 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END_OF_PLAN'
{"options": {"preset": "paper", "dim": 32, "batch": 64, "epochs": 20, "eval-every": 2, "patience": 20}, "seeds": 3,
 "tables": [{"methods": ["bpr", "cpr"]}]}
END_OF_PLAN
crosswise experiment plan.json set --out whole --quiet
"$CROSSWISE" experiment plan.json set --out shared --quiet &
first=$!
until [ -e shared/experiment.lock ] && ! flock -n shared/experiment.lock true; do sleep 0.01; done
kill -STOP $first
listing shared >before
crosswise experiment plan.json set --out shared --quiet || echo "exit code $?"
crosswise experiment quick set --out shared --quiet || echo "exit code $?"
listing shared | cmp - before
kill -CONT $first
wait $first
cmp whole/tables.md shared/tables.md
cmp whole/results.csv shared/results.csv
