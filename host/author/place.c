#include "author/place.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define FOLDER_MODE      0700
/* Most descriptors that removing the folder takes. */
#define WALK_DESCRIPTORS 16

const char *place_path(const struct session *session, const char *name, char ret[PLACE_ROOM]) {
    (void)snprintf(ret, PLACE_ROOM, "%s/%s", session->folder, name);
    return ret;
}

const char *place_plugin(const struct session *session, char ret[PLACE_ROOM]) {
    const char *slash = strrchr(session->options->file, '/');
    const char *name = slash != NULL ? slash + 1 : session->options->file;
    (void)snprintf(ret, PLACE_ROOM, "%s/plugins/%.255s", session->folder, name);
    return ret;
}

/* ---------------------------------------------------------------------- make */

static int copy_file(const char *from, const char *to) {
    CLEANUP(closep) int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(closep) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat status;
    if (in < 0 || out < 0 || fstat(in, &status) < 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return -EINVAL;
    }
    if (status.st_size > FILE_SIZE_MAX) {
        return -EFBIG;
    }
    char bytes[65536];
    for (off_t copied = 0; copied <= FILE_SIZE_MAX;) { /* it may grow meanwhile */
        ssize_t length = read(in, bytes, sizeof bytes);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        int failed = length < 0 ? -errno : write_all(out, bytes, (size_t)length);
        if (length <= 0 || failed < 0) {
            return failed;
        }
        copied += length;
    }
    return -EFBIG;
}

int place_make(struct session *session, struct toolrack_error *err) {
    static const char *const folders[] = {"plugins", "home", "work", "tmp"};
    char path[PLACE_ROOM];
    const char *file = session->options->file;
    const char *parent = getenv("TMPDIR");
    struct stat status;
    if (access(file, R_OK) < 0 || stat(file, &status) < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot read %s: %s", file, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) { /* 'check', 'dev' and 'pack' take one */
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s is a folder; name the file of one plugin, such as NAME.so", file);
    }
    (void)snprintf(path, sizeof path, "%s/toolrack-test-XXXXXX",
                   parent != NULL && parent[0] == '/' ? parent : "/tmp");
    session->folder = mkdtemp(path) != NULL ? strdup(path) : NULL;
    if (session->folder == NULL) {
        return error_set(err, TOOLRACK_E_IO, "cannot make a folder %s: %s; set TMPDIR", path,
                         strerror(errno));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        if (mkdir(place_path(session, folders[i], path), FOLDER_MODE) < 0) {
            return error_set(err, TOOLRACK_E_IO, "cannot make %s: %s", path, strerror(errno));
        }
    }
    int failed = copy_file(file, place_plugin(session, path));
    return failed < 0 ? error_set(err, TOOLRACK_E_IO, "cannot copy %s to %s: %s", file, path,
                                  strerror(-failed))
                      : 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

/* A tool may have taken the rights of a folder away, so the walk goes on after a failure. */
void place_remove(struct session *session) {
    if (session->folder != NULL) {
        (void)nftw(session->folder, remove_one, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
        free(session->folder);
        session->folder = NULL;
    }
}

/* ----------------------------------------------------------------- configure */

/* Crashes are what is looked for: they must neither put the plugin in quarantine nor make the next
 * call wait. */
static void write_configuration(const struct session *session, bool in_process, struct buf *out) {
    const struct author_test *options = session->options;
    /* The log of calls takes memory until it is written: few calls get a line. */
    buf_printf(out,
               "{\"isolation\": \"%s\", \"log\": {\"per_second\": 1}, \"paths\": {\"workspace\": ",
               in_process ? "none" : "process");
    char path[PLACE_ROOM];
    (void)place_path(session, "work", path);
    buf_add_json_string(out, path, strlen(path));
    buf_add_text(out, "}");
    if (session->plugin != NULL) {
        buf_add_text(out, ", \"policies\": {");
        buf_add_json_string(out, session->plugin, strlen(session->plugin));
        buf_printf(out,
                   ": {\"backoff_ms\": 1, \"backoff_max_ms\": 1, \"crashes\": 16, "
                   "\"crashes_window_ms\": 1, \"grace_ms\": 100, \"workers\": 1, \"start_ms\": %u, "
                   "\"isolation\": \"%s\", \"allow\": [", /* also of one that needs a worker */
                   session->timeout_ms * 2, in_process ? "none" : "process");
        for (size_t i = 0; i < options->grant_count; i++) {
            buf_add_text(out, i > 0 ? ", " : "");
            buf_add_json_string(out, options->grants[i], strlen(options->grants[i]));
        }
        buf_add_text(out, "]}}");
        if (options->settings != NULL) {
            buf_add_text(out, ", \"plugins\": {");
            buf_add_json_string(out, session->plugin, strlen(session->plugin));
            buf_printf(out, ": %s}", options->settings);
        }
    }
    buf_add_text(out, "}\n");
}

int place_configure(struct session *session, struct toolrack_error *err) {
    for (unsigned in_process = 0; in_process < 2; in_process++) {
        char path[PLACE_ROOM];
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        write_configuration(session, in_process != 0, &text);
        (void)place_path(session, in_process != 0 ? "none.json" : "process.json", path);
        CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (text.failed) {
            return error_oom(err);
        }
        int failed = fd < 0 ? -errno : write_all(fd, text.data, text.length);
        if (failed < 0) {
            return error_set(err, TOOLRACK_E_IO, "cannot write %s: %s", path, strerror(-failed));
        }
    }
    return 0;
}

/* -------------------------------------------------------------------- inside */

static bool silence(void) {
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool done = fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0 &&
                dup2(fd, STDERR_FILENO) >= 0;
    closep(&fd);
    return done;
}

/* Remove what the step before has left in a folder. */
static void empty(const char *path) {
    (void)nftw(path, remove_one, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    (void)mkdir(path, FOLDER_MODE);
}

bool place_enter(const struct session *session) {
    static const char *const variables[][2] = {
            {"HOME", "home"},           {"TMPDIR", "tmp"},         {"XDG_CONFIG_HOME", "home"},
            {"XDG_STATE_HOME", "home"}, {"XDG_DATA_HOME", "home"}, {"XDG_CACHE_HOME", "home"},
            {"XDG_RUNTIME_DIR", "tmp"}};
    static const char *const folders[] = {"home", "work", "tmp"};
    char path[PLACE_ROOM];
    bool done = silence();
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        empty(place_path(session, folders[i], path));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(variables); i++) {
        done = done && setenv(variables[i][0], place_path(session, variables[i][1], path), 1) == 0;
    }
    return done && chdir(place_path(session, "work", path)) == 0;
}

int place_open(const struct session *session, bool in_process,
               void (*event)(void *user, const struct toolrack_event *event), void *user,
               struct toolrack **ret, struct toolrack_error *err) {
    char config[PLACE_ROOM];
    char plugins[PLACE_ROOM];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    const char *const folders[] = {place_path(session, "plugins", plugins), NULL};
    options.config_file = place_path(session, in_process ? "none.json" : "process.json", config);
    options.state_dir = ""; /* nothing is kept, and a host that crashed leaves no marks */
    options.plugin_dirs = folders;
    options.isolation = in_process ? TOOLRACK_ISOLATION_NONE : TOOLRACK_ISOLATION_PROCESS;
    options.event = event;
    options.user = user;
    options.log_level = TOOLRACK_LOG_ERROR;
    options.brief = 1;
    options.who = "toolrack test";
    return toolrack_open(&options, ret, err);
}
