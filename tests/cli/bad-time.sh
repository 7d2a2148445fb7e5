# times that are neither numbers nor dates
for time in nan yesterday 2020-13-01; do
    printf 'user,item,time\nu1,i1,5\nu2,i2,%s\n' $time >log.csv
    refused log.csv
done
