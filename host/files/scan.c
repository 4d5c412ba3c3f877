/* A scan makes three passes over the files: the first lists the folders and calls stat() for every
 * name, the second looks the files up in the cache, the third reads those that the cache does not
 * have. Each pass uses little data, which stays in the CPU's caches.
 *
 * The second pass walks along the cache's list of the same folder: both lists are in byte order, so
 * one walk is enough. The third pass uses several threads when there is much to read: no file
 * depends on another.
 *
 * Invariants of struct scanner:
 *
 *  (1) files[0..file_count) have a path each; those with a descriptor are complete, the others are
 *      in state ROW_FOUND or ROW_KNOWN. After the third pass all are complete.
 *  (2) states[i] is the state of files[i].
 *  (3) listed[0..listed_count) are the folders that were opened; no two are the same folder; their
 *      rows are consecutive in `files`.
 *  (4) `changed` is set when the cache has too few or too many entries. */
#include "files/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/ownership.h"
#include "base/thread.h"
#include "files/cache.h"
#include "files/folder.h"

/* How often a file that changes meanwhile is read. The second time is for a file that was just
 * replaced by rename, as it should be. */
#define SCAN_READS_MAX 2

/* Most threads that read, and the number of files for which one more thread is started. */
#define SCAN_THREADS_MAX      8u
#define SCAN_FILES_PER_THREAD 64u

/* What descriptors depend on besides the files and the build. */
#define OPTIONS_TAG_SCHEMAS_CHECKED 1u

enum row_state {
    ROW_FOUND,   /* a regular file, to be looked up in the cache, else read */
    ROW_KNOWN,   /* matches the cache, but is to be read: too large to be kept there */
    ROW_REFUSED, /* not read; its descriptor has the reason */
    ROW_READ,    /* read, but too young for the cache */
    ROW_KEPT,    /* read or from the cache, and to be kept there */
};

struct listed_folder {
    const char *path;
    uint64_t device;
    uint64_t inode;
    size_t prefix_length; /* of folder and slash in the paths of its rows */
    const char *exposure; /* how other users could change what is in it, or NULL */
    size_t first;         /* of its rows */
    size_t count;
    size_t cached; /* its files that the cache has */
    size_t kept;   /* rows that are ROW_KEPT at the end */
    bool complete; /* listed to its end */
};

struct scanner {
    const struct scan_options *options;
    int64_t settled_ns; /* a file whose ctime is not before this may change without a visible
                           difference */
    struct scan *scan;  /* the result so far */
    uint8_t *states;    /* enum row_state */
    size_t room;        /* of scan->files and of states */
    struct listed_folder *listed;
    size_t listed_count;
    size_t unread;       /* rows that the cache does not have */
    struct cache *cache; /* NULL when there is none */
    bool changed;
    struct arena scratch; /* for data that is not part of the result */
};

/* ---------------------------------------------------- descriptors of no file */

/* The descriptor of a file that was not read. */
struct refusal {
    struct descriptor descriptor;
    struct arena arena;
};

static void release_refusal(struct descriptor *desc) {
    struct refusal *refusal = (struct refusal *)desc;
    arena_finish(&refusal->arena);
    free(refusal);
}

/* NULL when out of memory. */
static struct descriptor *refuse(enum finding_rule rule, const char *cause) {
    struct refusal *refusal = calloc(1, sizeof *refusal);
    if (refusal == NULL) {
        return NULL;
    }
    atomic_init(&refusal->descriptor.refs, 1);
    refusal->descriptor.release = release_refusal;
    struct findings findings;
    findings_init(&findings, &refusal->arena);
    findings_add(&findings, rule, NULL, "%s", cause);
    if (findings.failed) {
        release_refusal(&refusal->descriptor);
        return NULL;
    }
    refusal->descriptor.findings = findings.items;
    refusal->descriptor.finding_count = findings.count;
    return &refusal->descriptor;
}

/* ----------------------------------------------------------------- one file */

