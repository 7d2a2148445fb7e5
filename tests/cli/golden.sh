# results of small runs that must not change unnoticed: the test metrics of every method
crosswise simulate --users 600 --items 250 --relevant 0.4 --popularity 0.8 --seed 3 --quiet --out set
measure() { # label, options
    label=$1
    shift
    crosswise train set --dim 16 --batch 256 --epochs 12 --eval-every 3 --quiet --out m.safetensors "$@"
    printf '%-14s' "$label"
    sed -n '/"test": {/,/}/p' m.run.json | grep -E '"(recall|ndcg|arp)@20"' | sort |
        LC_ALL=C awk -F '[:,]' '{ printf " %.4f", $2 } END { print "" }'
}
echo "method         arp ndcg recall"
measure pop --method pop
measure bpr --method bpr --lr 3e-3
measure bpr-user --method bpr --lr 3e-3 --pos user
measure cpr-rand --method cpr-rand --lr 3e-3
measure cpr --method cpr --lr 3e-3
measure cpr-per-k --method cpr --lr 3e-3 --select per-k
measure cpr-k4 --method cpr --lr 3e-3 --k 4
measure cpr-deferred --method cpr --lr 3e-3 --adam deferred
measure cpr-lazy --method cpr --lr 3e-3 --adam lazy
measure cpr-torch --method cpr --lr 3e-3 --adam-eps torch --init split
measure cpr-batch-reg --method cpr --lr 3e-3 --reg-kind batch --reg 1e-3 --distinct all
measure cpr-lightgcn --method cpr --backbone lightgcn --lr 3e-3
measure bpr-lightgcn --method bpr --backbone lightgcn --lr 3e-3 --layers 1
# few epochs: matrix products round differently on other processors, which grows with time
measure cpr-neumf --method cpr-rand --backbone neumf --lr 3e-3 --weight-reg 1e-3 --epochs 4 --eval-every 1
measure bpr-neumf --method bpr --backbone neumf --lr 3e-3 --hidden 16,8
