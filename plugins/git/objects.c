#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BEFORE_OTHERS 3 /* libgit2's own are 1 and 2 */
#define HEADER_SIZE   64

#define TREE_SIZE_MAX   ((size_t)64 << 20)
#define COMMIT_SIZE_MAX ((size_t)4 << 20) /* and of a tag */

static _Atomic unsigned serial; /* of temporary files */

/* Comes before libgit2's backends, which read what it lets pass and write nothing. */
struct front {
    git_odb_backend base;
    char *folder;           /* owned */
    git_odb_backend *loose; /* of the same database, which owns them */
    git_odb_backend *packs;
};

static int fail(const char *what) {
    git_error_set_str(GIT_ERROR_ODB, what);
    return GIT_ERROR;
}

/* With the cause, which says whether a grant would help. */
static int fail_at(const char *what, const char *path) {
    char text[PATH_MAX + 200];
    int cause = errno;
    (void)snprintf(text, sizeof text, "%s %s: %s", what, path, strerror(cause));
    return fail(text);
}

/* ------------------------------------------------------------------------ writing */

static bool write_all(int fd, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        size_t done = written > 0 ? (size_t)written : 0;
        bytes += done;
        size -= done;
    }
    return true;
}

/* A loose object is "TYPE SIZE", a zero and the bytes, deflated. */
static unsigned char *pack(const void *bytes, size_t size, git_object_t type, size_t *ret_size) {
    char header[HEADER_SIZE];
    int length = snprintf(header, sizeof header, "%s %zu", git_object_type2string(type), size) + 1;
    z_stream stream = {0};
    if (size > UINT_MAX / 2 || deflateInit(&stream, Z_BEST_SPEED) != Z_OK) {
        return NULL;
    }
    size_t room = deflateBound(&stream, (uLong)(size + (size_t)length));
    unsigned char *packed = malloc(room);
    int code = Z_MEM_ERROR;
    if (packed != NULL) {
        stream.next_out = packed;
        stream.avail_out = (uInt)room;
        stream.next_in = (Bytef *)header;
        stream.avail_in = (uInt)length;
        code = deflate(&stream, Z_NO_FLUSH);
        stream.next_in = (Bytef *)(uintptr_t)bytes;
        stream.avail_in = (uInt)size;
        code = code == Z_OK ? deflate(&stream, Z_FINISH) : code;
        *ret_size = room - stream.avail_out;
    }
    (void)deflateEnd(&stream);
    if (code != Z_STREAM_END) {
        free(packed);
        return NULL;
    }
    return packed;
}

/* Into a file of another name first: an object is there whole or not at all. */
static int store(const struct front *front, const char *name, const unsigned char *packed,
                 size_t size) {
    char folder[PATH_MAX];
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/%.2s", front->folder, name) >= PATH_MAX - 64) {
        return fail("the path of the repository is too long");
    }
    (void)snprintf(path, sizeof path, "%.4000s/%s", folder, name + 2);
    if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
        return fail_at("cannot make a folder of objects,", folder);
    }
    if (access(path, F_OK) == 0) {
        return 0;
    }
    (void)snprintf(temporary, sizeof temporary, "%.4000s/tmp_obj_%ld_%u", folder, (long)getpid(),
                   atomic_fetch_add(&serial, 1));
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0 && errno == EEXIST) { /* of a process of this number that was killed */
        (void)unlink(temporary);
        fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    }
    if (fd < 0) {
        return fail_at("cannot make the file of an object in", folder);
    }
    bool done = write_all(fd, packed, size) && fsync(fd) == 0;
    done = close(fd) == 0 && done && rename(temporary, path) == 0;
    if (!done) {
        (void)unlink(temporary);
        return fail("cannot write an object");
    }
    return 0;
}

static int write_object(git_odb_backend *backend, const git_oid *id, const void *bytes, size_t size,
                        git_object_t type) {
    const struct front *front = (const struct front *)(const void *)backend;
    char name[GIT_OID_HEXSZ + 1];
    size_t packed_size = 0;
    unsigned char *packed = pack(bytes, size, type, &packed_size);
    if (packed == NULL) {
        return fail("cannot compress an object: no memory is left, or it is larger than 2 GiB");
    }
    int code = store(front, git_oid_tostr(name, sizeof name, id), packed, packed_size);
    free(packed);
    return code;
}

/* ------------------------------------------------------------------------ reading */

