#!/bin/sh
# bad.sh INCLUDE - wrong plugins do not compile, and the compiler says what is wrong. The first line
# of each file holds the words that must be among its output.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
include=$1

# refuse STANDARD COMPILER FILE: its first line is among what the compiler says.
refuse() {
    name="$2 $(basename "$3")"
    expected=$(sed -n '1s|^/\* expect: \(.*\) \*/$|\1|p' "$3")
    # Compiled in full, since gcc looks for unused variables only then.
    if output=$("$2" "-std=$1" -Wall -Wextra -Werror -c -I"$include" "$3" -o "$work/plugin.o" 2>&1); then
        report 1 "$name" "it compiles"
    else
        case $output in
        *"$expected"*) report 0 "$name" ;;
        *) report 1 "$name" "expected: $expected
$output" ;;
        esac
    fi
}

for file in "$(dirname "$0")"/bad/*.c; do
    for cc in $c_compilers; do
        refuse c11 "$cc" "$file"
    done
done
for file in "$(dirname "$0")"/bad/*.cpp; do
    for cxx in $cxx_compilers; do
        refuse c++17 "$cxx" "$file"
    done
done
finish