static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR: return "it is a folder";
    case S_IFIFO: return "it is a named pipe";
    case S_IFSOCK: return "it is a socket";
    case S_IFCHR:
    case S_IFBLK: return "it is a device";
    default: return "it is not a regular file";
    }
}

/* Complete a row without reading the file. */
static int refuse_row(struct scan_file *row, enum finding_rule rule, const char *cause) {
    row->descriptor = refuse(rule, cause);
    return row->descriptor == NULL ? (int)TOOLRACK_E_NO_MEMORY : (int)ROW_REFUSED;
}

/* stat() or open() failed. */
static int refuse_for(struct scan_file *row, int why) {
    switch (why) {
    case ENOMEM: return TOOLRACK_E_NO_MEMORY;
    case ENOENT:
        return refuse_row(row, FINDING_FILE_DANGLING_LINK,
                          "it is a symbolic link to a file that does not exist");
    case ELOOP: return refuse_row(row, FINDING_FILE_DANGLING_LINK, "it is a symbolic link loop");
    default: return refuse_row(row, FINDING_FILE_UNREADABLE, strerror(why));
    }
}

/* Whether the file itself does not exist: ENOENT may also mean a symbolic link whose target does
 * not exist. */
static bool is_gone(int dir, const char *name, int why) {
    struct stat st;
    return why == ENOENT && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

/* Read an open file, which has the identity `row->identity` unless it changes meanwhile.
 * @return the state of the row; ROW_FOUND when the file was replaced: the row then has the new
 * identity; TOOLRACK_E_NO_MEMORY. */
static int read_open_file(const struct scanner *scanner, int fd, struct scan_file *row) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    struct toolrack_error err = {0};
    int code = descriptor_read(fd, &scanner->options->descriptor, &desc, &err);
    if (code == TOOLRACK_E_NO_MEMORY) {
        return code;
    }
    struct stat st;
    if (fstat(fd, &st) < 0) {
        return refuse_for(row, errno);
    }
    struct file_identity before = row->identity;
    row->identity = identity_of(&st);
    if (!identity_same(&before, &row->identity)) {
        return ROW_FOUND;
    }
    if (code < 0) {
        return refuse_row(row, FINDING_FILE_UNREADABLE, err.message);
    }
    row->descriptor = STEAL(desc);
    bool settled = S_ISREG(st.st_mode) && row->identity.ctime_ns < scanner->settled_ns;
    return settled ? ROW_KEPT : ROW_READ;
}

