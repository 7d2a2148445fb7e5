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
measure dice --method dice --lr 3e-3 --min-size 10
measure dice-sum --method dice --lr 3e-3 --min-size 10 --dice-score sum --dis l1
measure dice-neg-dcor --method dice --lr 3e-3 --min-size 10 --neg 3 --dis dcor --dis-penalty 0.01
measure dice-lightgcn --method dice --backbone lightgcn --lr 3e-3 --margin 5
