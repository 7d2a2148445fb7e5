# ids of more than a million bytes
{ echo user,item; head -c 1000001 /dev/zero | tr '\0' u; echo ,i; } >user.csv
{ echo user,item; echo u1,i1; printf u2,; head -c 1048577 /dev/zero | tr '\0' i; echo; } >item.csv
refused user.csv
refused item.csv
