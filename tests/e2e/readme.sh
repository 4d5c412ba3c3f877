#!/usr/bin/env bash
# readme.sh: do what README.md says and compare.
#
# A code block whose fence names a file (```c math.c) becomes that file. The
# ```console blocks are run in order, as one session in an empty home: a line
# that begins with "$ " is a command, those below it are what it prints. There,
# "..." stands for any text within a line and, alone on a line, for any lines.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"
readme=$E2E_SOURCE/README.md

export HOME=$work/home
mkdir "$HOME"
cd "$HOME" || exit 1
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME TOOLRACK_PLUGIN_PATH
export TOOLRACK_BUILTIN_DIR=$E2E_BUILD/plugins
export PKG_CONFIG_PATH=$E2E_BUILD/meson-uninstalled
export LD_LIBRARY_PATH=$E2E_BUILD/host
PATH=$E2E_BUILD/host/cli:$PATH

# Files first: a command may come before the block that it needs only by mistake, and then fails on its own.
awk '
    /^```[a-z]+ [A-Za-z0-9_.-]+$/ && !inside { file = $2; inside = 1; printf "" >file; next }
    /^```/ { inside = !inside; file = ""; next }
    file { print >file }
' "$readme"

# What stands in the README for a person's home, and for a model that runs there.
coproc provider { exec node --no-warnings "$E2E_SOURCE/tests/provider/fake-provider.mjs"; }
read -r port <&"${provider[0]}"
sed -i "s|/home/ann|$HOME|g" servers.json
sed -i "s|/home/ann|$HOME|; s|http://localhost:11434|http://127.0.0.1:$port|; s|qwen3|reports|" reports.json

# One case a command: its line number, itself and what it should print, in files of their own.
awk -v dir="$work" '
    function close_case() { if (n) close(name) }
    /^```console$/ { on = 1; next }
    /^```/ { on = 0; next }
    on && /^\$ / {
        close_case(); n++
        name = sprintf("%s/case-%03d", dir, n)
        print substr($0, 3) >(name ".sh"); close(name ".sh")
        print NR >(name ".line"); close(name ".line")
        printf "" >(name ".expected")
        next
    }
    on { print >(name ".expected") }
' "$readme"

for script in "$work"/case-*.sh; do
    name=${script%.sh}
    bash "$script" >"$work/out" 2>&1 </dev/null
    matches "$name.expected" "$work/out"
    status=$?
    { echo "README.md:$(cat "$name.line") prints:"; cat "$work/out"; } >"$work/log"
    report "README.md:$(cat "$name.line"): $(head -1 "$script" | tr '#' ' ')" "$status"
done

passes "the configuration is accepted" toolrack --config toolrack.json list

# The commands for ./dev are run by its own tests; here they must at least exist.
grep -o '\./dev [a-z]*' "$readme" | sort -u >"$work/dev"
while read -r _ verb; do
    passes "./dev knows $verb" grep -qw -- "$verb" <("$E2E_SOURCE/dev" help)
done <"$work/dev"

# Nor are a system and a container started; but what is named is there.
# shellcheck disable=SC2317  # called by name
has() { # FILE TEXT...
    local file=$E2E_SOURCE/$1 text
    shift
    for text; do
        grep -qF -- "$text" "$readme" || { echo "README.md has no $text"; return 1; }
        grep -qF -- "$text" "$file" || { echo "$file has no $text"; return 1; }
    done
}
passes "the socket of the service is the unit's" has host/service/toolrack.socket /run/toolrack/toolrack.sock toolrack-admin
passes "the image has what the container is given" has Containerfile /run/secrets/token /var/lib/toolrack 8137
# shellcheck disable=SC2016  # the inner shell expands it
passes "its user may start it with that token" bash -c 'grep -q "^USER toolrack" "$0" && grep -q "^ENV TOOLRACK_TOKEN_FILE=/run/secrets/token" "$0" &&
    grep -q "install -d -o toolrack .* /var/lib/toolrack /run/toolrack " "$0"' \
    "$E2E_SOURCE/Containerfile"

# shellcheck disable=SC2317  # called by name
is_all_that_is_built() {
    local given wanted
    given=$(sed -n 's/^!//p' "$E2E_SOURCE/.dockerignore" | sort)
    # The folder tests is read with -Dtests=enabled only.
    wanted=$({ printf '%s\n' meson.build meson_options.txt && sed -n "s/^subdir('\([^']*\)')$/\1/p" "$E2E_SOURCE/meson.build"; } | sort)
    printf 'given:\n%s\nwanted:\n%s\n' "$given" "$wanted"
    [ "$(grep -v '^#' "$E2E_SOURCE/.dockerignore" | head -1)" = '*' ] && [ "$given" = "$wanted" ]
}
passes "the image is built from what its build reads, without a token of this folder" is_all_that_is_built

