/* A cache file is a struct header, then one pack.
 *
 * Invariants of struct cache:
 *
 *  (1) It is one block of memory, in which the pack and so all its descriptors lie.
 *  (2) It exists while `refs` is above 0: the caller of cache_load() holds one reference, and each
 *      descriptor that has references holds one.
 *  (3) After cache_load() only its reference counts change. */
#include "files/cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/object.h"
#include "base/ownership.h"
#include "plugin/build_id.h"

#define LOG_SOURCE "plugin"

static const char cache_magic[8] = {'T', 'R', 'C', 'A', 'C', 'H', 'E', '\n'};

struct header {
    char magic[8];
    unsigned char build[BUILD_ID_MAX]; /* identifies the layout of all structs too */
    uint64_t options_tag;
    uint64_t records_size;
    uint64_t checksum; /* of this header with 0 here, and of all that follows */
};
static_assert(sizeof(struct header) % alignof(uint64_t) == 0, "no padding");

struct cache {
    uint32_t magic; /* CACHE_MAGIC */
    atomic_size_t refs;
    size_t size; /* of the block */
    const struct cache_index *index;
    alignas(max_align_t) char pack[];
};
#define CACHE_MAGIC 0x68636163u

/* False when this build has no build id. */
static bool header_fill(struct header *header, uint32_t options_tag) {
    memset(header, 0, sizeof *header);
    memcpy(header->magic, cache_magic, sizeof header->magic);
    header->options_tag = options_tag;
    return build_id_get(header->build) > 0;
}

#define CHECKSUM_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define CHECKSUM_TURN   29

/* Invertible for each word: so a change of any one word always changes the sum. */
static inline uint64_t checksum_step(uint64_t sum, uint64_t word) {
    sum ^= word;
    return (sum << CHECKSUM_TURN | sum >> (64 - CHECKSUM_TURN)) * CHECKSUM_FACTOR;
}

/* Four sums in parallel, since each step depends on the one before. `header->checksum` is not
 * included. */
