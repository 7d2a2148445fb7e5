# the plan "quick" on the five-star ratings of 250 users of MovieLens-100K: CPR less biased than BPR
[ -f "$CROSSWISE_DATA/ml100k/u.data.gz" ] || { echo "no ml100k in CROSSWISE_DATA"; exit 77; }
crosswise prepare "$CROSSWISE_DATA/ml100k/u.data.gz" --min-rating 5 --max-users 250 --quiet --out ml
crosswise experiment quick ml --out out --jobs 2 --quiet
sed -n '3,13p' out/tables.md
