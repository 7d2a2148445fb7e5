# libraries that lie in the current folder are never loaded
for library in $(LC_ALL=C ldd "$CROSSWISE" | awk '/=>/ { print $1 }') librsvg-2.so.2 libcairo.so.2; do
    echo "not a library" >"$library" # finding it would be an error, and PNG figures left out
done
crosswise --version | sed 's/ .*//'
crosswise simulate --users 60 --items 30 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END'
{"options": {"preset": "paper", "dim": 4, "epochs": 2, "eval-every": 1}, "tables": [{"methods": ["pop", "bpr"]}]}
END
crosswise experiment plan.json set --out results --quiet
(mkdir elsewhere && cd elsewhere && crosswise report ../results --quiet --out report >/dev/null)
crosswise report results --quiet --out report >/dev/null
count() { find "$1" -name '*.png' | wc -l; }
[ "$(count report)" = "$(count elsewhere/report)" ] || echo "PNG figures depend on the current folder"
