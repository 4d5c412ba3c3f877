#!/usr/bin/env bash
# units.sh: the units for systemd are right, strict, and leave each layer of the workers' sandbox in force.
#
# Nothing here is process 1: systemd-analyze reads the units, and the program `confine` runs toolrack under what the unit
# of the system restricts (see there what it leaves out).
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"
# The user nobody must get there.
chmod 755 "$work"

# With the program where it is.
mkdir "$work/system" "$work/user"
for folder in system user; do
    name=toolrack
    [ "$folder" = system ] || name="toolrack-user"
    sed "s|^ExecStart=[^ ]*|ExecStart=$E2E_TOOLRACK|" "$E2E_UNITS/$name.service" >"$work/$folder/toolrack.service"
    cp "$E2E_SOURCE/host/service/$name.socket" "$work/$folder/toolrack.socket"
done
unit=$work/system/toolrack.service

# shellcheck disable=SC2317  # called by name
is_right() { # FOLDER
    local said status=0 user=
    [ "$1" = system ] || user=--user
    # shellcheck disable=SC2086  # none, or one word
    said=$(XDG_RUNTIME_DIR=$work systemd-analyze verify --man=no $user "$work/$1"/toolrack.{service,socket} 2>&1) || status=$?
    # Units of the machine may be wrong; what is said of ours has its path or name.
    said=$(grep -i toolrack <<<"$said")
    echo "$said"
    [ "$status" = 0 ] && [ -z "$said" ]
}
passes "the units of the system are right" is_right system
passes "the units of a user are right" is_right user
# 19 stands for 1.9: what systemd-analyze shows is below 2.0.
passes "the service is exposed less than 2.0" systemd-analyze security --offline=yes --no-pager --threshold=19 "$unit"
passes "the configuration of the service is right" bash -c \
    "sed 's/toolrack-admin/root/' '$E2E_SOURCE/host/service/toolrack.json' >'$work/c.json' && '$E2E_TOOLRACK' check '$work/c.json'"

# A plugin with the whole of a home that has the state of the host in it, and an empty network: all layers are wanted.
home=$work/home
mkdir "$home" "$work/plugins"
cp "$E2E_GRANTED/greedy.so" "$work/plugins"
# shellcheck disable=SC2016  # the host expands it
echo '{"policies": {"greedy": {"allow": ["write:${home}", "read:${home}"], "network_namespace": true}}}' >"$work/toolrack.json"
[ "$EUID" != 0 ] || chown 65534:65534 "$home"
export HOME=$home
toolrack=("$E2E_TOOLRACK" --config "$work/toolrack.json" --state "$home/state" --plugins "$work/plugins")

# In a chroot nobody is given namespaces: `need_mounts CASE`.
need_mounts() {
    ! mountpoint -q / || return 0
    count=$((count + 1))
    echo "ok $count - $1 # SKIP no mount namespace of its own in a chroot"
    return 1
}

# One layer a line. The loader looks at LD_LIBRARY_PATH, and meson sets it.
in_force() { # PROGRAM...
    "$@" show greedy_try --json |
        python3 -c 'import json, sys; print("\n".join(json.load(sys.stdin)["isolation"]["sandbox"]["in_force"]))'
}
in_force "$E2E_CONFINE" "$unit" "${toolrack[@]}" >"$work/layers" 2>"$work/err"
for layer in no-new-privs capabilities 'landlock (files' seccomp limits threads 'mount namespace' 'network namespace'; do
    case $layer in
        *namespace) need_mounts "in force under the unit: $layer" || continue ;;
    esac
    { echo "in force are:"; cat "$work/layers" "$work/err"; } >"$work/log"
    grep -qF "$layer" "$work/layers"
    report "in force under the unit: ${layer#landlock (}" $?
done

# A worker that lacks a layer is not run; this one is, and gets no further than its sandbox lets it.
arguments() { # ATTEMPT PATH
    printf '{"attempt": "%s", "path": "%s"}' "$1" "$2"
}
confined=("$E2E_CONFINE" "$unit" "${toolrack[@]}" --require-sandbox call greedy_try)
echo text >"$home/letter"
chmod 644 "$home/letter"
if need_mounts "a worker reads what is granted"; then
    prints "a worker reads what is granted" text "${confined[@]}" "$(arguments read "$home/letter")"
fi
if need_mounts "it does not see the state of the host"; then
    prints "it does not see the state of the host" ENOENT "${confined[@]}" "$(arguments read "$home/state/toolrack.db")"
fi
if need_mounts "it reads nothing else"; then
    prints "it reads nothing else" EACCES "${confined[@]}" "$(arguments read /etc/passwd)"
fi

# Root at the socket, whose process the service does not see.
if [ "$EUID" = 0 ]; then
    coproc SERVER { exec "$E2E_CONFINE" "$unit" "${toolrack[@]}" serve --socket "$home/socket" 2>&1; }
    server=$SERVER_PID
    read -r -t 25 -u "${SERVER[0]}" _
    passes "the service knows an administrator whose process it does not see" python3 -c '
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b"GET /api/log HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
answer = b"".join(iter(lambda: client.recv(65536), b""))
print(answer[:300])
sys.exit(not answer.startswith(b"HTTP/1.1 200 "))' "$home/socket"
    kill "$server"
    wait "$server"
else
    count=$((count + 1))
    echo "ok $count - the service knows an administrator whose process it does not see # SKIP it takes root to be another user"
fi
finish
