# info and export of a model; damaged and foreign files are refused
corpus=$(dirname "$0")/../../fuzz/corpus/model
cp "$corpus/mf.safetensors" m.safetensors
cp "$corpus/foreign.safetensors" "$corpus/cut.safetensors" .
crosswise info m.safetensors
crosswise info m.safetensors --json | head -n 5
crosswise export m.safetensors --out vectors
find vectors -type f | sort
cat vectors/items.txt
crosswise export m.safetensors --out vectors || echo "exit code $?"
crosswise export m.safetensors --out vectors --force
crosswise export m.safetensors || echo "exit code $?"
for file in foreign cut; do crosswise info $file.safetensors || echo "exit code $?"; done
head -c 1100 m.safetensors >short.safetensors
crosswise info short.safetensors || echo "exit code $?"
