# binary junk
head -c 4000 "$CROSSWISE" >program
printf 'user,item\na\0b,c\n' >zero.csv
refused program
refused zero.csv
refused zero.csv --format delimited --delimiter comma
