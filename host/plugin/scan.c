/* A scan goes from folder to folder, and in each from name to name, with a finger
 * in the cache's list of the same folder: both are in byte order, so the finger
 * only moves on.
 *
 * Invariants of struct scanner, between two files:
 *
 *  (1) files[0..file_count) are complete rows: each has a path and a descriptor.
 *  (2) kept[i] says that row i may stand in the cache: it was read and had settled,
 *      or it comes from there.
 *  (3) listed[0..listed_count) are the folders that were opened; no two are the
 *      same folder; their rows follow each other in `files`.
 *  (4) `changed` is set once the cache says less, or more, than it could. */
#include "plugin/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "plugin/cache.h"
#include "plugin/folder.h"

/* How often a file is read that changes meanwhile. The second time is for one that was replaced
 * by rename at that moment, as it should be. */
#define SCAN_READS_MAX 2

/* What descriptors depend on besides the files and the build. */
#define OPTIONS_TAG_SCHEMAS_CHECKED 1u

struct listed_folder {
    const char *path;
    uint64_t device;
    uint64_t inode;
    size_t first; /* of its rows */
    size_t count;
    size_t kept;   /* how many of them may stand in the cache */
    bool complete; /* listed to its end */
};

struct scanner {
    const struct scan_options *options;
    int64_t settled_ns; /* a file whose ctime is not before this may change unseen */
    struct scan *scan;  /* the result so far */
    bool *kept;
    size_t room; /* of scan->files and of kept */
    struct listed_folder *listed;
    size_t listed_count;
    struct cache *cache; /* NULL when there is none */
    bool changed;
    struct arena scratch; /* what is not part of the result */
};

const char *trust_name(enum trust trust) {
    switch (trust) {
    case TRUST_BUILTIN: return "builtin";
    case TRUST_OFFICIAL: return "official";
    case TRUST_COMMUNITY: break;
    }
    return "community";
}

int trust_priority(enum trust trust) {
    switch (trust) {
    case TRUST_BUILTIN: return 100;
    case TRUST_OFFICIAL: return 50;
    case TRUST_COMMUNITY: break;
    }
    return 10;
}

/* ---------------------------------------------------- descriptors of no file */

/* What stands in the row of a file that was not read. */
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

static int64_t to_ns(struct timespec time) {
    return (int64_t)time.tv_sec * CLOCK_NS_PER_S + time.tv_nsec;
}

static struct file_identity identity_of(const struct stat *st) {
    return (struct file_identity){
            .device = st->st_dev,
            .inode = st->st_ino,
            .size = (uint64_t)st->st_size,
            .mtime_ns = to_ns(st->st_mtim),
            .ctime_ns = to_ns(st->st_ctim),
    };
}

static bool same_identity(const struct file_identity *a, const struct file_identity *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR: return "it is a folder";
    case S_IFIFO: return "it is a named pipe";
    case S_IFSOCK: return "it is a socket";
    case S_IFCHR:
    case S_IFBLK: return "it is a device";
    default: return "it is no regular file";
    }
}

/* What becomes of one look at a file. */
enum look {
    LOOK_CACHED,  /* the row has its descriptor: from the cache, */
    LOOK_READ,    /* or read from the file, */
    LOOK_REFUSED, /* or saying why it was not read */
    LOOK_CHANGED, /* the file changed meanwhile: no descriptor yet */
    LOOK_GONE,    /* there is no such file any more: no row */
    LOOK_NO_MEMORY,
};

static enum look look_refused(struct scan_file *row, enum finding_rule rule, const char *cause) {
    row->descriptor = refuse(rule, cause);
    return row->descriptor == NULL ? LOOK_NO_MEMORY : LOOK_REFUSED;
}

