# shellcheck shell=bash
# root.sh - a small Debian 12 in a folder, to try things in; check-bare and check-arch source it.
# All of it lies under build/roots.  The packages come from $CROSSWISE_MIRROR, otherwise from where this
# machine gets its own, otherwise from where debootstrap looks by itself.
roots=$PWD/build/roots

# root_alone NAME "$@": run the calling script once more with mounts and processes of its own.  Both
# end with it, whatever ends it, so nothing stays mounted and nothing goes on in the background.
# NAME is the root that it will work in, one script at a time.
root_alone() {
    local self=tools/${0##*/} name=$1 need
    shift
    [ "${CROSSWISE_ALONE:-}" != "$self" ] || return 0
    for need in debootstrap unshare chroot tar; do
        command -v $need >/dev/null || { echo "$self: there is no $need here; please install it" >&2; exit 2; }
    done
    [ "$(id -u)" = 0 ] || { echo "$self: only root can set up a root; try sudo" >&2; exit 2; }
    mkdir -p "$roots"
    exec 9>"$roots/$name.lock"
    flock --nonblock 9 || { echo "$self: another one works in $roots/$name" >&2; exit 2; }
    set -m # otherwise all that is started would ignore SIGINT
    CROSSWISE_ALONE=$self unshare --mount --pid --fork --kill-child --propagation private "$self" "$@" </dev/null &
    trap 'kill -KILL $!; echo "stopped" >&2; exit 130' INT TERM HUP
    wait $!
    exit $?
}

root_mirror() {
    local found=${CROSSWISE_MIRROR:-}
    # shellcheck disable=SC2016 # these are names of apt-get
    [ -n "$found" ] || found=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' \
        2>/dev/null | sed -n 's/^bookworm //p' | head -n 1)
    echo "$found"
}

# The bare system with git and make, kept as an archive for the next time.
root_bootstrap() {
    local base=$roots/base mirror
    mirror=$(root_mirror)
    exec 8>"$base.lock"
    flock 8
    [ ! -s "$base.tar" ] || return 0
    echo "setting up a bare Debian 12, once"
    rm -rf --one-file-system -- "$base"
    mkdir -p "$base"
    if ! debootstrap --variant=minbase --include=git,make bookworm "$base" ${mirror:+"$mirror"} >"$base.log" 2>&1; then
        cat "$base.log"
        return 1
    fi
    umount "$base/proc" 2>/dev/null || true
    tar -C "$base" --one-file-system --numeric-owner -cf "$base.tar.part" . && mv "$base.tar.part" "$base.tar"
    rm -rf --one-file-system -- "$base"
}

# root_create NAME: $root is a fresh bare system in build/roots/NAME with /proc and /dev as they come.
root_create() {
    root=$roots/$1
    root_bootstrap
    exec 8>&-
    rm -rf --one-file-system -- "$root"
    mkdir -p "$root"
    tar -C "$root" --numeric-owner -xpf "$roots/base.tar"
    root_open "$1"
}

root_open() {
    root=$roots/$1
    mount -t proc proc "$root/proc"
}

# What is committed, as a stranger gets it.
root_clone() {
    [ -z "$(git status --porcelain)" ] || echo "note: what is not committed is not in the clone"
    rm -rf --one-file-system -- "$root/crosswise"
    git clone --quiet --no-hardlinks "$PWD" "$root/crosswise"
}

# root_run COMMAND: in the clone, with nothing of this machine's environment but a proxy.
root_run() {
    env -i --default-signal HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin ${http_proxy:+"http_proxy=$http_proxy"} \
        chroot "$root" sh -c "cd /crosswise && $1" 9>&-
}

root_packages() { chroot "$root" dpkg-query -W | wc -l; }

# root_step NAME WHAT [COMMAND]: run and time it; its output stays in build/roots/NAME.log.
root_step() {
    local start=$SECONDS before result=ok code=0 log=$roots/$1.log
    before=$(root_packages)
    root_run "${3:-$2}" >"$log" 2>&1 || code=$?
    [ $code = 0 ] || { result=FAILED && sed 's/^/    | /' "$log"; }
    sed -n 's/^skipped:/    &/p' "$log"
    printf '%-8s%-12s%4ds  %s: %s (%d packages installed)\n' $result "$1" $((SECONDS - start)) "$2" \
        "$(tail -n 1 "$log")" $(($(root_packages) - before))
    return $code
}
