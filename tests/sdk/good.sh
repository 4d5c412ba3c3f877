#!/bin/sh
# good.sh INCLUDE [FILE...] - right plugins compile and link without a warning: those of good/ and
# the files that are named.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
include=$1
shift

for file in "$(dirname "$0")"/good/*.c "$@"; do
    for cc in $c_compilers; do
        for level in -O0 -O2; do
            # shellcheck disable=SC2086 # the flags are words
            output=$("$cc" -std=c11 $strict $level -shared -fPIC -I"$include" "$file" \
                -o "$work/plugin.so" -lm 2>&1)
            report $? "$cc $level $(basename "$file")" "$output"
        done
    done
done
finish
