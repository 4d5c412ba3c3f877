#!/usr/bin/env bash
# bind.sh: `toolrack bind` as a person uses it; what it binds is the subject of unit/bind.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"
unset DEBUGINFOD_URLS
cd "$work" || exit 1

toolrack() {
    "$E2E_TOOLRACK" "$@"
}

# shellcheck disable=SC2317  # called by name
is_left_as_it_is() {
    echo mine >own.json
    ! toolrack bind "$BIND_LIBRARY" --function own_i8 --output own.json 2>err || return
    cat err
    grep -q 'cannot write own.json: File exists' err && [ "$(cat own.json)" = mine ]
}

# shellcheck disable=SC2317
is_json() {
    toolrack bind "$BIND_LIBRARY" --function 'own_*' --json >out || return
    cat out
    grep -q '"left_out":\[.*{"name":"own_print","reason":"it takes a variable number of arguments"}' out &&
        grep -q '"undecided":[1-9]' out
}

# shellcheck disable=SC2317
names_what_is_left_out() {
    toolrack bind "$BIND_LIBRARY" --verbose >out 2>err || return
    cat err
    grep -q 'own_union is left out' err
}

# shellcheck disable=SC2317
is_refused_until_decided() {
    toolrack bind "$BIND_LIBRARY" --function own_divide --output undecided.json 2>err || return
    ! toolrack check undecided.json >out || return
    cat out
    grep -q 'own_divide: a person must decide' out && grep -q 'fix: decide it' out || return
    toolrack bind "$BIND_LIBRARY" --function own_divide --decide 'own_divide.*=out' --decide own_divide.error=never --output decided.json 2>err &&
        [ "$(toolrack --state "$work/state" --config decided.json call own_divide --arg dividend=17 --arg divisor=5)" = '{"result":3,"rest":2}' ]
}

# shellcheck disable=SC2317
fails_with() { # STATUS WORDS ARGUMENT...
    local status=0
    toolrack bind "${@:3}" >out 2>err || status=$?
    cat err
    [ "$status" -eq "$1" ] && grep -qF -e "$2" err
}

# A type too deep for libclang, which ends its process.
# shellcheck disable=SC2317
outlives_libclang() {
    printf 'int own_i8(int %s a);\n' "$(printf '%0200000d' 0 | tr 0 '*')" >deep.h
    fails_with 1 'deep.h cannot be read: libclang ended by a signal' "$BIND_LIBRARY" --header deep.h
}

# shellcheck disable=SC2317
fits_utf8() {
    LC_ALL=C sed 's/GREEN/G\xff\x1b"x/g; s/\x00point\x00/\x00p\xffint\x00/g' "$BIND_LIBRARY" >strange.so || return
    toolrack bind ./strange.so --function own_colour --function own_mirror --output strange.json &&
        toolrack check strange.json >out && cat out && grep -qF '"G? \"x": 2' strange.json &&
        grep -qF 'C function struct p?int own_mirror(struct p?int p?int)' strange.json
}

# shellcheck disable=SC2317
refuses_path() {
    cp "$BIND_LIBRARY" $'strange\xff.so' &&
        fails_with 1 'the path of the library is not UTF-8' $'./strange\xff.so' --function own_i8
}

passes 'a file that is there is left as it is' is_left_as_it_is
passes '--json has what was left out and what must be decided' is_json
passes '--verbose names all that was left out' names_what_is_left_out
passes 'a definition is refused until a person has decided' is_refused_until_decided
passes 'a library that is not there' fails_with 3 'there is no library libnone.so.1' libnone.so.1
passes 'a file that is no library' fails_with 1 'is not a shared library' "$E2E_SOURCE/README.md"
passes 'a decision that is none' fails_with 1 'is no decision' "$BIND_LIBRARY" --decide own_divide
passes 'what ends libclang does not end the command' outlives_libclang
passes 'names that are no text become text' fits_utf8
passes 'a path that no definition can have' refuses_path
passes 'no library at all' fails_with 2 'bind'
finish
