# lib.sh - what the SDK's compile tests share. POSIX sh; output is TAP.
# shellcheck shell=sh disable=SC2034

# What a careful author turns on, as errors.
strict='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Wundef -Werror'

count=0
failed=0

# report 0|1 NAME [OUTPUT]: one line of TAP, and the output as comment when it failed.
report() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        printf 'ok %d - %s\n' "$count" "$2"
    else
        failed=$((failed + 1))
        printf 'not ok %d - %s\n' "$count" "$2"
        printf '%s\n' "${3-}" | sed 's/^/# /'
    fi
}

# finish: the plan, and the exit code.
finish() {
    printf '1..%d\n' "$count"
    [ "$failed" -eq 0 ]
    exit
}

# present NAME...: those of the commands that exist.
present() {
    for name in "$@"; do
        if command -v "$name" >/dev/null 2>&1; then
            printf '%s ' "$name"
        fi
    done
}

# cc and c++ are mostly one of the others under another name.
c_compilers=$(present gcc clang)
c_compilers=${c_compilers:-$(present cc)}
cxx_compilers=$(present g++ clang++)
cxx_compilers=${cxx_compilers:-$(present c++)}

work=$(mktemp -d "${TMPDIR:-/tmp}/toolrack-sdk-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
