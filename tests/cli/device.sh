# --device: what is refused, whatever there is on this machine, and that auto can always train
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
try() { crosswise train set --epochs 1 --dim 4 --out model --force --quiet "$@" || echo "exit code $?"; }
for device in tpu cuda: cuda:x cuda:1x cuda0 cuda:-1 GPU; do try --device "$device"; done
for method in ials ease itemknn pop; do try --device cuda --method $method; done
try --device cuda --engine ref
# no machine has so many
try --device cuda:999 >/dev/null 2>message && grep -q "^crosswise: --device is 'cuda" message && echo "there are less"
for device in auto cpu; do
    try --device $device
    crosswise info model | grep "^options.device"
done
crosswise evaluate set model --device tpu || echo "exit code $?"
crosswise evaluate set model --device cuda --k 20,257 || echo "exit code $?"
crosswise recommend model --all --device cuda: || echo "exit code $?"
crosswise recommend model --similar-items 1 --device cuda || echo "exit code $?"
try --device cpu --backbone neumf
crosswise evaluate set model --device cuda:0 || echo "exit code $?"
crosswise recommend model --user 1 --device cuda || echo "exit code $?"
[ "$(crosswise evaluate set model --device auto)" = "$(crosswise evaluate set model --device cpu)" ] && echo the same
crosswise info --devices | head -1 | cut -d' ' -f1
crosswise info --devices --json | grep -o '"device": "cpu"'
crosswise info --devices model
