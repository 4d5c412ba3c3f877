/* Markers are files and not rows of the database: a load writes two, and two durable transactions
 * take 400 us and wait for other writers, where a file takes 18 us to create and remove (virtual
 * disk, ext4). Nothing is synced: only a power cut loses a marker. A plugin can only end the
 * process, and the page cache survives that.
 *
 * A marker is `loading/<pid>-<start>-<number>` in the state folder: the process, when it started
 * (in clock ticks since boot, as /proc says), and a number within the process. It contains two
 * lines, the boot id and the time, and then the path. A marker without a path is from before any
 * code of the plugin ran: the marker is written first, with one write. */
#include "store/loading.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/ownership.h"
#include "store/database.h"

#define LOADING_FOLDER  "loading"
/* The path and two lines before it. */
#define MARKER_SIZE_MAX (STORE_TEXT_SIZE_MAX + 256u)
#define BOOT_ID_SIZE    64u
/* /proc/PID/stat: a name of at most 64 characters and 51 numbers. */
#define STAT_SIZE_MAX   2048u
/* Numbers between the state of a process (field 3) and its start (field 22). */
#define START_AFTER     19

/* ---------------------------------------------------------------- processes */

struct process {
    int64_t pid;
    uint64_t start; /* 0: unknown */
};

/* Read a whole small file as text. False: errno says why. */
static bool read_text(const char *path, char *ret_text, size_t size) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        return false;
    }
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0 && length < size - 1) {
        got = read(fd, ret_text + length, size - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    ret_text[length] = '\0';
    return got >= 0;
}

/* False when there is no such process, or it is a zombie. */
static bool read_start(const char *stat_path, uint64_t *ret_start) {
    char text[STAT_SIZE_MAX];
    if (!read_text(stat_path, text, sizeof text)) {
        return false;
    }
    /* The name of the program is in parentheses, and may contain parentheses. */
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || strchr("ZX", at[2]) != NULL) {
        return false;
    }
    at += 2;
    for (int i = 0; at != NULL && i < START_AFTER; i++) {
        at = strchr(at + 1, ' ');
    }
    *ret_start = at != NULL ? strtoull(at, NULL, 10) : 0;
    return at != NULL;
}

static struct process this_process(void) {
    struct process process = {.pid = getpid()};
    (void)read_start("/proc/self/stat", &process.start);
    return process;
}

static bool process_lives(const struct process *process) {
    char path[64];
    uint64_t start = 0;
    if (this_process().start == 0 || process->start == 0) {
        /* Without /proc: check the process id alone. */
        return kill((pid_t)process->pid, 0) == 0 || errno == EPERM;
    }
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", process->pid);
    return read_start(path, &start) && start == process->start;
}

/* The boot id, since start times of two boots could be equal by chance; "" when it cannot be
 * read. */
static void read_boot_id(char ret_id[BOOT_ID_SIZE]) {
    if (!read_text("/proc/sys/kernel/random/boot_id", ret_id, BOOT_ID_SIZE)) {
        ret_id[0] = '\0';
    }
    ret_id[strcspn(ret_id, "\n")] = '\0';
}

/* ------------------------------------------------------------------- markers */

/* "DIR/loading" or "DIR/loading/NAME"; to be freed. NULL: out of memory. */
static char *marker_path(const struct store *store, const char *name) {
    char *path = NULL;
    int length = asprintf(&path, "%s/" LOADING_FOLDER "%s%s", store->dir, name != NULL ? "/" : "",
                          name != NULL ? name : "");
    return length < 0 ? NULL : path;
}

static char *marker_path_of(const struct store *store, const struct process *process,
                            uint64_t number) {
    char name[96];
    (void)snprintf(name, sizeof name, "%" PRId64 "-%" PRIu64 "-%" PRIu64, process->pid,
                   process->start, number);
    return marker_path(store, name);
}

/* The folder of the markers is no link, and nobody else may write to it: a marker keeps a plugin
 * out. 0; 1: it does not exist; TOOLRACK_E_IO. */
static int check_folder(const char *folder, struct toolrack_error *err) {
    struct stat st;
    struct toolrack_error why;
    if (lstat(folder, &st) < 0) {
        return errno == ENOENT ? 1
                               : error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", folder,
                                           strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) {
        return error_set(err, TOOLRACK_E_IO, "%s is not a folder; move it away", folder);
    }
    return ownership_judge(&st, folder, true, &why) == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_IO, "%s is not used: %s", folder, why.message);
}

int store_loading_begin(struct store *store, const char *path, int64_t now_s, uint64_t *ret_marker,
                        struct toolrack_error *err) {
    static atomic_uint_fast64_t markers_made;
    int code = database_check_texts(
            TEXT_LIMITS({"path of the plugin's file", path, STORE_TEXT_SIZE_MAX}), err);
    if (code < 0) {
        return code;
    }
    if (store->dir == NULL) {
        *ret_marker = 0; /* nothing could read it after this process */
        return 0;
    }
    uint64_t number = atomic_fetch_add(&markers_made, 1) + 1;
    struct process process = this_process();
    CLEANUP(freep) char *folder = marker_path(store, NULL);
    CLEANUP(freep) char *file = marker_path_of(store, &process, number);
    if (folder == NULL || file == NULL) {
        return error_oom(err);
    }
    code = database_make_folders(folder, err);
    if (code == 0) {
        code = check_folder(folder, err);
    }
    if (code < 0) {
        return code;
    }

    char boot_id[BOOT_ID_SIZE];
    char text[MARKER_SIZE_MAX];
    read_boot_id(boot_id);
    int length = snprintf(text, sizeof text, "%s\n%" PRId64 "\n%s", boot_id, now_s, path);
    CLEANUP(closep) int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t wrote = fd >= 0 ? write(fd, text, (size_t)length) : -1;
    if (wrote != length) {
        int reason = wrote < 0 ? errno : ENOSPC;
        if (fd >= 0) {
            (void)unlink(file);
        }
        return error_set(err, TOOLRACK_E_IO, "cannot write %s, the loading marker of %s: %s", file,
                         path, strerror(reason));
    }
    *ret_marker = number;
    return 0;
}

