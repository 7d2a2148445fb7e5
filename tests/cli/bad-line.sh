# malformed lines name the file, the line and what is wrong
printf 'user,item\nu1,i1\nu2\n' >short.csv
printf 'user,item\nu1,i1\n,i2\n' >no-user.csv
printf 'user,item\nu1,i1\nu2,\n' >no-item.csv
printf 'user,item\nu1,i1\n"u2,i2\n' >quote.csv
for file in short.csv no-user.csv no-item.csv quote.csv; do refused $file; done