/* stat() or open() failed, for a name that the folder had. */
static enum look look_failed(int dir, const char *name, int why, struct scan_file *row) {
    struct stat st;
    switch (why) {
    case ENOENT:
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            return LOOK_GONE;
        }
        return S_ISLNK(st.st_mode) ? look_refused(row, FINDING_FILE_DANGLING_LINK,
                                                  "it is a link to a file that does not exist")
                                   : LOOK_CHANGED;
    case ELOOP:
        return look_refused(row, FINDING_FILE_DANGLING_LINK, "it is a link that leads in a circle");
    case ENOMEM: return LOOK_NO_MEMORY;
    default: return look_refused(row, FINDING_FILE_UNREADABLE, strerror(why));
    }
}

static enum look read_open_file(const struct scanner *scanner, int fd, struct scan_file *row) {
    struct stat st;
    struct toolrack_error err = {0};
    if (fstat(fd, &st) < 0) {
        return look_refused(row, FINDING_FILE_UNREADABLE, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) { /* it was one a moment ago */
        return LOOK_CHANGED;
    }
    row->identity = identity_of(&st);
    int code = descriptor_read(fd, &scanner->options->descriptor, &row->descriptor, &err);
    if (code == TOOLRACK_E_NO_MEMORY) {
        return LOOK_NO_MEMORY;
    }
    if (code < 0) {
        return look_refused(row, FINDING_FILE_UNREADABLE, err.message);
    }
    struct file_identity after = {0};
    if (fstat(fd, &st) == 0) {
        after = identity_of(&st);
    }
    if (!same_identity(&row->identity, &after)) {
        descriptor_unref(STEAL(row->descriptor));
        return LOOK_CHANGED;
    }
    return LOOK_READ;
}

static enum look read_file(const struct scanner *scanner, int dir, const char *name,
                           struct scan_file *row) {
    /* Opening must not wait for the other end of a pipe that took the file's place. */
    CLEANUP(closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? look_failed(dir, name, errno, row) : read_open_file(scanner, fd, row);
}

/* The cache's entries of a folder, and how far they are behind. */
struct finger {
    const struct cache_file *at;
    const struct cache_file *end;
};

static const struct cache_file *move_to(struct finger *finger, const char *name) {
    int order = -1;
    while (finger->at < finger->end && (order = strcmp(finger->at->name, name)) < 0) {
        finger->at++;
    }
    return order == 0 ? finger->at : NULL;
}

/* Look at a file. `entry` becomes what the cache knows of this state of it, or NULL. */
static enum look look_at(const struct scanner *scanner, int dir, struct finger *finger,
                         const char *name, struct scan_file *row,
                         const struct cache_file **ret_entry) {
    struct stat st;
    if (fstatat(dir, name, &st, 0) < 0) {
        return look_failed(dir, name, errno, row);
    }
    row->identity = identity_of(&st);
    if (!S_ISREG(st.st_mode)) {
        return look_refused(row, FINDING_FILE_NOT_REGULAR, kind_of(st.st_mode));
    }
    const struct cache_file *entry = move_to(finger, name);
    if (entry != NULL && same_identity(&entry->identity, &row->identity)) {
        *ret_entry = entry;
        row->descriptor = cache_take(scanner->cache, entry);
        if (row->descriptor != NULL) {
            return LOOK_CACHED;
        }
    }
    return read_file(scanner, dir, name, row);
}

/* Look as often as it takes for the row to be complete, or the file gone. */
static enum look look_until_done(const struct scanner *scanner, int dir, struct finger *finger,
                                 const char *name, struct scan_file *row,
                                 const struct cache_file **ret_entry) {
    for (int reads = 0; reads < SCAN_READS_MAX; reads++) {
        *ret_entry = NULL;
        enum look look = look_at(scanner, dir, finger, name, row, ret_entry);
        if (look != LOOK_CHANGED) {
            return look;
        }
    }
    *ret_entry = NULL;
    return look_refused(row, FINDING_FILE_CHANGING, "it changed while it was read");
}

/* --------------------------------------------------------------- one folder */

/* Room for so many rows more. The arena keeps the old array as well; doubling bounds that. */
static bool reserve_rows(struct scanner *scanner, size_t more) {
    struct scan *scan = scanner->scan;
    if (scanner->room - scan->file_count >= more) {
        return true;
    }
    size_t room = scan->file_count * 2 + more;
    struct scan_file *files = arena_alloc(&scan->arena, room * sizeof *files);
    bool *kept = arena_alloc(&scanner->scratch, room * sizeof *kept);
    if (files == NULL || kept == NULL) {
        return false;
    }
    if (scan->file_count > 0) {
        memcpy(files, scan->files, scan->file_count * sizeof *files);
        memcpy(kept, scanner->kept, scan->file_count * sizeof *kept);
    }
    scan->files = files;
    scanner->kept = kept;
    scanner->room = room;
    return true;
}

/* There is room for as many troubles as folders. */
static void add_trouble(struct scanner *scanner, const char *path, const char *reason) {
    struct scan *scan = scanner->scan;
    scan->troubles[scan->trouble_count++] = (struct scan_trouble){.path = path, .reason = reason};
}

static const char *folder_reason(struct arena *arena, int why) {
    switch (why) {
    case ENOENT: return "the folder does not exist: create it, or take it out of the configuration";
    case ENOTDIR: return "it is not a folder: name the folder that the plugin files are in";
    case EACCES:
        return "permission denied: let the user that runs the host read the folder (chmod a+rx)";
    default: return arena_printf(arena, "it cannot be read: %s", strerror(why));
    }
}

static int folder_failed(struct scanner *scanner, const char *path, int why,
                         struct toolrack_error *err) {
    struct arena *arena = &scanner->scan->arena;
    const char *copy = arena_copy(arena, path, strlen(path));
    const char *reason = folder_reason(arena, why);
    if (why == ENOMEM || copy == NULL || reason == NULL) {
        return error_oom(err);
    }
    add_trouble(scanner, copy, reason);
    return 0;
}

static int folder_is_cut(struct scanner *scanner, const char *path, struct toolrack_error *err) {
    struct arena *arena = &scanner->scan->arena;
    const char *copy = arena_copy(arena, path, strlen(path));
    const char *reason = arena_printf(arena,
                                      "it holds more than %u plugin files, of which the first by "
                                      "name are used: spread them over several folders",
                                      SCAN_FILES_MAX);
    if (copy == NULL || reason == NULL) {
        return error_oom(err);
    }
    add_trouble(scanner, copy, reason);
    return 0;
}

static bool listed_before(const struct scanner *scanner, const struct folder *folder) {
    for (size_t i = 0; i < scanner->listed_count; i++) {
        if (scanner->listed[i].device == folder->device &&
            scanner->listed[i].inode == folder->inode) {
            return true;
        }
    }
    return false;
}

/* What the cache knows of a folder: nothing, as an empty entry. */
static struct cache_folder cached_folder(const struct scanner *scanner, const char *path) {
    if (scanner->cache != NULL) {
        const struct cache_index *index = cache_index(scanner->cache);
        for (size_t i = 0; i < index->folder_count; i++) {
            if (strcmp(index->folders[i].path, path) == 0) {
                return index->folders[i];
            }
        }
    }
    return (struct cache_folder){.path = path};
}

/* Rows for all names of a folder; `listed` gets how many there are and how many of them are kept.
 */
static int scan_names(struct scanner *scanner, const struct folder *folder, enum trust trust,
                      const struct cache_folder *cached, struct listed_folder *listed,
                      struct toolrack_error *err) {
    struct scan *scan = scanner->scan;
    struct finger finger = {cached->files, cached->files + cached->file_count};
    for (size_t i = 0; i < folder->count; i++) {
        struct scan_file *row = &scan->files[scan->file_count];
        *row = (struct scan_file){.path = folder_path(folder, i), .trust = trust};
        const struct cache_file *entry;
        enum look look = look_until_done(scanner, dirfd(folder->dir), &finger, folder->names[i],
                                         row, &entry);
        if (look == LOOK_NO_MEMORY) {
            return error_oom(err);
        }
        if (look == LOOK_GONE) {
            continue;
        }
        row->cached = look == LOOK_CACHED;
        bool settled = row->identity.ctime_ns < scanner->settled_ns;
        bool kept = row->cached || (look == LOOK_READ && settled);
        scanner->kept[scan->file_count++] = kept;
        scanner->changed |= kept && entry == NULL;
        listed->kept += kept;
        listed->count++;
    }
    return 0;
}

static int scan_folder(struct scanner *scanner, const struct scan_folder *asked,
                       struct toolrack_error *err) {
    CLEANUP(folder_finish) struct folder folder;
    int why = folder_init(&folder, asked->path);
    if (why == ENOENT && asked->optional) {
        return 0;
    }
    if (why != 0) {
        return folder_failed(scanner, asked->path, why, err);
    }
    if (listed_before(scanner, &folder)) {
        return 0;
    }
    why = folder_list(&folder, asked->path, SCAN_FILES_MAX, &scanner->scan->arena);
    if (why != 0 && folder_failed(scanner, asked->path, why, err) < 0) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (folder.cut && folder_is_cut(scanner, asked->path, err) < 0) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (!reserve_rows(scanner, folder.count)) {
        return error_oom(err);
    }
    struct cache_folder cached = cached_folder(scanner, asked->path);
    struct listed_folder *listed = &scanner->listed[scanner->listed_count++];
    *listed = (struct listed_folder){
            .path = asked->path,
            .device = folder.device,
            .inode = folder.inode,
            .first = scanner->scan->file_count,
            .complete = why == 0,
    };
    int code = scan_names(scanner, &folder, asked->trust, &cached, listed, err);
    /* All that is kept is in the cache, or `changed` is set: what is over there is gone here. */
    scanner->changed |= listed->complete && listed->kept != cached.file_count;
    return code;
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
        if (scanner->kept[i]) {
            files[folder.file_count++] = (struct cache_file){
                    .name = strrchr(row->path, '/') + 1,
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
    struct cache_folder folders[SCAN_CACHED_FOLDERS_MAX];
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

/* ------------------------------------------------------------------ the scan */

static int scanner_init(struct scanner *scanner, const struct scan_options *options,
                        struct toolrack_error *err) {
    *scanner = (struct scanner){.options = options};
    int64_t now_ns = options->time_ns;
    if (now_ns == 0) {
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        now_ns = to_ns(now);
    }
    scanner->settled_ns = now_ns - SCAN_SETTLE_NS;
    scanner->scan = calloc(1, sizeof *scanner->scan);
    scanner->listed =
            arena_alloc(&scanner->scratch, options->folder_count * sizeof(struct listed_folder));
    if (scanner->scan == NULL || scanner->listed == NULL) {
        return error_oom(err);
    }
    /* A folder that is cut may have been read with an error, too. */
    scanner->scan->troubles = arena_alloc(&scanner->scan->arena,
                                          2 * options->folder_count * sizeof(struct scan_trouble));
    return scanner->scan->troubles == NULL ? error_oom(err) : 0;
}

static void scanner_finish(struct scanner *scanner) {
    scan_destroy(scanner->scan);
    cache_unref(scanner->cache);
    arena_finish(&scanner->scratch);
}

int scan_run(const struct scan_options *options, struct scan **ret, struct toolrack_error *err) {
    CLEANUP(scanner_finish) struct scanner scanner;
    int code = scanner_init(&scanner, options, err);
    uint32_t tag = options->descriptor.check_schema != NULL ? OPTIONS_TAG_SCHEMAS_CHECKED : 0;
    if (code == 0 && options->cache_path != NULL) {
        scanner.cache = cache_load(options->cache_path, tag, options->log, &scanner.changed);
    }
    for (size_t i = 0; code == 0 && i < options->folder_count; i++) {
        code = scan_folder(&scanner, &options->folders[i], err);
    }
    if (code < 0) {
        return code;
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
