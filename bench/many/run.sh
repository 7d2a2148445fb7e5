#!/bin/bash
# run.sh - training by hosts that are network namespaces, over links of several bandwidths and delays,
# beside what the model of time in docs/many-machines.md predicts.  Needs root, Open MPI and a compiler.
#   bench/many/run.sh [HOSTS]     2 unless given
set -eu
cd "$(dirname "$0")/../.."
command=$PWD/build/release/crosswise
hosts=${1:-2}
[ "$(id -u)" = 0 ] || { echo "run.sh: namespaces need root" >&2; exit 2; }
for need in mpirun ip cc; do
    command -v $need >/dev/null || { echo "run.sh: there is no $need" >&2; exit 77; }
done
[ -e build/release/crosswise-mpi.so ] || { echo "run.sh: the MPI engine was not built" >&2; exit 77; }

work=$(mktemp -d)
switch=
names=
stop_switch() {
    [ -z "$switch" ] || { kill "$switch" && wait "$switch" || true; } 2>/dev/null
    switch=
}
clean() {
    stop_switch
    for name in $names; do ip netns delete "$name"; done
    rm -rf "$work"
}
trap clean EXIT

cc -O2 -D_GNU_SOURCE -o "$work/switch" bench/many/switch.c
list=
for k in $(seq "$hosts"); do
    ip netns add "cw-$$-$k"
    names="$names cw-$$-$k"
    list="$list${list:+,}10.77.0.$k:1"
done

# How Open MPI starts a process on a host: as ssh would, which has an address and a command.
cat >"$work/agent" <<END
#!/bin/sh
host=\${1##*.}
shift
exec ip netns exec cw-$$-\$host unshare --uts sh -c 'hostname host'\$host'; '"\$*"
END
chmod +x "$work/agent"

# link MBITS DELAY_MS: join the hosts
link() {
    stop_switch
    : >"$work/ready"
    # shellcheck disable=SC2086
    "$work/switch" "$1" "$2" $names >"$work/ready" &
    switch=$!
    until grep -q ready "$work/ready"; do sleep 0.05; done
    local k=0
    for name in $names; do
        k=$((k + 1))
        ip -n "$name" link set lo up
        ip -n "$name" address add "10.77.0.$k/24" dev link0
        ip -n "$name" link set link0 mtu 9000 up
    done
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
tcp="--mca plm_rsh_agent $work/agent --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24
--mca oob_tcp_if_include 10.77.0.0/24 --mca mpi_yield_when_idle 1 --mca hwloc_base_binding_policy none
--mca btl_tcp_eager_limit 100000000 --mca coll_tuned_use_dynamic_rules 1
--mca coll_tuned_alltoallv_algorithm 1 --mca coll_tuned_allgatherv_algorithm $((hosts == 2 ? 5 : 3))"

# steps N: seconds of an epoch of so many steps, to $seconds; KB and exchanges a step, to $kilobytes and $exchanges
steps() {
    # shellcheck disable=SC2086
    ip netns exec "cw-$$-1" unshare --uts sh -c 'hostname host1; exec "$@"' sh \
        mpirun --host "$list" $tcp "$command" train "$work/set" --device mpi --threads 1 --method cpr \
        --dim 64 --epochs 1 --epoch-steps "$1" --eval-every 0 --json >"$work/out" 2>"$work/err" ||
        { cat "$work/err" >&2; exit 1; }
    seconds=$(sed -n 's/.*"event":"epoch".*"epoch":1,.*"train_s":\([0-9.e-]*\).*/\1/p' "$work/out")
    [ -n "$seconds" ] || seconds=$(grep -o '"train_s":[0-9.e-]*' "$work/out" | sed -n '2s/.*://p')
    kilobytes=$(sed -n 's/.*a step sends \([0-9.]*\) KB.*/\1/p' "$work/err")
    exchanges=$(sed -n 's/.*, in \([0-9.]*\) exchanges.*/\1/p' "$work/err")
}

"$command" simulate --users 20000 --items 4000 --quiet --out "$work/set"
echo "mbits,delay_ms,hosts,KB a step,exchanges,ms a step,ms predicted,difference"
base=
for setting in "10000 0" "200 1" "100 5" "50 20"; do
    # shellcheck disable=SC2086
    set -- $setting
    link "$1" "$2"
    steps 100
    first="$seconds $kilobytes $exchanges"
    steps 20
    # Of the eighty between: each but the first few steps asks others for rows once in a while.
    read -r ms kilobytes exchanges <<END
$(echo "$first $seconds $kilobytes $exchanges" |
        awk '{ printf "%.2f %.1f %.2f", ($1 - $4) / 80 * 1e3, ($2 * 100 - $5 * 20) / 80, ($3 * 100 - $6 * 20) / 80 }')
END
    [ -n "$base" ] || base=$ms
    # Work, then exchanges one after the other, each of which takes a delay for every turn: two go to those who need
    # them at once, the others round a ring.
    awk -v mbits="$1" -v delay="$2" -v hosts="$hosts" -v kb="$kilobytes" -v exchanges="$exchanges" -v ms="$ms" -v base="$base" 'BEGIN {
        turns = 2 + (exchanges - 2) * (hosts - 1)
        predicted = base + turns * delay + kb * 8 / mbits
        printf "%s,%s,%d,%s,%s,%s,%.2f,%+.0f %%\n", mbits, delay, hosts, kb, exchanges, ms, predicted, 100 * (predicted / ms - 1)
    }'
done
