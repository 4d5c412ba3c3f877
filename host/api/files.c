#include "api/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/host.h"
#include "base/clock.h"
#include "base/name.h"

/* Files are never forgotten, for generations, the watcher and callers hold on to them: a name that
 * once was in a folder costs some hundred bytes as long as the host lives. */

void files_init(struct plugin_files *files) {
    *files = (struct plugin_files){.end = &files->first};
    clock_cond_init(&files->changed);
}

/* --------------------------------------------------------------------- find */

#define SLOTS_FIRST 64u

/* Caller holds the lock, as in all of what follows. */
static struct plugin_file *find(const struct plugin_files *files, const char *path, uint32_t hash) {
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

/* Room for one more. */
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

static struct plugin_file *create(struct plugin_files *files, const char *path, uint32_t hash,
                                  const struct scan_folder *folder) {
    if (!reserve(files)) {
        return NULL;
    }
    struct plugin_file *file = calloc(1, sizeof *file);
    char *copy = strdup(path);
    if (file == NULL || copy == NULL) {
        free(file);
        free(copy);
        return NULL;
    }
    file->path = copy;
    file->hash = hash;
    file->folder = folder;
    *files->end = file;
    files->end = &file->next;
    files->count++;
    put(files, file);
    return file;
}

struct plugin_file *files_find(struct toolrack *host, const char *path) {
    uint32_t hash = name_hash(path, strlen(path));
    (void)pthread_mutex_lock(&host->generations_lock);
    struct plugin_file *file = find(&host->files, path, hash);
    (void)pthread_mutex_unlock(&host->generations_lock);
    return file;
}

struct plugin_file *files_add(struct toolrack *host, const char *path,
                              const struct scan_folder *folder) {
    uint32_t hash = name_hash(path, strlen(path));
    (void)pthread_mutex_lock(&host->generations_lock);
    struct plugin_file *file = find(&host->files, path, hash);
    file = file != NULL ? file : create(&host->files, path, hash, folder);
    (void)pthread_mutex_unlock(&host->generations_lock);
    return file;
}

struct plugin_file *files_next(struct toolrack *host, const struct plugin_file *file) {
    (void)pthread_mutex_lock(&host->generations_lock);
    struct plugin_file *next = file != NULL ? file->next : host->files.first;
    (void)pthread_mutex_unlock(&host->generations_lock);
    return next;
}

/* --------------------------------------------------------------------- take */

bool files_take(struct toolrack *host, struct plugin_file *file, uint64_t until_ns) {
    struct timespec until = clock_timespec(until_ns);
    (void)pthread_mutex_lock(&host->generations_lock);
    bool is_own = file->taken && pthread_equal(file->taker, pthread_self()) != 0;
    int late = 0;
    while (!is_own && file->taken && late == 0) {
        late = until_ns == 0 ? pthread_cond_wait(&host->files.changed, &host->generations_lock)
                             : pthread_cond_timedwait(&host->files.changed, &host->generations_lock,
                                                      &until);
    }
    bool free_now = !file->taken;
    if (free_now) {
        file->taken = true;
        file->taker = pthread_self();
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return free_now;
}

void files_give(struct toolrack *host, struct plugin_file *file) {
    (void)pthread_mutex_lock(&host->generations_lock);
    file->taken = false;
    (void)pthread_cond_broadcast(&host->files.changed);
    (void)pthread_mutex_unlock(&host->generations_lock);
}

struct plugin *files_serving(struct toolrack *host, struct plugin_file *file) {
    (void)pthread_mutex_lock(&host->generations_lock);
    struct plugin *plugin = file->serving != NULL ? file->serving->plugin : NULL;
    if (plugin != NULL && !plugin_ref_unless_gone(plugin)) {
        plugin = NULL;
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return plugin;
}

void files_serve(struct toolrack *host, struct plugin_file *file, struct plugin *plugin) {
    (void)pthread_mutex_lock(&host->generations_lock);
    file->serving = plugin != NULL ? generation_of(plugin) : NULL;
    (void)pthread_mutex_unlock(&host->generations_lock);
}

/* ------------------------------------------------------------------ folders */

bool files_folder_is_repeated(const struct toolrack *host, const struct scan_folder *folder) {
    struct stat st;
    struct stat other;
    if (stat(folder->path, &st) < 0) {
        return false;
    }
    for (const struct scan_folder *at = host->places.folders; at < folder; at++) {
        if (stat(at->path, &other) == 0 && other.st_dev == st.st_dev && other.st_ino == st.st_ino) {
            return true;
        }
    }
    return false;
}

static void file_free(struct plugin_file *file) {
    while (file->retired != NULL) {
        struct retired *older = file->retired->next;
        free(file->retired->unload);
        free(file->retired);
        file->retired = older;
    }
    free(file->contents);
    free(file->previous_path);
    free(file->path);
    free(file);
}

struct plugin_file *files_create_apart(const struct scan_folder *folder) {
    struct plugin_file *file = calloc(1, sizeof *file);
    if (file != NULL) {
        file->folder = folder;
    }
    return file;
}

void files_destroy_apart(struct plugin_file *file) {
    if (file != NULL) {
        file_free(file);
    }
}

void files_finish(struct toolrack *host) {
    struct plugin_file *file = host->files.first;
    while (file != NULL) {
        struct plugin_file *next = file->next;
        file_free(file);
        file = next;
    }
    free(host->files.slots);
    (void)pthread_cond_destroy(&host->files.changed);
}
