# the demo leaves a page, datasets and models, and shows the same numbers again
demo() { crosswise demo --users 400 --items 150 --epochs 5 "$@"; }
demo --out first >first.out 2>first.err
sed -n '/^  .*Recall@20/p; s/^\(Most popular\|BPR\|CPR\) .*/\1/p; /rank by/p; /^The page/p' first.out
sed -n 2p first.out | cut -c 1-14 # the verdict comes first
grep -o '<p class="verdict">The usual test' first/demo.html
grep -c '^simulated\|^trained\|^evaluated' first.err
find first -maxdepth 1 | sort
test -d first/usual/truth
test -e first/debiased/test_uniform.csv
# what decides comes first in the table, and the last column says who is ahead
sed -n '/<th scope="row"/s/.*scope="row"[^>]*>\([^<]*\)<.*/\1/p' first/demo.html | head -n 3
sed -n '/<th scope="col">Measure/s/.*<th scope="col">\([^<]*\)<.*/\1/p' first/demo.html
# the page is whole and asks nothing of the network
grep -c '<canvas' first/demo.html
tail -n 1 first/demo.html
if grep -E 'src="|href=' first/demo.html; then echo "the page needs other files"; fi
# a folder is not touched without --force; with it the numbers are the same
demo --out first --quiet || echo "exit code $?"
demo --out first --force --threads 1 2>/dev/null | cmp - first.out
demo --out second --json >second.json
grep -c '"kendall_tau"' second.json
# wrong values are refused by name
demo --out third --quality 2 || echo "exit code $?"
test ! -e third
