# shellcheck shell=bash
# postgres.sh - a PostgreSQL server of one's own, for a test to source; it needs no network and ends
# with the test.
#   server_start   skips the test (77) without a server; then
#     $server      is the folder of its socket, which is also where everything of it lies
#     at_server    $server as it is written in an address
#     sql DATABASE runs what it reads as the owner, who is called boss and needs no password;
#                  everybody else does
#   server_stop [MODE]   fast, or immediate: like a crash
server= at_server=
server_user=

as_server() {
    if [ "$(id -u)" = 0 ]; then # a server does not run as root
        (cd / && setpriv --reuid="$server_user" --regid="$(id -g "$server_user")" --clear-groups -- "$@")
    else
        "$@"
    fi
}

server_start() {
    local folder programs=
    for folder in /usr/lib/postgresql/*/bin /usr/local/pgsql/bin; do
        if [ -x "$folder/initdb" ]; then programs=$folder; fi
    done
    if [ -z "$programs" ] || ! command -v psql >/dev/null; then
        echo "there is no PostgreSQL server"
        exit 77
    fi
    server_user=nobody
    server_programs=$programs
    server=$(mktemp -d /tmp/cw-pg.XXXXXX) # a path of a socket is short
    trap server_end EXIT
    if [ "$(id -u)" = 0 ]; then chown "$server_user" "$server"; fi
    as_server "$programs/initdb" -D "$server/data" -U boss --auth=trust -E UTF8 --locale=C --no-sync \
        >"$server.log" 2>&1 || { cat "$server.log"; return 1; }
    printf 'local all boss trust\nlocal all all scram-sha-256\n' | as_server tee "$server/data/pg_hba.conf" >"$server.log"
    server_again
    at_server=${server//\//%2F}
}

server_again() {
    as_server "$server_programs/pg_ctl" -D "$server/data" -o "-k $server -h '' -F -c shared_buffers=16MB" -w -l "$server/log" \
        start >"$server.log" 2>&1 || { cat "$server.log" "$server/log"; return 1; }
}

server_stop() {
    as_server "$server_programs/pg_ctl" -D "$server/data" -m "${1:-fast}" stop >"$server.log" 2>&1 || true
}

server_end() {
    server_stop immediate
    rm -rf "$server" "$server.log"
}

sql() {
    PGOPTIONS='-c client_min_messages=warning' psql -X -q -v ON_ERROR_STOP=1 -h "$server" -U boss -A -t -d "$1"
}