/* Read a file that was a regular one. @return the state of the row, or TOOLRACK_E_NO_MEMORY. */
static int read_file(const struct scanner *scanner, struct scan_file *row) {
    for (int reads = 0; reads < SCAN_READS_MAX; reads++) {
        /* open() must not wait for the other end of a pipe that replaced the file. */
        CLEANUP(closep) int fd = open(row->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        int why = errno;
        if (fd < 0 && is_gone(AT_FDCWD, row->path, why)) {
            break;
        }
        int state = fd < 0 ? refuse_for(row, why) : read_open_file(scanner, fd, row);
        if (state != ROW_FOUND) {
            return state;
        }
    }
    return refuse_row(row, FINDING_FILE_CHANGING, "it was changed or removed while it was read");
}

/* ----------------------------------------------------- first pass: list, stat */

/* Make room for `more` rows. The arena keeps the old array too; doubling limits the waste. */
static bool reserve_rows(struct scanner *scanner, size_t more) {
    struct scan *scan = scanner->scan;
    if (scanner->room - scan->file_count >= more) {
        return true;
    }
    size_t room = scan->file_count * 2 + more;
    struct scan_file *files = arena_alloc(&scan->arena, room * sizeof *files);
    uint8_t *states = arena_alloc(&scanner->scratch, room * sizeof *states);
    if (files == NULL || states == NULL) {
        return false;
    }
    if (scan->file_count > 0) {
        memcpy(files, scan->files, scan->file_count * sizeof *files);
        memcpy(states, scanner->states, scan->file_count * sizeof *states);
    }
    scan->files = files;
    scanner->states = states;
    scanner->room = room;
    return true;
}

/* There is room for three troubles of each folder. `reason` may be NULL: out of memory. */
static int add_trouble(struct scanner *scanner, const char *path, const char *reason,
                       struct toolrack_error *err) {
    struct scan *scan = scanner->scan;
    const char *copy = arena_copy(&scan->arena, path, strlen(path));
    if (copy == NULL || reason == NULL) {
        return error_oom(err);
    }
    scan->troubles[scan->trouble_count++] = (struct scan_trouble){.path = copy, .reason = reason};
    return 0;
}

/* `why` is an errno value. */
static int folder_failed(struct scanner *scanner, const char *path, int why,
                         struct toolrack_error *err) {
    const char *reason;
    switch (why) {
    case ENOMEM: reason = NULL; break;
    case ENOENT: reason = "the folder does not exist; create it, or leave it out"; break;
    case ENOTDIR:
        reason = "it is not a folder; name the folder that the plugin files are in";
        break;
    case EACCES:
        reason = "permission denied; let the user that runs the host read the folder (chmod a+rx)";
        break;
    default: reason = arena_printf(&scanner->scan->arena, "it cannot be read: %s", strerror(why));
    }
    return add_trouble(scanner, path, reason, err);
}

/* The words of a refusal, in the arena; TOOLRACK_E_NO_MEMORY. What cannot be followed was not read
 * either, and is reported as that. */
static int keep_exposure(struct scanner *scanner, int code, const struct toolrack_error *why,
                         const char **ret) {
    if (code == TOOLRACK_E_REFUSED) {
        *ret = arena_copy(&scanner->scan->arena, why->message, strlen(why->message));
    }
    return code == TOOLRACK_E_NO_MEMORY || (code == TOOLRACK_E_REFUSED && *ret == NULL)
                   ? TOOLRACK_E_NO_MEMORY
                   : 0;
}

/* Whether other users could change a row's file; `st` is that of its name. The folder was judged
 * once for all its files. */
static int judge_row(struct scanner *scanner, const struct listed_folder *listed,
                     const struct stat *st, struct scan_file *row) {
    struct toolrack_error why;
    row->exposure = listed->exposure;
    if (row->exposure != NULL) {
        return 0;
    }
    int code = S_ISLNK(st->st_mode) ? ownership_check(row->path, &why)
                                    : ownership_judge(st, row->path, true, &why);
    return keep_exposure(scanner, code, &why, &row->exposure);
}

/* stat() of a name, links followed; `ret_name` is of the name itself. 0 or an errno value. */
static int stat_name(int dir, const char *name, struct stat *ret_name, struct stat *ret) {
    if (fstatat(dir, name, ret_name, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno;
    }
    *ret = *ret_name;
    return S_ISLNK(ret_name->st_mode) && fstatat(dir, name, ret, 0) < 0 ? errno : 0;
}

static int add_rows(struct scanner *scanner, const struct folder *folder,
                    const struct scan_folder *asked, struct listed_folder *listed,
                    struct toolrack_error *err) {
    struct scan *scan = scanner->scan;
    if (!reserve_rows(scanner, folder->count)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < folder->count; i++) {
        struct scan_file *row = &scan->files[scan->file_count];
        *row = (struct scan_file){.path = folder_path(folder, i),
                                  .folder = (size_t)(asked - scanner->options->folders),
                                  .trust = asked->trust,
                                  .isolation = asked->isolation,
                                  .pin = asked->pin};
        struct stat name;
        struct stat st;
        int state = ROW_FOUND;
        int why = stat_name(dirfd(folder->dir), folder->names[i], &name, &st);
        if (why != 0) {
            if (is_gone(dirfd(folder->dir), folder->names[i], why)) {
                continue;
            }
            state = refuse_for(row, why);
        } else {
            row->identity = identity_of(&st);
            if (!S_ISREG(st.st_mode)) {
                state = refuse_row(row, FINDING_FILE_NOT_REGULAR, kind_of(st.st_mode));
            } else if (judge_row(scanner, listed, &name, row) < 0) {
                state = TOOLRACK_E_NO_MEMORY;
            }
        }
        if (state < 0) {
            return error_oom(err);
        }
        scanner->states[scan->file_count++] = (uint8_t)state;
        listed->count++;
    }
    return 0;
}

static int list_folder(struct scanner *scanner, const struct scan_folder *asked,
                       struct toolrack_error *err) {
    CLEANUP(folder_finish) struct folder folder;
    int why = folder_init(&folder, asked->path);
    if (why == ENOENT && asked->optional) {
        return 0;
    }
    if (why != 0) {
        return folder_failed(scanner, asked->path, why, err);
    }
    for (size_t i = 0; i < scanner->listed_count; i++) {
        const struct listed_folder *listed = &scanner->listed[i];
        if (listed->device == folder.device && listed->inode == folder.inode) {
            return 0; /* listed before under another name */
        }
    }
    why = folder_list(&folder, asked->path, FOLDER_FILES_MAX, &scanner->scan->arena);
    if (why != 0 && folder_failed(scanner, asked->path, why, err) < 0) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (folder.cut &&
        add_trouble(scanner, asked->path,
                    arena_printf(&scanner->scan->arena,
                                 "it holds more than %u plugin files, of which the first by name "
                                 "are used: spread them over several folders",
                                 FOLDER_FILES_MAX),
                    err) < 0) {
        return TOOLRACK_E_NO_MEMORY;
    }
    struct listed_folder *listed = &scanner->listed[scanner->listed_count++];
    *listed = (struct listed_folder){
            .path = asked->path,
            .device = folder.device,
            .inode = folder.inode,
            .prefix_length = folder.prefix_length,
            .first = scanner->scan->file_count,
            .complete = why == 0,
    };
    struct toolrack_error exposed;
    int code = keep_exposure(scanner, ownership_check(asked->path, &exposed), &exposed,
                             &listed->exposure);
    if (code == 0 && listed->exposure != NULL) {
        code = add_trouble(scanner, asked->path, listed->exposure, err);
    }
    if (code < 0) {
        return error_oom(err);
    }
    return add_rows(scanner, &folder, asked, listed, err);
}

/* --------------------------------------------------------- second pass: look up */

static void look_up_rows(struct scanner *scanner, struct listed_folder *listed) {
    const struct cache_index none = {0};
    const struct cache_index *index = scanner->cache == NULL ? &none : cache_index(scanner->cache);
    const struct cache_file *finger = NULL;
    const struct cache_file *end = NULL;
    for (size_t i = 0; i < index->folder_count && finger == NULL; i++) {
        if (strcmp(index->folders[i].path, listed->path) == 0) {
            finger = index->folders[i].files;
            end = finger + index->folders[i].file_count;
            listed->cached = index->folders[i].file_count;
        }
    }
    for (size_t i = listed->first; i < listed->first + listed->count; i++) {
        if (scanner->states[i] != ROW_FOUND) {
            continue;
        }
        struct scan_file *row = &scanner->scan->files[i];
        const char *name = row->path + listed->prefix_length;
        int order = -1;
        while (finger < end && (order = strcmp(finger->name, name)) < 0) {
            finger++;
        }
        if (order == 0 && identity_same(&finger->identity, &row->identity)) {
            row->descriptor = cache_take(scanner->cache, finger);
            row->cached = row->descriptor != NULL;
            scanner->states[i] = row->cached ? ROW_KEPT : ROW_KNOWN;
        }
        scanner->unread += !row->cached;
    }
}

/* ------------------------------------------------ third pass: read the others */

/* Shared by the threads that read. A row is used only by the thread that took its number. */
struct reading {
    struct scanner *scanner;
    atomic_size_t next;
    atomic_bool news; /* the cache is to be written */
    atomic_bool failed;
};

static void *read_rows(void *argument) {
    struct reading *reading = argument;
    struct scanner *scanner = reading->scanner;
    size_t i;
    while ((i = atomic_fetch_add(&reading->next, 1)) < scanner->scan->file_count) {
        enum row_state before = scanner->states[i];
        if (before != ROW_FOUND && before != ROW_KNOWN) {
            continue;
        }
        int state = read_file(scanner, &scanner->scan->files[i]);
        if (state < 0) {
            atomic_store(&reading->failed, true);
            break;
        }
        scanner->states[i] = (uint8_t)state;
        if (state == ROW_KEPT && before == ROW_FOUND) {
            atomic_store(&reading->news, true);
        }
    }
    return NULL;
}

/* Read on this thread and on as many others as are useful; fewer if they cannot be started. */
static int read_all(struct scanner *scanner, struct toolrack_error *err) {
    struct reading reading = {.scanner = scanner};
    pthread_t others[SCAN_THREADS_MAX];
    size_t count = 0;
    size_t wanted = scanner->unread / SCAN_FILES_PER_THREAD;
    wanted = wanted > SCAN_THREADS_MAX ? SCAN_THREADS_MAX : wanted;
    size_t cpus = wanted > 1 ? thread_cpu_count() : 1;
    wanted = wanted < cpus ? wanted : cpus;
    while (count + 1 < wanted && thread_start(&others[count], read_rows, &reading) == 0) {
        count++;
    }
    (void)read_rows(&reading);
    for (size_t i = 0; i < count; i++) {
        (void)pthread_join(others[i], NULL);
    }
    scanner->changed |= atomic_load(&reading.news);
    return atomic_load(&reading.failed) ? error_oom(err) : 0;
}

/* ---------------------------------------------------------------- the cache */

/* A folder of the next cache from the rows of this scan; no files when out of memory. */
static struct cache_folder folder_to_cache(struct scanner *scanner,
                                           const struct listed_folder *listed) {
    struct cache_folder folder = {.path = listed->path};
    struct cache_file *files =
            arena_alloc(&scanner->scratch, listed->kept * sizeof(struct cache_file));
    if (files == NULL) {
        return folder;
    }
    for (size_t i = listed->first; i < listed->first + listed->count; i++) {
        const struct scan_file *row = &scanner->scan->files[i];
        if (scanner->states[i] == ROW_KEPT) {
            files[folder.file_count++] = (struct cache_file){
                    .name = row->path + listed->prefix_length,
                    .identity = row->identity,
                    .descriptor = row->descriptor,
            };
        }
    }
    folder.files = files;
    return folder;
}

static bool replaced(const struct scanner *scanner, const char *path) {
    for (size_t i = 0; i < scanner->listed_count; i++) {
        if (scanner->listed[i].complete && strcmp(scanner->listed[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

static void save_cache(struct scanner *scanner, uint32_t tag) {
    struct cache_folder folders[CACHE_FOLDERS_MAX];
    struct cache_index index = {.folders = folders};
    for (size_t i = 0; i < scanner->listed_count; i++) {
        const struct listed_folder *listed = &scanner->listed[i];
        if (listed->complete && listed->kept > 0 && index.folder_count < ARRAY_LENGTH(folders)) {
            folders[index.folder_count++] = folder_to_cache(scanner, listed);
        }
    }
    const struct cache_index none = {0};
    const struct cache_index *old = scanner->cache == NULL ? &none : cache_index(scanner->cache);
    for (size_t i = 0; i < old->folder_count; i++) {
        if (!replaced(scanner, old->folders[i].path) &&
            index.folder_count < ARRAY_LENGTH(folders)) {
            folders[index.folder_count++] = old->folders[i];
        }
    }
    cache_save(scanner->options->cache_path, tag, &index, scanner->options->log);
}

/* A cache of this size is loaded by a thread of its own while the folders are listed: each takes
 * about a microsecond for a plugin, and a thread as long as fifty of them. */
#define SCAN_CACHE_LARGE (256 * 1024)

struct loading {
    const struct scan_options *options;
    uint32_t tag;
    struct cache *cache;
    bool is_stale;
    bool is_started;
    pthread_t thread;
};

static void *load_cache(void *argument) {
    struct loading *loading = argument;
    loading->cache = cache_load(loading->options->cache_path, loading->tag, loading->options->log,
                                &loading->is_stale);
    return NULL;
}

static void begin_loading(struct loading *loading) {
    const char *path = loading->options->cache_path;
    struct stat st;
    loading->is_started = path != NULL && stat(path, &st) == 0 && st.st_size >= SCAN_CACHE_LARGE &&
                          thread_cpu_count() > 1 &&
                          thread_start(&loading->thread, load_cache, loading) == 0;
}

static void end_loading(struct loading *loading, struct scanner *scanner) {
    if (loading->is_started) {
        (void)pthread_join(loading->thread, NULL);
    } else if (loading->options->cache_path != NULL) {
        (void)load_cache(loading);
    }
    scanner->cache = loading->cache;
    scanner->changed = loading->is_stale;
}

/* ------------------------------------------------------------------ the scan */

static void scanner_finish(struct scanner *scanner) {
    scan_destroy(scanner->scan);
    cache_unref(scanner->cache);
    arena_finish(&scanner->scratch);
}

int scan_run(const struct scan_options *options, struct scan **ret, struct toolrack_error *err) {
    int64_t now_ns = options->time_ns != 0 ? options->time_ns : clock_wall_ns();
    CLEANUP(scanner_finish)
    struct scanner scanner = {.options = options, .settled_ns = now_ns - SCAN_SETTLE_NS};
    scanner.scan = calloc(1, sizeof *scanner.scan);
    scanner.listed =
            arena_alloc(&scanner.scratch, options->folder_count * sizeof(struct listed_folder));
    if (scanner.scan == NULL || scanner.listed == NULL) {
        return error_oom(err);
    }
    /* A folder that others may change, with too many files, may also have a read error. */
    scanner.scan->troubles = arena_alloc(&scanner.scan->arena,
                                         3 * options->folder_count * sizeof(struct scan_trouble));
    if (scanner.scan->troubles == NULL) {
        return error_oom(err);
    }
    int code = 0;
    uint32_t tag = options->descriptor.check_schema != NULL ? OPTIONS_TAG_SCHEMAS_CHECKED : 0;
    struct loading loading = {.options = options, .tag = tag};
    begin_loading(&loading);
    for (size_t i = 0; code == 0 && i < options->folder_count; i++) {
        code = list_folder(&scanner, &options->folders[i], err);
    }
    end_loading(&loading, &scanner);
    for (size_t i = 0; code == 0 && i < scanner.listed_count; i++) {
        look_up_rows(&scanner, &scanner.listed[i]);
    }
    if (code == 0) {
        code = read_all(&scanner, err);
    }
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < scanner.listed_count; i++) {
        struct listed_folder *listed = &scanner.listed[i];
        for (size_t k = listed->first; k < listed->first + listed->count; k++) {
            listed->kept += scanner.states[k] == ROW_KEPT;
        }
        /* Each ROW_KEPT row is in the cache, or `changed` is set: so a difference means that a
         * cached file is gone. */
        scanner.changed |= listed->complete && listed->kept != listed->cached;
    }
    if (options->cache_path != NULL && scanner.changed) {
        save_cache(&scanner, tag);
    }
    *ret = STEAL(scanner.scan);
    return 0;
}

void scan_destroy(struct scan *scan) {
    if (scan == NULL) {
        return;
    }
    for (size_t i = 0; i < scan->file_count; i++) {
        descriptor_unref(scan->files[i].descriptor);
    }
    arena_finish(&scan->arena);
    free(scan);
}
