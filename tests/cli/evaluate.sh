# a model is evaluated for people and for programs
make_log >log.csv
crosswise prepare log.csv --core 1 --out set --quiet
crosswise train set --method pop --out pop.safetensors --quiet >/dev/null
crosswise evaluate set pop.safetensors --k 3,10 --groups 2 --popularity-sweep -20,0
crosswise evaluate set pop.safetensors --split valid --k 3 --bootstrap 200 --threads 1 >one
crosswise evaluate set pop.safetensors --split valid --k 3 --bootstrap 200 --threads 3 | cmp - one
sed -n 1,10p one
crosswise evaluate set pop.safetensors --json >set.json
if command -v python3 >/dev/null; then python3 -m json.tool set.json >/dev/null; fi
grep -A 1 '"split"' set.json
