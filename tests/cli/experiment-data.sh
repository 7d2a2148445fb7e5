# the plan "quick" on the five-star ratings of MovieLens-100K: CPR less biased than BPR, in a minute
[ -f "$CROSSWISE_DATA/ml100k/u.data.gz" ] || { echo "no ml100k in CROSSWISE_DATA"; exit 77; }
split=(--cap 1/60 --holdout 0.3) # the split of the paper
crosswise prepare "$CROSSWISE_DATA/ml100k/u.data.gz" --min-rating 5 "${split[@]}" --quiet --out ml
crosswise experiment quick ml --out out --jobs 2 --quiet
sed -n '5,10p' out/tables.md
