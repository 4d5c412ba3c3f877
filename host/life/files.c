#include "life/files.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/name.h"
#include "plugin/origin.h"

/* Invariants:
 *
 *  (1) Files are never removed, since generations, the watcher and callers keep pointers to them:
 *      each name that was ever in a folder costs some hundred bytes until the host is closed.
 *  (2) Each path is once in the list and once in its slot.
 *  (3) At most one thread has taken a file, and the same thread gives it back. A thread that waits
 *      for a file holds no lock of the room: files come before all locks.
 *  (4) This lock is the last of the room: its holder takes no other lock of the room. */

void files_init(struct plugin_files *files) {
    *files = (struct plugin_files){.end = &files->first};
    arena_init(&files->arena, NULL, 0);
    lock_init(&files->lock);
    clock_cond_init(&files->changed);
}

/* --------------------------------------------------------------------- find */

#define SLOTS_FIRST 64u

/* Caller holds the lock, as in the next three. */
static struct plugin_file *find(struct plugin_files *files, const char *path, uint32_t hash) {
    LOCK_ASSERT_HELD(&files->lock);
    struct plugin_file *file =
            files->slot_count != 0 ? files->slots[hash & (files->slot_count - 1)] : NULL;
    while (file != NULL && (file->hash != hash || strcmp(file->path, path) != 0)) {
        file = file->hash_next;
    }
    return file;
}

static void put(struct plugin_files *files, struct plugin_file *file) {
    struct plugin_file **slot = &files->slots[file->hash & (files->slot_count - 1)];
    file->hash_next = *slot;
    *slot = file;
}

/* Make room for one more file. */
static bool reserve(struct plugin_files *files) {
    if (files->count < files->slot_count) {
        return true;
    }
    uint32_t slot_count = files->slot_count == 0 ? SLOTS_FIRST : 2 * files->slot_count;
    struct plugin_file **slots = calloc(slot_count, sizeof(struct plugin_file *));
    if (slots == NULL) {
        return false;
    }
    free(files->slots);
    files->slots = slots;
    files->slot_count = slot_count;
    for (struct plugin_file *file = files->first; file != NULL; file = file->next) {
        put(files, file);
    }
    return true;
}

/* The key of a file in a folder; NULL: out of memory. */
static const char *make_key(struct plugin_files *files, const char *path,
                            const struct scan_folder *folder) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return folder->real == NULL ? path
           : strlen(folder->real) == (size_t)(name - path) - 1 &&
                           strncmp(folder->real, path, strlen(folder->real)) == 0
                   ? path
                   : arena_printf(&files->arena, "%s/%s", folder->real, name);
}

static struct plugin_file *create(struct plugin_files *files, const char *path, uint32_t hash,
                                  const struct scan_folder *folder) {
    if (!reserve(files)) {
        return NULL;
    }
    struct plugin_file *file = arena_zalloc(&files->arena, sizeof *file);
    const char *copy = arena_copy(&files->arena, path, strlen(path));
    const char *key = copy != NULL ? make_key(files, copy, folder) : NULL;
    if (file == NULL || key == NULL) {
        return NULL;
    }
    file->path = copy;
    file->hash = hash;
    atomic_init(&file->folder, folder);
    atomic_init(&file->key, key);
    files->has_links = files->has_links || key != copy;
    *files->end = file;
    files->end = &file->next;
    files->count++;
    put(files, file);
    return file;
}

struct plugin_file *files_find(struct plugin_files *files, const char *path) {
    uint32_t hash = name_hash(path, strlen(path));
    lock_take(&files->lock);
    struct plugin_file *file = find(files, path, hash);
    lock_release(&files->lock);
    return file;
}

struct plugin_file *files_add(struct plugin_files *files, const char *path,
                              const struct scan_folder *folder) {
    uint32_t hash = name_hash(path, strlen(path));
    lock_take(&files->lock);
    struct plugin_file *file = find(files, path, hash);
    file = file != NULL ? file : create(files, path, hash, folder);
    lock_release(&files->lock);
    return file;
}

struct plugin_file *files_find_key(struct plugin_files *files, const char *key) {
    struct plugin_file *file = files_find(files, key); /* no link is on the way to most folders */
    if (file != NULL && strcmp(file->key, key) == 0) {
        return file;
    }
    LOCK_SCOPE(&files->lock);
    file = files->has_links ? files->first : NULL;
    while (file != NULL && strcmp(file->key, key) != 0) {
        file = file->next;
    }
    return file;
}

/* --------------------------------------------------------------------- links */

/* A folder whose path leads, or led, elsewhere than when the host was opened. */
struct moved_folder {
    struct moved_folder *next;
    struct scan_folder folder;
};

