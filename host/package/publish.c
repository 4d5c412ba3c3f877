#include "package/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/new-file.h"
#include "base/sort.h"
#include "package/archive.h"
#include "package/index.h"
#include "package/signature.h"
#include "package/tree.h"
#include "registry/document.h"

#define SUFFIX ".trp"

/* What is being made. Texts are in the arena. */
struct publishing {
    const char *folder;
    int fd; /* of the folder */
    struct arena arena;
    yyjson_mut_doc *report;
    yyjson_mut_val *packages;
    const char **files; /* names, in the order of bytes */
    size_t file_count;
    size_t file_room;
    struct index_entry *entries;
    yyjson_doc **tools; /* of the entries */
    size_t count;
};

static void finish(struct publishing *at) {
    for (size_t i = 0; i < at->count; i++) {
        yyjson_doc_free(at->tools[i]);
    }
    yyjson_mut_doc_free(at->report);
    free(at->files);
    arena_finish(&at->arena);
    closep(&at->fd);
}

/* ------------------------------------------------------------------- files */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool add_file(struct publishing *at, const char *name) {
    if (at->file_count == at->file_room) {
        size_t room = at->file_room == 0 ? 64 : 2 * at->file_room;
        const char **more = reallocarray(at->files, room, sizeof *more);
        if (more == NULL) {
            return false;
        }
        at->files = more;
        at->file_room = room;
    }
    at->files[at->file_count] = arena_copy(&at->arena, name, strlen(name));
    return at->files[at->file_count++] != NULL;
}

static int list_files(struct publishing *at, struct toolrack_error *err) {
    int fd = openat(at->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int code = 0;
    if (dir == NULL) {
        code = error_set(err, TOOLRACK_E_IO, "cannot read the folder %s: %s", at->folder,
                         strerror(errno));
        closep(&fd);
        return code;
    }
    for (const struct dirent *entry; code == 0 && (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
            strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX) == 0) {
            code = at->file_count < INDEX_PACKAGES_MAX
                           ? add_file(at, entry->d_name) ? 0 : error_oom(err)
                           : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                       "%s has more than %u packages", at->folder,
                                       INDEX_PACKAGES_MAX);
        }
    }
    (void)closedir(dir);
    if (code == 0 && at->file_count == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND,
                         "%s has no packages; put files " SUFFIX
                         " there, which toolrack pack makes",
                         at->folder);
    }
    sort(at->files, at->file_count, sizeof *at->files, compare_names);
    return code;
}

/* ----------------------------------------------------------------- entries */

static const char *copy(struct publishing *at, const char *text) {
    return text != NULL ? arena_copy(&at->arena, text, strlen(text)) : NULL;
}

/* The tools of a manifest, as an index has them. NULL when out of memory. */
static yyjson_doc *make_tools(const struct manifest *manifest) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_mut_doc_set_root(doc, list);
    for (size_t i = 0; i < manifest->tool_count; i++) {
        yyjson_mut_val *tool = yyjson_mut_arr_add_obj(doc, list);
        (void)yyjson_mut_obj_add_str(doc, tool, "name", manifest->tools[i].name);
        (void)yyjson_mut_obj_add_str(doc, tool, "description", manifest->tools[i].description);
    }
    yyjson_doc *made = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return made;
}

static int hash_file(int fd, const char *name, char ret[2 * crypto_hash_sha256_BYTES + 1],
                     struct toolrack_error *err) {
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    unsigned char chunk[65536];
    ssize_t got = 0;
    (void)crypto_hash_sha256_init(&state);
    for (off_t at = 0; (got = pread(fd, chunk, sizeof chunk, at)) > 0; at += got) {
        (void)crypto_hash_sha256_update(&state, chunk, (size_t)got);
    }
    if (got < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", name, strerror(errno));
    }
    (void)crypto_hash_sha256_final(&state, hash);
    (void)sodium_bin2hex(ret, 2 * sizeof hash + 1, hash, sizeof hash);
    return 0;
}

static void report_entry(struct publishing *at, const struct index_entry *entry) {
    CLEANUP(buf_finish) struct buf signature = BUF_INIT;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(at->report, at->packages);
    buf_printf(&signature, "%s" SIGNATURE_SUFFIX, entry->file);
    document_add_text(at->report, row, "id", entry->id);
    document_add_text(at->report, row, "version", entry->version);
    document_add_text(at->report, row, "file", entry->file);
    (void)yyjson_mut_obj_add_bool(at->report, row, "signed",
                                  !signature.failed &&
                                          faccessat(at->fd, signature.data, F_OK, 0) == 0);
}

