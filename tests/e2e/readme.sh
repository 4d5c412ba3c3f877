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

# Does the file $2 read as the file $1 says?
matches() {
    awk -v wanted="$1" '
        function pattern(line) {
            gsub(/[][\\.*+?(){}|^$]/, "\\\\&", line)
            gsub(/\\\.\\\.\\\./, ".*", line)
            return "^" line "$"
        }
        BEGIN {
            while ((getline line <wanted) > 0) want[++w] = line
        }
        { have[NR] = $0 }
        function fits(i, j,    k) {
            if (i > w) return j > NR
            if (want[i] == "...") {
                for (k = j; k <= NR + 1; k++) if (fits(i + 1, k)) return 1
                return 0
            }
            return j <= NR && have[j] ~ pattern(want[i]) && fits(i + 1, j + 1)
        }
        END { exit !fits(1, 1) }
    ' "$2"
}

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
finish
