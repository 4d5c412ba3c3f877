#!/usr/bin/env bash
# packages.sh FOLDER: install, use, upgrade and purge the Debian packages of a folder in a fresh Debian. TAP.
#
# It takes minutes, a network and root, so no stage has it: ./dev package --test runs it.
set -uo pipefail
packages=$(realpath "${1:?usage: packages.sh FOLDER}")
E2E_SOURCE=$(realpath "$(dirname "$0")/..")
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"

skip() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ "$EUID" = 0 ] || skip "a Debian of its own takes root"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
ls "$packages"/toolrack_*.deb >/dev/null 2>&1 || skip "$packages has no packages; ./dev package makes them"
. /etc/os-release

root=$work/root
# A plain folder: nothing but /proc is mounted in it, and that only for the commands that run there.
mmdebstrap --quiet --variant=apt "$VERSION_CODENAME" "$work/root.tar" >"$work/made" 2>&1 ||
    skip "mmdebstrap makes no Debian: $(tail -1 "$work/made")"
mkdir "$root"
tar -C "$root" --exclude './dev/*' -xf "$work/root.tar"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
cp /etc/resolv.conf "$root/etc/"

# shellcheck disable=SC2317  # called by name
inside() {
    # shellcheck disable=SC2016  # the inner shell expands it
    unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' "$root" "$@" </dev/null
}

# Debian 12 has no yyjson: that of Debian 13, and nothing else from there.
if ! inside apt-cache show libyyjson0 >/dev/null 2>&1; then
    echo 'deb http://deb.debian.org/debian trixie main' >"$root/etc/apt/sources.list.d/trixie.list"
    printf 'Package: *\nPin: release n=trixie\nPin-Priority: 1\n\nPackage: libyyjson0\nPin: release n=trixie\nPin-Priority: 500\n' \
        >"$root/etc/apt/preferences.d/trixie"
fi
passes "the archive answers" inside apt-get -q update

mkdir "$root/first" "$root/second"
cp "$packages"/{toolrack_,libtoolrack0_,libtoolrack-dev_}*.deb "$root/first"
# The same packages with a higher version.
for file in "$root"/first/*.deb; do
    rm -rf "$work/unpacked"
    dpkg-deb -R "$file" "$work/unpacked"
    sed -i 's/^\(Version: .*\)$/\1+next/; s/(= \([^)]*\))/(= \1+next)/; s/^\(Depends: .*libtoolrack0 (= [^)]*+next\)+next/\1/' \
        "$work/unpacked/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work/unpacked" "$root/second" >/dev/null
done

# With the libraries that a server loads: of each recommendation the first that this Debian has, and nothing that they recommend.
recommended=()
while read -r -a alternatives; do
    for name in "${alternatives[@]}"; do
        inside apt-cache show "$name" >/dev/null 2>&1 && recommended+=("$name") && break
    done
done < <(dpkg-deb -f "$root"/first/toolrack_*.deb Recommends | tr ',' '\n' | tr '|' ' ')
passes "they install" inside sh -c 'apt-get -q -y install --no-install-recommends "$@" /first/*.deb' sh "${recommended[@]}"
prints "a bundled tool is called" 42.0 inside toolrack call calculator '{"expression": "6*7"}'
passes "the plugins are there" inside sh -c 'toolrack list | grep -q "^get_current_time "'
passes "the configuration is there and right" inside toolrack check /etc/toolrack/toolrack.json
prints "it is a conffile" /etc/toolrack/toolrack.json inside sh -c "dpkg-query -W -f '\${Conffiles}\n' toolrack | awk 'NF { print \$1 }'"
passes "the service has its user" inside getent passwd toolrack
passes "and its administrators their group" inside getent group toolrack-admin
passes "the units are there and not enabled" inside sh -c \
    'find / -path "*systemd/system/toolrack.socket" | grep -q . && ! find /etc/systemd -name "toolrack.*" | grep .'
passes "the manual is there" sh -c "find $root/usr/share/man -name 'toolrack.1.gz' | grep -q . || grep -rq man $root/etc/dpkg/dpkg.cfg.d"

# The header and the library are found outside as inside: nothing but a compiler is missing there.
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
passes "a plugin is compiled with the header" cc -shared -fPIC -I "$root/usr/include" "$E2E_SOURCE/tests/e2e/embed/math.c" \
    -o "$root/root/math.so"
passes "it is right" inside toolrack check /root/math.so
passes "a program is compiled with the library" cc -I "$root/usr/include" "$E2E_SOURCE/tests/e2e/embed/app.c" \
    -o "$root/root/app" -L "$root/usr/lib/$multiarch" -ltoolrack -Wl,-rpath-link,"$root/usr/lib/$multiarch"
prints "it calls its own tool and the plugin's" "42
42.0" inside sh -c 'mkdir /root/plugins && mv /root/math.so /root/plugins && /root/app /root/plugins'

echo '{"serve": {"admin_group": "toolrack-admin"}}' >"$root/etc/toolrack/toolrack.json"
# shellcheck disable=SC2016  # the inner shell expands it
passes "the service begins as its user" inside sh -c '
    install -d -o toolrack -m 700 /var/lib/toolrack && install -d -o toolrack /run/toolrack
    setpriv --reuid toolrack --regid toolrack --clear-groups env HOME=/var/lib/toolrack \
        toolrack --config /etc/toolrack/toolrack.json --state /var/lib/toolrack serve --socket /var/lib/toolrack/s >/root/said 2>&1 &
    for try in $(seq 250); do grep -q "listening on" /root/said && break; sleep 0.1; done
    cat /root/said
    kill $! && wait $!'

passes "they are upgraded" inside sh -c 'apt-get -q -y install --no-install-recommends /second/*.deb'
passes "the version is the next one" inside sh -c "dpkg-query -W -f '\${Version}\n' toolrack | grep '+next'"
prints "what an administrator has changed stays" '{"serve": {"admin_group": "toolrack-admin"}}' cat "$root/etc/toolrack/toolrack.json"
prints "a tool is still called" 42.0 inside toolrack call calculator '{"expression": "6*7"}'

passes "they are removed" inside apt-get -q -y remove toolrack libtoolrack0 libtoolrack-dev
passes "the configuration stays" test -s "$root/etc/toolrack/toolrack.json"
passes "they are purged" inside dpkg --purge toolrack
# shellcheck disable=SC2016
prints "nothing of them is left" "" sh -c 'cd "$0" && find etc usr var run -name "*toolrack*" | { grep -v "^var/log\|^var/cache/apt" || true; }' "$root"
finish
