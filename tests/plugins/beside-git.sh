#!/usr/bin/env bash
# beside-git.sh: the tools of the bundled plugin git against the program git on the same repository, and what is refused.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$SOURCE/tests/e2e/tap.sh"

work=$(realpath "$work")
export HOME=$work/home GIT_CONFIG_NOSYSTEM=1 LC_ALL=C TZ=UTC XDG_CONFIG_HOME=$work/home XDG_STATE_HOME=$work/state XDG_DATA_HOME=$work/home
export GIT_AUTHOR_DATE="2024-01-15T14:30:25+01:00" GIT_COMMITTER_DATE="2024-01-15T14:30:25+01:00"
mkdir "$work/home" "$work/granted" "$work/plugins"
cp "$PLUGINS/git.so" "$work/plugins"
git config --global init.defaultBranch main
git config --global user.name Ada
git config --global user.email ada@example.org
git config --global advice.detachedHead false
git config --global protocol.file.allow always
cd "$work/granted" || exit 1

# `config SETTINGS ALLOWED`: what the plugin is told, and what it may do.
config() {
    echo "{\"paths\": {\"workspace\": \"$work/granted\"}, \"plugins\": {\"git\": {$1}}, \"policies\": {\"git\": {\"allow\": [$2]}}}" >"$work/toolrack.json"
}
config '"author": "Ada <ada@example.org>"' '"read", "write"'

# `tool NAME ARGUMENTS` with the repository r, unless it names another one.
tool() (
    rm -rf "$work/state" # a tool that fails often is not recommended for a while, which is said
    # Not from the granted folder: the loader may look for libraries in the folder where a program is started.
    cd / && "$TOOLRACK" --config "$work/toolrack.json" --plugins "$work/plugins" call "git_$1" --yes "${2:-"{\"repo_path\": \"r\"}"}" 2>&1
)

