# a full disk during a checkpoint is said, and the checkpoint before stays whole
crosswise simulate --users 400 --items 200 --relevant 0.5 --popularity 0.5 --quiet --out set
flags="set --dim 16 --batch 64 --eval-every 0 --checkpoint-every 1 --quiet"
crosswise train $flags --preset paper --epochs 2 --checkpoint c --out whole.safetensors
crosswise train $flags --preset paper --epochs 1 --checkpoint kept 2>/dev/null
cp kept before
code=0
(ulimit -f 20; crosswise train $flags --preset paper --epochs 2 --checkpoint kept --resume) || code=$?
echo "exit code $code"
cmp kept before
crosswise train $flags --preset paper --epochs 2 --checkpoint kept --resume --out part.safetensors
cmp whole.safetensors part.safetensors
ls
