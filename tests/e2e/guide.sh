#!/usr/bin/env bash
# guide.sh: walk through "A first plugin" of plugin-sdk/README.md, command by command, and compile its examples in Rust.
#
# Each ```console block is a session in a home of its own, for one language: a line that begins with "$ " is a command,
# those below it are what it prints (see matches() in tap.sh). It ends with a tool that was called, after five commands at most
# and within a minute.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"
# shellcheck source=tests/e2e/author.sh
. "$E2E_SOURCE/tests/e2e/author.sh"
guide=$E2E_SOURCE/plugin-sdk/README.md

# block-N/NN.sh and what it prints, for each command of each block.
awk -v dir="$work" '
    /^## / { here = $0 == "## A first plugin" }
    here && /^```console$/ { inside = 1; step = 0; block = sprintf("%s/block-%d", dir, ++blocks); system("mkdir " block); next }
    /^```/ { inside = 0 }
    inside && /^\$ / {
        name = sprintf("%s/%02d", block, ++step)
        print substr($0, 3) >(name ".sh"); printf "" >(name ".expected")
        next
    }
    inside { print >(name ".expected") }
' "$guide"

# Run a block; each command is a case.
walk() { # BLOCK
    local script began=$SECONDS status steps=0
    mkdir "$1/home" && cd "$1/home" || exit 1
    export HOME=$1/home
    for script in "$1"/*.sh; do
        eval "$(cat "$script")" >"$work/out" 2>&1 </dev/null
        matches "${script%.sh}.expected" "$work/out"
        status=$?
        cp "$work/out" "$work/log"
        report "${1##*/}: $(tr '#' ' ' <"$script")" "$status"
        steps=$((steps + 1))
    done
    echo "# ${1##*/} took $((SECONDS - began)) s"
    passes "${1##*/}: five commands at most, and a minute" [ "$steps" -le 5 -a $((SECONDS - began)) -lt 60 ]
}

blocks=0
for block in "$work"/block-*; do
    if grep -q -- '--lang rust' "$block/01.sh" && [ -z "$E2E_RUSTC" ]; then
        count=$((count + 1))
        echo "ok $count - ${block##*/}: a plugin in Rust # SKIP there is no rustc"
    else
        walk "$block"
    fi
    blocks=$((blocks + 1))
done
# The examples in Rust are whole plugins; the last session has built the crate.
# shellcheck disable=SC2317  # called by name
compiles_in_rust() { # FILE
    local crate
    crate=$(echo "$work"/block-*/home/weather/build/libtoolrack.rlib)
    rustc --edition 2021 -D warnings --crate-type cdylib --crate-name example --extern toolrack="$crate" "$1" -o "$work/example.so" &&
        toolrack check "$work/example.so"
}
awk -v dir="$work" '
    /^```rust$/ { file = sprintf("%s/example-%d.rs", dir, NR); next }
    /^```/ { file = "" }
    file { print >file }
' "$guide"
for example in "$work"/example-*.rs; do
    [ -z "$E2E_RUSTC" ] || passes "the example at line ${example##*-} of the guide, and nothing is found in it" compiles_in_rust "$example"
done
passes "the guide is there in each language" [ "$blocks" -eq 3 ]
finish
