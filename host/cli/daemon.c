#include "cli/daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json-write.h"
#include "base/own-folder.h"
#include "cli/daemon-find.h"
#include "cli/daemon-socket.h"
#include "cli/rows.h"
#include "toolrack/toolrack.h"
#include "view/json.h"

/* ----------------------------------------------------------------- its text */

static int write_text(const struct daemon *daemon) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    size_t length = 0;
    (void)yyjson_mut_obj_add_sint(doc, root, "pid", getpid());
    (void)yyjson_mut_obj_add_sint(doc, root, "since_s", daemon->since_s);
    json_add_text(doc, root, "version", toolrack_version());
    json_add_text(doc, root, "socket", daemon->socket);
    json_add_text(doc, root, "commands", daemon->takes ? daemon->commands : NULL);
    daemon_add_options(doc, root, daemon->options, daemon->config_mark);
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

/* ----------------------------------------------------------------- the lock */

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
    int code = failed < 0 ? 0 : daemon_check_state(daemon->folder, err);
    if (code < 0) {
        return code;
    }
    int fd =
            failed < 0 ? failed : own_file_open(daemon->folder, DAEMON_LOCK_FILE, O_RDWR | O_CREAT);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot open %s/" DAEMON_LOCK_FILE ": %s",
                         daemon->folder, own_file_words(fd));
    }
    struct flock lock = daemon_lock(F_WRLCK);
    daemon->lock = fd;
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
        return 0;
    }
    return errno == EAGAIN || errno == EACCES
                   ? tell_other(daemon, err)
                   : error_set(err, TOOLRACK_E_IO, "cannot lock %s/" DAEMON_LOCK_FILE ": %s",
                               daemon->folder, strerror(errno));
}

/* ------------------------------------------------------------ from start to end */

int daemon_take(const struct options *options, struct daemon *ret, struct toolrack_error *err) {
    *ret = DAEMON_INIT;
    ret->options = options;
    ret->since_s = clock_wall_s();
    ret->folder = daemon_folder(options);
    /* Before the configuration is read, so that no change of it is missed. */
    daemon_mark_config(options, ret->config_mark);
    if (ret->folder == NULL) {
        return 0; /* nothing that is kept, nothing to share */
    }
    int code = take_lock(ret, err);
    code = code < 0 ? code
                    : daemon_find_sockets(ret->folder, options->state_dir == NULL, &ret->socket,
                                          &ret->commands, err);
    int failed = code < 0 ? 0 : write_text(ret);
    if (failed < 0) {
        code = error_set(err, TOOLRACK_E_IO, "cannot write %s/" DAEMON_LOCK_FILE ": %s",
                         ret->folder, strerror(-failed));
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
