# one column is not enough
seq 30 >numbers.txt
refused numbers.txt
refused numbers.txt --columns user=1,item=2
