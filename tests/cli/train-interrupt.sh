# an interrupt keeps the state; going on ends in the same bytes as never having stopped
crosswise simulate --users 800 --items 300 --relevant 0.5 --popularity 0.5 --quiet --out set
flags="set --dim 64 --batch 64 --epochs 12 --eval-every 4 --checkpoint-every 0 --quiet"
crosswise train $flags --preset paper --out whole.safetensors
# the process itself, for which interrupts are not ignored as they are in the background
env --default-signal=INT "$CROSSWISE" train $flags --preset paper --out part.safetensors 2>message &
sleep 0.3
kill -INT $! 2>/dev/null || true
code=0
wait $! || code=$?
if [ $code -ne 0 ]; then # it may have been quicker than the signal
    [ $code -eq 130 ] || echo "exit code $code"
    grep -q '^crosswise: the state is in part.checkpoint; --resume goes on from it$' message
    grep -q '^crosswise: stopped while training, epoch [0-9]*$' message
    [ -f part.checkpoint ] || echo "no checkpoint"
    [ ! -e part.safetensors ] || echo "a model of half a run"
    crosswise train $flags --preset paper --out part.safetensors --resume
fi
cmp whole.safetensors part.safetensors
rm message
ls
