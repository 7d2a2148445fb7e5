# escape sequences and other controls in names never reach standard error, nor does what is no text
esc=$'\e[2J' csi=$'\xc2\x9b2J' turned=$'\xe2\x80\xae' broken=$'\xff\xc3' good=$'\xc3\xbc\xe2\x82\xac\xf0\x9f\x99\x82'
name="a$esc$csi$turned$broken$good"
crosswise describe "$name" || true
crosswise "$name" || true
crosswise train "--$name" || true
crosswise recommend none --users "$name" || true
crosswise prepare $'one\ncrosswise: two' --out set || true
mkdir "$name"
printf 'user,item,rating\nx,y,%s\n' "$csi" >"$name/log.csv"
crosswise prepare "$name/log.csv" --out set || true
crosswise prepare "$name/log.csv" --columns "user=$csi,item=2" --out set || true
# what is data goes to files and pipes exactly
make_log | sed "s/,i1,/,i$csi,/" >log.csv
crosswise prepare log.csv --quiet --out set
crosswise train set --method pop --quiet --out pop.safetensors
crosswise recommend pop.safetensors --user u1 --k 50 --exclude none | grep -cF "	i$csi	"