static uint64_t checksum(const struct header *header, const char *bytes, size_t size) {
    struct header plain = *header;
    plain.checksum = 0;
    uint64_t words[4];
    uint64_t a = 0;
    for (size_t i = 0; i < sizeof plain; i += sizeof words[0]) {
        memcpy(words, (const char *)&plain + i, sizeof words[0]);
        a = checksum_step(a, words[0]);
    }
    uint64_t b = a + 1;
    uint64_t c = a + 2;
    uint64_t d = a + 3;
    size_t left = size;
    for (; left >= sizeof words; bytes += sizeof words, left -= sizeof words) {
        memcpy(words, bytes, sizeof words);
        a = checksum_step(a, words[0]);
        b = checksum_step(b, words[1]);
        c = checksum_step(c, words[2]);
        d = checksum_step(d, words[3]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, bytes, left);
    a = checksum_step(checksum_step(a, words[0]), size);
    b = checksum_step(checksum_step(b, words[1]), a);
    c = checksum_step(checksum_step(c, words[2]), b);
    return checksum_step(checksum_step(d, words[3]), c);
}

/* ----------------------------------------------------------------- reading */

static bool read_exactly(int fd, void *bytes, size_t size) {
    char *at = bytes;
    while (size > 0) {
        ssize_t got = read(fd, at, size);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
    return true;
}

static void release_descriptor(struct descriptor *desc) {
    cache_unref(pack_owner(desc));
}

/* The cache in an open file; NULL with the reason why it is unusable. */
static struct cache *load_from(int fd, const char *path, uint32_t options_tag,
                               const char **ret_why) {
    struct stat st;
    bool is_by_list;
    if (fstat(fd, &st) < 0) {
        *ret_why = strerror(errno);
        return NULL;
    }
    struct header header;
    struct header expected;
    size_t pack_size = (size_t)st.st_size - sizeof header;
    if (!S_ISREG(st.st_mode)) {
        *ret_why = "it is not a regular file";
    } else if (st.st_uid != geteuid() && st.st_uid != 0) {
        /* A file of root is accepted like the user's own. */
        *ret_why = "it belongs to another user";
    } else if (ownership_lets_others_write(&st, path, &is_by_list)) {
        *ret_why = "others may write to it";
    } else if ((uint64_t)st.st_size < sizeof header || pack_size > PACK_SIZE_MAX) {
        *ret_why = "its size cannot be right";
    } else if (!read_exactly(fd, &header, sizeof header)) {
        *ret_why = "it cannot be read";
    } else if (!header_fill(&expected, options_tag)) {
        *ret_why = "this build of the host has no build id";
    } else if (memcmp(&header, &expected, offsetof(struct header, records_size)) != 0) {
        *ret_why = "another build of the host, or one with other options, has written it";
    }
    if (*ret_why != NULL) {
        return NULL;
    }
    /* Populating all pages at once costs half as much as page faults one by one. */
    size_t size = sizeof(struct cache) + pack_size;
    struct cache *cache = mmap(NULL, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (cache == MAP_FAILED) {
        *ret_why = "out of memory";
        return NULL;
    }
    cache->magic = CACHE_MAGIC;
    atomic_init(&cache->refs, 1);
    cache->size = size;
    if (!read_exactly(fd, cache->pack, pack_size)) {
        *ret_why = "it cannot be read";
    } else if (checksum(&header, cache->pack, pack_size) != header.checksum ||
               (cache->index = pack_open(cache->pack, pack_size, header.records_size,
                                         release_descriptor, cache)) == NULL) {
        *ret_why = "it is damaged";
    }
    if (*ret_why != NULL) {
        cache_unref(cache);
        return NULL;
    }
    return cache;
}

struct cache *cache_load(const char *path, uint32_t options_tag, const struct log *log,
                         bool *ret_stale) {
    *ret_stale = false;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT) {
        return NULL;
    }
    const char *why = NULL;
    struct cache *cache = NULL;
    if (fd < 0) {
        why = strerror(errno);
    } else {
        cache = load_from(fd, path, options_tag, &why);
    }
    if (cache == NULL) {
        *ret_stale = true;
        log_line(log, LOG_INFO, LOG_SOURCE, "plugin cache %s is not used and written again: %s",
                 path, why);
    }
    return cache;
}

const struct cache_index *cache_index(const struct cache *cache) {
    OBJECT_CHECK(cache, CACHE_MAGIC);
    return cache->index;
}

struct descriptor *cache_take(struct cache *cache, const struct cache_file *file) {
    OBJECT_CHECK(cache, CACHE_MAGIC);
    if (file->descriptor == NULL) {
        return NULL;
    }
    if (atomic_fetch_add(&file->descriptor->refs, 1) == 0) {
        atomic_fetch_add(&cache->refs, 1);
    }
    return file->descriptor;
}

void cache_unref(struct cache *cache) {
    if (cache == NULL) {
        return;
    }
    OBJECT_CHECK(cache, CACHE_MAGIC);
    if (atomic_fetch_sub(&cache->refs, 1) == 1) {
        OBJECT_WIPE(cache, CACHE_MAGIC);
        (void)munmap(cache, cache->size);
    }
}

/* ----------------------------------------------------------------- writing */

/* Write a new file next to `path`, mode 0600, with a unique name, and rename it. 0 or a negative
 * errno value. */
static int write_file(const char *path, const struct header *header, const struct buf *pack) {
    char name[PATH_MAX];
    CLEANUP(closep) int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < 2; attempt++) {
        int length = snprintf(name, sizeof name, "%s.XXXXXX", path);
        if (length < 0 || (size_t)length >= sizeof name) {
            return -ENAMETOOLONG;
        }
        fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0 && errno != ENOENT) {
            return -errno;
        }
        char *slash = strrchr(name, '/');
        if (fd < 0 && slash != NULL) {
            *slash = '\0';
            (void)make_folders(name);
        }
    }
    if (fd < 0) {
        return -ENOENT;
    }
    int code = write_all(fd, header, sizeof *header);
    if (code == 0) {
        code = write_all(fd, pack->data, pack->length);
    }
    if (code == 0 && rename(name, path) < 0) {
        code = -errno;
    }
    if (code < 0) {
        (void)unlink(name);
    }
    return code;
}

void cache_save(const char *path, uint32_t options_tag, const struct cache_index *index,
                const struct log *log) {
    struct header header;
    if (!header_fill(&header, options_tag)) {
        log_line(log, LOG_WARNING, LOG_SOURCE,
                 "no plugin cache: the builds of a host without a build id cannot be told apart; "
                 "link it with -Wl,--build-id");
        return;
    }
    CLEANUP(buf_finish) struct buf pack = BUF_INIT;
    header.records_size = pack_write(index, &pack);
    if (header.records_size == 0) {
        log_line(log, LOG_WARNING, LOG_SOURCE, "plugin cache %s is not written: out of memory",
                 path);
        return;
    }
    header.checksum = checksum(&header, pack.data, pack.length);
    int code = write_file(path, &header, &pack);
    if (code < 0) {
        log_line(log, LOG_WARNING, LOG_SOURCE, "plugin cache %s is not written: %s", path,
                 strerror(-code));
    }
}
