/* Invariants of the folder while a stage has it open:
 *
 *  (1) It and all folders above it belong to root or to the user, and no other user may exchange an
 *      entry on the way to it: so `path` is its path as long as the stage is open.
 *  (2) The stage holds a lock on its file `lock`: a shared lock, or an exclusive lock while it
 *      removes copies. The locks belong to open files (F_OFD_SETLK), not to processes, so two
 *      stages of one process exclude each other like any others; and, unlike with flock(), the lock
 *      is not lost when making it exclusive fails.
 *  (3) A copy appears under its final name complete, and its bytes never change. A name is not used
 *      again while an older copy with that name exists.
 *  (4) A copy is found under the shared lock, so it exists until that stage is closed, unless the
 *      stage's own stage_collect() removes it.
 *  (5) Names that begin with TEMPORARY_PREFIX are unfinished copies while another stage has a lock,
 *      and otherwise leftovers of a crash.
 *  (6) A temporary folder that nobody has a lock on is a leftover too, which whoever makes one
 *      beside it removes. */
#include "files/stage.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/object.h"
#include "base/own-folder.h"
#include "base/ownership.h"
#include "plugin/descriptor.h"

static_assert(STAGE_HASH_SIZE == crypto_hash_sha256_BYTES, "what libsodium makes");

#define LOCK_NAME         "lock"
#define TEMPORARY_PREFIX  ".tmp-"
/* Names of temporary folders begin so. */
#define TEMPORARY_FOLDER  "toolrack-stage-"
/* Another process removed it meanwhile: another one is to be made. */
#define TEMPORARY_REMOVED 1

/* Digits of the hash in a name: enough to prevent two contents with the same name. */
#define NAME_DIGITS        32u
#define NUMBER_DIGITS      18u
#define STAGED_NAME_ROOM   (NAME_DIGITS + NUMBER_DIGITS + STAGE_NAME_MAX + 8)
#define TEMPORARY_NAME_MAX 64u

/* How many temporary names are tried: a process of another pid namespace may use the same names. */
#define TEMPORARY_TRIES_MAX 100u

#define CHUNK_SIZE (64u * 1024)

struct stage {
    uint32_t magic; /* STAGE_MAGIC */
    char *path;
    int dir;
    int lock;
    bool temporary;
    atomic_bool is_stopped;     /* files are not copied any more */
    atomic_uint next_temporary; /* makes temporary names different */
};
#define STAGE_MAGIC 0x67617473u

/* ------------------------------------------------------------ a safe folder */

static int cannot_open(const char *path, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "cannot open the folder %s: %s", path, strerror(errno));
}

/* One step of the path: open `name` in the folder `at`, or "/" if `at` is -1, and check (1) for it.
 * `so_far` is its path. */
static int step_into(int at, const char *name, const char *so_far, bool is_last, int *ret,
                     struct toolrack_error *err) {
    int how = is_last ? O_RDONLY : O_PATH; /* folders above may not be readable */
    CLEANUP(closep) int fd = openat(at, name, how | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        return cannot_open(so_far, err);
    }
    int code = ownership_judge(&st, so_far, is_last, err);
    if (code == 0) {
        *ret = fd;
        fd = -1;
    }
    return code;
}

/* Walk from the root to a path without links, and check each folder on the way. */
static int open_checked(const char *path, int *ret, struct toolrack_error *err) {
    CLEANUP(freep) char *way = strdup(path);
    if (way == NULL) {
        return error_oom(err);
    }
    CLEANUP(closep) int at = -1;
    int code = step_into(-1, "/", "/", path[1] == '\0', &at, err);
    char *name = way + 1;
    while (code == 0 && *name != '\0') {
        char *end = strchrnul(name, '/');
        bool is_last = *end == '\0';
        *end = '\0';
        int next = -1;
        code = step_into(at, name, way, is_last, &next, err);
        closep(&at);
        at = next;
        *end = is_last ? '\0' : '/';
        name = end + !is_last;
    }
    if (code == 0) {
        *ret = at;
        at = -1;
    }
    return code;
}

/* ---------------------------------------------------------------- the lock */

