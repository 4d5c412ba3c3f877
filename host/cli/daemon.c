#include "cli/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json-write.h"
#include "base/xdg.h"
#include "cli/rows.h"
#include "toolrack/toolrack.h"
#include "view/json.h"

#define LOCK_FILE     "daemon.lock"
#define SOCKET_FILE   "toolrack.sock"
/* No longer than the other. */
#define COMMANDS_FILE "commands.sock"
/* A text that cannot be read is read again, so often and after so long. */
#define READ_TRIES    3
#define READ_AGAIN_MS 5
/* Most bytes of its text. */
#define TEXT_SIZE_MAX 65536u

/* ---------------------------------------------------------------- the file */

char *daemon_absolute(const char *path) {
    char *full = NULL;
    if (path == NULL || path[0] == '\0' || path[0] == '/') {
        return path != NULL ? strdup(path) : NULL;
    }
    CLEANUP(freep) char *here = getcwd(NULL, 0);
    return here != NULL && asprintf(&full, "%s/%s", here, path) >= 0 ? full : NULL;
}

char *daemon_folder(const struct options *options) {
    const char *given = options->state_dir;
    if (given == NULL) {
        return xdg_path("XDG_STATE_HOME", ".local/state", "toolrack");
    }
    return given[0] != '\0' ? daemon_absolute(given) : NULL;
}

