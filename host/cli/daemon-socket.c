#include "cli/daemon-socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#define SOCKET_FILE   "toolrack.sock"
/* No longer than the other. */
#define COMMANDS_FILE "commands.sock"

/* Whether nobody else can put something in the place of what is in a folder. */
static int check_folder(const char *folder, struct toolrack_error *err) {
    struct stat status;
    if (lstat(folder, &status) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot look at %s, the folder of the socket: %s",
                         folder, strerror(errno));
    }
    bool is_own = status.st_uid == geteuid() || status.st_uid == 0;
    return S_ISDIR(status.st_mode) && is_own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "%s, the folder of the socket, is not a folder that only its user "
                               "may write; make it one, or remove it",
                               folder);
}

/* Where users of this machine reach the daemon. Another state folder than the user's own has its
 * socket within, so that each daemon has one. NULL: no memory. */
static char *folder_of_socket(const char *state, bool is_usual) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char *path = NULL;
    if (strcmp(state, DAEMON_SYSTEM_STATE) == 0) {
        return strdup(DAEMON_SYSTEM_SOCKET);
    }
    if (is_usual && runtime != NULL && runtime[0] == '/') {
        return asprintf(&path, "%s/toolrack", runtime) >= 0 ? path : NULL;
    }
    return strdup(state);
}

int daemon_find_sockets(const char *state, bool is_usual, char **ret_socket, char **ret_commands,
                        struct toolrack_error *err) {
    CLEANUP(freep) char *folder = folder_of_socket(state, is_usual);
    struct sockaddr_un address;
    if (folder == NULL) {
        return error_oom(err);
    }
    int failed = make_folders(folder);
    if (failed < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot create %s, the folder of the socket: %s",
                         folder, strerror(-failed));
    }
    /* Who may write the state folder decides everything anyway. */
    int code = strcmp(folder, state) == 0 ? 0 : check_folder(folder, err);
    if (code < 0) {
        return code;
    }
    if (asprintf(ret_socket, "%s/" SOCKET_FILE, folder) < 0) {
        *ret_socket = NULL;
        return error_oom(err);
    }
    /* In the folder of the system a service may not make anything. */
    bool is_system = strcmp(folder, DAEMON_SYSTEM_SOCKET) == 0;
    if (asprintf(ret_commands, "%s/" COMMANDS_FILE, is_system ? state : folder) < 0) {
        *ret_commands = NULL;
        return error_oom(err);
    }
    if (strlen(*ret_socket) >= sizeof address.sun_path) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s is too long for the path of a socket, which has %zu bytes at most; "
                         "use a state folder with a shorter path (--state DIR), or --no-daemon",
                         *ret_socket, sizeof address.sun_path - 1);
    }
    return 0;
}
