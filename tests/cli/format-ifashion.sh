# iFashion: user, clicked items, outfit
for user in 1 2 3 4 5; do
    for outfit in a b c d; do echo "user$user,x;y;z,outfit$outfit"; done
done >user_data.txt
crosswise prepare user_data.txt --out set
