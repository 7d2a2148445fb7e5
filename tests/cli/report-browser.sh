# a real browser draws every chart of a report and has nothing to complain about
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium here: whether the charts are drawn was not looked at"; exit 77; }
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END'
{"options": {"dim": 8, "batch": 128, "epochs": 4, "eval-every": 1},
 "tables": [{"methods": ["pop", "bpr", "cpr"]}, {"methods": ["cpr"], "vary": [{"cycle": [2, 3]}, {"ratio": [1, 2]}]}]}
END
crosswise experiment plan.json set --out lab --quiet >/dev/null
crosswise report lab --quiet >/dev/null
for width in 1200 390; do
    "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --enable-logging=stderr \
        --window-size=$width,900 --virtual-time-budget=5000 --dump-dom "file://$PWD/lab/report/report.html" \
        >page.html 2>log || { echo "the browser does not run here"; exit 77; }
    grep CONSOLE log || true
    echo "$(grep -c '<canvas' page.html) charts, $(grep -c '<canvas[^>]* width="[1-9]' page.html) drawn"
done
