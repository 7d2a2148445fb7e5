# a server that goes away while it is read, and somebody who stops waiting: one line, and nothing left
# shellcheck source=tests/postgres.sh
. "$TESTS/postgres.sh"
server_start
url="postgresql://boss@/postgres?host=$at_server"
endless="$url&query=SELECT g AS user, mod(g, 999) AS item FROM generate_series(1, 1000000000) g"
silent="$url&query=SELECT 1 AS user, 1 AS item FROM pg_sleep(600)"
await() { # a backend that runs the query
    for _ in $(seq 100); do
        [ "$(sql postgres <<<"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'crosswise' AND state = 'active'")" = 0 ] || return 0
        sleep 0.1
    done
    echo "it never began"
}
outcome() {
    local code=0
    wait "$1" || code=$?
    echo "exit code $code"
    grep -c '' said || true
    sed "s|$server|SERVER|; s/: .*\(terminating connection\|server closed the connection\|connection to server was lost\|the connection is lost\|no connection to the server\).*/: the connection is gone/" said
    find . -name '*out*' | sed 's/^/left behind: /'
}
for query in "$endless" "$silent"; do
    crosswise prepare "$query" --out out --columns user=user,item=item --quiet 2>said &
    await
    sql postgres <<<"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'crosswise'"
    outcome $!
    "$CROSSWISE" train "$query" --out out.safetensors --quiet 2>said &
    await
    kill -TERM $!
    outcome $!
    # the server does not go on for nobody
    for _ in $(seq 50); do
        left=$(sql postgres <<<"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'crosswise'")
        [ "$left" = 0 ] && break
        sleep 0.1
    done
    echo "$left at work"
done
crosswise prepare "$endless" --out out --quiet 2>said &
await
server_stop immediate
outcome $!
crosswise prepare "$endless" --out out --quiet 2>said &
outcome $!