/* The lock of the whole file, which belongs to the open file and not to the process. */
static struct flock whole(short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* --------------------------------------------------------------------- find */

static void read_text(int fd, struct daemon_found *ret) {
    CLEANUP(freep) char *text = malloc(TEXT_SIZE_MAX);
    ssize_t got = text != NULL ? pread(fd, text, TEXT_SIZE_MAX, 0) : -1;
    ret->doc = got > 0 ? yyjson_read(text, (size_t)got, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(ret->doc);
    ret->pid = (pid_t)yyjson_get_sint(yyjson_obj_get(root, "pid"));
    ret->since_s = yyjson_get_sint(yyjson_obj_get(root, "since_s"));
    ret->version = yyjson_get_str(yyjson_obj_get(root, "version"));
    ret->socket = yyjson_get_str(yyjson_obj_get(root, "socket"));
    ret->listens = yyjson_obj_get(root, "listens");
    ret->commands = yyjson_get_str(yyjson_obj_get(root, "commands"));
    ret->options = yyjson_obj_get(root, "options");
}

int daemon_find(const char *folder, struct daemon_found *ret) {
    *ret = (struct daemon_found){0};
    CLEANUP(closep) int fd = folder != NULL ? file_open_own(folder, LOCK_FILE, O_RDONLY) : -ENOENT;
    struct flock found = whole(F_RDLCK);
    if (fd < 0) {
        int failed = fd;
        fd = -1;
        return failed == -ENOENT || failed == -ENOTDIR ? 0 : failed;
    }
    if (fcntl(fd, F_OFD_GETLK, &found) < 0) {
        return -errno;
    }
    if (found.l_type == F_UNLCK) {
        return 0;
    }
    read_text(fd, ret);
    for (int i = 1; i < READ_TRIES && ret->doc == NULL; i++) {
        (void)poll(NULL, 0, READ_AGAIN_MS); /* it may be being written */
        read_text(fd, ret);
    }
    return 1;
}

void daemon_found_finish(struct daemon_found *found) {
    yyjson_doc_free(found->doc);
    *found = (struct daemon_found){0};
}

/* ------------------------------------------------------------- the options */

/* The configuration that the environment names; NULL: none, or no memory. */
static char *config_of_environment(void) {
    return xdg_path("XDG_CONFIG_HOME", ".config", "toolrack/toolrack.json");
}

/* Tell one content of a configuration file from another; a change that keeps time, size and file is
 * not seen. */
static void mark_config(const char *path, char ret[static DAEMON_MARK_ROOM]) {
    struct stat st;
    if (path == NULL || path[0] == '\0' || stat(path, &st) < 0) {
        (void)snprintf(ret, DAEMON_MARK_ROOM, "none");
        return;
    }
    (void)snprintf(ret, DAEMON_MARK_ROOM, "%lld.%09ld %lld %llu", (long long)st.st_mtim.tv_sec,
                   st.st_mtim.tv_nsec, (long long)st.st_size, (unsigned long long)st.st_ino);
}

const char *daemon_changed_config(const struct daemon_found *found) {
    yyjson_val *given = yyjson_obj_get(found->options, "config");
    yyjson_val *path =
            yyjson_is_str(given) ? given : yyjson_obj_get(found->options, "usual_config");
    const char *mark = yyjson_get_str(yyjson_obj_get(found->options, "config_mark"));
    char now[DAEMON_MARK_ROOM];
    mark_config(yyjson_get_str(path), now);
    return mark != NULL && strcmp(mark, now) != 0 ? yyjson_get_str(path) : NULL;
}

static void add_folder(struct buf *out, char *path) {
    buf_add_text(out, path != NULL ? path : "");
    buf_add_char(out, ':');
    free(path);
}

/* The folders of plugins that the environment names, as config/places.c has them. */
static void add_folders_of_environment(struct buf *out) {
    const char *given = getenv("TOOLRACK_PLUGIN_PATH");
    const char *bundled = getenv("TOOLRACK_BUILTIN_DIR");
    CLEANUP(freep) char *parts = strdup(given != NULL ? given : "");
    char *rest = NULL;
    for (char *part = parts != NULL ? strtok_r(parts, ":", &rest) : NULL; part != NULL;
         part = strtok_r(NULL, ":", &rest)) {
        add_folder(out, daemon_absolute(part));
    }
    add_folder(out, xdg_path("XDG_DATA_HOME", ".local/share", "toolrack/plugins"));
    add_folder(out, strdup(bundled != NULL ? bundled : ""));
}

/* What neither command line says is said by the environments. */
static bool is_same_environment(const struct daemon_found *found, const struct options *options) {
    CLEANUP(freep) char *config = config_of_environment();
    CLEANUP(buf_finish) struct buf folders = BUF_INIT;
    yyjson_val *given = found->options;
    bool says_config =
            options->config_file != NULL || yyjson_is_str(yyjson_obj_get(given, "config"));
    bool says_plugins =
            options->plugin_dirs.count > 0 || yyjson_arr_size(yyjson_obj_get(given, "plugins")) > 0;
    add_folders_of_environment(&folders);
    return (says_config || yyjson_equals_str(yyjson_obj_get(given, "usual_config"),
                                             config != NULL ? config : "")) &&
           (says_plugins ||
            (!folders.failed &&
             yyjson_equals_str(yyjson_obj_get(given, "usual_plugins"), folders.data)));
}

static bool is_path(yyjson_val *value, const char *path) {
    CLEANUP(freep) char *full = daemon_absolute(path);
    return full != NULL && yyjson_equals_str(value, full);
}

bool daemon_is_same(const struct daemon_found *found, const struct options *options) {
    yyjson_val *plugins = yyjson_obj_get(found->options, "plugins");
    const char *zone = getenv("TZ");
    /* Times are shown in the zone of who reads them. */
    bool same = yyjson_equals_str(yyjson_obj_get(found->options, "zone"), zone != NULL ? zone : "");
    if (options->config_file != NULL) {
        same = same && is_path(yyjson_obj_get(found->options, "config"), options->config_file);
    }
    if (options->plugin_dirs.count > 0) {
        same = same && yyjson_arr_size(plugins) == options->plugin_dirs.count;
    }
    for (size_t i = 0; same && i < options->plugin_dirs.count; i++) {
        same = is_path(yyjson_arr_get(plugins, i), options->plugin_dirs.items[i]);
    }
    return same && is_same_environment(found, options);
}

/* --------------------------------------------------------------- the socket */

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
static char *folder_of_socket(const struct daemon *daemon) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char *path = NULL;
    if (strcmp(daemon->folder, DAEMON_SYSTEM_STATE) == 0) {
        return strdup(DAEMON_SYSTEM_SOCKET);
    }
    if (daemon->options->state_dir == NULL && runtime != NULL && runtime[0] == '/') {
        return asprintf(&path, "%s/toolrack", runtime) >= 0 ? path : NULL;
    }
    return strdup(daemon->folder);
}

static int find_socket(struct daemon *daemon, struct toolrack_error *err) {
    CLEANUP(freep) char *folder = folder_of_socket(daemon);
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
    int code = strcmp(folder, daemon->folder) == 0 ? 0 : check_folder(folder, err);
    if (code < 0) {
        return code;
    }
    if (asprintf(&daemon->socket, "%s/" SOCKET_FILE, folder) < 0) {
        daemon->socket = NULL;
        return error_oom(err);
    }
    /* In the folder of the system a service may not make anything. */
    bool is_system = strcmp(folder, DAEMON_SYSTEM_SOCKET) == 0;
    if (asprintf(&daemon->commands, "%s/" COMMANDS_FILE, is_system ? daemon->folder : folder) < 0) {
        daemon->commands = NULL;
        return error_oom(err);
    }
    if (strlen(daemon->socket) >= sizeof address.sun_path) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s is too long for the path of a socket, which has %zu bytes at most; "
                         "use a state folder with a shorter path (--state DIR), or --no-daemon",
                         daemon->socket, sizeof address.sun_path - 1);
    }
    return 0;
}

