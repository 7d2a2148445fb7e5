# the report of an experiment: a page, tables and figures; what is no experiment is refused
split=(--cap 1/60 --holdout 0.3) # the split of the paper
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 "${split[@]}" --quiet --out set
cat >plan.json <<'END'
{
  "title": "Small",
  "options": {"preset": "paper", "dim": 8, "batch": 128, "epochs": 4, "eval-every": 1},
  "seeds": 2,
  "tables": [
    {"title": "Methods", "methods": ["pop", "bpr", {"method": "cpr", "grid": {"lr": [0.01, 0.03]}}]},
    {"title": "Samples", "methods": ["cpr"], "seeds": 1, "vary": [{"cycle": [2, 3]}, {"ratio": [1, 2]}]}
  ]
}
END
crosswise experiment plan.json set --out lab --quiet >/dev/null
crosswise report lab --quiet
find lab/report -type f ! -name '*.png' -printf '%f\n' | sort # report-png.sh looks for those
sed -n '/^## Methods/,/^## Samples/s/^|/|/p' lab/report/tables.md
cut -d , -f 1-2 lab/report/01-methods-table.csv
grep -c '<canvas' lab/report/report.html
for file in lab/report/*.svg; do grep -q '^</svg>$' "$file" || echo "$file has no end"; done
if grep -l 'nan\|inf' lab/report/*.svg; then echo "places that are no numbers"; fi
echo "--- elsewhere, and once more"
crosswise report lab/ --out there --json --quiet
cmp lab/report/report.html there/report.html
crosswise report lab --out there || echo "exit code $?"
crosswise report lab --out there --force --quiet
echo "--- what is no experiment"
try() { crosswise report "$@" || echo "exit code $?"; }
try
try lab set
try nothing
try set
try lab --out set --force
mkdir begun broken
cp lab/experiment.json begun
try begun
head -c 1000 lab/results.json >broken/results.json
try broken 2>&1 | sed 's/:[0-9]*: .*/: .../'
sed 's/"version":1/"version":2/; s/"version": 1/"version": 2/' lab/results.json >broken/results.json
try broken
[ ! -e begun/report ] && [ ! -e broken/report ]
