# every figure of a report is there as PNG too, 300 dots per inch; without the library it is left out
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END_OF_PLAN'
{"options": {"preset": "paper", "dim": 8, "batch": 128, "epochs": 2, "eval-every": 1},
 "tables": [{"methods": ["pop", "bpr", "cpr"]}, {"methods": ["cpr"], "vary": [{"cycle": [2, 3]}, {"ratio": [1, 2]}]}]}
END_OF_PLAN
crosswise experiment plan.json set --out lab --quiet >/dev/null
crosswise report lab 2>remark
if grep 'PNG figures are left out' remark; then exit 77; fi
size_of_svg() { sed -n 's/^<svg .* width="\([0-9]*\)" height="\([0-9]*\)".*/\1 \2/p' "$1"; }
size_of_png() { od -An -j 16 -N 8 -t u1 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'; }
signature() { od -An -N 8 -t x1 "$1"; }
for svg in lab/report/*.svg; do
    png=${svg%.svg}.png
    [ "$(signature "$png")" = " 89 50 4e 47 0d 0a 1a 0a" ] || echo "$png is no PNG file"
    wanted=$(size_of_svg "$svg" | awk '{ printf "%.0f %.0f", $1 * 3.125, $2 * 3.125 }')
    [ "$(size_of_png "$png")" = "$wanted" ] || echo "$png has size $(size_of_png "$png"), not $wanted"
    [ "$(wc -c <"$png")" -gt 20000 ] || echo "$png has next to nothing in it"
done
ls lab/report/*.png
crosswise report lab --out again
for png in lab/report/*.png; do cmp "$png" "again/${png##*/}"; done
echo "--- a library that cannot be loaded"
mkdir broken
: >broken/librsvg-2.so.2
LD_LIBRARY_PATH=$PWD/broken crosswise report lab --out without
find without -name '*.png'
