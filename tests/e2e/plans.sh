#!/usr/bin/env bash
# plans.sh: ten plans over the bundled plugins, as users would want them: each is checked, run, and gives what it should.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"
plans=$E2E_SOURCE/tests/e2e/user-plans

export HOME=$work/home
mkdir "$HOME"
cd "$HOME" || exit 1
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME TOOLRACK_PLUGIN_PATH
export TOOLRACK_BUILTIN_DIR=$E2E_BUILD/plugins

# Run a plan: `gives NAME RESULT INPUT...`.
gives() {
    local name=$1 expected=$2 inputs=() input
    shift 2
    for input in "$@"; do
        inputs+=(--input "$input")
    done
    passes "nothing is wrong with $name" "$E2E_TOOLRACK" run --dry-run "$plans/$name.json"
    "$E2E_TOOLRACK" run "$plans/$name.json" "${inputs[@]}" >"$work/result" 2>"$work/notes"
    prints "$name" "$expected" cat "$work/result"
}

# The example of host/README.md, run as it says.
awk '/^```json lines.json$/ { on = 1; next } /^```/ { on = 0 } on' "$E2E_SOURCE/host/README.md" >lines.json
awk '/^\$ toolrack run lines.json/ { print; getline; print }' "$E2E_SOURCE/host/README.md" >"$work/session"
examples=0
while read -r _ _ command && read -r expected; do
    examples=$((examples + 1))
    bash -c "\"\$E2E_TOOLRACK\" $command" >"$work/result" 2>"$work/notes"
    prints "the documented plan, $examples" "$expected" cat "$work/result"
done <"$work/session"
passes "the documented plan has examples" test "$examples" = 2

# Make a plan of a text, and run it: `makes TEXT RESULT`, where RESULT is a part of what it gives.
makes() {
    "$E2E_TOOLRACK" plan "$1" --json >plan.json 2>"$work/notes"
    "$E2E_TOOLRACK" run plan.json >"$work/result" 2>>"$work/notes"
    passes "made of a text: $1" grep -F -e "$2" "$work/result"
}

gives report '{"texts":[{"bytes":13,"characters":13,"words":3,"lines":1,"blank_lines":0,"longest_line":13},{"bytes":9,"characters":9,"words":2,"lines":2,"blank_lines":0,"longest_line":4}],"words":5.0}' \
    'texts=["one two three","four\nfive"]'
gives itinerary '{"local":"2025-02-01T07:30:00+09:00","day":"Saturday","again":250.0}' \
    to=Asia/Tokyo time=23:30 date=2025-01-31 budget=250
gives lines '[{"text":"a b","count":1},{"text":"c d","count":1}]' $'text=a   b\nc\t\td'
gives short '{"head":["1","2"],"all":null}' $'text=1\n2\n3\n4\n5'
gives short '{"head":null,"all":["1","2"]}' $'text=1\n2'
gives prices '{"first":7.5,"second":null}' 'currencies=["EUR","XXQ"]'
gives meeting '["2000-02-29T23:00:00+09:00","2000-02-29T09:00:00-05:00"]' 'zones=["Asia/Tokyo","America/New_York"]'
gives invoice '{"net":34.75,"gross":41.35}' 'positions=["3 * 4.5","2 * 10","1.25"]'
gives addresses '{"addresses":[{"text":"*@example.org","count":1},{"text":"*@example.com","count":1}],"first":"*@example.org"}' \
    'text=write to ann@example.org or bob.b@example.com'
gives addresses '{"addresses":[],"first":"none"}' 'text=nobody'
makes 'Convert 14:00 from UTC to Asia/Tokyo on 2000-02-29 and compute 3*4' '"datetime":"2000-02-29T23:00:00+09:00"'
makes 'Calculate 3*4 and count the words of "one two three"' '"words":3'
# A run that does not begin has no nodes to tell of.
"$E2E_TOOLRACK" run "$plans/itinerary.json" --json >"$work/result" 2>"$work/notes"
passes "the error of a run that is refused" grep -F '"InvalidArguments"' "$work/result"
passes "and nothing else" [ "$(grep -c -e '"event"' -e cancelled "$work/result")" = 0 ]
finish
