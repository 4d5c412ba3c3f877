#!/usr/bin/env bash
# aarch64.sh FOLDER direct [SIGNATURES] | modules | descriptor | corpus | reader: what differs with the processor, for AArch64 under qemu.
#
#   direct   unit/direct: calls of C functions, against libffi
#   modules  unit/base and unit/schema: the modules that need nothing of the machine
#   descriptor  unit/descriptor, on plugins that are built for it
#   corpus   calls of the plugins of each version of the interface, in hosts of each version
#   reader   the static reader of plugins and the rules of `check`, built for both processors (cross/reader.c): both say the
#            same of the same files, which are plugins for both, and of each planted fault in a plugin for either
#
# The programs need libraries of the other processor, which are taken from Debian into FOLDER; apt gets lists and a cache of
# its own, so that the system's stay as they are.
set -euo pipefail
readonly usage='usage: aarch64.sh FOLDER direct [SIGNATURES] | modules | descriptor | corpus | reader'
folder=$(realpath -m "${1:?$usage}")
part=${2:?$usage}
signatures=${3:-20000}
cd "$(dirname "$0")/.."
readonly triplet=aarch64-linux-gnu
readonly root=$folder/root lib=$folder/root/usr/lib/$triplet
readonly flags=(-std=gnu11 -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -Ihost -Ihost/include -Iplugin-sdk/include -Itests/support)

# PACKAGE... of a release of Debian, unpacked into the root.
take() { # RELEASE PACKAGE...
    local release=$1 at=$folder/$1 site own package
    shift
    site=$(apt-get indextargets --format "\$(SITE)" 'Created-By: Packages' 'Origin: Debian' 'Component: main' |
        awk '!/security/ && !seen++')
    mkdir -p "$at/lists/partial" "$at/cache/archives/partial" "$at/parts" "$at/debs"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $release main" >"$at/sources.list"
    own=(-q -o "Dir::Etc::sourcelist=$at/sources.list" -o "Dir::Etc::sourceparts=$at/parts"
        -o "Dir::State::Lists=$at/lists" -o "Dir::Cache=$at/cache" -o Dir::State::status=/dev/null
        -o APT::Sandbox::User=root -o APT::Architectures=arm64 -o APT::Architecture=arm64)
    apt-get "${own[@]}" update
    (cd "$at/debs" && apt-get "${own[@]}" download "${@/%/:arm64}")
    for package in "$at"/debs/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
}

# Debian 12 has no yyjson; that of Debian 13 needs no newer libc.
take_libraries() {
    # shellcheck source=/dev/null
    . /etc/os-release
    take "$VERSION_CODENAME" libffi-dev libffi8 libcmocka-dev libcmocka0 libpcre2-dev libpcre2-8-0
    if [[ $VERSION_CODENAME == bookworm ]]; then
        take trixie libyyjson-dev libyyjson0
    else
        take "$VERSION_CODENAME" libyyjson-dev libyyjson0
    fi
    touch "$root/complete-2"
}

# Build a program for AArch64.
build() { # NAME SOURCE-OR-OPTION...
    "$triplet-gcc" "${flags[@]}" "-I$root/usr/include" "-I$root/usr/include/$triplet" "${@:2}" "-L$lib" -lffi -lyyjson -lpcre2-8 \
        -lcmocka -lm -o "$folder/$1"
}

run() { # NAME ARGUMENT...
    qemu-aarch64 -L "/usr/$triplet" -E "LD_LIBRARY_PATH=$lib" "$folder/$1" "${@:2}"
}

