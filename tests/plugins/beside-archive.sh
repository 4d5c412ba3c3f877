#!/usr/bin/env bash
# beside-archive.sh: what the bundled plugin archive makes is read by tar, what tar makes is extracted; what is refused
# writes nothing; and another process that exchanges folders for links meanwhile leads nothing out.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$SOURCE/tests/e2e/tap.sh"

work=$(realpath "$work")
export HOME=$work/home XDG_CONFIG_HOME=$work/home XDG_STATE_HOME=$work/state XDG_DATA_HOME=$work/home LC_ALL=C.UTF-8
granted=$work/granted
mkdir "$work/home" "$granted" "$work/plugins" "$work/outside"
cp "$PLUGINS/archive.so" "$work/plugins"
cp "$SOURCE"/plugins/archive/samples/* "$granted"

# `config ALLOWED [ISOLATION]`
config() {
    echo "{\"paths\": {\"workspace\": \"$granted\"}, \"policies\": {\"archive\": {\"allow\": [$1], \"isolation\": \"${2:-process}\"}}}" \
        >"$work/toolrack.json"
}
config '"read", "write"'

tool() (
    rm -rf "$work/state" # a tool that fails often is not recommended for a while, which is said
    # Not from the granted folder: the loader may look for libraries in the folder where a program is started.
    cd / && "$TOOLRACK" --config "$work/toolrack.json" --plugins "$work/plugins" call "archive_$1" --yes "$2" 2>&1
)

# The whole answer: `says NAME TEXT TOOL ARGUMENTS`; in the text, "..." stands for anything.
says() {
    local name=$1 status=0
    printf '%s\n' "$2" >"$work/expected"
    shift 2
    { tool "$@"; echo; } | sed -e '$ { /^$/ d }' >"$work/got"
    matches "$work/expected" "$work/got" || status=1
    { echo "expected:"; cat "$work/expected"; echo "got:"; cat "$work/got"; } >"$work/log"
    report "$name" "$status"
}

# ---------------------------------------------------------------------- made and read back

mkdir -p "$granted/tree/deep/er" "$granted/tree/empty"
echo one >"$granted/tree/one.txt"
head -c 300000 /dev/urandom >"$granted/tree/deep/er/random"
echo x >"$granted/tree/deep/köln und ähnliches"
printf '#!/bin/sh\n' >"$granted/tree/run" && chmod 755 "$granted/tree/run"
: >"$granted/tree/deep/nothing"
ln -s /etc "$granted/tree/way"
mkfifo "$granted/tree/pipe"
cp -r "$granted/tree" "$work/wanted" 2>/dev/null & copying=$!
# cp waits for the fifo's other end.
timeout 20 true <>"$granted/tree/pipe"
wait "$copying"
rm -f "$work/wanted/way" "$work/wanted/pipe"

for format in tar tar.gz tgz tar.bz2 tar.xz tar.zst zip; do
    says "made: $format" '{"files":5,"folders":4,"skipped":2,"bytes":...,"size":...}' create "{\"path\": \"made/all.$format\", \"files\": [\"tree\"]}"
    mkdir "$work/unpacked"
    case $format in
    zip) passes "python reads it: $format" python3 -m zipfile -e "$granted/made/all.$format" "$work/unpacked" ;;
    *) passes "tar reads it: $format" tar -xf "$granted/made/all.$format" -C "$work/unpacked" ;;
    esac
    passes "and has the same: $format" diff -r "$work/wanted" "$work/unpacked/tree"
    rm -r "$work/unpacked"
    says "extracted: $format" '{"files":5,"folders":4,"bytes":...,"skipped":0,"renamed":0}' extract "{\"path\": \"made/all.$format\", \"destination\": \"back\"}"
    passes "and is the same: $format" diff -r "$work/wanted" "$granted/back/tree"
    passes "what may be executed still may: $format" test -x "$granted/back/tree/run" -a ! -x "$granted/back/tree/one.txt"
    rm -r "$granted/back"
done
tar -cf "$granted/gnu.tar" --format=gnu -C "$work/wanted" .
says "what tar makes" '{"files":5,"folders":3,"bytes":...,"skipped":0,"renamed":0}' extract '{"path": "gnu.tar", "destination": "back"}'
passes "is extracted" diff -r "$work/wanted" "$granted/back"
says "an existing file is kept" 'toolrack: ExecutionFailed: ...File exists (overwrite replaces what is there); 0 files were extracted' \
    extract '{"path": "gnu.tar", "destination": "back"}'
ln "$granted/back/one.txt" "$work/outside/other-name"
rm "$granted/back/run" && ln -s "$work/outside/other-name" "$granted/back/run"
sed -i s/one/ONE/ "$work/outside/other-name"
says "or replaced" '{"files":5,...}' extract '{"path": "gnu.tar", "destination": "back", "overwrite": true}'
passes "as a name, not as what it leads to" grep -q ONE "$work/outside/other-name"
passes "and a link is replaced by a file" test ! -L "$granted/back/run" -a -x "$granted/back/run"
says "an archive is not replaced" 'toolrack: InvalidArguments: /path: made/all.zip: File exists' create '{"path": "made/all.zip", "files": ["tree"]}'
says "one that takes itself in has all but itself" '{"files":5,"folders":4,"skipped":2,...}' create '{"path": "tree/self.tar", "files": ["tree"]}'
rm "$granted/tree/self.tar"
says "names that are not plain" '{"files":4,"folders":0,"bytes":24,"skipped":0,"renamed":...}' extract '{"path": "renamed.tar.gz", "destination": "names"}'
passes "are written as plain ones" test -f "$granted/names/a/b.txt" -a -f "$granted/names/bell_.txt" -a -f "$granted/names/plain.txt" -a -f "$granted/names/x/y.txt"

# -------------------------------------------------------------------------- what is refused

while IFS='|' read -r file reason; do
    says "refused: $file" "toolrack: ...: nothing was extracted: ... is refused, since $reason; skip_unsafe leaves such members out" \
        extract "{\"path\": \"$file\", \"destination\": \"refused\"}"
    passes "and nothing is written: $file" test ! -e "$granted/refused"
done <<'TABLE'
upwards.tar.gz|its name leads out of the destination by ".."
inner-upwards.tar.gz|its name leads out of the destination by ".."
windows.zip|its name leads out of the destination by ".."
absolute.tar.gz|its name is an absolute path
link.tar.gz|it is a symbolic link
hard-link.tar.gz|it is a hard link
device.tar.gz|it is a device, a fifo or a socket
fifo.tar.gz|it is a device, a fifo or a socket
setuid.tar.gz|it is a program that runs as another user or group (setuid, setgid)
long.tar.gz|its name is longer than 4,095 bytes, or a part of it than 255
deep.tar.gz|its name has more than 64 folders
TABLE
for file in huge bomb many; do
    says "a limit: $file" 'toolrack: ExecutionFailed: nothing was extracted: ...' extract "{\"path\": \"$file.tar.gz\", \"destination\": \"refused\"}"
    passes "and nothing is written: $file" test ! -e "$granted/refused"
done
printf 'Rar!\032\007\001\000\063\222\265\345' >"$granted/some.rar"
says "RAR is not read" 'toolrack: ExecutionFailed: nothing was extracted: some.rar: is damaged, or no archive that is read: ...such as RAR...' \
    extract '{"path": "some.rar", "destination": "refused"}'
python3 - "$granted" <<'PYTHON'
import io, sys, tarfile
for archive, members in {"twice": [("a", "1"), ("b", "2"), ("./a", "3")], "fork": [("x", "1"), ("x!", "2"), ("x/y", "3")],
                         "fork-back": [("x/y/z", "1"), ("x/y", "2")], "folders": [("f/", None), ("f/a", "1"), ("f/", None), ("f", None)]}.items():
    with tarfile.open(f"{sys.argv[1]}/{archive}.tar", "w") as made:
        for name, text in members:
            info = tarfile.TarInfo(name)
            info.type = tarfile.REGTYPE if text else tarfile.DIRTYPE
            info.size = len(text or "")
            made.addfile(info, io.BytesIO((text or "").encode()))
PYTHON
says "a name that is there twice" 'toolrack: ExecutionFailed: nothing was extracted: "a" is in it more than once; with overwrite the last one is kept' \
    extract '{"path": "twice.tar", "destination": "refused"}'
says "with overwrite" '{"files":3,...}' extract '{"path": "twice.tar", "destination": "twice", "overwrite": true}'
passes "the last one is kept" grep -q 3 "$granted/twice/a"
for name in fork fork-back; do
    says "a file and a folder of one name: $name" 'toolrack: ExecutionFailed: nothing was extracted: "x..." is a file and a folder in it' \
        extract "{\"path\": \"$name.tar\", \"destination\": \"refused\", \"overwrite\": true, \"skip_unsafe\": true}"
done
passes "and nothing is written" test ! -e "$granted/refused"
says "a folder may be there many times" '{"files":1,"folders":3,...}' extract '{"path": "folders.tar", "destination": "folders"}'

says "what is named twice is taken once" '{"files":5,"folders":4,"skipped":...}' create '{"path": "made/once.tar", "files": ["tree/one.txt", "tree", "./tree/deep", "tree"]}'
passes "also by tar's list" test "$(tar -tf "$granted/made/once.tar" | sort | uniq -d)" = ""
mkdir "$granted/alike" && echo 1 >"$granted/alike/a\\b" && mkdir "$granted/alike/a" && echo 2 >"$granted/alike/a/b"
says "two files that would have one name" 'toolrack: ExecutionFailed: no archive was made: a/b: two files would have this name in the archive' \
    create '{"path": "made/alike.tar", "base": "alike", "files": ["a\\b", "a"]}'
mkdir "$granted/linked" && echo 1 >"$granted/linked/one" && ln "$granted/linked/one" "$granted/linked/two"
says "hard links are files of their own" '{"files":2,...}' create '{"path": "made/linked.zip", "files": ["linked"]}'
says "and come back as such" '{"files":2,...}' extract '{"path": "made/linked.zip", "destination": "unlinked"}'
passes "with the same text" diff -r "$granted/linked" "$granted/unlinked/linked"

says "what is safe of it is extracted when asked for" '{"files":2,"folders":0,"bytes":12,"skipped":1,"renamed":0}' \
    extract '{"path": "link.tar.gz", "destination": "safe", "skip_unsafe": true}'
passes "and the folder in place of the link is one" test -d "$granted/safe/way" -a ! -L "$granted/safe/way"

ln -s "$work/outside" "$granted/out"
while IFS='|' read -r name call reason; do
    # shellcheck disable=SC2086  # a tool and its arguments
    says "$name" "toolrack: InvalidArguments: $reason" ${call%% *} "${call#* }"
done <<TABLE
into a link|extract {"path": "good.zip", "destination": "out"}|/destination: out: a symbolic link is on the way...
below a link|extract {"path": "good.zip", "destination": "out/new"}|/destination: out/new: a symbolic link is on the way...
upwards|extract {"path": "good.zip", "destination": "../outside"}|/destination: ../outside: leads upwards...
outside|extract {"path": "good.zip", "destination": "$work/outside"}|/destination: ... is not in the folder ...
a file with a zero character|create {"path": "made/zero.zip", "files": ["tree\u0000"]}|/files/0: must not contain U+0000
an archive behind a link|create {"path": "out/new.zip", "files": ["tree"]}|/path: out/new.zip: a symbolic link is on the way...
files behind a link|create {"path": "new.zip", "files": ["out/secret"]}|/files/0: out/secret: a symbolic link is on the way...
files outside|create {"path": "new.zip", "files": ["../outside"]}|/files/0: ...
files by an absolute path|create {"path": "new.zip", "files": ["/etc/passwd"]}|/files/0: ...
a base behind a link|create {"path": "new.zip", "base": "out", "files": ["."]}|/base: out: a symbolic link...
a format that is none|create {"path": "new.rar", "files": ["tree"]}|/path: must end in ...
TABLE
passes "of what failed nothing is left" test ! -e "$granted/new.zip"
passes "nothing was written outside" test "$(ls "$work/outside")" = other-name

# A second process exchanges the destination for a link, in the sandbox and without one.
for isolation in process none; do
    config '"read", "write"' "$isolation"
    (
        while :; do
            mv "$granted/race/tree" "$granted/race/aside" 2>/dev/null && ln -s "$work/outside" "$granted/race/tree" 2>/dev/null
            rm "$granted/race/tree" 2>/dev/null
            mv "$granted/race/aside" "$granted/race/tree" 2>/dev/null
        done
    ) 2>/dev/null & racer=$!
    for _ in 1 2 3 4 5; do
        rm -rf "$granted/race" && mkdir -p "$granted/race/tree"
        tool extract '{"path": "made/all.tar", "destination": "race", "overwrite": true}' >/dev/null
    done
    kill "$racer"
    wait "$racer" 2>/dev/null
    passes "nothing is led out by an exchange, isolation $isolation" test "$(ls "$work/outside")" = other-name
done

# --------------------------------------------------------------------------- capabilities

config '"read"'
says "reading is enough to list" '{"entries":...' list '{"path": "good.zip"}'
says "and not to extract" 'toolrack: InvalidArguments: /destination: unwritten: permission denied...' extract '{"path": "good.zip", "destination": "unwritten"}'
says "nor to create" 'toolrack: InvalidArguments: /path: new.zip: permission denied...' create '{"path": "new.zip", "files": ["tree"]}'
finish
