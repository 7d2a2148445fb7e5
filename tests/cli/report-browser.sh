# a real browser draws every chart of a report and has nothing to complain about
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium here: whether the charts are drawn was not looked at"; exit 77; }
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END'
{"options": {"preset": "paper", "dim": 8, "batch": 128, "epochs": 4, "eval-every": 1},
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
# tables lie side by side with nothing cut off at 1280 pixels and on a phone, those of the demo and of a wide plan, too
crosswise demo --users 400 --items 150 --epochs 2 --out demo --quiet 2>/dev/null
cat >wide.json <<'END'
{"options": {"dim": 8, "batch": 128, "epochs": 1, "eval-every": 1},
 "tables": [{"methods": ["pop", "bpr", "cpr-rand", "cpr"]}]}
END
cp -r set second && cp -r set a-third-set
crosswise experiment wide.json set second a-third-set --out wide --quiet >/dev/null 2>&1
crosswise report wide --quiet >/dev/null
cat >look.html <<'END'
<iframe id="frame" src="page.html"></iframe><p id="found"></p>
<script>
  const frame = document.getElementById("frame");
  frame.style = `border: 0; height: 900px; width: ${location.hash.slice(1)}px`;
  frame.onload = () => {
    const page = frame.contentDocument, tables = [...page.querySelectorAll("section > .scroll")];
    const cut = tables.filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.getAttribute("aria-label"));
    const root = page.documentElement;
    if (root.scrollWidth > root.clientWidth) cut.push("the page itself");
    document.getElementById("found").textContent = `tables: ${tables.length}, cut off: ${cut.join(", ") || "none"}`;
  };
</script>
END
for page in demo/demo.html lab/report/report.html wide/report/report.html; do
    cp "$page" page.html
    for width in 1280 390; do
        "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --allow-file-access-from-files \
            --window-size=1400,1000 --virtual-time-budget=5000 --dump-dom "file://$PWD/look.html#$width" >look.out 2>log
        echo "$page at $width: $(sed -n 's/.*<p id="found">\([^<]*\)<.*/\1/p' look.out)"
    done
done
