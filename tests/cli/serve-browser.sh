# a real browser fills the page of the server: two lists of what is popular, charts, no complaint, nothing too wide
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium here: whether the page works was not looked at"; exit 77; }
crosswise serve nothing 2>&1 | grep -q "this build has no server" && { echo "libmicrohttpd was not there when this was built"; exit 77; }
corpus=$(dirname "$0")/../../fuzz/corpus/model
"$CROSSWISE" serve "$corpus/mf.safetensors" "$corpus/pop.safetensors" --listen 127.0.0.1:0 --run-as "$(id -un)" >out 2>err &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do [ -s out ] && break; sleep 0.05; done
at=$(sed -n 's/^listening on //p' out)
for width in 1280 500; do
    "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --enable-logging=stderr \
        --window-size=$width,900 --virtual-time-budget=8000 --dump-dom "$at/" >page.html 2>log ||
        { echo "the browser does not run here"; exit 77; }
    grep CONSOLE log || true
    echo "$(grep -o '<ol class="list"' page.html | wc -l) lists, $(grep -o 'aria-label="Why [^"]*"' page.html | wc -l) places," \
        "$(grep -o '<caption>Shares of the log' page.html | wc -l) charts: $(grep -o 'main: cpr on mf, [^.]*' page.html | head -n 1 | sed 's/model [0-9a-f]*/model/g')"
done
