# a record that lacks something, or has it of another kind, is refused with the name of what is missing
crosswise simulate --users 60 --items 40 --interactions 300 --relevant 0.5 --popularity 0.5 --core 1 --quiet --out set
crosswise train set --method pop --quiet --out a.safetensors
crosswise train set --preset paper --method bpr --dim 4 --epochs 1 --eval-every 1 --quiet --out b.safetensors
# As somebody would edit it: without the signature.
edit() { sed '/^  "signed"/d; /^  "xxh3_128"/d' b.run.json | sed -z 's/,\n}/\n}/' | sed -E "$1" >edited.json; }
try() {
    edit "$1"
    crosswise compare a.run.json edited.json >/dev/null || echo "exit code $?: $1"
}
edit ''
crosswise compare a.run.json edited.json | grep -c "^Recall@20" # without a signature it is believed
for key in method backbone seed options metric data xxh3_128 test; do
    try "s/\"$key\":/\"no-$key\":/"
    try "s/\"$key\": (\"[^\"]*\"|[0-9]+|\{)/\"$key\": [], \"was-$key\": \1/"
done
try 's/"recall@20": [0-9.e-]+/"recall@20": "a lot"/'
try 's/"test"/"error"/'
sed 's/"seed": 0/"seed": 1/' b.run.json >edited.json # signed
crosswise compare a.run.json edited.json || echo "exit code $?"
