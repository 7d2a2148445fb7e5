# RecBole atomic files name and type their columns
make_log | tail -n +2 | tr , '\t' >rows
{ printf 'user_id:token\titem_id:token\trating:float\ttimestamp:float\n'; cat rows; } >log.inter
crosswise prepare log.inter --min-rating 3 --out set
