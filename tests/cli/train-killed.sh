# killed at random moments again and again, a run still ends in the same bytes
crosswise simulate --users 800 --items 300 --relevant 0.5 --popularity 0.5 --quiet --out set
flags="set --dim 32 --batch 64 --epochs 10 --eval-every 2 --checkpoint-every 0.02s --quiet"
crosswise train $flags --preset paper --out whole.safetensors
RANDOM=${KILL_SEED:-7}
kills=0
while [ $kills -lt "${KILLS:-12}" ]; do
    "$CROSSWISE" train $flags --preset paper --out part.safetensors --resume 2>/dev/null & # the process itself
    sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    kills=$((kills + 1))
    # finished already: start afresh, so that every kill meets a run
    if [ -f part.safetensors ]; then
        cmp whole.safetensors part.safetensors
        rm -f part.*
    fi
done
crosswise train $flags --preset paper --out part.safetensors --resume
cmp whole.safetensors part.safetensors
ls