/* An object says its size before its bytes, and a small file may say that it has gigabytes. Files
 * that people keep are smaller than these; where they are not, git itself is to be used. */
static size_t size_max_of(git_object_t type) {
    return type == GIT_OBJECT_BLOB   ? OBJECTS_BLOB_MAX
           : type == GIT_OBJECT_TREE ? TREE_SIZE_MAX
                                     : COMMIT_SIZE_MAX;
}

/* What may be read is left to the backends behind this one, and so is what is not there. */
static int check_size(const struct front *front, const git_oid *id) {
    size_t size = 0;
    git_object_t type = GIT_OBJECT_INVALID;
    if (front->loose->read_header(&size, &type, front->loose, id) < 0 &&
        front->packs->read_header(&size, &type, front->packs, id) < 0) {
        return GIT_PASSTHROUGH;
    }
    if (size > size_max_of(type)) {
        char text[200];
        char name[GIT_OID_HEXSZ + 1];
        (void)snprintf(text, sizeof text,
                       "the object %s is a %s of %zu bytes, and at most %zu are read; use git "
                       "itself if it is meant to be so large",
                       git_oid_tostr(name, sizeof name, id), git_object_type2string(type), size,
                       size_max_of(type));
        return fail(text);
    }
    return GIT_PASSTHROUGH;
}

static int read_object(void **ret_bytes, size_t *ret_size, git_object_t *ret_type,
                       git_odb_backend *backend, const git_oid *id) {
    (void)ret_bytes;
    (void)ret_size;
    (void)ret_type;
    return check_size((const struct front *)(const void *)backend, id);
}

static int read_by_prefix(git_oid *ret_id, void **ret_bytes, size_t *ret_size,
                          git_object_t *ret_type, git_odb_backend *backend, const git_oid *prefix,
                          size_t length) {
    const struct front *front = (const struct front *)(const void *)backend;
    git_odb_backend *const behind[] = {front->loose, front->packs};
    int code = GIT_PASSTHROUGH;
    (void)ret_bytes;
    (void)ret_size;
    (void)ret_type;
    for (size_t i = 0; code == GIT_PASSTHROUGH && i < sizeof behind / sizeof behind[0]; i++) {
        if (behind[i]->exists_prefix(ret_id, behind[i], prefix, length) == 0) {
            code = check_size(front, ret_id);
        }
    }
    return code;
}

/* Only a backend that can be refreshed is asked again after packs were added. */
static int refresh(git_odb_backend *backend) {
    (void)backend;
    return 0;
}

/* -------------------------------------------------------------------- the database */

static void destroy_front(git_odb_backend *backend) {
    struct front *front = (struct front *)(void *)backend;
    free(front->folder);
    free(front);
}

static git_odb_backend *create_front(const char *folder, git_odb_backend *loose,
                                     git_odb_backend *packs) {
    struct front *front = calloc(1, sizeof *front);
    char *copy = strdup(folder);
    if (front == NULL || copy == NULL ||
        git_odb_init_backend(&front->base, GIT_ODB_BACKEND_VERSION) < 0) {
        free(front);
        free(copy);
        return NULL;
    }
    front->folder = copy;
    front->loose = loose;
    front->packs = packs;
    front->base.read = read_object;
    front->base.read_prefix = read_by_prefix;
    front->base.refresh = refresh;
    front->base.write = write_object;
    front->base.free = destroy_front;
    return &front->base;
}

static int add(git_odb *database, git_odb_backend *backend, int priority) {
    int code = git_odb_add_backend(database, backend, priority);
    if (code < 0) {
        backend->free(backend);
    }
    return code;
}

int objects_use(struct git_repository *repository, const char *objects_folder) {
    git_odb *database = NULL;
    git_odb_backend *loose = NULL;
    git_odb_backend *packs = NULL;
    int code = git_odb_new(&database);
    if (code == 0 && (code = git_odb_backend_loose(&loose, objects_folder, -1, 0, 0, 0)) == 0) {
        code = add(database, loose, 1);
    }
    if (code == 0 && (code = git_odb_backend_pack(&packs, objects_folder)) == 0) {
        code = add(database, packs, 2);
    }
    if (code == 0) {
        git_odb_backend *front = create_front(objects_folder, loose, packs);
        code = front != NULL ? add(database, front, BEFORE_OTHERS) : fail("no memory is left");
    }
    if (code == 0) {
        code = git_repository_set_odb(repository, database);
    }
    git_odb_free(database);
    return code;
}