static bool set_lock(int fd, short type) {
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

/* Take the shared lock. An exclusive lock is held only briefly, so polling is good enough, and has
 * a time limit. */
static int share_lock(const struct stage *stage, struct toolrack_error *err) {
    for (unsigned waited_ms = 0; !set_lock(stage->lock, F_RDLCK); waited_ms++) {
        if (errno != EAGAIN && errno != EACCES) { /* another stage has the lock */
            return error_set(err, TOOLRACK_E_IO, "cannot lock %s/" LOCK_NAME ": %s", stage->path,
                             strerror(errno));
        }
        if (waited_ms == STAGE_LOCK_WAIT_MS_MAX) {
            return error_set(
                    err, TOOLRACK_E_IO,
                    "another process has been cleaning up %s for %u seconds; end that process, or "
                    "choose another folder",
                    stage->path, STAGE_LOCK_WAIT_MS_MAX / 1000);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = CLOCK_NS_PER_MS}, NULL);
    }
    return 0;
}

/* -------------------------------------------------------------- the entries */

struct entry {
    const char *name;
    uint64_t number;  /* of the copy: newer copies have higher numbers */
    const char *base; /* in `name`: the name of the original file */
};

struct entries {
    struct entry *items; /* newest first */
    size_t count;
    struct arena arena;
};

static void entries_finish(struct entries *entries) {
    arena_finish(&entries->arena);
}

/* Whether a name is the name of a copy; fills all members but `name`. */
static bool parse_name(const char *name, struct entry *ret) {
    if (strspn(name, "0123456789abcdef") != NAME_DIGITS ||
        strncmp(name + NAME_DIGITS, "-g", 2) != 0) {
        return false;
    }
    const char *digits = name + NAME_DIGITS + 2;
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > NUMBER_DIGITS || digits[length] != '-' ||
        digits[length + 1] == '\0') {
        return false;
    }
    ret->number = strtoull(digits, NULL, 10);
    ret->base = digits + length + 1;
    return true;
}

static int newest_first(const void *a, const void *b) {
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->number != y->number) {
        return x->number > y->number ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static DIR *open_listing(int folder) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        closep(&fd);
    }
    return dir;
}

/* List the existing copies, of a file or (`base` NULL) all. entries_finish() must be called in any
 * case. False when out of memory, or when the folder cannot be read. */
static bool list_entries(const struct stage *stage, const char *base, struct entries *ret) {
    *ret = (struct entries){0};
    arena_init(&ret->arena, NULL, 0);
    DIR *dir = open_listing(stage->dir);
    if (dir == NULL) {
        return false;
    }
    size_t room = 0;
    const struct dirent *one;
    bool listed = true;
    while (listed && (one = readdir(dir)) != NULL) {
        struct entry entry;
        if (!parse_name(one->d_name, &entry) || (base != NULL && strcmp(entry.base, base) != 0)) {
            continue;
        }
        if (ret->count == room) {
            room = room == 0 ? 64 : room * 2;
            struct entry *items = arena_alloc(&ret->arena, room * sizeof *items);
            if (items != NULL && ret->count > 0) {
                memcpy(items, ret->items, ret->count * sizeof *items);
            }
            ret->items = items;
        }
        size_t base_at = (size_t)(entry.base - one->d_name);
        entry.name = arena_copy(&ret->arena, one->d_name, strlen(one->d_name));
        listed = ret->items != NULL && entry.name != NULL;
        if (listed) {
            entry.base = entry.name + base_at;
            ret->items[ret->count++] = entry;
        }
    }
    (void)closedir(dir);
    if (listed && ret->count > 1) {
        qsort(ret->items, ret->count, sizeof *ret->items, newest_first);
    }
    return listed;
}

