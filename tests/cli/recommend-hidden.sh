# nobody gets what is anywhere in their log, however they rated it
{ make_log; echo "rare,i1,5,0"; echo "rare,i2,5,0"; echo "rare,i3,1,0"; echo "odd,single,5,0"; echo "odd,i1,1,0"; } >log.csv
given() { sed 1d "$1" | cut -d , -f 1,2 | sort -u; }
listed() { crosswise recommend "$@" --all --k 30 | sed 1d | cut -f 1,2 | tr '\t' , | sort; }
both() { comm -12 <(given log.csv) <(listed "$@"); }
trained() { # OPTION...: lines of lists, how many of them are in the log with and without what is hidden
    echo "# $*"
    rm -f m.*
    crosswise train log.csv --preset paper --core 3 --batch 16 --epochs 4 --eval-every 2 --quiet --out m.safetensors "$@" 2>/dev/null
    echo "$(listed m.safetensors | wc -l) $(both m.safetensors | wc -l) $(both m.safetensors --exclude none | wc -l)"
    crosswise info m.safetensors | grep _rows
}
for method in bpr pop mult-vae "bpr --backbone neumf"; do
    trained --method $method --min-rating 4
    trained --method $method
done
trained --method bpr --min-rating 4 --no-refit
trained --method bpr --min-rating 4 --core 1
crosswise tune log.csv --min-rating 4 --trials 2 --budget 1m --quiet --out t >/dev/null 2>&1
both t.safetensors | wc -l
# an update keeps what is hidden, hides what is low in the new log too, and trains on what is liked now
trained --method bpr --min-rating 4
printf 'user,item,rating\nu1,i0,5\nu1,new,5\nu2,new,1\nnewcomer,i0,4\nnewcomer,i1,1\nrare,new,4\nodd,new,1\nodd,i0,1\n' >new.csv
crosswise update m.safetensors new.csv --min-rating 4 --quiet --out n.safetensors
sed 1d new.csv >>log.csv
both n.safetensors
crosswise info n.safetensors | grep '^[a-z]*_rows'