# The commands of "Several hosts as one", with a server that is there, and as if each host were a machine of its own.
# shellcheck disable=SC2317  # called by name
hosts_find_each_other() {
    local line='' url='' log server one other out='' status=1 serve until=$((SECONDS + 30))
    serve=$(grep -o '^toolrack serve --nats [^ ]* --name [^ ]*' "$readme") && grep -q '^toolrack hosts  ' "$readme" || return
    exec {log}< <(exec nats-server -a 127.0.0.1 -p -1 2>&1)
    server=$!
    while [ -z "$url" ] && read -r line <&"$log"; do
        [[ $line != *"client connections on "* ]] || url=nats://${line##* }
    done
    [ -n "$url" ] || return
    serve=${serve/nats:\/\/10.0.0.5:4222/$url}
    HOME=$work/gpu-1 $serve --listen 127.0.0.1:0 >"$work/serve-1" 2>&1 &
    one=$!
    HOME=$work/gpu-2 ${serve/gpu-1/gpu-2} --listen 127.0.0.1:0 >"$work/serve-2" 2>&1 &
    other=$!
    while [ "$status" != 0 ] && [ "$SECONDS" -lt "$until" ]; do
        out=$(HOME=$work/gpu-1 toolrack hosts 2>&1)
        [[ $out != *gpu-1*gpu-2* && $out != *gpu-2*gpu-1* ]] || status=0
    done
    printf '%s\n' "$out"
    kill "$one" "$other"
    wait "$one" "$other"
    kill "$server"
    wait "$server"
    exec {log}<&-
    [ "$status" = 0 ] || cat "$work/serve-1" "$work/serve-2"
    return "$status"
}
mkdir -p "$work/gpu-1" "$work/gpu-2"
passes "two hosts find each other by a NATS server" hosts_find_each_other

# The token as a person makes it by the README, and the server as the container runs it, without the container: the file is
# mounted read-only, or is the same file by another link where nothing can be mounted.
# shellcheck disable=SC2317  # called by name
token_commands() { # what comes before the build
    awk '/^In a container/ { on = 1 } on && /^docker build/ { exit } on && inside { print } on && /^```sh/ { inside = 1 }' "$readme"
}
# shellcheck disable=SC2016  # the inner shell expands it
mount_and_serve='
    [ "$3" = link ] && ln "$1" "$2" || { : >"$2" && mount --bind "$1" "$2" && mount -o remount,bind,ro "$2"; } || exit
    exec setpriv --reuid 813 --regid 813 --clear-groups env TOOLRACK_TOKEN_FILE="$2" HOME="$4" toolrack --state "$4/state" serve --listen 127.0.0.1:0'
# shellcheck disable=SC2317
answers() { # ADDRESS TOKEN STATUS
    python3 - "$@" <<'END'
import sys, urllib.error, urllib.request
try:
    status = urllib.request.urlopen(urllib.request.Request(sys.argv[1] + '/api/tools', headers={'Authorization': 'Bearer ' + sys.argv[2]})).status
except urllib.error.HTTPError as error:
    status = error.code
print(f'with the token: {status}; expected: {sys.argv[3]}')
sys.exit(status != int(sys.argv[3]))
END
}
# shellcheck disable=SC2317,SC2016  # called by name; the README is to say $PWD
serves_as_in_a_container() {
    local source how=mount as_mounter=(unshare -m) line='' lines pid status=0
    source=$(sed -n 's|.*-v "$PWD/\([^:"]*\):/run/secrets/token:ro".*|\1|p' "$readme")
    chmod 755 "$work"
    install -d -m 755 "$work/run" && install -d -o 1000 -g 1000 "$work/person" && install -d -o 813 -g 813 "$work/813" || return
    # Many systems have this umask.
    (cd "$work/person" && setpriv --reuid 1000 --regid 1000 --clear-groups bash -ec "umask 002; $(token_commands)") || return
    unshare -m true 2>"$work/err" || { how="link"; as_mounter=(); }
    exec {lines}< <("${as_mounter[@]}" sh -c "$mount_and_serve" sh "$work/person/$source" "$work/run/token" "$how" "$work/813" 2>"$work/err")
    pid=$!
    read -r line <&"$lines"
    answers "${line#listening on }" "$(cat "$work/person/$source")" 200 && answers "${line#listening on }" trk_wrong 401 || status=1
    kill "$pid"
    wait "$pid"
    cat "$work/err"
    # What the README says is nothing to be warned of.
    [ "$how" = link ] || ! grep -F "the token in" "$work/err" || status=1
    return "$status"
}
case="a token that a person has made so is taken from a container's mount"
if [ "$EUID" != 0 ] || ! setpriv --reuid 813 --regid 813 --clear-groups test -r "$E2E_BUILD/host/cli/toolrack"; then
    count=$((count + 1))
    echo "ok $count - $case # SKIP only root is other users, who reach the build"
else
    passes "$case" serves_as_in_a_container
fi
finish