/* Remove the entries whose names begin with `prefix`; all but "." and ".." with "". */
static void remove_entries(int folder, const char *prefix) {
    DIR *dir = open_listing(folder);
    const struct dirent *one;
    while (dir != NULL && (one = readdir(dir)) != NULL) {
        if (strncmp(one->d_name, prefix, strlen(prefix)) == 0) {
            (void)unlinkat(folder, one->d_name, 0);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

/* ---------------------------------------------------------- open and close */

void stage_close(struct stage *stage) {
    if (stage == NULL) {
        return;
    }
    OBJECT_WIPE(stage, STAGE_MAGIC);
    if (stage->temporary) {
        remove_entries(stage->dir, "");
        (void)rmdir(stage->path);
    }
    closep(&stage->lock);
    closep(&stage->dir);
    free(stage->path);
    free(stage);
}
CLEANUP_DEFINE(struct stage, stage_close)

static int open_existing(const char *dir, struct stage **ret, struct toolrack_error *err) {
    if (sodium_init() < 0) {
        return error_set(err, TOOLRACK_E_IO,
                         "libsodium cannot start: there is no source of random numbers");
    }
    CLEANUP(stage_closep) struct stage *stage = calloc(1, sizeof *stage);
    if (stage == NULL) {
        return error_oom(err);
    }
    stage->magic = STAGE_MAGIC;
    stage->dir = -1;
    stage->lock = -1;
    atomic_init(&stage->is_stopped, false);
    atomic_init(&stage->next_temporary, 0);
    stage->path = realpath(dir, NULL);
    if (stage->path == NULL) {
        return errno == ENOMEM ? error_oom(err) : cannot_open(dir, err);
    }
    int code = open_checked(stage->path, &stage->dir, err);
    if (code < 0) {
        return code;
    }
    struct statvfs fs;
    if (fstatvfs(stage->dir, &fs) < 0) {
        return cannot_open(stage->path, err);
    }
    if ((fs.f_flag & ST_NOEXEC) != 0) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s is on a file system that nothing may be loaded from (noexec); choose "
                         "a folder on another one",
                         stage->path);
    }
    stage->lock = openat(stage->dir, LOCK_NAME,
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (stage->lock < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot make %s/" LOCK_NAME ": %s", stage->path,
                         strerror(errno));
    }
    if (set_lock(stage->lock, F_WRLCK)) { /* no other stage: remove leftovers of a crash */
        remove_entries(stage->dir, TEMPORARY_PREFIX);
    }
    code = share_lock(stage, err);
    if (code == 0) {
        *ret = STEAL(stage);
    }
    return code;
}

int stage_open(const char *dir, struct stage **ret, struct toolrack_error *err) {
    CLEANUP(freep) char *path = strdup(dir);
    if (path == NULL) {
        return error_oom(err);
    }
    int code = make_folders(path);
    if (code < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot make the folder %s: %s", dir, strerror(-code));
    }
    code = own_folder_check(dir, false);
    if (code == -ELOOP) { /* files of other programs would be taken for copies, and removed */
        return error_set(err, TOOLRACK_E_REFUSED, "the folder %s: %s", dir, own_folder_words(code));
    }
    return open_existing(dir, ret, err);
}

/* Remove a temporary folder of this user whose process has ended: nobody has its lock. One without
 * a lock is being made. */
static void remove_leftover(int above, const char *name) {
    struct stat st;
    CLEANUP(closep)
    int dir = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(closep) int lock = -1;
    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid()) {
        return;
    }
    lock = openat(dir, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (lock >= 0 && set_lock(lock, F_WRLCK)) {
        remove_entries(dir, "");
        (void)unlinkat(above, name, AT_REMOVEDIR);
    }
}

/* In a folder that was judged when one was made in it. */
static void remove_leftovers(const char *above) {
    CLEANUP(closep) int folder = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = folder >= 0 ? open_listing(folder) : NULL;
    const struct dirent *one;
    while (dir != NULL && (one = readdir(dir)) != NULL) {
        if (strncmp(one->d_name, TEMPORARY_FOLDER, strlen(TEMPORARY_FOLDER)) == 0) {
            remove_leftover(folder, one->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

/* Whether it was taken for a leftover before it had its lock, which it keeps from now on. */
static bool is_removed(const struct stage *stage) {
    struct stat st;
    return fstat(stage->lock, &st) == 0 && st.st_nlink == 0;
}

static int open_temporary_in(const char *above, struct stage **ret, struct toolrack_error *err) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/" TEMPORARY_FOLDER "XXXXXX", above);
    if (length < 0 || length >= (int)sizeof path) {
        return error_set(err, TOOLRACK_E_IO, "the path %s is too long; choose another", above);
    }
    if (mkdtemp(path) == NULL) {
        return error_set(err, TOOLRACK_E_IO, "cannot make a folder in %s: %s", above,
                         strerror(errno));
    }
    int code = open_existing(path, ret, err);
    if (code < 0) {
        (void)rmdir(path);
        return code;
    }
    if (is_removed(*ret)) {
        stage_close(*ret);
        return TEMPORARY_REMOVED;
    }
    (*ret)->temporary = true;
    remove_leftovers(above);
    return 0;
}

int stage_open_temporary(struct stage **ret, struct toolrack_error *err) {
    const char *const places[] = {secure_getenv("XDG_RUNTIME_DIR"), secure_getenv("TMPDIR"),
                                  "/tmp"};
    int code = TOOLRACK_E_IO;
    for (size_t i = 0; i < ARRAY_LENGTH(places) && code < 0; i++) {
        if (places[i] != NULL && places[i][0] == '/') {
            do {
                code = open_temporary_in(places[i], ret, err);
            } while (code == TEMPORARY_REMOVED);
        }
    }
    return code;
}

const char *stage_path(const struct stage *stage) {
    return stage->path;
}

void stage_stop(struct stage *stage) {
    OBJECT_CHECK(stage, STAGE_MAGIC);
    atomic_store(&stage->is_stopped, true);
}

/* ----------------------------------------------------------------- hashing */

enum pass {
    PASS_DONE,
    PASS_OTHER_SIZE, /* fewer or more bytes than there should be */
    PASS_ENDED,      /* goes_on() said so */
    PASS_NOT_READ,   /* see errno; likewise for the next */
    PASS_NOT_WRITTEN
};

struct copying;
static bool goes_on(const struct copying *copying);
static void compare_twin(struct copying *copying, const unsigned char *chunk, size_t length,
                         uint64_t at);

/* Hash a file from its beginning, and write its bytes to `to` unless that is -1. `copying`: what it
 * is part of, which may end between two chunks; NULL: nothing that could. */
static enum pass pass_over(int from, int to, uint64_t size, struct copying *copying,
                           uint8_t ret_hash[STAGE_HASH_SIZE]) {
    unsigned char chunk[CHUNK_SIZE];
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    uint64_t done = 0;
    for (;;) {
        ssize_t got = pread(from, chunk, sizeof chunk, (off_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return PASS_NOT_READ;
        }
        if (got == 0) {
            break;
        }
        done += (uint64_t)got;
        if (done > size) {
            return PASS_OTHER_SIZE;
        }
        (void)crypto_hash_sha256_update(&state, chunk, (size_t)got);
        int code = to < 0 ? 0 : write_all(to, chunk, (size_t)got);
        if (code < 0) {
            errno = -code;
            return PASS_NOT_WRITTEN;
        }
        if (copying != NULL) {
            compare_twin(copying, chunk, (size_t)got, done - (uint64_t)got);
        }
        if (copying != NULL && !goes_on(copying)) {
            return PASS_ENDED;
        }
    }
    (void)crypto_hash_sha256_final(&state, ret_hash);
    return done == size ? PASS_DONE : PASS_OTHER_SIZE;
}

/* ----------------------------------------------------------------- finding */

static void hash_digits(const uint8_t hash[STAGE_HASH_SIZE], char ret[NAME_DIGITS + 1]) {
    (void)sodium_bin2hex(ret, NAME_DIGITS + 1, hash, NAME_DIGITS / 2);
}

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    size_t length = strlen(base);
    return length > STAGE_NAME_MAX ? base + (length - STAGE_NAME_MAX) : base;
}

static bool put_path(const struct stage *stage, const char *name, struct staged *ret) {
    int length = snprintf(ret->path, sizeof ret->path, "%s/%s", stage->path, name);
    return length > 0 && length < (int)sizeof ret->path;
}

/* Open the copy with this name. A copy with two names is just getting its final name, and its
 * ctime, part of its identity, is not final: it is not taken. -1: it is none that can be taken. */
static int open_staged(const struct stage *stage, const char *name, struct stat *ret_st) {
    CLEANUP(closep)
    int fd = openat(stage->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode) || ret_st->st_nlink != 1) {
        return -1;
    }
    int opened = fd;
    fd = -1;
    return opened;
}

/* `ret` is the copy with this name, which has that content. */
static bool take_sound(const struct stage *stage, const char *name, const struct stat *st,
                       const uint8_t sha256[STAGE_HASH_SIZE], struct staged *ret) {
    struct staged found = {.is_old = true, .identity = identity_of(st)};
    memcpy(found.sha256, sha256, STAGE_HASH_SIZE);
    bool fits = put_path(stage, name, &found);
    if (fits) {
        *ret = found;
    }
    return fits;
}

/* Whether the copy with this name has that content; then `ret` is filled. */
static bool take_copy(const struct stage *stage, const char *name,
                      const uint8_t sha256[STAGE_HASH_SIZE], struct staged *ret) {
    struct stat st;
    uint8_t found[STAGE_HASH_SIZE];
    CLEANUP(closep) int fd = open_staged(stage, name, &st);
    return fd >= 0 && pass_over(fd, -1, (uint64_t)st.st_size, NULL, found) == PASS_DONE &&
           memcmp(found, sha256, STAGE_HASH_SIZE) == 0 && take_sound(stage, name, &st, sha256, ret);
}

static bool find_among(const struct stage *stage, const struct entries *entries,
                       const uint8_t sha256[STAGE_HASH_SIZE], struct staged *ret) {
    char digits[NAME_DIGITS + 1];
    hash_digits(sha256, digits);
    for (size_t i = 0; i < entries->count; i++) {
        const char *name = entries->items[i].name;
        if (memcmp(name, digits, NAME_DIGITS) == 0 && take_copy(stage, name, sha256, ret)) {
            return true;
        }
    }
    return false;
}

int stage_find(struct stage *stage, const uint8_t sha256[STAGE_HASH_SIZE], const char *name,
               struct staged *ret, struct toolrack_error *err) {
    OBJECT_CHECK(stage, STAGE_MAGIC);
    CLEANUP(entries_finish) struct entries entries;
    if (!list_entries(stage, name != NULL ? base_of(name) : NULL, &entries)) {
        return error_oom(err);
    }
    if (find_among(stage, &entries, sha256, ret)) {
        return 0;
    }
    char digits[NAME_DIGITS + 1];
    hash_digits(sha256, digits);
    return error_set(err, TOOLRACK_E_NOT_FOUND, "%s has no sound copy of the content %s",
                     stage->path, digits);
}

/* ----------------------------------------------------------------- copying */

/* A file that is being copied. */
struct copying {
    struct stage *stage; /* NULL: the file is only hashed */
    const char *source_path;
    const char *base; /* the original name in the copy's name */
    int from;
    struct file_identity source;
    int to;
    char name[TEMPORARY_NAME_MAX]; /* of `to` until it is finished, then "" */
    int twin;                      /* an older copy that has had the same bytes so far; or -1 */
};

static void copying_finish(struct copying *copying) {
    if (copying->name[0] != '\0') {
        (void)unlinkat(copying->stage->dir, copying->name, 0);
    }
    closep(&copying->from);
    closep(&copying->to);
    closep(&copying->twin);
}

static void compare_twin(struct copying *copying, const unsigned char *chunk, size_t length,
                         uint64_t at) {
    unsigned char other[CHUNK_SIZE];
    if (copying->twin >= 0 && (pread(copying->twin, other, length, (off_t)at) != (ssize_t)length ||
                               memcmp(other, chunk, length) != 0)) {
        closep(&copying->twin);
        copying->twin = -1;
    }
}

static bool is_unchanged(const struct copying *copying) {
    struct stat st;
    if (fstat(copying->from, &st) < 0) {
        return false;
    }
    struct file_identity now = identity_of(&st);
    return identity_same(&now, &copying->source);
}

static bool is_stopped(const struct copying *copying) {
    return copying->stage != NULL && atomic_load(&copying->stage->is_stopped);
}

/* A large file may take minutes: nobody wants the copy of a file that has changed, or waits for it
 * when the host is closing. */
static bool goes_on(const struct copying *copying) {
    return !is_stopped(copying) && is_unchanged(copying);
}

static int changing(const struct copying *copying, struct toolrack_error *err) {
    (void)error_set(
            err, TOOLRACK_E_IO,
            "%s is being written; it is read when the writing has ended (install plugins by "
            "rename, then nobody has to wait)",
            copying->source_path);
    return STAGE_CHANGING;
}

static int open_source(struct copying *copying, const struct file_identity *expected,
                       struct toolrack_error *err) {
    const char *path = copying->source_path;
    struct stat st;
    /* open() must not wait for the other end of a pipe. */
    copying->from = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (copying->from < 0 || fstat(copying->from, &st) < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot read %s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s is not a regular file; put the plugin's .so file itself there", path);
    }
    if ((uint64_t)st.st_size > DESCRIPTOR_FILE_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "%s has %llu bytes, the limit is %u", path,
                         (unsigned long long)st.st_size, DESCRIPTOR_FILE_SIZE_MAX);
    }
    uint64_t holes = file_holes(copying->from, &st);
    if (holes > DESCRIPTOR_HOLES_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%llu bytes of %s are holes, which nobody wrote; the limit is %u",
                         (unsigned long long)holes, path, DESCRIPTOR_HOLES_MAX);
    }
    copying->source = identity_of(&st);
    if (expected != NULL && !identity_same(&copying->source, expected)) {
        return changing(copying, err);
    }
    return 0;
}

static int cannot_write(const struct copying *copying, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "cannot copy %s into %s: %s", copying->source_path,
                     copying->stage->path, strerror(errno));
}

