#!/usr/bin/env bash
# new.sh: what `toolrack new` makes, in each language and with each option, and what it refuses.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"
# shellcheck source=tests/e2e/author.sh
. "$E2E_SOURCE/tests/e2e/author.sh"

strict=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
shared=(-shared -fPIC -fvisibility=hidden)
read -ra sdk <<<"$(pkg-config --cflags toolrack-sdk)"
read -ra cc <<<"${CC:-cc}"

# ------------------------------------------------------------ what is made

# shellcheck disable=SC2317  # called by name
builds() ( # NAME LANGUAGE
    cd "$1" && mkdir -p build || exit
    case $2 in
        c) "${cc[@]}" -std=c11 "${strict[@]}" "${shared[@]}" "${sdk[@]}" "$1.c" -o "build/$1.so" -lm ;;
        c++)
            c++ -std=c++17 "${strict[@]}" "${shared[@]}" -fno-gnu-unique -Wl,--version-script=exports.map "${sdk[@]}" "$1.cpp" -o "build/$1.so"
            ;;
        rust) make all ;;
    esac
)
# shellcheck disable=SC2317
passes_its_unit_test() ( # NAME LANGUAGE
    cd "$1" || exit
    case $2 in
        c) "${cc[@]}" -std=c11 "${strict[@]}" "${sdk[@]}" unit-test.c -o build/unit-test -lm ;;
        c++) c++ -std=c++17 "${strict[@]}" "${sdk[@]}" unit-test.cpp -o build/unit-test ;;
        rust) make build/unit-test ;;
    esac && build/unit-test
)
# Notes count too.
has_no_findings() { # WHAT NAME
    prints "$1: nothing is found in it" "$(echo "$2"/build/*.so): $2 0.1.0, 1 tool, no problems found" toolrack check "$2"/build/*.so
}
# shellcheck disable=SC2317
has_no_marks() { # NAME
    ! grep -rn -e '@if ' -e '@end@' -e '@else@' -e '@year@' -e hello "$1"
}

# shellcheck disable=SC2317
tests_itself() ( # NAME LANGUAGE
    cd "$1" || exit
    case $2 in
        rust) make -j2 test RUSTC='rustc -D warnings' ;;
        *) "$E2E_MESON" setup --werror build && "$E2E_MESON" test -C build && "$E2E_MESON" test -C build --list | grep -q cases ;;
    esac
)

# shellcheck disable=SC2317
gives_its_resource() { # NAME
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
        '{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"notes://'"$1"'/about"}}' |
        toolrack --no-daemon --plugins "$1/build" mcp >"$work/out"
    cat "$work/out"
    grep -qF 'What the plugin is for.' "$work/out"
}

# The whole with the build that it comes with; the variants with the compiler alone.
for language in c c++ rust; do
    if [ "$language" = rust ] && [ -z "$E2E_RUSTC" ]; then
        count=$((count + 1))
        echo "ok $count - rust: a plugin in Rust # SKIP there is no rustc"
        continue
    fi
    name=org.example.my-$language
    name=${name//+/x}
    passes "$language: it is made" toolrack new "$name" --lang "$language"
    passes "$language: nothing of the template is left" has_no_marks "$name"
    passes "$language: its own tests pass" tests_itself "$name" "$language"
    has_no_findings "$language" "$name"
    passes "$language: no arguments that it is tested with make it fail" toolrack test "$name"/build/*.so --seed 1 --only fuzz-valid --only fuzz-boundary --only result
    for options in --json-tool --resources "--json-tool --resources"; do
        variant=$name${options//[ -]/}
        # shellcheck disable=SC2086  # options are words
        passes "$language $options: it is made" toolrack new "$variant" --lang "$language" $options
        passes "$language $options: nothing of the template is left" has_no_marks "$variant"
        passes "$language $options: it builds" builds "$variant" "$language"
        # Each takes a second or two but in C.
        if [ "$language" = c ] || [ "$options" = "--json-tool --resources" ]; then
            passes "$language $options: its unit test passes" passes_its_unit_test "$variant" "$language"
        fi
        has_no_findings "$language $options" "$variant"
    done
    file=$(echo "$variant"/build/*.so)
    passes "$language $options: its resource is read" gives_its_resource "$variant"
    passes "$language $options: its cases pass" "$variant/run-cases" "$(command -v toolrack)" "$file" "$variant/cases.json"
done
# shellcheck disable=SC2317
notices_a_wrong_case() (
    cd org.example.my-c && sed -i 's/"result": 5/"result": 6/' cases.json &&
        ! ./run-cases "$(command -v toolrack)" build/org.example.my-c.so cases.json
)
passes "a wrong result fails its tests" notices_a_wrong_case

# shellcheck disable=SC2317
tells_as_json() {
    toolrack new told --json | python3 -c '
import json, os, sys
told = json.load(sys.stdin)
print(told)
there = sorted(os.path.relpath(os.path.join(folder, name), "told") for folder, _, names in os.walk("told") for name in names)
assert (told["id"], told["language"], told["folder"]) == ("told", "c", "told")
assert sorted(told["files"]) == there and "LICENSE" in there and ".gitignore" in there
assert told["next"][0] == "cd told" and told["next"][-1].startswith("toolrack --plugins build call told_")'
}
passes "with --json it tells the files and the commands" tells_as_json
passes "the year of the licence is this one" grep -qx "Copyright (c) $(date +%Y) YOUR NAME" told/LICENSE

# ------------------------------------------------------------ what is refused

# refuses NAME STATUS TEXT WORD...: `toolrack new WORD...` fails with the status and the text, and leaves what is there.
refuses() {
    local name=$1 status=$2 text=$3 before code
    shift 3
    before=$(find . | sort)
    toolrack new "$@" >"$work/log" 2>&1
    code=$?
    [ "$code" -eq "$status" ] && grep -qF -- "$text" "$work/log" && [ "$(find . | sort)" = "$before" ]
    report "$name" $?
}
refuses "a folder with something in it" 1 "exists already and is not an empty folder" told
: >file && ln -s "$HOME" link && ln -s nowhere broken
refuses "a file" 1 "exists already" file
refuses "a link to a folder" 1 "exists already" link
refuses "a link to nothing" 1 "exists already" broken
for id in '' 1st a/b .. .hidden -- 'a b' "$(printf 'a%.0s' {1..65})" 'ü'; do
    refuses "the id '$id'" 2 "" "$id"
done
refuses "a name of the build's" 2 "test-tools" test
refuses "another language" 2 "c, c++ or rust" x --lang go
mkdir empty
passes "an empty folder is used" toolrack new empty
passes "with what is in it" test -s empty/empty.c
passes "a long id is one" toolrack new "$(printf 'a%.0s' {1..64})"
mkdir full && cd full || exit 1
# A file that cannot be written: the limit on its size stands for a full disk.
# shellcheck disable=SC2317
leaves_nothing() {
    ! bash -c 'trap "" XFSZ; ulimit -f 1; exec toolrack new halfway' && [ -z "$(ls -A)" ]
}
passes "nothing is left of what cannot be written whole" leaves_nothing
finish
