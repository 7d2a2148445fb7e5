# when the reader has enough, as head has, the command ends early and says nothing
crosswise simulate --users 3000 --items 200 --relevant 0.5 --popularity 0.5 --quiet --out set
crosswise train set --method pop --quiet --out pop.safetensors
for flags in "" --json; do
    crosswise recommend pop.safetensors --all --k 100 $flags | head -n 1 | wc -l
    echo "exit codes ${PIPESTATUS[*]}"
done
crosswise recommend pop.safetensors --all --k 100 >/dev/full || echo "exit code $?"
