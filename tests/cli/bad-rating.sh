# ratings that are no numbers or out of range
for rating in -nan inf 1e300 -1e16 five '#'; do
    printf 'user,item,rating\nu1,i1,5\nu2,i2,%s\n' "$rating" >log.csv
    refused log.csv
done