# `call_text "NAME ARGUMENTS"`, or of the name alone.
call_text() {
    local arguments=${1#* }
    [ "$arguments" != "$1" ] || arguments='{"repo_path": "r"}'
    tool "${1%% *}" "$arguments"
}

# What git says, after a first line: `same NAME FIRST "TOOL ARGUMENTS" GIT...`.
same() {
    local name=$1 first=$2 call=$3 status=0
    shift 3
    # What the reference server leaves out is the last line break.
    { [ -z "$first" ] || echo "$first"; git -C r "$@"; } >"$work/expected" 2>&1
    call_text "$call" >"$work/got"
    diff -u <(printf '%s' "$(cat "$work/expected")") <(printf '%s' "$(cat "$work/got")") >"$work/log" || status=1
    report "$name" "$status"
}

# The whole answer: `says NAME TEXT TOOL [ARGUMENTS]`; in the text, "..." stands for anything.
says() {
    local name=$1 status=0
    printf '%s\n' "$2" >"$work/expected"
    shift 2
    { tool "$@"; echo; } | sed -e '$ { /^$/ d }' >"$work/got"
    matches "$work/expected" "$work/got" || status=1
    { echo "expected:"; cat "$work/expected"; echo "got:"; cat "$work/got"; } >"$work/log"
    report "$name" "$status"
}

# --------------------------------------------------------------- states and differences

git init -q r
same "an empty repository" "Repository status:" status status
printf 'one\ntwo\nthree\n' >r/a.txt
mkdir r/folder
echo b >r/folder/b.txt
echo 'c d' >"r/with space"
echo u >r/köln
same "files that git does not know" "Repository status:" status status
says "no first commit without a file" "toolrack: ExecutionFailed: nothing is staged, so there is nothing to commit: ..." commit '{"repo_path": "r", "message": "empty"}'
says "all files are staged" "Files staged successfully" add '{"repo_path": "r", "files": ["."]}'
same "the first commit is prepared" "Repository status:" status status
same "what is staged at first" "Staged changes:" diff_staged diff --cached
says "the first commit" "Changes committed successfully with hash ..." commit '{"repo_path": "r", "message": "first: it'"'"'s \"quoted\"\n\nbody äöü\n"}'
passes "the repository is sound" git -C r fsck --strict
passes "its tree is what git would make" bash -c "test \"\$(git -C r rev-parse HEAD^{tree})\" = \"\$(git -C r write-tree)\""
same "nothing to commit" "Repository status:" status status
says "nothing is committed without a change" "toolrack: ExecutionFailed: nothing is staged, so there is nothing to commit: ..." commit '{"repo_path": "r", "message": "empty"}'

printf 'one\n2\nthree\nfour\n' >r/a.txt
rm r/folder/b.txt
mkdir r/new && echo n >r/new/file
printf '\0\1\2' >r/binary
same "changed, removed and unknown files" "Repository status:" status status
same "changes that are not staged" "Unstaged changes:" diff_unstaged diff
same "with one line around" "Unstaged changes:" 'diff_unstaged {"repo_path": "r", "context_lines": 1}' diff --unified=1
same "with none" "Unstaged changes:" 'diff_unstaged {"repo_path": "r", "context_lines": 0}' diff --unified=0
same "nothing is staged" "Staged changes:" diff_staged diff --cached
says "one file is staged, and one that was removed" "Files staged successfully" add '{"repo_path": "r", "files": ["a.txt", "folder/b.txt", "new", "binary"]}'
printf 'five\n' >>r/a.txt
same "staged and changed again" "Repository status:" status status
same "staged changes with a binary file" "Staged changes:" diff_staged diff --cached
same "against a commit" "Diff with HEAD:" 'diff {"repo_path": "r", "target": "HEAD"}' diff HEAD
says "unstaged again" "All staged changes reset" reset
same "after that" "Repository status:" status status
git -C r add -A
GIT_AUTHOR_DATE="2024-03-01T08:00:00-05:00" GIT_COMMITTER_DATE="2024-03-01T08:00:00-05:00" git -C r commit -q -m second
git -C r mv a.txt moved.txt
same "a renamed file" "Repository status:" status status
same "the difference of a renamed file" "Staged changes:" diff_staged diff --cached -M
git -C r commit -q -m third --date 2024-06-01T00:00:00Z
chmod +x r/moved.txt
ln -s moved.txt r/link
git -C r add link
same "modes and links" "Repository status:" status status
same "the difference of modes" "Diff with main:" 'diff {"repo_path": "r", "target": "main"}' diff main
git -C r commit -q -a -m fourth

# ------------------------------------------------------------------- branches and history

says "a branch is created" "Created branch 'topic' from 'main'" create_branch '{"repo_path": "r", "branch_name": "topic"}'
says "and one from it" "Created branch 'more/deep' from 'topic'" create_branch '{"repo_path": "r", "branch_name": "more/deep", "base_branch": "topic"}'
says "not twice" "toolrack: ExecutionFailed: the branch cannot be created: ...topic...exists..." create_branch '{"repo_path": "r", "branch_name": "topic"}'
says "not by a bad name" "toolrack: InvalidArguments: /branch_name: ...no name of a branch" create_branch '{"repo_path": "r", "branch_name": "-f"}'
says "it is checked out" "Switched to branch 'topic'" checkout '{"repo_path": "r", "branch_name": "topic"}'
same "the status there" "Repository status:" status status
passes "the working tree is clean for git" bash -c "test -z \"\$(git -C r status --porcelain)\""
echo topic >r/topic.txt
says "a file for the branch" "Files staged successfully" add '{"repo_path": "r", "files": ["topic.txt"]}'
says "a commit on it" "Changes committed successfully with hash ..." commit '{"repo_path": "r", "message": "on topic"}'
same "branches" "" 'branch {"repo_path": "r", "branch_type": "local"}' branch
same "branches that have a commit" "" 'branch {"repo_path": "r", "branch_type": "local", "contains": "topic"}' branch --contains topic
same "branches that have it not" "" 'branch {"repo_path": "r", "branch_type": "local", "not_contains": "topic"}' branch --no-contains topic
says "no such commit" "toolrack: InvalidArguments: /contains: 'nowhere' names no commit..." branch '{"repo_path": "r", "branch_type": "local", "contains": "nowhere"}'
says "no option in disguise" "toolrack: InvalidArguments: /contains: '-x' cannot start with '-'" branch '{"repo_path": "r", "branch_type": "local", "contains": "-x"}'
git clone -q r cloned
git -C cloned branch -q --track other origin/more/deep
mv r original && mv cloned r
same "branches of remotes" "" 'branch {"repo_path": "r", "branch_type": "remote"}' branch -r
same "all branches" "" 'branch {"repo_path": "r", "branch_type": "all"}' branch -a
same "up to date with a remote" "Repository status:" status status
git -C r commit -q --allow-empty -m ahead
same "ahead of it" "Repository status:" status status
git -C r reset -q --hard HEAD~2
same "behind it" "Repository status:" status status
git -C r commit -q --allow-empty -m apart
same "apart from it" "Repository status:" status status
git -C r branch -q -D other && git -C r update-ref -d refs/remotes/origin/topic
same "the branch of the remote is gone" "Repository status:" status status
git -C r checkout -q HEAD~1
same "a detached HEAD" "Repository status:" status status
same "and in the list of branches" "" 'branch {"repo_path": "r", "branch_type": "local"}' branch
git -C r commit -q --allow-empty -m lost
same "away from where it was detached" "Repository status:" status status
rm -rf r && mv original r

git -C r log -3 --format="Commit: '%H'%nAuthor: <git.Actor \"%an <%ae>\">" topic >"$work/log.txt"
says "the newest commits" "Commit history:
$(sed -n 1,2p "$work/log.txt")
Date: ...
Message: 'on topic'

$(sed -n 3,4p "$work/log.txt")
Date: 2024-01-15 14:30:25+01:00
Message: 'fourth\\n'" log '{"repo_path": "r", "max_count": 2}'
says "commits between two times" "Commit history:
Commit: $(git -C r log -1 --skip=3 --format=%H)
Author: Ada
Date: $(git -C r log -1 --skip=3 --format=%ad)
Message: second" log '{"repo_path": "r", "start_timestamp": "2024-02-01", "end_timestamp": "Apr 1 2024"}'
says "all since long" "Commit history:
...
Commit: ...
Author: Ada
Date: Mon Jan 15 14:30:25 2024 +0100
Message: fourth
..." log '{"repo_path": "r", "start_timestamp": "100 years ago", "max_count": 5}'
says "a time that is none" "toolrack: InvalidArguments: /start_timestamp: '--exec=x' is no time; ..." log '{"repo_path": "r", "start_timestamp": "--exec=x"}'
says "a commit" "Commit: '$(git -C r rev-parse HEAD~2)'
Author: <git.Actor \"Ada <ada@example.org>\">
Date: 2024-06-01 00:00:00+00:00
Message: 'third\\n'

--- a.txt
+++ moved.txt" show '{"repo_path": "r", "revision": "HEAD~2"}'
says "the first commit, with its message" "Commit: '...'
Author: ...
Date: ...
Message: 'first: it\\'s \"quoted\"\\n\\nbody äöü\\n'

--- /dev/null
+++ a.txt
@@ -0,0 +1,3 @@
+one
+two
+three
..." show '{"repo_path": "r", "revision": "HEAD~4"}'
says "no such revision" "toolrack: InvalidArguments: /revision: 'nowhere' names no commit..." show '{"repo_path": "r", "revision": "nowhere"}'
says "no option in disguise as a target" "toolrack: InvalidArguments: /target: '--output=x' cannot start with '-'" diff '{"repo_path": "r", "target": "--output=x"}'

# ------------------------------------------------------------------------ conflicts

echo changed >r/topic.txt
git -C r branch -f side HEAD~1
git -C r config user.name Ada
says "changes are not overwritten" "toolrack: ExecutionFailed: local changes to these files would be overwritten by the checkout: topic.txt; commit them first" checkout '{"repo_path": "r", "branch_name": "side"}'
passes "and are still there" grep -q changed r/topic.txt
git -C r checkout -q topic.txt && git -C r checkout -q side 2>/dev/null
echo side >r/topic.txt && git -C r add topic.txt && git -C r commit -q -m side
git -C r merge -q topic >/dev/null 2>&1
same "a merge with conflicts" "Repository status:" status status
says "is not committed" "toolrack: ExecutionFailed: a merge, rebase or the like is going on in the repository: ..." commit '{"repo_path": "r", "message": "x"}'
git -C r add topic.txt
same "a merge without" "Repository status:" status status
git -C r merge --abort

# -------------------------------------------------------------------- nothing is executed

for hook in pre-commit commit-msg post-commit post-checkout prepare-commit-msg post-index-change reference-transaction; do
    printf '#!/bin/sh\ntouch %s/executed\n' "$work" >r/.git/hooks/$hook
    chmod +x r/.git/hooks/$hook
done
git -C r config core.fsmonitor "touch $work/executed"
git -C r config core.pager "touch $work/executed"
git -C r config core.editor "touch $work/executed"
git -C r config diff.external "touch $work/executed"
git -C r config filter.evil.clean "touch $work/executed"
git -C r config filter.evil.smudge "touch $work/executed"
git -C r config filter.evil.process "touch $work/executed"
git -C r config diff.evil.textconv "touch $work/executed"
git -C r config diff.evil.command "touch $work/executed"
git -C r config core.sshCommand "touch $work/executed"
git -C r config gpg.program "touch $work/executed"
git -C r config commit.gpgSign true
echo '*.txt filter=evil diff=evil' >r/.gitattributes
rm -f "$work/executed" # a hook that git ran above
echo more >>r/moved.txt
while read -r call; do
    call_text "$call" >>"$work/log" || echo "failed: $call" >>"$work/failed"
done <<'CALLS'
status
diff_unstaged
add {"repo_path": "r", "files": ["."]}
diff_staged
commit {"repo_path": "r", "message": "with hooks"}
checkout {"repo_path": "r", "branch_name": "main"}
show {"repo_path": "r", "revision": "side"}
reset
CALLS
git -C r config --unset core.fsmonitor
passes "the tools work in a repository that names programs" test ! -e "$work/failed"
passes "and run none of them" test ! -e "$work/executed"

# ------------------------------------------------------------------ what leads elsewhere

mkdir "$work/outside" && git init -q "$work/outside/secret" && echo s >"$work/outside/secret/s" && git -C "$work/outside/secret" add s && git -C "$work/outside/secret" commit -q -m s
refused() { # NAME REPOSITORY REASON
    says "$1" "toolrack: ... $3" status "{\"repo_path\": \"$2\"}"
}
refused "a repository outside" "$work/outside/secret" "/repo_path: ... is not in the folder $work/granted"
refused "upwards" "../outside/secret" "/repo_path: ...leads upwards by \"..\"..."
refused "a folder whose name begins alike" "$work/granted-too" "/repo_path: ... is not in the folder $work/granted"
ln -s "$work/outside/secret" by-link
refused "by a link" by-link "/repo_path: by-link: a symbolic link is on the way..."
mkdir no-repository
refused "no repository" no-repository "/repo_path: no-repository: is no git repository..."
refused "a folder within one" r/new "/repo_path: r/new: is no git repository..."
refused "none of that name" nowhere "/repo_path: nowhere: No such file or directory"
mkdir file && echo "gitdir: $work/outside/secret/.git" >file/.git
refused "a .git that is a file" file "/repo_path: file: has a .git that is a file..."
mkdir link && ln -s "$work/outside/secret/.git" link/.git
refused "a .git that is a link" link "/repo_path: link: has a .git that is a link..."
git -C "$work/outside/secret" worktree add -q "$work/granted/worktree" 2>/dev/null
refused "a worktree" worktree "/repo_path: worktree: has a .git that is a file..."
git init -q common && echo "$work/outside/secret/.git" >common/.git/commondir
refused "a common folder elsewhere" common "/repo_path: common: is a worktree of another repository..."
git init -q tree && git -C tree config core.worktree "$work/outside"
refused "a working tree elsewhere" tree "/repo_path: tree: has its working tree elsewhere (core.worktree)..."
git clone -q -s "$work/outside/secret" alternates
refused "alternates" alternates "/repo_path: alternates: borrows objects of another repository..."
git init -q included && printf '[include]\n\tpath = %s\n' "$work/outside/config" >>included/.git/config
refused "a configuration that includes another one" included "/repo_path: included: has a configuration that includes other files..."
git init -q if && printf '[ IncludeIf "gitdir:/"]\n\tpath = %s\n' "$work/outside/config" >>if/.git/config
refused "and one that may" if "/repo_path: if: has a configuration that includes other files..."
git init -q inside && rm -r inside/.git/objects && ln -s "$work/outside/secret/.git/objects" inside/.git/objects
refused "objects by a link" inside "/repo_path: inside: has a symbolic link in .git..."
git init -q refs && rm -r refs/.git/refs/heads && ln -s "$work/outside/secret/.git/refs/heads" refs/.git/refs/heads
refused "branches by a link" refs "/repo_path: refs: has a symbolic link in .git..."
git init -q unknown && git -C unknown config core.repositoryFormatVersion 1 && git -C unknown config extensions.theirs true
refused "an extension that nobody knows" unknown "/repo_path: cannot be opened: ..."
if [ "$EUID" = 0 ]; then
    git init -q theirs && chown -R 65534:65534 theirs
    refused "a repository of another user" theirs "/repo_path: theirs: belongs to another user"
fi
ln -s "$work/outside" r/way
for file in ../outside/secret/s "$work/outside/secret/s" way/secret/s nowhere.txt; do
    says "not staged: ${file/$work/}" "toolrack: InvalidArguments: /files/0: ..." add "{\"repo_path\": \"r\", \"files\": [\"$file\"]}"
done
says "not staged: a name that is cut off" "toolrack: InvalidArguments: /files/0: must not contain U+0000" add '{"repo_path": "r", "files": ["way\u0000"]}'
git init -q bomb
tree=$(git -C bomb hash-object -w --stdin </dev/null | sed 's/.*/100644 blob &\tfile/' | git -C bomb mktree)
for _ in 1 2 3 4 5 6 7 8 9 10; do
    tree=$(for name in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\t%s\n' "$tree" "$name"; done | git -C bomb mktree)
done
git -C bomb update-ref refs/heads/main "$(git -C bomb commit-tree -m bomb "$tree")"
refused "ten thousand million files of eleven trees" bomb "the commit has more than 1000000 files and folders..."
for call in 'show {"repo_path": "bomb", "revision": "main"}' 'diff {"repo_path": "bomb", "target": "main"}' 'diff_staged {"repo_path": "bomb"}' \
    'reset {"repo_path": "bomb"}' 'checkout {"repo_path": "bomb", "branch_name": "main"}'; do
    says "... by ${call%% *}" "toolrack: LimitExceeded: the commit has more than 1000000 files and folders..." "${call%% *}" "${call#* }"
done
git init -q large
echo small >large/file && git -C large add file && git -C large commit -q -m small
head -c 140000000 /dev/zero >large/file && git -C large add file && git -C large commit -q -m large
commit=$({ git -C large cat-file commit HEAD; head -c 5000000 /dev/zero; } | git -C large hash-object -t commit -w --literally --stdin)
tree=$(head -c 70000000 /dev/zero | git -C large hash-object -t tree -w --literally --stdin)
for form in loose packed; do
    says "a commit that unpacks to more than it needs: $form" "toolrack: InvalidArguments: /revision: '$commit' names no commit: the object $commit is a commit of ... bytes, and at most 4194304 are read;..." \
        show "{\"repo_path\": \"large\", \"revision\": \"$commit\"}"
    says "... by the beginning of its number: $form" "toolrack: InvalidArguments: ... is a commit of ... bytes, and at most 4194304 are read;..." show "{\"repo_path\": \"large\", \"revision\": \"${commit:0:8}\"}"
    says "a tree that does: $form" "toolrack: InvalidArguments: ... is a tree of 70000000 bytes, and at most 67108864 are read;..." show "{\"repo_path\": \"large\", \"revision\": \"$tree\"}"
    says "a file that does is shown as a binary one: $form" "Commit: ...
...
Binary files a/file and b/file differ" show '{"repo_path": "large", "revision": "HEAD"}'
    git -C large checkout -q HEAD~1
    says "and is not checked out: $form" "toolrack: ExecutionFailed: the files cannot be written: the object ... is a blob of 140000000 bytes, and at most 134217728 are read;..." \
        checkout "{\"repo_path\": \"large\", \"branch_name\": \"main\"}"
    passes "the file is as it was: $form" grep -q small large/file
    git -C large checkout -q -f main
    [ "$form" = packed ] || { git -C large rev-list --objects --all | cut -d ' ' -f 1; echo "$commit"; echo "$tree"; } |
        git -C large -c pack.compression=1 pack-objects -q "$work/granted/large/.git/objects/pack/pack" >"$work/log" && git -C large prune-packed
done
rm -rf large
git init -q many && git -C many commit -q --allow-empty -m one
seq 100000 | sed "s|.*|$(git -C many rev-parse HEAD) refs/heads/b&|" | { echo "# pack-refs with: peeled fully-peeled sorted "; LC_ALL=C sort -k 2; } >many/.git/packed-refs
says "more branches than are listed" "toolrack: LimitExceeded: /repo_path: the repository has more than 100000 branches..." branch '{"repo_path": "many", "branch_type": "local"}'
sed -i '$ d' many/.git/packed-refs
passes "as many as are listed" test "$(tool branch '{"repo_path": "many", "branch_type": "local"}' | grep -c '^[ *] [bm]')" = 100000
echo new >r/a-new-name
says "a path with ./ is the same path" "Files staged successfully" add '{"repo_path": "r", "files": ["./a-new-name", "a-new-name"]}'
echo ignored >r/.gitignore && touch r/ignored
says "an ignored file is not staged" "toolrack: InvalidArguments: /files/0: 'ignored' is ignored by a .gitignore" add '{"repo_path": "r", "files": ["ignored"]}'

# -------------------------------------------------------------------------- capabilities

config '"author": "Ada <ada@example.org>"' '"read"'
same "reading is enough to read" "Repository status:" status status
says "and not to write" "toolrack: ExecutionFailed: the branch cannot be created: ..." create_branch '{"repo_path": "r", "branch_name": "unwritten"}'
config '' ''
says "nothing is granted" "toolrack: ExecutionFailed: no folder is granted: ..." status
config '' '"read", "write"'
git -C r config --unset user.name
says "nobody commits" "toolrack: ExecutionFailed: nobody is known who commits: set \"author\" ..." commit '{"repo_path": "r", "message": "x"}'
config '"author": "nobody"' '"read", "write"'
says "an author who is none" "toolrack: ... author must be such as ..." status
finish
