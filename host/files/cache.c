/* A cache file is a struct header, then the records and the texts of one image.
 *
 * Invariants of struct cache:
 *
 *  (1) It is one block of memory, which the records, texts and descriptors of its
 *      image lie in.
 *  (2) It lives as long as `refs` is above 0: one reference is held by who
 *      loaded it, and one by each descriptor that has references itself.
 *  (3) After cache_load() nothing of it changes but the counts of references. */
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
#include "plugin/build_id.h"

#define LOG_SOURCE "plugin"

static const char cache_magic[8] = {'T', 'R', 'C', 'A', 'C', 'H', 'E', '\n'};

/* To be raised when the meaning of the bytes changes without a change of any size below. */
#define CACHE_FORMAT 1u

struct header {
    char magic[8];
    uint32_t format;
    uint32_t options_tag;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint16_t pointer_size;
    uint16_t reserved;
    uint16_t struct_sizes[IMAGE_STRUCTS_MAX];
    unsigned char build[BUILD_ID_MAX];
    struct image_sizes sizes;
    uint64_t checksum; /* of this header with 0 here, and of all that follows */
};
static_assert(sizeof(struct header) % alignof(uint64_t) == 0, "no padding");

struct cache {
    atomic_size_t refs;
    size_t size; /* of the block */
    const struct cache_index *index;
    alignas(max_align_t) char image[];
};

/* ------------------------------------------------------------ header, checksum */

/* False when this build cannot be told from another one. */
static bool header_fill(struct header *header, uint32_t options_tag) {
    memset(header, 0, sizeof *header);
    memcpy(header->magic, cache_magic, sizeof header->magic);
    header->format = CACHE_FORMAT;
    header->options_tag = options_tag;
    header->abi_major = TR_ABI_MAJOR;
    header->abi_minor = TR_ABI_MINOR;
    header->pointer_size = sizeof(void *);
    image_struct_sizes(header->struct_sizes);
    return build_id_get(header->build) > 0;
}

#define CHECKSUM_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define CHECKSUM_TURN   29

/* Can be undone, whatever the word: so a change of any one word always changes the sum. */
static inline uint64_t checksum_step(uint64_t sum, uint64_t word) {
    sum ^= word;
    return (sum << CHECKSUM_TURN | sum >> (64 - CHECKSUM_TURN)) * CHECKSUM_FACTOR;
}

/* Four sums side by side, since each step has to wait for the one before. */
static uint64_t checksum(uint64_t start, const char *bytes, size_t size) {
    uint64_t a = start;
    uint64_t b = start + 1;
    uint64_t c = start + 2;
    uint64_t d = start + 3;
    uint64_t words[4];
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

static uint64_t header_checksum(struct header header) {
    header.checksum = 0;
    return checksum(0, (const char *)&header, sizeof header);
}

/* ----------------------------------------------------------------- reading */

static struct cache *useless(const char *path, const char *why, const struct log *log) {
    log_line(log, LOG_INFO, LOG_SOURCE, "plugin cache %s is made anew: %s", path, why);
    return NULL;
}

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

/* Pages taken all at once cost half of what pages touched one by one do. */
static struct cache *cache_create(size_t image_size) {
    size_t size = sizeof(struct cache) + image_size;
    struct cache *cache = mmap(NULL, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (cache == MAP_FAILED) {
        return NULL;
    }
    atomic_init(&cache->refs, 1);
    cache->size = size;
    return cache;
}

static void cache_destroy(struct cache *cache) {
    (void)munmap(cache, cache->size);
}

static void release_descriptor(struct descriptor *desc) {
    cache_unref(image_owner(desc));
}

static bool cache_fix(struct cache *cache, const struct image_sizes *sizes) {
    cache->index = image_fix(cache->image, sizes, release_descriptor, cache);
    return cache->index != NULL;
}

/* Why the file must not even be read, or NULL. */
static const char *stat_trouble(const struct stat *st) {
    if (!S_ISREG(st->st_mode)) {
        return "it is not a regular file";
    }
    /* One that came with the system is as good as our own. */
    if (st->st_uid != geteuid() && st->st_uid != 0) {
        return "it belongs to another user";
    }
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return "others may write to it";
    }
    if ((uint64_t)st->st_size < sizeof(struct header) ||
        (uint64_t)st->st_size > sizeof(struct header) + IMAGE_SIZE_MAX) {
        return "its size cannot be right";
    }
    return NULL;
}

/* Why it is not a cache of this build, or NULL. */
static const char *header_trouble(const struct header *header, const struct header *expected,
                                  size_t image_size) {
    if (memcmp(header, expected, offsetof(struct header, sizes)) != 0) {
        return "another build of the host, or one with other options, has written it";
    }
    const struct image_sizes *sizes = &header->sizes;
    if (sizes->records > image_size || sizes->types > image_size - sizes->records ||
        sizes->texts != image_size - sizes->records - sizes->types) {
        return "it is damaged";
    }
    return NULL;
}

static struct cache *load_from(int fd, const char *path, uint32_t options_tag,
                               const struct log *log) {
    struct stat st;
    struct header header;
    struct header expected;
    const char *trouble = fstat(fd, &st) < 0 ? strerror(errno) : stat_trouble(&st);
    if (trouble != NULL) {
        return useless(path, trouble, log);
    }
    size_t image_size = (size_t)st.st_size - sizeof header;
    if (!read_exactly(fd, &header, sizeof header)) {
        return useless(path, "it cannot be read", log);
    }
    if (!header_fill(&expected, options_tag)) {
        return useless(path, "this build of the host has no build id", log);
    }
    trouble = header_trouble(&header, &expected, image_size);
    if (trouble != NULL) {
        return useless(path, trouble, log);
    }
    struct cache *cache = cache_create(image_size);
    if (cache == NULL) {
        return useless(path, "out of memory", log);
    }
    if (!read_exactly(fd, cache->image, image_size)) {
        cache_destroy(cache);
        return useless(path, "it cannot be read", log);
    }
    if (checksum(header_checksum(header), cache->image, image_size) != header.checksum ||
        !cache_fix(cache, &header.sizes)) {
        cache_destroy(cache);
        return useless(path, "it is damaged", log);
    }
    return cache;
}

struct cache *cache_load(const char *path, uint32_t options_tag, const struct log *log,
                         bool *ret_stale) {
    *ret_stale = false;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        if (errno != ENOENT) {
            *ret_stale = true;
            return useless(path, strerror(errno), log);
        }
        return NULL;
    }
    struct cache *cache = load_from(fd, path, options_tag, log);
    *ret_stale = cache == NULL;
    return cache;
}

