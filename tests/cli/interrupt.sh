# an interrupted run says so and leaves nothing
mkfifo pipe
for signal in INT TERM HUP; do
    env --default-signal "$CROSSWISE" prepare pipe --out set --quiet &
    process=$!
    exec 3>pipe # opened for reading by then
    kill -$signal $process
    make_log >&3 2>/dev/null || true # it may be gone already
    yes 'u1,i1,1,1' 2>/dev/null | head -n 3000000 >&3 2>/dev/null || true
    exec 3>&-
    wait $process || echo "exit code $?"
done
find . | sort
