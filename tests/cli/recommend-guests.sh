# users and items that the core filter dropped have lists, too
{ make_log; echo "rare,i1,4,0"; echo "rare,i2,4,0"; echo "odd,single,4,0"; } >log.csv
for method in bpr pop "bpr --backbone neumf"; do
    echo "# $method"
    crosswise train log.csv --preset paper --core 3 --method $method --dim 4 --batch 16 --epochs 4 --eval-every 2 --quiet \
        --out m.safetensors 2>/dev/null
    crosswise recommend m.safetensors --user rare --user odd --user u3 --k 2 | cut -f 1,2,4
    crosswise recommend m.safetensors --all --k 30 | sed 1d | cut -f 1,4 | sort -u | cut -f 2 | uniq -c | sort -n | tail -n 4
    crosswise recommend m.safetensors --all --k 30 | sed 1d | cut -f 1,2 | tr '\t' , | sort >listed
    sed 1d log.csv | cut -d , -f 1,2 | sort | comm -12 - listed
done
crosswise train log.csv --preset paper --core 3 --method bpr --dim 4 --batch 16 --epochs 4 --eval-every 2 --quiet --out m.safetensors
crosswise recommend m.safetensors --user odd --k 1 --json
crosswise recommend m.safetensors --similar-items single --similar-items i1 --k 2 | cut -f 1,4
crosswise recommend m.safetensors --user nobody || echo "exit code $?"
crosswise recommend m.safetensors --similar-users odd || echo "exit code $?"
# who is in a later log is a guest no more
printf 'user,item\nodd,i1\nodd,i3\n' >new.csv
crosswise update m.safetensors new.csv --quiet --out n.safetensors
crosswise recommend n.safetensors --user odd --user rare --k 1 | cut -f 1,4
crosswise info n.safetensors --json | sed -n '/"update": {/,/}/p'