/* The folder as it is now; NULL: out of memory. Caller holds the lock. */
static const struct scan_folder *moved(struct plugin_files *files, const struct scan_folder *before,
                                       const char *real) {
    LOCK_ASSERT_HELD(&files->lock);
    struct moved_folder *one = files->moved;
    while (one != NULL &&
           (one->folder.path != before->path || strcmp(one->folder.real, real) != 0)) {
        one = one->next;
    }
    if (one != NULL) {
        return &one->folder;
    }
    one = arena_alloc(&files->arena, sizeof *one);
    char *copy = arena_copy(&files->arena, real, strlen(real));
    bool is_fixed = strcmp(before->origin, ORIGIN_BUILTIN) == 0;
    const char *origin = is_fixed || copy == NULL
                                 ? before->origin
                                 : origin_of_folder(&files->arena, before->trust, copy);
    if (one == NULL || copy == NULL || origin == NULL) {
        return NULL;
    }
    *one = (struct moved_folder){.next = files->moved, .folder = *before};
    one->folder.real = copy;
    one->folder.origin = origin;
    files->moved = one;
    return &one->folder;
}

bool files_locate(struct plugin_files *files, struct plugin_file *file) {
    const struct scan_folder *before = file->folder;
    CLEANUP(freep) char *real = realpath(before->path, NULL);
    if (real == NULL || before->real == NULL || strcmp(real, before->real) == 0) {
        return true; /* a folder that is gone for a while is still the same */
    }
    LOCK_SCOPE(&files->lock);
    const struct scan_folder *now = moved(files, before, real);
    const char *key = now != NULL ? make_key(files, file->path, now) : NULL;
    if (key == NULL) {
        return false;
    }
    atomic_store(&file->folder, now);
    atomic_store(&file->key, key);
    files->has_links = true;
    return true;
}

struct plugin_file *files_next(struct plugin_files *files, const struct plugin_file *file) {
    lock_take(&files->lock);
    struct plugin_file *next = file != NULL ? file->next : files->first;
    lock_release(&files->lock);
    return next;
}

/* --------------------------------------------------------------------- take */

bool files_take(struct plugin_files *files, struct plugin_file *file, uint64_t until_ns) {
    struct timespec until = clock_timespec(until_ns);
    LOCK_SCOPE(&files->lock);
    bool is_own = file->taken && pthread_equal(file->taker, pthread_self()) != 0;
    bool in_time = true;
    while (!is_own && file->taken && in_time) {
        if (until_ns == 0) {
            lock_wait(&files->lock, &files->changed);
        } else {
            in_time = lock_wait_until(&files->lock, &files->changed, &until);
        }
    }
    if (file->taken) {
        return false;
    }
    file->taken = true;
    file->taker = pthread_self();
    return true;
}

void files_give(struct plugin_files *files, struct plugin_file *file) {
    lock_take(&files->lock);
    file->taken = false;
    (void)pthread_cond_broadcast(&files->changed);
    lock_release(&files->lock);
}

void files_set_round(struct plugin_files *files, struct plugin_file *file, uint32_t round) {
    lock_take(&files->lock);
    file->round = round;
    lock_release(&files->lock);
}

bool files_was_missed(struct plugin_files *files, const struct plugin_file *file,
                      const struct scan_folder *folder, uint32_t round) {
    LOCK_SCOPE(&files->lock);
    const struct scan_folder *of = file->folder;
    return of->path == folder->path && file->round != round;
}

/* --------------------------------------------------------------------- free */

/* retire.c has released the notes on its generations. */
static void file_finish(struct plugin_file *file) {
    assert(file->retired == NULL);
    free(file->crash);
    free(file->previous_path);
}

struct plugin_file *files_create_apart(const struct scan_folder *folder) {
    struct plugin_file *file = calloc(1, sizeof *file);
    if (file != NULL) {
        atomic_init(&file->folder, folder);
    }
    return file;
}

void files_destroy_apart(struct plugin_file *file) {
    if (file != NULL) {
        file_finish(file);
        free(file);
    }
}

void files_finish(struct plugin_files *files) {
    struct plugin_file *file = files->first;
    while (file != NULL) {
        file_finish(file);
        file = file->next;
    }
    free(files->slots);
    arena_finish(&files->arena);
    (void)pthread_cond_destroy(&files->changed);
    lock_finish(&files->lock);
}

void files_check(struct plugin_files *files) {
    LOCK_SCOPE(&files->lock);
    uint32_t count = 0;
    for (struct plugin_file *file = files->first; file != NULL; file = file->next) {
        assert(find(files, file->path, file->hash) == file); /* (2) */
        assert(file->next != NULL || files->end == &file->next);
        count++;
    }
    assert(count == files->count);
    (void)count;
}