static int open_copy(struct copying *copying, struct toolrack_error *err) {
    struct stage *stage = copying->stage;
    for (unsigned tries = 0; tries < TEMPORARY_TRIES_MAX && copying->to < 0; tries++) {
        char name[TEMPORARY_NAME_MAX];
        (void)snprintf(name, sizeof name, TEMPORARY_PREFIX "%d-%u", (int)getpid(),
                       atomic_fetch_add(&stage->next_temporary, 1));
        copying->to = openat(stage->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (copying->to >= 0) {
            memcpy(copying->name, name, sizeof name);
        } else if (errno != EEXIST) {
            break;
        }
    }
    return copying->to < 0 ? cannot_write(copying, err) : 0;
}

static int copy_bytes(struct copying *copying, uint8_t ret_hash[STAGE_HASH_SIZE],
                      struct toolrack_error *err) {
    bool young = clock_wall_ns() - copying->source.ctime_ns < STAGE_YOUNG_NS;
    uint64_t size = copying->source.size;
    uint8_t again[STAGE_HASH_SIZE];
    enum pass pass = pass_over(copying->from, copying->to, size, copying, ret_hash);
    if (pass == PASS_DONE && young) {
        pass = pass_over(copying->from, -1, size, copying, again);
        if (pass == PASS_DONE && memcmp(again, ret_hash, sizeof again) != 0) {
            return changing(copying, err);
        }
    }
    switch (pass) {
    case PASS_NOT_READ:
        return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", copying->source_path,
                         strerror(errno));
    case PASS_NOT_WRITTEN: return cannot_write(copying, err);
    case PASS_ENDED:
        if (is_stopped(copying)) {
            return error_set(err, TOOLRACK_E_CANCELLED, "the host is closing");
        }
        return changing(copying, err);
    case PASS_OTHER_SIZE: return changing(copying, err);
    case PASS_DONE: break;
    }
    return is_unchanged(copying) ? 0 : changing(copying, err);
}