static int add_entry(struct publishing *at, const char *file, struct toolrack_error *err) {
    char sha256[2 * crypto_hash_sha256_BYTES + 1];
    struct stat st;
    CLEANUP(manifest_finish) struct manifest manifest;
    manifest_init(&manifest);
    CLEANUP(closep) int open_fd = openat(at->fd, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CLEANUP(closep) int fd = -1;
    if (open_fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", file, strerror(errno));
    }
    int code = archive_hold(open_fd, file, &fd, err);
    if (code == 0) {
        code = archive_read_manifest(fd, &manifest, err);
    }
    if (code == 0) {
        code = hash_file(fd, file, sha256, err);
    }
    if (code == 0 && fstat(fd, &st) < 0) {
        code = error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", file, strerror(errno));
    }
    if (code < 0) {
        error_prefix(err, file);
        return code;
    }
    struct index_entry *entry = &at->entries[at->count];
    *entry = (struct index_entry){.id = copy(at, manifest.id),
                                  .version = copy(at, manifest.version),
                                  .file = file,
                                  .size = (uint64_t)st.st_size,
                                  .sha256 = copy(at, sha256),
                                  .licence = copy(at, manifest.license)};
    at->tools[at->count] = make_tools(&manifest);
    if (at->tools[at->count] == NULL || entry->id == NULL || entry->version == NULL ||
        entry->sha256 == NULL) {
        yyjson_doc_free(at->tools[at->count]);
        return error_oom(err);
    }
    entry->tools = yyjson_doc_get_root(at->tools[at->count++]);
    report_entry(at, entry);
    return 0;
}

static int add_entries(struct publishing *at, struct toolrack_error *err) {
    at->entries = arena_zalloc(&at->arena, at->file_count * sizeof *at->entries);
    at->tools = arena_zalloc(&at->arena, at->file_count * sizeof *at->tools);
    int code = at->entries != NULL && at->tools != NULL ? 0 : error_oom(err);
    for (size_t i = 0; code == 0 && i < at->file_count; i++) {
        code = add_entry(at, at->files[i], err);
    }
    return code;
}

/* ------------------------------------------------------------------- index */

/* The number of the index that is there; 0: there is none. */
static int read_number(const struct publishing *at, const char *path, uint64_t *ret,
                       struct toolrack_error *err) {
    CLEANUP(closep) int fd = openat(at->fd, INDEX_FILE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    struct package_index index;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    *ret = 0;
    if (fd < 0 && errno == ENOENT) {
        return 0;
    }
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > INDEX_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_IO, "%s cannot be read: it is no file of at most %u bytes",
                         path, INDEX_SIZE_MAX);
    }
    if (!buf_reserve(&text, (size_t)st.st_size)) {
        return error_oom(err);
    }
    ssize_t got = pread(fd, text.data, (size_t)st.st_size, 0);
    int code = got >= 0 ? index_read(text.data, (size_t)got, path, &index, err)
                        : error_set(err, TOOLRACK_E_IO, "%s cannot be read: %s", path,
                                    strerror(errno));
    if (code == 0) {
        *ret = index.number;
        index_finish(&index);
    } else if (code == TOOLRACK_E_REFUSED) {
        error_append(err, "the next number is one more than its number, so it is needed");
    }
    return code;
}

/* On the disk before it takes the place of the one before: numbers must not repeat. */
static int write_index(const char *path, const struct buf *text, struct toolrack_error *err) {
    CLEANUP(new_file_finish) struct new_file file = NEW_FILE_INIT;
    int code = new_file_begin(&file, path, err);
    if (code < 0) {
        return code;
    }
    int failed = write_all(file.fd, text->data, text->length);
    failed = failed < 0 ? failed : folder_sync(file.fd);
    return failed < 0
                   ? error_set(err, TOOLRACK_E_IO, "cannot write %s: %s", path, strerror(-failed))
                   : new_file_end(&file, 0644, true, err);
}

/* Make the text, and read it as who gets it will: what they refuse is not published. */
static int make_index(struct publishing *at, const char *path, int64_t for_s, yyjson_mut_val *root,
                      struct toolrack_error *err) {
    struct package_index read;
    uint64_t number;
    char expires[CLOCK_TEXT_ROOM];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int64_t now_s = clock_wall_s();
    int64_t until_s = now_s + (for_s != 0 ? for_s : PUBLISH_S_DEFAULT);
    int code = read_number(at, path, &number, err);
    if (code < 0) {
        return code;
    }
    index_write(&text, number + 1, now_s, until_s, at->entries, at->count);
    code = text.failed ? error_oom(err) : index_read(text.data, text.length, path, &read, err);
    if (code == 0) {
        index_finish(&read);
        code = write_index(path, &text, err);
    }
    document_add_text(at->report, root, "file", path);
    (void)yyjson_mut_obj_add_uint(at->report, root, "number", number + 1);
    document_add_text(at->report, root, "expires", clock_wall_text(until_s, expires));
    (void)yyjson_mut_obj_add_val(at->report, root, "packages", at->packages);
    return code;
}

int publish_index(const char *folder, int64_t for_s, struct toolrack_text **ret_report,
                  struct toolrack_error *err) {
    CLEANUP(finish) struct publishing at = {.folder = folder};
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    yyjson_mut_val *root;
    if (for_s < 0 || for_s > PUBLISH_S_MAX) {
        at.fd = -1;
        return error_set(err, TOOLRACK_E_INVALID, "an index is good for at most %lld days",
                         PUBLISH_S_MAX / 86400);
    }
    arena_init(&at.arena, NULL, 0);
    at.fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at.fd < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot open the folder %s: %s", folder, strerror(errno));
    }
    at.report = document_begin(&root);
    at.packages = yyjson_mut_arr(at.report);
    buf_printf(&path, "%s/" INDEX_FILE, folder);
    int code = list_files(&at, err);
    if (code == 0) {
        code = add_entries(&at, err);
    }
    if (code == 0) {
        code = path.failed ? error_oom(err) : make_index(&at, path.data, for_s, root, err);
    }
    return code < 0 ? code : document_end(STEAL(at.report), ret_report, err);
}
