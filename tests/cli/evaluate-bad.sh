# what cannot be evaluated is refused in one sentence
make_log >log.csv
crosswise prepare log.csv --core 1 --out set --quiet
crosswise train set --method pop --out pop.safetensors --quiet >/dev/null
refuse() { crosswise evaluate "$@" || echo "exit code $?"; }
refuse set
refuse set pop.safetensors --k 0
refuse set pop.safetensors --split uniform
refuse set pop.safetensors --split valid --mask-valid
refuse set pop.safetensors --truth on
refuse set none.safetensors
head -n 200 log.csv >less.csv
crosswise prepare less.csv --core 1 --out other --quiet
refuse other pop.safetensors
