# author.sh - sourced after tap.sh: where an author finds toolrack, before it is installed. An empty home.
# shellcheck shell=bash disable=SC2154  # of tap.sh

export HOME=$work/home
mkdir "$HOME"
cd "$HOME" || exit 1
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME TOOLRACK_PLUGIN_PATH
export TOOLRACK_BUILTIN_DIR=$work/none
export PKG_CONFIG_PATH=$E2E_BUILD/meson-uninstalled
export LD_LIBRARY_PATH=$E2E_BUILD/host
PATH=$E2E_BUILD/host/cli:$PATH
[ -z "$E2E_RUSTC" ] || PATH=${E2E_RUSTC%/*}:$PATH
