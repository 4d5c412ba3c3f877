#!/bin/sh
# bad.sh INCLUDE - wrong plugins do not compile, and the compiler says what is wrong. The first line
# of each file holds the words that must be among its output.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
include=$1

for file in "$(dirname "$0")"/bad/*.c; do
    expected=$(sed -n '1s|^/\* expect: \(.*\) \*/$|\1|p' "$file")
    for cc in $c_compilers; do
        name="$cc $(basename "$file")"
        # Compiled in full, since gcc looks for unused variables only then.
        if output=$("$cc" -std=c11 -Wall -Wextra -Werror -c -I"$include" "$file" \
            -o "$work/plugin.o" 2>&1); then
            report 1 "$name" "it compiles"
        else
            case $output in
            *"$expected"*) report 0 "$name" ;;
            *) report 1 "$name" "expected: $expected
$output" ;;
            esac
        fi
    done
done
finish