/* Give the copy its final name, by link(), which fails if that name is taken. */
static int publish(struct copying *copying, struct staged *ret, struct toolrack_error *err) {
    const struct stage *stage = copying->stage;
    char digits[NAME_DIGITS + 1];
    char name[STAGED_NAME_ROOM];
    CLEANUP(entries_finish) struct entries entries;
    if (!list_entries(stage, NULL, &entries)) {
        return error_oom(err);
    }
    /* Higher than all existing numbers, so that the order by number is the order by age. */
    uint64_t number = entries.count == 0 ? 1 : entries.items[0].number + 1;
    int code;
    if (fchmod(copying->to, 0500) < 0 && errno != EPERM) { /* a filter: nobody else reads it */
        return cannot_write(copying, err);
    }
    hash_digits(ret->sha256, digits);
    do {
        (void)snprintf(name, sizeof name, "%s-g%llu-%s", digits, (unsigned long long)number++,
                       copying->base);
        if (!put_path(stage, name, ret)) {
            errno = ENAMETOOLONG;
            return cannot_write(copying, err);
        }
        code = linkat(stage->dir, copying->name, stage->dir, name, 0);
    } while (code < 0 && errno == EEXIST);
    struct stat st;
    if (code < 0 || unlinkat(stage->dir, copying->name, 0) < 0 || fstat(copying->to, &st) < 0) {
        return cannot_write(copying, err);
    }
    copying->name[0] = '\0';
    ret->identity = identity_of(&st); /* only now: both calls above change its ctime */
    return 0;
}

