# killed at random moments again and again, an experiment still ends in the same tables
crosswise simulate --users 400 --items 200 --relevant 0.5 --popularity 0.5 --quiet --out set
cat >plan.json <<'END'
{"options": {"preset": "paper", "dim": 32, "batch": 64, "epochs": 8, "eval-every": 2}, "seeds": 2,
 "tables": [{"tune": {"kind": "halving", "rungs": [2], "keep": 2},
             "methods": [{"method": "bpr", "grid": {"lr": [0.003, 0.01]}},
                         {"method": "cpr", "grid": {"lr": [0.003, 0.01, 0.03]}}]}]}
END
plain() { sed '/"time": {/,/}/d; /^  "xxh3_128"/d' "$1/results.json"; } # without what no two runs share
same() { cmp whole/tables.md "$1/tables.md" && cmp whole/results.csv "$1/results.csv" && cmp <(plain whole) <(plain "$1"); }
crosswise experiment plan.json set --out whole --quiet
RANDOM=${KILL_SEED:-11}
kills=0
while [ $kills -lt "${KILLS:-8}" ]; do
    "$CROSSWISE" experiment plan.json set --out part --checkpoint-every 0.01s --jobs $((1 + kills % 2)) --quiet &
    process=$!
    disown $process
    sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
    kill -KILL $process 2>/dev/null || true
    while kill -0 $process 2>/dev/null; do sleep 0.01; done
    kills=$((kills + 1))
    if [ -f part/results.json ]; then # done already: start afresh, so that every kill meets a run
        same part
        rm -rf part
    fi
done
crosswise experiment plan.json set --out part --quiet
same part
ls part
find part -name '*.checkpoint' -o -name '*partial*'
# an interrupt keeps the state, too
env --default-signal=INT "$CROSSWISE" experiment plan.json set --out stopped --checkpoint-every 0 >/dev/null 2>message &
sleep 0.15
kill -INT $! 2>/dev/null || true
code=0
wait $! || code=$?
if [ $code -ne 0 ]; then # it may have been quicker than the signal
    [ $code -eq 130 ] || echo "exit code $code"
    grep -q '^crosswise: stopped; the same command goes on from here$' message || cat message
    crosswise experiment plan.json set --out stopped --quiet
fi
same stopped
