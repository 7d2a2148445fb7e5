# adjacency lists: a user and all their items on a line
{ seq 0 9 | sed 's/$/ 1 2 3 4 5/'; seq 10 19 | sed 's/$/ 3 4 5 6 7 8/'; } >lists.txt
crosswise prepare lists.txt --out set
