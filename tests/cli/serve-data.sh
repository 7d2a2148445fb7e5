# serve --data: what was held out is hidden like what the model learned from, and the folder must be the model's
command -v curl >/dev/null || { echo "there is no curl"; exit 77; }
crosswise serve nothing 2>&1 | grep -q "this build has no server" && { echo "libmicrohttpd was not there when this was built"; exit 77; }
crosswise simulate --users 80 --items 60 --interactions 600 --relevant 0.5 --popularity 0.5 --core 1 --quiet --out set
crosswise simulate --users 80 --items 60 --interactions 600 --relevant 0.5 --popularity 0.5 --core 1 --seed 2 --quiet --out other
crosswise train set --method bpr --dim 8 --epochs 2 --seed 1 --quiet --out m.safetensors
as=$(id -un)
server=
trap 'kill $server 2>/dev/null || true' EXIT
start() {
    : >out
    "$CROSSWISE" serve m.safetensors --listen 127.0.0.1:0 --run-as "$as" "$@" >out 2>>err &
    server=$!
    for _ in $(seq 100); do [ -s out ] && break; sleep 0.05; done
    at=$(sed -n 's/^listening on //p' out)
}
stop() { kill -TERM $server && wait $server; }
# How many items of the log are in lists of the whole catalogue, for the users of a part.
again() {
    sed -n "2,\$s|^\([^,]*\),.*|url = \"$at/v1/recommend/\1?n=1000${2:-}\"|p" set/id2idx_u.csv >urls
    curl -sS -K urls -w '\n' | awk -F, '
        FILENAME == "set/id2idx_u.csv" { user[$2] = $1; next }
        FILENAME == "set/id2idx_i.csv" { item[$2] = $1; next }
        FILENAME != "-" { if (FNR > 1) had[user[$1], item[$2]]; next }
        match($0, /"user":"[^"]*"/) {
            who = substr($0, RSTART + 8, RLENGTH - 9)
            for (n = split($0, places, "\"item\":\""); n > 1; n--) {
                sub(/".*/, "", places[n])
                if ((who, places[n]) in had) again++
            }
        }
        END { print again + 0 }' set/id2idx_u.csv set/id2idx_i.csv "set/$1.csv" -
}
rows() { tail -n +2 "set/$1.csv" | wc -l; }
field() { grep -o "\"$1\":[0-9.]*" | head -n 1; }

start
echo "without: $(again train) of train, all of test $([ "$(again test)" = "$(rows test)" ] && echo yes)"
curl -sS "$at/v1/model" | field data_rows
curl -sS "$at/v1/served" | grep -o '"log_[^,]*' >train_alone
stop
printf 'write aaaaaaaaaaaaaaaa\nadmin bbbbbbbbbbbbbbbb\n' >tokens
chmod 600 tokens
start --data set --feedback log --tokens tokens
echo "with: $(again train) of train, $(again valid) of valid, $(again test) of test; $(again test '\&filter=none' | sed "s/^$(rows test)$/all/") with filter=none"
[ "$(curl -sS "$at/v1/model" | field data_rows)" = "\"data_rows\":$(($(rows valid) + $(rows test)))" ] && echo "data_rows are those held out"
curl -sS "$at/v1/served" | grep -o '"log_[^,]*' | cmp -s - train_alone || echo "the charts have another log"
echo "== with feedback the list is from all of them"
user=$(sed -n 2p set/id2idx_u.csv | cut -d, -f1)
item=$(curl -sS "$at/v1/recommend/$user?n=1" | grep -o '"item":"[^"]*"' | cut -d'"' -f4)
curl -sS -o feedback -H 'Authorization: Bearer aaaaaaaaaaaaaaaa' -H 'Content-Type: application/json' \
    -d "{\"interactions\": [{\"user\": \"$user\", \"item\": \"$item\"}]}" "$at/v1/feedback"
curl -sS "$at/v1/recommend/$user?n=1" | grep -o '"how":"[^"]*"'
echo "again: $(again train) of train, $(again valid) of valid, $(again test) of test"
echo "== another folder in its place"
reload() { curl -sS -X POST -H 'Authorization: Bearer bbbbbbbbbbbbbbbb' "$at/v1/reload" | sed 's/"model":"[^"]*","is_new":[a-z]*/"model":.../'; echo; } # the file may have been seen before
reload
mv set first && mv other set
reload
mv set other && mv first set
sed -i '$d' set/test.csv
reload
curl -sS "$at/v1/model" | grep -q "\"data_rows\":$(($(rows valid) + $(rows test)))" && echo "data_rows follow"
stop
echo "== refused"
crosswise serve m.safetensors --data other --listen 127.0.0.1:0 --run-as "$as" || echo "exit code $?"
mkdir strange
printf 'user,item\n0,0\n' >strange/train.csv
printf 'id,idx\nu"n\tknown,0\n' | sed 's/u"n/"u""n/; s/known/known"/' >strange/id2idx_u.csv
crosswise serve m.safetensors --data strange --listen 127.0.0.1:0 --run-as "$as" || echo "exit code $?"
crosswise serve m.safetensors --data nowhere --listen 127.0.0.1:0 --run-as "$as" || echo "exit code $?"
sed 's/is now .*/is now .../' err | uniq >&2
