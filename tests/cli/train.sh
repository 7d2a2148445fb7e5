# a small run leaves a model and its record; the same seed gives the same bytes on any threads
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
for threads in 1 2 3; do
    crosswise train set --preset paper --dim 8 --batch 64 --epochs 4 --eval-every 2 --threads $threads --quiet \
        --out model-$threads.safetensors
done
cmp model-1.safetensors model-2.safetensors
cmp model-1.safetensors model-3.safetensors
ls
grep -c '"recall@20"' model-1.run.json
for key in options seed data epochs best_epoch valid test train_s peak_bytes data_loss reg_loss; do
    grep -q "\"$key\"" model-1.run.json || echo "no $key"
done
crosswise train set --preset paper --dim 8 --batch 64 --epochs 2 --eval-every 1 --json >events
grep -c '"event":"epoch"' events
tail -n 1 events | grep -c '"event":"done"'
crosswise train set --preset paper --method bpr --dim 8 --batch 64 --epochs 2 --eval-every 1 2>/dev/null |
    sed 's/[0-9][0-9.]*/#/g'