const struct cache_index *cache_index(const struct cache *cache) {
    return cache->index;
}

struct descriptor *cache_take(struct cache *cache, const struct cache_file *file) {
    if (file->descriptor == NULL) {
        return NULL;
    }
    if (atomic_fetch_add(&file->descriptor->refs, 1) == 0) {
        atomic_fetch_add(&cache->refs, 1);
    }
    return file->descriptor;
}

void cache_unref(struct cache *cache) {
    if (cache != NULL && atomic_fetch_sub(&cache->refs, 1) == 1) {
        cache_destroy(cache);
    }
}

/* ----------------------------------------------------------------- writing */

static bool write_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        if (put > 0) {
            at += put;
            size -= (size_t)put;
        }
    }
    return true;
}

/* Make the folder of `path` and those above it that are missing, for the user alone. */
static void make_folder(const char *path) {
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0700); /* that it exists already is the rule */
        *slash = '/';
    }
}

/* A new file beside `path`, mode 0600, of a name nobody else has; its name is put in `ret_name`. */
static int open_beside(const char *path, char ret_name[PATH_MAX]) {
    for (int attempt = 0; attempt < 2; attempt++) {
        int length = snprintf(ret_name, PATH_MAX, "%s.XXXXXX", path);
        if (length < 0 || length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = mkostemp(ret_name, O_CLOEXEC);
        if (fd >= 0 || errno != ENOENT) {
            return fd;
        }
        make_folder(path);
    }
    return -1;
}

static bool write_file(const char *path, const struct header *header, const struct buf *image) {
    char name[PATH_MAX];
    CLEANUP(closep) int fd = open_beside(path, name);
    if (fd < 0) {
        return false;
    }
    if (write_all(fd, header, sizeof *header) && write_all(fd, image->data, image->length) &&
        rename(name, path) == 0) {
        return true;
    }
    int why = errno;
    (void)unlink(name);
    errno = why;
    return false;
}

void cache_save(const char *path, uint32_t options_tag, const struct cache_index *index,
                const struct log *log) {
    struct header header;
    if (!header_fill(&header, options_tag)) {
        log_line(log, LOG_WARNING, LOG_SOURCE,
                 "no plugin cache: link the host with -Wl,--build-id, so that builds can be told "
                 "apart");
        return;
    }
    CLEANUP(buf_finish) struct buf image = BUF_INIT;
    if (!image_write(index, &image, &header.sizes)) {
        log_line(log, LOG_WARNING, LOG_SOURCE, "plugin cache %s is not written: out of memory",
                 path);
        return;
    }
    header.checksum = checksum(header_checksum(header), image.data, image.length);
    if (!write_file(path, &header, &image)) {
        log_line(log, LOG_WARNING, LOG_SOURCE, "plugin cache %s is not written: %s", path,
                 strerror(errno));
    }
}
