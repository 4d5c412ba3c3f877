#!/bin/sh
# header.sh INCLUDE - each header alone is clean in every language and standard it promises.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
include=$1

# check NAME COMMAND...: the command succeeds.
check() {
    name=$1
    shift
    output=$("$@" 2>&1)
    report $? "$name" "$output"
}

for header in test.h ext/tools.h ext/paths.h ext/resources.h ext/prompts.h plugin.h plugin.h; do
    printf '#include <toolrack/%s>\n' "$header"
done >"$work/header.c"
cp "$work/header.c" "$work/header.cpp"
echo '#include <toolrack/plugin.hpp>' >>"$work/header.cpp"
for cc in $c_compilers; do
    for std in c11 c17 gnu11 gnu17; do
        # shellcheck disable=SC2086 # the flags are words
        check "$cc -std=$std" "$cc" -std=$std $strict -fsyntax-only -I"$include" "$work/header.c"
    done
done
for cxx in $cxx_compilers; do
    for std in c++17 c++20 gnu++17; do
        # shellcheck disable=SC2086
        check "$cxx -std=$std" "$cxx" -std=$std $strict -Wold-style-cast -fsyntax-only \
            -I"$include" "$work/header.cpp"
    done
done
finish
