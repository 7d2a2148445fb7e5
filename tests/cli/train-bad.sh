# what cannot be trained
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
try() { crosswise train "$@" --quiet || echo "exit code $?"; }
try
try nowhere
try set --method magic
try set --backbone lightning
try set --backbone neumf --hidden 256,wide
try set --lr 0
try set --beta 0.5
try set --batch 1048576 --beta 900
try set --metric recall
try set --metric arp@20
try set --checkpoint-every soon
try set --method cpr-rand --beta 2
try set --method mult-vae --vae-sizes 200,much
try set --method mult-vae --optimizer adam-deferred
try set --method mult-vae --keep 0
# options of others, and old names
try set --method bpr --margin 10
try set --method bpr --neg 2 --epochs 1
try set --method bpr --backbone neumf --layers 2
try set --method cpr-rand --select per-k
try set --method mult-vae --weight-reg 0.1
try set --method pop --strict
try set --optimizer sgd --adam-eps torch
try set --k 3
try set --adam lazy
try set --out no/such/folder/model.safetensors --epochs 1 --dim 4
try set --resume
mkdir only-test && cp set/test.csv only-test
try only-test
ls