int store_loading_end(struct store *store, uint64_t marker, struct toolrack_error *err) {
    if (store->dir == NULL) {
        return 0;
    }
    struct process process = this_process();
    CLEANUP(freep) char *file = marker_path_of(store, &process, marker);
    if (file == NULL) {
        return error_oom(err);
    }
    if (unlink(file) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot remove the loading marker %s: %s", file,
                         strerror(errno));
    }
    return 0;
}

/* --------------------------------------------------------------- what is left */

/* A marker whose process has ended. */
struct marker {
    struct store_unclean unclean;
    char text[MARKER_SIZE_MAX]; /* unclean.path points into it */
};

/* Read the number at the start of a text, which the character `behind` must follow; return what
 * follows that. NULL: no such number, or no text. */
static const char *take_number(const char *text, char behind, uint64_t *ret_number) {
    char *end;
    if (text == NULL || !ascii_is_digit(*text)) {
        return NULL;
    }
    *ret_number = strtoull(text, &end, 10);
    return *end == behind ? end + (behind != '\0') : NULL;
}

/* Read a marker. False: its process lives, or the file is no marker, or was removed. A marker with
 * incomplete contents has no path. */
static bool read_marker(const struct store *store, const char *name, struct marker *ret) {
    /* The name says which process left it. */
    uint64_t pid = 0;
    uint64_t number;
    struct process process = {0};
    const char *at = take_number(name, '-', &pid);
    at = take_number(at, '-', &process.start);
    if (take_number(at, '\0', &number) == NULL || pid > INT32_MAX) {
        return false;
    }
    process.pid = (int64_t)pid;
    ret->unclean = (struct store_unclean){.pid = process.pid};

    CLEANUP(freep) char *file = marker_path(store, name);
    if (file == NULL || !read_text(file, ret->text, sizeof ret->text)) {
        return false; /* removed meanwhile */
    }

    /* The contents: the boot id, the time and the path. */
    bool other_boot = false;
    char *line = strchr(ret->text, '\n');
    uint64_t since_s;
    const char *path = line != NULL ? take_number(line + 1, '\n', &since_s) : NULL;
    if (path != NULL && *path != '\0') {
        char boot_now[BOOT_ID_SIZE];
        read_boot_id(boot_now);
        *line = '\0';
        other_boot = *ret->text != '\0' && *boot_now != '\0' && strcmp(ret->text, boot_now) != 0;
        ret->unclean.path = path;
        ret->unclean.since_s = (int64_t)since_s;
    }
    return other_boot || !process_lives(&process);
}

static int remove_marker(const struct store *store, const char *name, struct toolrack_error *err) {
    CLEANUP(freep) char *file = marker_path(store, name);
    if (file == NULL) {
        return error_oom(err);
    }
    if (unlink(file) < 0 && errno != ENOENT) {
        return error_set(err, TOOLRACK_E_IO, "cannot remove the loading marker %s: %s", file,
                         strerror(errno));
    }
    return 0;
}

/* Go through the markers of ended processes, in the order of their names: visit the complete ones,
 * or without a visitor remove those of a path (NULL: all) and the incomplete ones. */
static int go_through(struct store *store,
                      void (*visit)(void *user, const struct store_unclean *unclean), void *user,
                      const char *path, struct toolrack_error *err) {
    struct dirent **entries = NULL;
    if (store->dir == NULL) {
        return 0;
    }
    CLEANUP(freep) char *folder = marker_path(store, NULL);
    CLEANUP(freep) struct marker *marker = malloc(sizeof *marker);
    if (folder == NULL || marker == NULL) {
        return error_oom(err);
    }
    int code = check_folder(folder, err);
    if (code != 0) {
        return code < 0 ? code : 0;
    }
    int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) {
        return errno == ENOENT   ? 0
               : errno == ENOMEM ? error_oom(err)
                                 : error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", folder,
                                             strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        if (code == 0 && read_marker(store, entries[i]->d_name, marker)) {
            const char *of = marker->unclean.path;
            if (visit != NULL && of != NULL) {
                visit(user, &marker->unclean);
            } else if (visit == NULL && (path == NULL || of == NULL || strcmp(path, of) == 0)) {
                code = remove_marker(store, entries[i]->d_name, err);
            }
        }
        free(entries[i]);
    }
    free(entries);
    return code;
}

int store_loading_read(struct store *store,
                       void (*visit)(void *user, const struct store_unclean *unclean), void *user,
                       struct toolrack_error *err) {
    assert(visit != NULL);
    return go_through(store, visit, user, NULL, err);
}

int store_loading_clear(struct store *store, const char *path, struct toolrack_error *err) {
    return go_through(store, NULL, NULL, path, err);
}
