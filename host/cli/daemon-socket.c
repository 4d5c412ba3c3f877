#include "cli/daemon-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/ownership.h"

#define SOCKET_FILE   "toolrack.sock"
/* No longer than the other. */
#define COMMANDS_FILE "commands.sock"

/* -------------------------------------------------------------------- check */

static int refuse_folder(const char *folder, const char *what, bool is_state,
                         struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_REFUSED, "%s, the folder of the sockets, %s; %s", folder, what,
                     is_state
                             ? "make it yours alone (chown, chmod go-w), name another state folder "
                               "(--state DIR), or use --no-daemon"
                             : "make it yours alone (chown, chmod go-w), or remove it");
}

/* Whether nobody else can put something in the place of what is in a folder. A state folder may be
 * a link: what it leads to is checked. */
static int check_folder(const char *folder, bool is_state, struct toolrack_error *err) {
    struct stat status;
    char what[80];
    char real[PATH_MAX]; /* the list of a link would say nothing */
    bool is_by_list;
    if (realpath(folder, real) == NULL ||
        fstatat(AT_FDCWD, folder, &status, is_state ? 0 : AT_SYMLINK_NOFOLLOW) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot look at %s, the folder of the sockets: %s",
                         folder, strerror(errno));
    }
    if (!S_ISDIR(status.st_mode)) {
        return refuse_folder(folder, "is not a folder", is_state, err);
    }
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        (void)snprintf(what, sizeof what, "belongs to user %u", (unsigned)status.st_uid);
        return refuse_folder(folder, what, is_state, err);
    }
    if (ownership_lets_others_write(&status, real, &is_by_list)) {
        (void)snprintf(what, sizeof what, "may be written by others (mode %04o%s)",
                       (unsigned)(status.st_mode & 07777),
                       is_by_list ? ", with an access control list" : "");
        return refuse_folder(folder, what, is_state, err);
    }
    /* Whoever may rename a folder above may put another one in its place. */
    struct toolrack_error why;
    return ownership_check(folder, &why) == TOOLRACK_E_REFUSED
                   ? error_set(err, TOOLRACK_E_REFUSED,
                               "%s, the folder of the sockets, is not used: %s", folder,
                               why.message)
                   : 0;
}

int daemon_check_state(const char *state, struct toolrack_error *err) {
    return check_folder(state, true, err);
}

int daemon_check_commands(const char *path, struct toolrack_error *err) {
    struct stat status;
    const char *slash = strrchr(path, '/');
    CLEANUP(freep) char *folder = slash != NULL ? strndup(path, (size_t)(slash - path)) : NULL;
    if (folder == NULL) {
        return error_oom(err);
    }
    int code = check_folder(folder, true, err);
    if (code < 0) {
        return code;
    }
    if (lstat(path, &status) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot look at %s: %s", path, strerror(errno));
    }
    if (!S_ISSOCK(status.st_mode)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s, where the daemon takes commands, is no "
                         "socket; restart the daemon",
                         path);
    }
    return status.st_uid == geteuid()
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "%s, where the daemon takes commands, belongs to user %u; restart "
                               "the daemon",
                               path, (unsigned)status.st_uid);
}

/* --------------------------------------------------------------------- find */

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
    int code = strcmp(folder, state) == 0 ? 0 : check_folder(folder, false, err);
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
