# a RecBole file without the columns that are needed
printf 'user_id:token\trating:float\n1\t2\n' >no-item.inter
printf 'user_id:token\titem_id:token\n' >header.inter
refused no-item.inter
refused header.inter
printf 'user_id:token\titem_id:token\n1\t2\n' >no-rating.inter
refused no-rating.inter --min-rating 3
