# each signal to stop has its exit code, an ignored one stays ignored, a second one ends at once
mkfifo pipe
exec 3<>pipe # open, and nothing comes
# start FLAG: the command reads from the pipe, with the signals set by this flag of env; it goes on
# when SIGHUP, SIGINT or SIGTERM are caught, by which time all that are not ignored are
start() {
    env "$1" "$CROSSWISE" prepare - --out set <pipe 2>message &
    process=$!
    until grep -Eq '^SigCgt:.*(4...|[1235679abdef])$' "/proc/$process/status"; do sleep 0.01; done
    sleep 0.1
}
for signal in INT TERM HUP; do
    start --default-signal
    kill -$signal $process
    wait $process || echo "$signal: exit code $?"
    cat message
done
for signal in INT TERM HUP; do
    start --ignore-signal=$signal
    kill -$signal $process
    sleep 0.3
    kill -0 $process || echo "$signal was ignored and is not any more"
    kill -KILL $process
    wait $process 2>/dev/null || true
done
# It is stopped while both arrive, so that it cannot end after the first.  Which of them comes second,
# and ends it before it can say anything, is for the system to choose.
start --default-signal
kill -STOP $process
until grep -q '^State:.T' "/proc/$process/status"; do sleep 0.01; done
kill -INT $process
kill -TERM $process
kill -CONT $process
code=0
wait $process || code=$?
case $code in
130 | 143) echo "two: ended at once" ;;
*) echo "two: exit code $code" ;;
esac
cat message
ls
