#include "store/start-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own-folder.h"
#include "store/database.h"
#include "store/kept-rows.h"

#define START_CACHE_FILE "start.cache"
/* For how long the store's file must not have been written to: some file systems know whole
 * seconds. */
#define SETTLED_S        2
#define SUM_SIZE         16

static const char magic[8] = {'T', 'R', 'S', 'T', 'A', 'R', 'T', '1'};

/* Members without room between them: they are compared and hashed as bytes. */
struct stamp {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t changed_s; /* its contents */
    int64_t changed_ns;
    int64_t touched_s; /* anything, which nobody can set */
    int64_t touched_ns;
};

struct header {
    char magic[8];
    struct stamp stamp;
    int64_t schema;
    uint64_t size;               /* of the rows */
    unsigned char sum[SUM_SIZE]; /* of this with 0 here, and of the rows */
};

struct start_cache {
    struct stamp stamp;
    bool is_settled; /* it was, before the first row was read */
    bool is_valid;
    bool is_changed;
    int schema;
    struct buf rows; /* kept-rows.h */
};

/* --------------------------------------------------------------- the store's file */

/* False: it is not there, or its contents are not all in it. */
static bool read_stamp(const struct store *store, struct stamp *ret) {
    static const char *const logs[] = {"-wal", "-journal"};
    struct stat st;
    if (stat(store->path, &st) < 0) {
        return false;
    }
    *ret = (struct stamp){.device = st.st_dev,
                          .inode = st.st_ino,
                          .size = st.st_size,
                          .changed_s = st.st_mtim.tv_sec,
                          .changed_ns = st.st_mtim.tv_nsec,
                          .touched_s = st.st_ctim.tv_sec,
                          .touched_ns = st.st_ctim.tv_nsec};
    for (size_t i = 0; i < ARRAY_LENGTH(logs); i++) {
        CLEANUP(freep) char *path = NULL;
        if (asprintf(&path, "%s%s", store->path, logs[i]) < 0) {
            path = NULL;
            return false;
        }
        if (stat(path, &st) == 0 ? st.st_size > 0 : errno != ENOENT) {
            return false;
        }
    }
    return true;
}

static bool is_same(const struct stamp *a, const struct stamp *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* --------------------------------------------------------------------- the file */

static void sum_of(const struct header *header, const void *rows, unsigned char ret[SUM_SIZE]) {
    struct header plain = *header;
    crypto_generichash_state state;
    memset(plain.sum, 0, sizeof plain.sum);
    (void)crypto_generichash_init(&state, NULL, 0, SUM_SIZE);
    (void)crypto_generichash_update(&state, (const unsigned char *)&plain, sizeof plain);
    (void)crypto_generichash_update(&state, rows, header->size);
    (void)crypto_generichash_final(&state, ret, SUM_SIZE);
}

/* Read the rows of this stamp into an empty cache; false, with part of them: they are not there. */
static bool read_rows(struct start_cache *cache, const char *folder) {
    struct header header;
    unsigned char sum[SUM_SIZE];
    CLEANUP(closep) int fd = own_file_open(folder, START_CACHE_FILE, O_RDONLY);
    if (fd < 0) {
        fd = -1;
        return false;
    }
    if (read(fd, &header, sizeof header) != (ssize_t)sizeof header ||
        memcmp(header.magic, magic, sizeof magic) != 0 || !is_same(&header.stamp, &cache->stamp) ||
        header.size > KEPT_ROWS_SIZE_MAX || header.schema < 1 || header.schema > SCHEMA_NUMBER ||
        !buf_reserve(&cache->rows, header.size) ||
        read(fd, cache->rows.data, header.size) != (ssize_t)header.size) {
        return false;
    }
    cache->rows.length = header.size;
    cache->schema = (int)header.schema;
    sum_of(&header, cache->rows.data, sum);
    return memcmp(sum, header.sum, sizeof sum) == 0;
}

void start_cache_save(const struct start_cache *cache, const struct store *store) {
    struct stamp now;
    if (cache == NULL || !cache->is_changed || !cache->is_settled || cache->rows.failed ||
        cache->rows.length > KEPT_ROWS_SIZE_MAX || !read_stamp(store, &now) ||
        !is_same(&now, &cache->stamp)) {
        return;
    }
    CLEANUP(freep) char *path = NULL;
    CLEANUP(freep) char *name = NULL;
    if (asprintf(&path, "%s/" START_CACHE_FILE, store->dir) < 0) {
        path = NULL;
        return;
    }
    if (asprintf(&name, "%s.XXXXXX", path) < 0) {
        name = NULL;
        return;
    }
    struct header header = {
            .stamp = cache->stamp, .schema = cache->schema, .size = cache->rows.length};
    memcpy(header.magic, magic, sizeof magic);
    sum_of(&header, cache->rows.data, header.sum);
    CLEANUP(closep) int fd = mkostemp(name, O_CLOEXEC); /* of mode 0600 */
    if (fd >= 0 &&
        (write_all(fd, &header, sizeof header) < 0 ||
         write_all(fd, cache->rows.data, cache->rows.length) < 0 || rename(name, path) < 0)) {
        (void)unlink(name);
    }
}

/* ------------------------------------------------------------------------- rows */

bool start_cache_find(const struct start_cache *cache, const char *sql, const struct value *values,
                      struct rows *ret_rows) {
    return kept_rows_find(cache->rows.data, cache->rows.length, sql, values, ret_rows);
}

void start_cache_add(struct start_cache *cache, int schema, const char *sql,
                     const struct value *values, const struct rows *rows) {
    if (!cache->rows.failed && cache->rows.length <= KEPT_ROWS_SIZE_MAX &&
        kept_rows_add(&cache->rows, sql, values, rows)) {
        cache->schema = schema;
        cache->is_changed = true;
    }
}

/* ------------------------------------------------------------------------- life */

struct start_cache *start_cache_load(const struct store *store) {
    struct start_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL || !read_stamp(store, &cache->stamp)) {
        free(cache);
        return NULL;
    }
    cache->is_settled = clock_wall_s() - cache->stamp.changed_s > SETTLED_S;
    cache->is_valid = read_rows(cache, store->dir);
    if (!cache->is_valid) {
        buf_clear(&cache->rows);
        cache->schema = 0;
    }
    return cache;
}

void start_cache_destroy(struct start_cache *cache) {
    if (cache != NULL) {
        buf_finish(&cache->rows);
        free(cache);
    }
}

bool start_cache_is_valid(const struct start_cache *cache) {
    return cache != NULL && cache->is_valid;
}

void start_cache_end_use(struct start_cache *cache) {
    if (cache != NULL) {
        cache->is_valid = false;
    }
}

int start_cache_schema(const struct start_cache *cache) {
    return cache->schema;
}
