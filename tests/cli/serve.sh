# what the server says, to everybody and to those with tokens, and what it leaves behind
command -v curl >/dev/null || { echo "there is no curl"; exit 77; }
crosswise serve nothing 2>&1 | grep -q "this build has no server" && { echo "libmicrohttpd was not there when this was built"; exit 77; }
corpus=$(dirname "$0")/../../fuzz/corpus/model
cp "$corpus/mf.safetensors" m.safetensors
printf '# tokens\nwrite aaaaaaaaaaaaaaaa\nadmin bbbbbbbbbbbbbbbb\n' >tokens
chmod 600 tokens
"$CROSSWISE" serve m.safetensors m.safetensors --listen 127.0.0.1:0 --run-as "$(id -un)" --tokens tokens \
    --feedback log --body-bytes 2048 >out 2>err &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do [ -s out ] && break; sleep 0.05; done
at=$(sed -n 's/^listening on //p' out)
ask() { curl -sS --max-time 20 -w '\n%{http_code} %{content_type}\n' "$@" | sed 's/"loaded_at":"[^"]*","age_s":[0-9.]*/"loaded_at":.../g'; }
get() { ask "$at$1"; }
post() { ask -H 'Content-Type: application/json' -d "$2" "${@:3}" "$at$1"; }
writer=(-H 'Authorization: Bearer aaaaaaaaaaaaaaaa')
admin=(-H 'Authorization: bearer bbbbbbbbbbbbbbbb')

for path in /health/live /health/ready /v1/model /v1/recommend/ann '/v1/recommend/c%09d?n=2&dial=0.5&model=beside' \
    /v1/recommend/nobody?n=1 '/v1/recommend/bob?only=i0&only=i2&filter=none&exclude=i3' '/v1/similar/i2?n=2&diversity=0.5' \
    '/v1/popular?n=2' /v1/explain/ann/i2; do
    echo "== $path"
    get "$path"
done
echo "== bodies"
post /v1/recommend '{"users": ["ann", "zoë"], "n": 1, "boost": {"i5": 100}, "exclude": ["i0"]}'
post /v1/recommend '{"history": ["i2", "i9"], "n": 2}'
post /v1/rank '{"user": "ann", "items": ["i5", "i0", "i9", "i2"]}'
post /v1/rank '{"history": ["i1"], "items": ["i5", "i0"]}'
post /v1/explain '{"history": ["i2", "i3"], "item": "i0", "n": 1}'
echo "== refused"
for path in /nothing /v1/recommend /v1/recommend/ '/v1/recommend/ann?n=0' '/v1/recommend/ann?n=1&n=2' '/v1/recommend/ann?k=1' \
    '/v1/recommend/ann?dial=nan' '/v1/recommend/ann?model=other' /v1/recommend/%ff /v1/recommend/a%00b /v1/recommend/a%2 \
    /v1/similar/nothing /v1/explain/nobody/i0 /v1/recommend/../../etc/passwd /v1/explain/c%09d/i0; do
    echo "== $path"
    get "$path"
done
post /v1/recommend '{"users": ["ann"]' 
post /v1/recommend '["ann"]'
post /v1/recommend '{}'
post /v1/recommend '{"users": ["ann"], "history": ["i0"]}'
post /v1/recommend '{"users": ["ann"], "k": 3}'
post /v1/recommend '{"users": [7]}'
post /v1/recommend '{"users": ["ann"], "boost": {"i0": "much"}}'
ask -d '{"users": ["ann"]}' "$at/v1/recommend"
post /v1/recommend "{\"users\": [\"$(printf '%03000d' 7)\"]}"
ask -X DELETE "$at/v1/popular"
curl -sS -I "$at/v1/popular" | grep -i '^HTTP\|^content-type'
echo "== tokens and feedback"
row='{"interactions": [{"user": "ann", "item": "i2"}, {"user": "so \"new\", they", "item": "i1", "time": 12.9}]}'
post /v1/feedback "$row"
post /v1/feedback "$row" -H 'Authorization: Bearer cccccccccccccccc'
post /v1/feedback '{"interactions": [{"user": "ann"}]}' "${writer[@]}"
post /v1/feedback "$row" "${writer[@]}"
post /v1/feedback '{"interactions": [{"user": "bob", "item": "i0", "time": 0}]}' "${admin[@]}"
get /v1/recommend/ann
get '/v1/recommend/so%20%22new%22%2C%20they?n=2'
get /v1/explain/ann/i1
ask -X POST "${writer[@]}" "$at/v1/reload"
ask -X POST "${admin[@]}" "$at/v1/reload"
echo "== models"
cp "$corpus/misfit.safetensors" new && mv new m.safetensors
ask -X POST "${admin[@]}" "$at/v1/reload"
get /v1/recommend/ann?n=1
cp "$corpus/mf.safetensors" new && mv new m.safetensors
get /v1/served
get /metrics | grep '^crosswise_\(feedback\|served\|model_\(info\|refusals\)\|requests_total.*"feedback"\)'
get / | grep -o '<title>.*</title>'
kill -TERM $server
wait $server && echo "ended with 0"
crosswise prepare log/feedback-000001.csv --core 1 --quiet --out set
cat set/id2idx_i.csv
sed 's/,1[0-9]\{9\}$/,now/' log/feedback-000001.csv
sed 's/^listening on .*/listening/' out
cat err >&2
