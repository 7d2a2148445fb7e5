#!/bin/bash
# run.sh - crosswise serve beside FastAPI, uvicorn and implicit, by wrk on this machine, one after the other in one run:
# single lists of ten on the shape of MovieLens-10M (about 61,300 users and 6,900 items after the split, vectors of 128).
#   bench/serve/run.sh [SECONDS [short]]    of each measurement, 10 unless given; short: no memory, no new models
# It needs wrk (Debian) and a Python with implicit, fastapi and uvicorn, in $PYTHON (python3).  COUNTS ("1 2") is how many
# threads, and workers of uvicorn, answer.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-10}
python=${PYTHON:-python3}
counts=${COUNTS:-1 2} long=yes
[ "${2:-}" != short ] || long=no
crosswise=${CROSSWISE:-$PWD/build/release/crosswise}
wrk=$(command -v wrk) || { echo "run.sh: there is no wrk" >&2; exit 2; }
"$python" -c 'import implicit, fastapi, uvicorn' || { echo "run.sh: $python lacks implicit, fastapi or uvicorn" >&2; exit 2; }
work=${WORK:-build/bench-serve}
mkdir -p "$work"
server=
trap 'kill $server 2>/dev/null || true' EXIT

[ -d "$work/sim" ] || "$crosswise" simulate --users 61770 --items 6958 --interactions 1533956 --core 1 --out "$work/sim" --quiet
for seed in 0 1; do
    [ -e "$work/$seed.safetensors" ] ||
        "$crosswise" train "$work/sim" --method bpr --dim 128 --epochs 3 --seed $seed --out "$work/$seed.safetensors" --quiet
done
{
    printf 'ids = {'
    tail -n +2 "$work/sim/id2idx_u.csv" | cut -d, -f1 | sed 's/.*/"&",/'
    echo '}'
    cat <<'LUA'
local seed = 1
request = function()
  seed = (seed * 1103515245 + 12345) % 2147483648
  return wrk.format("GET", "/v1/recommend/" .. ids[math.floor(seed / 8) % #ids + 1] .. "?n=10")
end
local pause = tonumber(os.getenv("PAUSE_MS") or 0)
if pause > 0 then delay = function() return pause end end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("  %.0f requests/s, p50 %.2f ms, p99 %.2f ms, %d errors\n", summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
LUA
} >"$work/load.lua"

wait_for() { for _ in $(seq 300); do curl -sf -o /dev/null "$1" && return; sleep 0.1; done; echo "no answer at $1" >&2; exit 1; }
load() { "$wrk" -t1 -c"$2" -d"${3:-$seconds}" -s "$work/load.lua" "$1" | tail -n 1; }
memory() { awk '/VmRSS/ { printf "%.0f MiB\n", $2 / 1024 }' "/proc/$server/status"; }
start() { "$@" >"$work/out" 2>"$work/err" & server=$!; }
stop() { kill $server; wait $server 2>/dev/null || true; server=; }

first=$(head -n 2 "$work/sim/id2idx_u.csv" | tail -n 1 | cut -d, -f1)
peer=() # requests a second and p99 with one worker, with two, ...
figures() { sed 's/.* \([0-9.]*\) requests.* p99 \([0-9.]*\) ms.*/\1 \2/'; }
for workers in $counts; do
    start env MODEL="$work/0.safetensors" PYTHONPATH=bench/serve OPENBLAS_NUM_THREADS=1 "$python" -m uvicorn app:app \
        --port 8902 --workers "$workers" --log-level warning --no-access-log
    wait_for "http://127.0.0.1:8902/v1/recommend/$first"
    load http://127.0.0.1:8902 16 3 >/dev/null
    echo "FastAPI, uvicorn (workers: $workers), implicit:"
    result=$(load http://127.0.0.1:8902 16)
    echo "$result"
    peer[workers]=$(echo "$result" | figures)
    stop
done

for threads in $counts; do
    cp "$work/0.safetensors" "$work/now.safetensors"
    start "$crosswise" serve "$work/now.safetensors" --listen 127.0.0.1:8901 --threads "$threads" --run-as "$(id -un)"
    wait_for http://127.0.0.1:8901/health/ready
    load http://127.0.0.1:8901 16 3 >/dev/null
    echo "crosswise serve (threads: $threads), as fast as it goes:"
    result=$(load http://127.0.0.1:8901 16)
    echo "$result"
    echo "$result" | figures | awk -v peer="${peer[threads]}" -v n="$threads" '{
        split(peer, p, " ")
        printf "  %.1f times the requests of as many workers, and %.3f of their p99\n", $1 / p[1], $2 / p[2] }'
    echo "at about half of that (64 connections that pause):"
    rate=$(echo "$result" | awk '{ print $1 }')
    PAUSE_MS=$((64 * 2000 / rate)) load http://127.0.0.1:8901 64
    [ "$threads" = "${counts##* }" ] || stop
done
if [ "$long" = yes ]; then
    echo "memory $(memory)"
    load http://127.0.0.1:8901 16 "$((3 * seconds))"
    echo "memory $(memory) later"
    echo "a model that changes twice a second under that load:"
    (for k in $(seq $((2 * seconds))); do
        cp "$work/$((k % 2)).safetensors" "$work/new" && mv "$work/new" "$work/now.safetensors"
        kill -HUP $server
        sleep 0.5
    done) &
    load http://127.0.0.1:8901 16
    wait $!
    curl -s http://127.0.0.1:8901/metrics | grep '^crosswise_model_swaps_total\|^crosswise_requests_total{route="recommend",status="[345]'
fi
stop