/* Find a copy of what the file has now, which is read but not written: a host that starts looks at
 * all its files, and nearly all have their copies. The newest copy nearly always is it: so it is
 * compared with what is hashed. To hash it as well, as an older one is, was a fifth of the
 * instructions of `toolrack call` (4.3 of 21.3 million, for a plugin of 78 KB). */
static int find_existing(struct copying *copying, struct staged *ret, bool *ret_found,
                         struct toolrack_error *err) {
    const struct stage *stage = copying->stage;
    CLEANUP(entries_finish) struct entries entries;
    uint8_t sha256[STAGE_HASH_SIZE];
    char digits[NAME_DIGITS + 1];
    struct stat st;
    if (!list_entries(stage, copying->base, &entries)) {
        return error_oom(err);
    }
    if (entries.count == 0) {
        return 0;
    }
    const char *newest = entries.items[0].name;
    copying->twin = open_staged(stage, newest, &st);
    int code = copy_bytes(copying, sha256, err);
    if (code == 0) {
        hash_digits(sha256, digits);
        bool is_newest = copying->twin >= 0 && (uint64_t)st.st_size == copying->source.size &&
                         memcmp(newest, digits, NAME_DIGITS) == 0;
        *ret_found = is_newest ? take_sound(stage, newest, &st, sha256, ret)
                               : find_among(stage, &entries, sha256, ret);
    }
    closep(&copying->twin);
    copying->twin = -1;
    return code;
}

