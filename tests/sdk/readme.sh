#!/bin/sh
# readme.sh INCLUDE README - every example of a README in C and C++ compiles without a warning, as it stands
# there. A block with TR_PLUGIN is a whole plugin; any other is a part of one, which may have things
# that nothing uses. One with main() is a unit test, and is run.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
include=$1
readme=$2

# block-NN-LINE.c or .cpp for each block, LINE being where it begins.
awk -v dir="$work" '
    /^```/ && open { close(file); open = 0; next }
    /^```c(pp)?$/ { open = 1; file = sprintf("%s/block-%02d-%d.%s", dir, ++blocks, NR, substr($0, 4)); next }
    open { print > file }
' "$readme"

for file in "$work"/block-*.cpp; do
    line=${file##*-}
    for cxx in $cxx_compilers; do
        # shellcheck disable=SC2086 # the flags are words
        output=$("$cxx" -std=c++17 $strict -Wold-style-cast -shared -fPIC -I"$include" "$file" \
            -o "$work/plugin.so" 2>&1)
        report $? "$cxx: the example at line ${line%.cpp}" "$output"
    done
done
for file in "$work"/block-*.c; do
    if [ ! -f "$file" ]; then
        report 1 "$readme has examples"
        break
    fi
    line=${file##*-}
    extra=
    if ! grep -q TR_PLUGIN "$file"; then
        extra=-Wno-unused
    fi
    for cc in $c_compilers; do
        # shellcheck disable=SC2086 # the flags are words
        output=$("$cc" -std=c11 $strict $extra -shared -fPIC -I"$include" "$file" \
            -o "$work/plugin.so" 2>&1)
        report $? "$cc: the example at line ${line%.c}" "$output"
        if grep -q '^int main' "$file"; then
            # shellcheck disable=SC2086
            output=$("$cc" -std=c11 $strict -I"$include" "$file" -o "$work/program" 2>&1 && "$work/program" 2>&1)
            report $? "$cc: it runs" "$output"
        fi
    done
done
finish