/* --------------------------------------------------------------------- take */

static void add_options(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct daemon *daemon) {
    const struct options *options = daemon->options;
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "options");
    CLEANUP(freep) char *config = daemon_absolute(options->config_file);
    const char *zone = getenv("TZ");
    json_add_text(doc, object, "config", config);
    json_add_text(doc, object, "config_mark", daemon->config_mark);
    json_add_text(doc, object, "zone", zone != NULL ? zone : "");
    CLEANUP(freep) char *usual = config_of_environment();
    CLEANUP(buf_finish) struct buf folders = BUF_INIT;
    add_folders_of_environment(&folders);
    json_add_text(doc, object, "usual_config", usual != NULL ? usual : "");
    json_add_text(doc, object, "usual_plugins", folders.failed ? NULL : folders.data);
    yyjson_mut_val *plugins = yyjson_mut_obj_add_arr(doc, object, "plugins");
    for (size_t i = 0; i < options->plugin_dirs.count; i++) {
        CLEANUP(freep) char *path = daemon_absolute(options->plugin_dirs.items[i]);
        (void)yyjson_mut_arr_add_strcpy(doc, plugins, path);
    }
}

static int write_text(const struct daemon *daemon) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    size_t length = 0;
    (void)yyjson_mut_obj_add_sint(doc, root, "pid", getpid());
    (void)yyjson_mut_obj_add_sint(doc, root, "since_s", daemon->since_s);
    json_add_text(doc, root, "version", toolrack_version());
    json_add_text(doc, root, "socket", daemon->socket);
    json_add_text(doc, root, "commands", daemon->takes ? daemon->commands : NULL);
    add_options(doc, root, daemon);
    yyjson_mut_val *listens = yyjson_mut_obj_add_arr(doc, root, "listens");
    for (size_t at = 0; at < daemon->listens.length; at += strlen(daemon->listens.data + at) + 1) {
        (void)yyjson_mut_arr_add_strcpy(doc, listens, daemon->listens.data + at);
    }
    yyjson_mut_doc_set_root(doc, root);
    CLEANUP(freep) char *text = json_write(doc, 0, NULL, &length);
    if (text == NULL) {
        return -ENOMEM;
    }
    /* Cut afterwards: a reader never finds nothing where there was something. */
    ssize_t written = pwrite(daemon->lock, text, length, 0);
    if (written == (ssize_t)length && ftruncate(daemon->lock, written) == 0) {
        return 0;
    }
    return written >= 0 && written < (ssize_t)length ? -ENOSPC : -errno;
}