static int make_copy(struct copying *copying, struct staged *ret, struct toolrack_error *err) {
    int code = open_copy(copying, err);
    if (code == 0) {
        code = copy_bytes(copying, ret->sha256, err);
    }
    return code == 0 ? publish(copying, ret, err) : code;
}

int stage_copy(struct stage *stage, const char *source_path, const struct file_identity *expected,
               enum stage_mode mode, struct staged *ret, struct toolrack_error *err) {
    OBJECT_CHECK(stage, STAGE_MAGIC);
    CLEANUP(copying_finish)
    struct copying copying = {.stage = stage,
                              .source_path = source_path,
                              .base = base_of(source_path),
                              .from = -1,
                              .to = -1,
                              .twin = -1};
    struct staged staged = {0};
    bool is_found = false;
    int code = open_source(&copying, expected, err);
    if (code == 0 && mode == STAGE_REUSE) {
        code = find_existing(&copying, &staged, &is_found, err);
    }
    if (code == 0 && !is_found) {
        code = make_copy(&copying, &staged, err);
    }
    if (code == 0) {
        staged.source = copying.source;
        *ret = staged;
    }
    return code;
}

int stage_renew(struct stage *stage, const struct staged *copy, struct staged *ret,
                struct toolrack_error *err) {
    struct entry entry;
    struct staged staged = {.source = copy->source};
    CLEANUP(copying_finish)
    struct copying copying = {
            .stage = stage, .source_path = copy->path, .from = -1, .to = -1, .twin = -1};
    const char *slash = strrchr(copy->path, '/');
    if (slash == NULL || !parse_name(slash + 1, &entry)) {
        return error_set(err, TOOLRACK_E_IO, "%s is not a copy of a plugin", copy->path);
    }
    copying.base = entry.base;
    int code = open_source(&copying, &copy->identity, err);
    if (code == 0) {
        code = open_copy(&copying, err);
    }
    if (code == 0) {
        code = copy_bytes(&copying, staged.sha256, err);
    }
    if (code == STAGE_CHANGING ||
        (code == 0 && memcmp(staged.sha256, copy->sha256, sizeof staged.sha256) != 0)) {
        return error_set(err, TOOLRACK_E_IO, "%s was changed by another program; remove it",
                         copy->path);
    }
    if (code == 0) {
        code = publish(&copying, &staged, err);
    }
    if (code == 0) {
        *ret = staged;
    }
    return code;
}

