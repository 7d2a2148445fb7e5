# a simulated dataset is drawn, described, skewed; its truth lies beside it
crosswise simulate --users 300 --items 200 --uniform-test 5 --out set | head -n 1
crosswise describe set | head -n 1
crosswise skew set --theta -0.5 --quiet
crosswise describe set --json >set.json
if command -v python3 >/dev/null; then python3 -m json.tool set.json >/dev/null; fi
grep -o '"simulated": true' set.json
find set -type f | sort
