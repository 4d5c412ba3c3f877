#!/usr/bin/env bash
# manual.sh: the help of the command is made from its tables; the texts written
# by hand, man page and README.md, must agree with it.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"
manual=$E2E_SOURCE/host/cli/toolrack.1
readme=$E2E_SOURCE/README.md

# shellcheck disable=SC2317  # called by name
same() { # TEXT TEXT
    diff <(printf '%s\n' "$1" | sort -u) <(printf '%s\n' "$2" | sort -u)
}

options_in() {
    grep -oE -e '--[a-z]+' | sort -u
}

verbs=$("$E2E_TOOLRACK" help | sed -n '/^options of/q; s/^  \([a-z]*\) .*/\1/p')
manual_verbs=$(awk '/^\.SH/ { on = $2 == "VERBS" } on && /^\.B[RI]? +[a-z]/ { print $2 }' "$manual")
passes "the man page has the verbs" same "$verbs" "$manual_verbs"

options=$(for verb in $verbs; do "$E2E_TOOLRACK" help "$verb" | grep -E '^  --'; done | options_in)
passes "the man page has the options" same "$options" "$(sed 's/\\-/-/g' "$manual" | options_in)"

exits=$("$E2E_TOOLRACK" help | sed -n '/^exit codes:/,/^$/s/^  \([0-9]*\)  \(.*\)/\1 \2/p')
manual_exits=$(awk '/^\.SH/ { on = $2 == "EXIT" } on && /^\.B [0-9]/ { code = $2; next }
    on && code != "" { sub(/\.$/, ""); print code " " tolower(substr($0, 1, 1)) substr($0, 2); code = "" }' "$manual")
passes "the man page has the exit codes" same "$exits" "$manual_exits"
passes "README.md has the exit codes" same "$exits" "$(sed -n 's/^| \([0-9][0-9]*\) | \(.*\) |$/\1 \2/p' "$readme")"
finish
