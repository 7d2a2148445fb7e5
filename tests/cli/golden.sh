# results of small runs that must not change unnoticed: the test metrics of every method
split=(--cap 1/60 --holdout 0.3) # the split of the paper
crosswise simulate --users 600 --items 250 --relevant 0.4 --popularity 0.8 --seed 3 "${split[@]}" --quiet --out set
size=--dim=16
measure() { # label, options
    label=$1
    shift
    crosswise train set --preset paper "$size" --batch 256 --epochs 12 --eval-every 3 --quiet --out m.safetensors "$@"
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
measure cpr-k4 --method cpr --lr 3e-3 --cycle 4
measure cpr-deferred --method cpr --lr 3e-3 --optimizer adam-deferred
measure cpr-lazy --method cpr --lr 3e-3 --optimizer adam-lazy
measure cpr-torch --method cpr --lr 3e-3 --adam-eps torch --init split
measure cpr-batch-reg --method cpr --lr 3e-3 --reg-kind batch --reg 1e-3 --distinct all
measure cpr-lightgcn --method cpr --backbone lightgcn --lr 3e-3
measure bpr-lightgcn --method bpr --backbone lightgcn --lr 3e-3 --layers 1
measure cause --method cause --lr 3e-3
measure cause-treated --method cause --lr 3e-3 --cause-score treatment --cause-penalty l1 --dis-penalty 1 --neg 4
measure cause-stop --method cause --lr 3e-3 --cause-penalty l1-stop --dis-penalty 0.1 --treatment-cap 1/12
measure ubpr --method ubpr --lr 3e-3
measure ubpr-clip --method ubpr --lr 3e-3 --clip -1 --propensity-power 0.5
measure ubpr-lightgcn --method ubpr --backbone lightgcn --lr 3e-3 --layers 1
measure rel-mf --method rel-mf --lr 1e-2
measure rel-mf-log --method rel-mf --lr 1e-2 --relmf-loss log --propensity-min 0.3
measure bce --method bce --lr 1e-2
measure bce-user --method bce --lr 1e-2 --negatives user
measure mse --method mse --lr 1e-2
measure wmf --method wmf --lr 1e-2 --wmf-weight 0.5
measure cross --method cross --lr 3e-3
measure cross-rows --method cross-softmax --form rows --gamma 0.5 --lr 3e-3
measure cross-both --method cross-softmax --group 32 --scorer dot --temperature 1 --lr 3e-3
measure cross-all --method cross-all --form lse --group 64 --lr 3e-3
measure cross-graph --method cross --backbone lightgcn --lr 3e-3
measure cosine --method cpr --scorer cosine --temperature 0.2 --lr 3e-3
measure spectral --method bpr --spectral 0.01 --lr 3e-3
measure fs-pair --method fs-pair --lr 3e-3
measure fs-point --method fs-point --lr 3e-3
measure sl --method sl --candidates 64 --lr 3e-3
measure sl-pair --method sl --candidates 8 --candidates-of pair --lr 3e-3
measure psl --method psl --candidates 64 --lr 3e-3
measure bsl --method bsl --candidates 64 --lr 3e-3
measure ials --method ials
measure ials-flat --method ials --reg-power 0 --reg 1 --unseen-weight 0.3 --cg-steps 5
measure ease --method ease
measure ease-weak --method ease --reg 10
measure itemknn --method itemknn
measure itemknn-tfidf --method itemknn --similarity tfidf --shrink 5 --neighbours 20
measure itemknn-cosine --method itemknn --similarity cosine --shrink 0
size="--vae-sizes=8,32"
measure mult-vae --method mult-vae --lr 3e-3
measure mult-vae-kl --method mult-vae --lr 3e-3 --keep 0.8 --kl-cap 1 --kl-steps 10 --reg 1e-4
size=--dim=128
measure dice --method dice --lr 3e-3 --min-size 10
measure dice-sum --method dice --lr 3e-3 --min-size 10 --dice-score sum --dis l1
measure dice-neg-dcor --method dice --lr 3e-3 --min-size 10 --neg 3 --dis dcor --dis-penalty 0.01
measure dice-lightgcn --method dice --backbone lightgcn --lr 3e-3 --margin 5
measure cpr-ngcf --method cpr --backbone ngcf --lr 3e-3
measure cpr-rand-ngcf --method cpr-rand --backbone ngcf --lr 3e-3 --layers 1
measure bpr-ngcf --method bpr --backbone ngcf --lr 3e-3 --ngcf original --reg-kind batch --reg-target final --init split
measure bpr-final-reg --method bpr --backbone lightgcn --lr 3e-3 --reg 1e-2 --reg-kind batch --reg-target final
measure cpr-neumf --method cpr-rand --backbone neumf --lr 3e-3 --weight-reg 1e-3 --epochs 4 --eval-every 1
measure bpr-neumf --method bpr --backbone neumf --lr 3e-3 --hidden 16,8