int stage_hash(const char *source_path, const struct file_identity *expected,
               uint8_t ret_sha256[STAGE_HASH_SIZE], struct toolrack_error *err) {
    uint8_t sha256[STAGE_HASH_SIZE];
    CLEANUP(copying_finish)
    struct copying copying = {.source_path = source_path, .from = -1, .to = -1, .twin = -1};
    int code = open_source(&copying, expected, err);
    if (code == 0) {
        code = copy_bytes(&copying, sha256, err);
    }
    if (code == 0) {
        memcpy(ret_sha256, sha256, sizeof sha256);
    }
    return code;
}

/* -------------------------------------------------------------- collecting */

static bool is_in_use(const struct stage *stage, const struct stage_needs *needs,
                      const char *name) {
    size_t length = strlen(stage->path);
    for (size_t i = 0; i < needs->in_use_count; i++) {
        const char *path = needs->in_use[i];
        if (strncmp(path, stage->path, length) == 0 && path[length] == '/' &&
            strcmp(path + length + 1, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Mark the newest copy of each content that is needed, while there is room for it. */
static void mark_needed(const struct stage *stage, const struct entries *entries,
                        const struct stage_needs *needs, bool *needed) {
    uint64_t left = needs->size_max;
    for (size_t k = 0; k < needs->content_count; k++) {
        char digits[NAME_DIGITS + 1];
        struct stat st;
        hash_digits(needs->contents[k], digits);
        size_t at = 0;
        while (at < entries->count && memcmp(entries->items[at].name, digits, NAME_DIGITS) != 0) {
            at++;
        }
        if (at == entries->count || needed[at] ||
            fstatat(stage->dir, entries->items[at].name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            continue;
        }
        uint64_t size = (uint64_t)st.st_size;
        needed[at] = is_in_use(stage, needs, entries->items[at].name) || size <= left;
        left -= needed[at] && size <= left ? size : 0;
    }
}

size_t stage_collect(struct stage *stage, const struct stage_needs *needs) {
    OBJECT_CHECK(stage, STAGE_MAGIC);
    if (!set_lock(stage->lock, F_WRLCK)) {
        return 0; /* another process has the stage open; the shared lock is still ours */
    }
    CLEANUP(entries_finish) struct entries entries;
    size_t removed = 0;
    bool *needed = NULL;
    if (list_entries(stage, NULL, &entries)) {
        needed = arena_zalloc(&entries.arena, entries.count + 1);
    }
    if (needed != NULL) {
        mark_needed(stage, &entries, needs, needed);
    }
    for (size_t i = 0; needed != NULL && i < entries.count; i++) {
        const char *name = entries.items[i].name;
        removed +=
                !needed[i] && !is_in_use(stage, needs, name) && unlinkat(stage->dir, name, 0) == 0;
    }
    (void)set_lock(stage->lock, F_RDLCK); /* from exclusive to shared: cannot fail */
    return removed;
}

const char *stage_original_name(const char *name) {
    size_t digits = strspn(name, "0123456789abcdef");
    if (digits != STAGE_HASH_SIZE || strncmp(name + digits, "-g", 2) != 0) {
        return name;
    }
    const char *number = name + digits + 2;
    size_t length = strspn(number, "0123456789");
    return length > 0 && number[length] == '-' ? number + length + 1 : name;
}
