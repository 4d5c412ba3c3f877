# tap.sh - sourced by the scripts here: TAP, and a folder that goes away.
# shellcheck shell=bash

count=0
bad=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Report one case: `report NAME STATUS`. The file $work/log, if any, says why it failed.
report() {
    count=$((count + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        bad=1
        [ ! -e "$work/log" ] || sed 's/^/# /' "$work/log"
    fi
    rm -f "$work/log"
}

# Run a command as a case: `passes NAME COMMAND...`.
passes() {
    local name=$1 status=0
    shift
    "$@" >"$work/log" 2>&1 || status=$?
    report "$name" "$status"
}

# Run a command whose output must be a text: `prints NAME TEXT COMMAND...`.
prints() {
    local name=$1 expected=$2 status=0
    shift 2
    "$@" >"$work/out" 2>&1 || status=$?
    [ "$(cat "$work/out")" = "$expected" ] || status=1
    printf 'expected: %s\n     got: %s\n' "$expected" "$(cat "$work/out")" >"$work/log"
    report "$name" "$status"
}

# Does the file $2 read as the file $1 says? There, "..." stands for any text within a line and, alone on a line, for any lines.
matches() {
    awk -v wanted="$1" '
        function pattern(line) {
            gsub(/[][\\.*+?(){}|^$]/, "\\\\&", line)
            gsub(/\\\.\\\.\\\./, ".*", line)
            return "^" line "$"
        }
        BEGIN {
            while ((getline line <wanted) > 0) want[++w] = line
        }
        { have[NR] = $0 }
        function fits(i, j,    k) {
            if (i > w) return j > NR
            if (want[i] == "...") {
                for (k = j; k <= NR + 1; k++) if (fits(i + 1, k)) return 1
                return 0
            }
            return j <= NR && have[j] ~ pattern(want[i]) && fits(i + 1, j + 1)
        }
        END { exit !fits(1, 1) }
    ' "$2"
}

finish() {
    echo "1..$count"
    exit "$bad"
}
