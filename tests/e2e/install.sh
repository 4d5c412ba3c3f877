#!/usr/bin/env bash
# install.sh: use an installation as a stranger would, with nothing but pkg-config.
set -uo pipefail
# shellcheck source=tests/e2e/tap.sh
. "$E2E_SOURCE/tests/e2e/tap.sh"

root=$work/root
passes "meson install" "$E2E_MESON" install -C "$E2E_BUILD" --no-rebuild --quiet --destdir "$root"
passes "the schema of toolrack.json is there" test -s "$(find "$root" -name toolrack.schema.json)"

# The packages have their lists; the folder of the program of workers is theirs to choose.
# shellcheck disable=SC2317  # called by name
belong_to_one_package() {
    python3 - "$root" "$E2E_SOURCE/debian" <<'END'
import fnmatch, pathlib, re, sys
root, debian = map(pathlib.Path, sys.argv[1:])
lists = {list.name: list.read_text().split() for list in [*debian.glob("*.install"), debian / "not-installed"]}
wrong = 0
for file in (path for path in root.rglob("*") if not path.is_dir()):
    name = re.sub(r"^(usr/)?local/", "usr/", str(file.relative_to(root)))
    name = re.sub(r"^usr/libexec/", "usr/lib/any/libtoolrack0/", name)
    name = re.sub(r"^usr/lib(64)?/(?=libtoolrack|toolrack/|pkgconfig)", "usr/lib/any/", name)
    owners = [list for list, patterns in lists.items()
              if any(fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern + "/*") for pattern in patterns)]
    if len(owners) != 1:
        print(f"{name}: {', '.join(owners) if owners else 'in no package; add it to a list in debian/'}")
        wrong = 1
sys.exit(wrong)
END
}
passes "each installed file belongs to one package" belong_to_one_package

# The command has to find its own library, whatever else the system has. Meson names that of the build folder.
unset LD_LIBRARY_PATH
bin=$(find "$root" -path '*/bin/toolrack')
PATH=${bin%/*}:$PATH
# shellcheck disable=SC2317  # called by name
loads_its_own() {
    ldd "$bin" | grep -F libtoolrack.so
    [ "$(ldd "$bin" | awk '$1 ~ /^libtoolrack[.]so/ { print $3 }' | xargs realpath)" = \
        "$(find "$root" -name 'libtoolrack.so.*.*' -type f -exec realpath {} +)" ]
}
passes "the command loads the library installed with it" loads_its_own

# Installed below another root: pkg-config has to be told, and the loader for a program that lies elsewhere. No plugins
# of another installation.
pc=$(find "$root" -name toolrack.pc)
export PKG_CONFIG_LIBDIR=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$root
PKG_CONFIG_LIBDIR+=:$(pkg-config --variable pc_path pkg-config 2>/dev/null)
lib=$(find "$root" -name 'libtoolrack.so')
export HOME=$work/home
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME TOOLRACK_PLUGIN_PATH
export TOOLRACK_BUILTIN_DIR=$work/none
mkdir "$TOOLRACK_BUILTIN_DIR"

folder=$HOME/.local/share/toolrack/plugins
mkdir -p "$folder"

# shellcheck disable=SC2317  # called by name
compile() { # SOURCE OUTPUT MODULE...
    local source=$1 output=$2
    shift 2
    local -a flags compiler
    read -ra flags <<<"$(pkg-config --cflags --libs "$@")"
    read -ra compiler <<<"$CC"
    [ "${output%.so}" = "$output" ] || flags+=(-shared -fPIC)
    "${compiler[@]}" -Wall -Wextra -Wpedantic -Werror -Wl,--as-needed "$source" -o "$output" "${flags[@]}"
}

passes "an 8-line plugin compiles" compile "$E2E_SOURCE/tests/e2e/embed/math.c" "$folder/math.so" toolrack-sdk
prints "it is listed" "NAME  VERSION  PRIORITY  PERMISSION  PLUGIN  STATE   DESCRIPTION
add   1.0.0    10        safe        math    listed  Add two numbers" toolrack list
passes "it is shown" toolrack show add
prints "it is called" 42.0 toolrack call add --arg a=40 --arg b=2
prints "it is disabled" "add is disabled" toolrack disable add
toolrack call add --arg a=40 --arg b=2 >"$work/log" 2>&1
[ $? -eq 5 ]
report "then it is not called" $?
prints "it is enabled again" "add is enabled" toolrack enable add
prints "then it is called again" 42.0 toolrack call add --arg a=40 --arg b=2

export LD_LIBRARY_PATH=${lib%/*}
passes "an app compiles" compile "$E2E_SOURCE/tests/e2e/embed/app.c" "$work/app" toolrack toolrack-sdk
prints "it calls its own tool and the plugin's" "42
42.0" "$work/app" "$folder"
finish
