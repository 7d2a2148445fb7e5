# what all runs warn of is said once, and not at all where the plan takes the option back
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END_OF_PLAN'
{"options": {"preset": "paper", "dim": 8, "batch": 128, "epochs": 2, "eval-every": 1, "vae-sizes": "8"}, "seeds": 3,
 "tables": [{"methods": ["bpr", "mult-vae"], "tune": {"kind": "grid"}, "grid": {"lr": [0.01, 0.03]}}]}
END_OF_PLAN
crosswise experiment plan.json set --out one --quiet
crosswise experiment plan.json set --out two --jobs 2 --threads 1 --quiet
crosswise experiment plan.json set --dry-run --quiet >/dev/null
echo "--- taken back" >&2
sed 's/"mult-vae"/{"method": "mult-vae", "options": {"dim": null}}/' plan.json >own.json
crosswise experiment own.json set --out three --quiet
cut -d , -f 4-5,7-9 three/results.csv | grep -v -x -F -f <(cut -d , -f 4-5,7-9 one/results.csv) || echo "the same results"
echo "--- of the plans that come with crosswise" >&2
for plan in quick compare paper; do # refused only after the plan was read
    crosswise experiment $plan set --out set --quiet || echo "exit code $?"
done