run_direct() {
    build test-direct tests/unit/test-direct.c host/ffi/*.c host/base/*.c -Wl,--wrap=ffi_call
    TEST_SIGNATURES=$signatures run test-direct
}

run_modules() {
    build test-base tests/unit/test-base.c host/base/*.c
    run test-base
    build test-schema tests/unit/test-schema.c tests/support/failing-malloc.c host/schema/*.c host/base/*.c \
        -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
    run test-schema
}

# A plugin for AArch64, by a source of tests/plugins or of the corpus.
build_plugin() { # FILE SOURCE OPTION...
    "$triplet-gcc" -std=gnu11 -O2 -g -fPIC -shared -fvisibility=hidden -Iplugin-sdk/include "${@:3}" "$2" -lm -pthread -o "$1"
}

# As tests/plugins/meson.build has them.
run_descriptor() {
    local at=$folder/plugins fault
    mkdir -p "$at"
    for name in good all-types minimal nameless newer older many; do
        build_plugin "$at/$name.so" "tests/plugins/$name.c"
    done
    build_plugin "$at/too-many.so" tests/plugins/many.c -DTOOLS=1025
    build_plugin "$at/symbols.so" tests/plugins/symbols.c -fvisibility=default
    build_plugin "$at/foreign-data.so" tests/plugins/symbols.c -fvisibility=default -DVARIANT_FOREIGN_DATA
    build_plugin "$at/good-stripped.so" tests/plugins/good.c -Wl,--strip-all
    build_plugin "$at/good-sysv.so" tests/plugins/good.c -Wl,--hash-style=sysv
    build_plugin "$at/good-exec-stack.so" tests/plugins/good.c -Wl,-z,execstack
    build_plugin "$at/good-nodelete.so" tests/plugins/good.c -Wl,-z,nodelete
    for fault in wrong-major later-host no-symbol bad-schema wrong-schema bad-name same-name no-entry number-as-text number-as-function \
        wrong-examples; do
        name=${fault//-/_}
        build_plugin "$at/$fault.so" tests/plugins/variant.c "-DVARIANT_${name^^}"
    done
    build test-descriptor "-DTEST_PLUGINS=\"$at\"" tests/unit/test-descriptor.c tests/support/elf-writer.c tests/support/failing-malloc.c \
        host/plugin/*.c host/schema/*.c host/base/*.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
    run test-descriptor
}

run_corpus() {
    local files=() minor
    for minor in 0 1 2 3 4 5; do
        build_plugin "$folder/today-1.$minor.so" tests/abi/corpus/corpus.c "-DSINCE=$minor"
        files+=("tests/abi/corpus/1.$minor-AArch64.so" "$folder/today-1.$minor.so")
    done
    build test-corpus -DWITHOUT_HOST tests/abi/test-corpus.c
    run test-corpus "${files[@]}"
}

# The planted faults of C, as plugins for a processor.
build_planted() { # FOLDER COMPILER
    local name
    mkdir -p "$1"
    while read -r name; do
        "$2" -O2 -fPIC -shared -fvisibility=hidden -Iplugin-sdk/include "-DFAULT_$name" tests/e2e/planted/planted.c -pthread \
            -o "$1/${name,,}.so"
    done < <(grep -o 'FAULT_[A-Z0-9_]*' tests/e2e/planted/planted.c | sed 's/FAULT_//' | sort -u | grep .)
}

run_reader() {
    local files sources=(tests/cross/reader.c host/base/*.c host/plugin/*.c host/schema/*.c)
    build reader "${sources[@]}"
    gcc "${flags[@]}" "${sources[@]}" -lyyjson -lpcre2-8 -lm -o "$folder/reader-here"
    build_planted "$folder/planted/here" gcc
    build_planted "$folder/planted/there" "$triplet-gcc"
    files=(tests/e2e/check/*.so tests/abi/corpus/*.so "$folder"/planted/*/*.so)
    run reader "${files[@]}" >"$folder/said-there"
    "$folder/reader-here" "${files[@]}" >"$folder/said-here"
    diff "$folder/said-here" "$folder/said-there"
    # The same source for both has the same faults.
    "$folder/reader-here" "$folder"/planted/here/*.so | sed 's/, x86-64$//' >"$folder/faults-here"
    "$folder/reader-here" "$folder"/planted/there/*.so | sed 's/, AArch64$//' >"$folder/faults-there"
    diff "$folder/faults-here" "$folder/faults-there"
    echo "${#files[@]} plugins are read alike, $(grep -c '^  [a-z]*-' "$folder/faults-there") findings among those for AArch64"
}

[[ -e $root/complete-2 ]] || take_libraries
case $part in
    direct | modules | descriptor | corpus | reader) "run_$part" ;;
    *) echo "$usage" >&2 && exit 2 ;;
esac