/* Whether it serves: one that starts does not yet, one that ends no more. */
static bool is_serving(const struct daemon_found *found) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (found->socket == NULL || strlen(found->socket) >= sizeof address.sun_path) {
        return true; /* not known */
    }
    memcpy(address.sun_path, found->socket, strlen(found->socket) + 1);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
           (errno != ENOENT && errno != ECONNREFUSED);
}

static int tell_other(const struct daemon *daemon, struct toolrack_error *err) {
    struct daemon_found found;
    char since[ROWS_TIME_ROOM] = "";
    if (daemon_find(daemon->folder, &found) < 0 || found.pid == 0) {
        daemon_found_finish(&found);
        return error_set(err, TOOLRACK_E_EXISTS,
                         "another daemon that is starting or ending serves the state folder %s; "
                         "try again, or use --no-daemon",
                         daemon->folder);
    }
    if (!is_serving(&found)) {
        int pid = (int)found.pid;
        daemon_found_finish(&found);
        return error_set(err, TOOLRACK_E_EXISTS,
                         "the daemon of the state folder %s, process %d, is starting or ending; "
                         "try again in a moment, or use --no-daemon",
                         daemon->folder, pid);
    }
    int code = error_set(err, TOOLRACK_E_EXISTS,
                         "a daemon serves the state folder %s already: process %d, since %s, at "
                         "%s; end it (kill %d), use another state folder (--state DIR), or serve "
                         "beside it with --no-daemon",
                         daemon->folder, (int)found.pid, rows_time(found.since_s, since),
                         found.socket != NULL ? found.socket : "no socket", (int)found.pid);
    daemon_found_finish(&found);
    return code;
}

static int take_lock(struct daemon *daemon, struct toolrack_error *err) {
    int failed = make_folders(daemon->folder);
    int fd = failed < 0 ? failed : file_open_own(daemon->folder, LOCK_FILE, O_RDWR | O_CREAT);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot open %s/" LOCK_FILE ": %s", daemon->folder,
                         strerror(-fd));
    }
    struct flock lock = whole(F_WRLCK);
    daemon->lock = fd;
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
        return 0;
    }
    return errno == EAGAIN || errno == EACCES
                   ? tell_other(daemon, err)
                   : error_set(err, TOOLRACK_E_IO, "cannot lock %s/" LOCK_FILE ": %s",
                               daemon->folder, strerror(errno));
}

int daemon_take(const struct options *options, struct daemon *ret, struct toolrack_error *err) {
    *ret = DAEMON_INIT;
    ret->options = options;
    ret->since_s = clock_wall_s();
    ret->folder = daemon_folder(options);
    /* Before the configuration is read, so that no change of it is missed. */
    CLEANUP(freep) char *usual = options->config_file == NULL ? config_of_environment() : NULL;
    mark_config(options->config_file != NULL ? options->config_file : usual, ret->config_mark);
    if (ret->folder == NULL) {
        return 0; /* nothing that is kept, nothing to share */
    }
    int code = take_lock(ret, err);
    code = code < 0 ? code : find_socket(ret, err);
    int failed = code < 0 ? 0 : write_text(ret);
    if (failed < 0) {
        code = error_set(err, TOOLRACK_E_IO, "cannot write %s/" LOCK_FILE ": %s", ret->folder,
                         strerror(-failed));
    }
    if (code < 0) {
        daemon_finish(ret);
    }
    return code;
}

int daemon_tell_commands(struct daemon *daemon) {
    daemon->takes = true;
    return write_text(daemon);
}

int daemon_tell(struct daemon *daemon, const char *where) {
    if (daemon->lock < 0) {
        return 0;
    }
    buf_add(&daemon->listens, where, strlen(where) + 1);
    return daemon->listens.failed ? -ENOMEM : write_text(daemon);
}

void daemon_finish(struct daemon *daemon) {
    closep(&daemon->lock);
    free(daemon->folder);
    free(daemon->socket);
    free(daemon->commands);
    buf_finish(&daemon->listens);
    *daemon = DAEMON_INIT;
}
