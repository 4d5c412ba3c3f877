#!/usr/bin/env bash
# aarch64.sh FOLDER [SIGNATURES]: unit/test-direct.c for AArch64, under qemu.
#
# What is called directly differs with the processor. The test needs three libraries of the other processor, which are
# taken from Debian into FOLDER; apt gets lists and a cache of its own, so that the system's stay as they are.
set -euo pipefail
folder=$(realpath -m "${1:?usage: aarch64.sh FOLDER [SIGNATURES]}")
signatures=${2:-20000}
cd "$(dirname "$0")/.."
readonly triplet=aarch64-linux-gnu
readonly root=$folder/root lib=$folder/root/usr/lib/$triplet

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
    take "$VERSION_CODENAME" libffi-dev libffi8 libcmocka-dev libcmocka0
    if [[ $VERSION_CODENAME == bookworm ]]; then
        take trixie libyyjson-dev libyyjson0
    else
        take "$VERSION_CODENAME" libyyjson-dev libyyjson0
    fi
    touch "$root/complete"
}

[[ -e $root/complete ]] || take_libraries
"$triplet-gcc" -std=gnu11 -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -Ihost -Ihost/include -Iplugin-sdk/include -Itests/support \
    "-I$root/usr/include" "-I$root/usr/include/$triplet" tests/unit/test-direct.c host/ffi/*.c host/base/*.c \
    -Wl,--wrap=ffi_call "-L$lib" -lffi -lyyjson -lcmocka -lm -o "$folder/test-direct"
TEST_SIGNATURES=$signatures exec qemu-aarch64 -L "/usr/$triplet" -E "LD_LIBRARY_PATH=$lib" "$folder/test-direct"
