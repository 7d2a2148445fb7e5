# JSON lines give the dataset that a csv file gives, whatever the order of keys, and however packed
make_log >log.csv
awk -F, 'NR > 1 { printf "{\"rating\": %s, \"user\": {\"id\": \"%s\"}, \"item\": \"%s\", \"timestamp\": %s, \"x\": [1, {}]}\n", $3, $1, $2, $4 }' \
    log.csv >log.jsonl
crosswise prepare log.csv --min-rating 3 --quiet --out set
crosswise prepare log.jsonl --min-rating 3 --out json | head -4
diff -rq set json -x dataset.json
sed 's/user/wer/;s/item/was/' log.jsonl >other.jsonl
refused other.jsonl
crosswise prepare other.jsonl --columns user=wer.id,item=was,rating=rating,time=timestamp --min-rating 3 --quiet --out other
diff -rq set other -x dataset.json
sed '17s/}$//' log.jsonl >broken.jsonl
refused broken.jsonl
