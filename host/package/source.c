#include "package/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "net/download.h"
#include "package/archive.h"
#include "package/manifest.h"
#include "package/seen.h"

#define SUFFIX ".trp"

/* Bytes that are read at a time. */
#define CHUNK 65536u

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    size_t size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

/* ------------------------------------------------------------------- bytes */

/* The bytes of a file or URL, in memory.
 * @return 0, and the caller closes *ret_fd; TOOLRACK_E_NOT_FOUND ... */
static int fetch(const char *name, uint64_t size_max, int *ret_fd, struct toolrack_error *err) {
    if (!download_is_url(name)) {
        struct stat st;
        CLEANUP(closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0) {
            return error_set(
                    err, errno == ENOENT || errno == ENOTDIR ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                    "cannot read %s: %s", name, strerror(errno));
        }
        if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > size_max) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "%s must be a file of at most %llu bytes", name,
                             (unsigned long long)size_max);
        }
        return archive_hold(fd, name, ret_fd, err);
    }
    CLEANUP(closep) int fd = memfd_create("toolrack-package", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot hold %s in memory: %s", name, strerror(errno));
    }
    int code = download(name, fd, size_max, &DOWNLOAD_LIMITS, err);
    if (code == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0) {
        code = error_set(err, TOOLRACK_E_IO, "cannot hold %s in memory: %s", name, strerror(errno));
    }
    if (code == 0) {
        *ret_fd = fd;
        fd = -1;
    }
    return code;
}

/* Append all bytes, and make their hash if `ret_sha256` is not NULL. */
static int read_held(int fd, const char *name, struct buf *text, char *ret_sha256,
                     struct toolrack_error *err) {
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    unsigned char chunk[CHUNK];
    off_t at = 0;
    (void)crypto_hash_sha256_init(&state);
    for (;;) {
        ssize_t got = pread(fd, chunk, sizeof chunk, at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", name, strerror(errno));
        }
        if (got == 0) {
            break;
        }
        (void)crypto_hash_sha256_update(&state, chunk, (size_t)got);
        if (text != NULL) {
            buf_add(text, chunk, (size_t)got);
        }
        at += got;
    }
    (void)crypto_hash_sha256_final(&state, hash);
    if (ret_sha256 != NULL) {
        (void)sodium_bin2hex(ret_sha256, LAYOUT_HASH_ROOM, hash, sizeof hash);
    }
    return text != NULL && text->failed ? error_oom(err) : 0;
}

/* The text of a small file, whole. */
static int fetch_text(const char *name, uint64_t size_max, struct buf *text, char *ret_sha256,
                      struct toolrack_error *err) {
    CLEANUP(closep) int fd = -1;
    int code = fetch(name, size_max, &fd, err);
    return code < 0 ? code : read_held(fd, name, text, ret_sha256, err);
}

/* The text of the signature beside a file. That there is none is no failure. */
static int fetch_signature(const char *name, struct buf *text, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf beside = BUF_INIT;
    buf_printf(&beside, "%s%s", name, SIGNATURE_SUFFIX);
    int code =
            beside.failed ? error_oom(err) : fetch_text(beside.data, KEY_TEXT_MAX, text, NULL, err);
    return code == TOOLRACK_E_NOT_FOUND ? 0 : code;
}

/* ------------------------------------------------------------------- index */

/* The key of an index, and whether its signature holds. */
static int verify_index(const struct source_judge *judge, const char *name, const struct buf *text,
                        const struct buf *signature, const struct keyring_key **ret,
                        struct toolrack_error *err) {
    struct signature_text parsed;
    char id[KEY_ID_ROOM];
    uint8_t hash[crypto_generichash_BYTES_MAX];
    if (signature->length == 0) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has no signature: %s%s is missing; its publisher signs it by "
                         "'toolrack sign'",
                         name, name, SIGNATURE_SUFFIX);
    }
    int code = signature_parse(signature->data, signature->length, &parsed, err);
    if (code < 0) {
        return code;
    }
    const struct keyring_key *key = keyring_find(judge->ring, parsed.number);
    if (key == NULL) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "%s is signed by the key %s, which is not trusted here; if you trust "
                         "whoever has it, add its public key: %s",
                         name, key_id(parsed.number, id),
                         COMMAND("keys add KEY.pub --trust community --ids",
                                 judge->id != NULL ? judge->id : "ID"));
    }
    _Static_assert(sizeof hash == SIGNATURE_HASH_SIZE, "BLAKE2b-512");
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)text->data, text->length,
                             NULL, 0);
    code = signature_verify(&parsed, hash, &key->key, err);
    if (code < 0) {
        error_prefix(err, name);
    }
    *ret = key;
    return code;
}

/* Where the file of an index is, by what a person or the configuration names. On the heap; NULL
 * when out of memory. */
static char *locate(const char *name) {
    CLEANUP(buf_finish) struct buf place = BUF_INIT;
    struct stat st;
    bool is_url = download_is_url(name);
    bool is_folder =
            is_url ? !ends_with(name, ".json") : stat(name, &st) == 0 && S_ISDIR(st.st_mode);
    buf_printf(&place, "%s%s", name,
               !is_folder             ? ""
               : ends_with(name, "/") ? INDEX_FILE
                                      : "/" INDEX_FILE);
    if (place.failed) {
        return NULL;
    }
    char *real = is_url ? NULL : realpath(place.data, NULL);
    return real != NULL ? real : buf_steal(&place);
}

/* What was seen is noted at once, whatever becomes of the request; the lock is held for that alone,
 * and another process may have noted a newer one. */
static int note_seen(const struct source_judge *judge, const struct seen_index *seen,
                     struct toolrack_error *err) {
    CLEANUP(layout_finish) struct layout layout = LAYOUT_INIT;
    bool is_new = false;
    int code = layout_open_to_change(judge->layout->path, &layout, err);
    if (code == 0) {
        code = seen_judge(&layout, seen, judge->now_s, &is_new, err);
    }
    return code == 0 && is_new ? seen_note(&layout, seen, err) : code;
}

void source_index_finish(struct source_index *index) {
    if (index->location != NULL) {
        index_finish(&index->index);
        free(index->location);
    }
    *index = (struct source_index){.location = NULL};
}

int source_index_open(const struct source_judge *judge, const char *name, struct source_index *ret,
                      struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf signature = BUF_INIT;
    char sha256[LAYOUT_HASH_ROOM];
    const struct keyring_key *key = NULL;
    *ret = (struct source_index){.location = locate(name)};
    if (ret->location == NULL) {
        return error_oom(err);
    }
    int code = fetch_text(ret->location, INDEX_SIZE_MAX, &text, sha256, err);
    if (code == 0) {
        code = fetch_signature(ret->location, &signature, err);
    }
    if (code == 0) {
        code = verify_index(judge, ret->location, &text, &signature, &key, err);
    }
    if (code == 0) {
        code = index_read(text.data, text.length, ret->location, &ret->index, err);
    }
    if (code < 0) {
        return code;
    }
    const struct seen_index seen = {
            .location = ret->location, .index = &ret->index, .sha256 = sha256, .key = key};
    bool is_new = false;
    code = seen_judge(judge->layout, &seen, judge->now_s, &is_new, err);
    if (code == 0 && is_new && judge->notes) {
        code = note_seen(judge, &seen, err);
    }
    if (code == 0) {
        (void)snprintf(ret->key, sizeof ret->key, "%s", key->id);
    }
    return code;
}

/* ----------------------------------------------------------------- package */

void source_finish(struct source *source) {
    closep(&source->fd);
    buf_finish(&source->signature);
    *source = SOURCE_INIT;
}

/* Get a package and its signature. `size_max` is that of the file. */
static int open_package(const char *name, uint64_t size_max, struct source *ret,
                        struct toolrack_error *err) {
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    int code = fetch(name, size_max, &ret->fd, err);
    if (code == 0) {
        code = read_held(ret->fd, name, NULL, ret->sha256, err);
    }
    return code < 0 ? code : fetch_signature(name, &ret->signature, err);
}

int source_hold(const struct source_given *given, struct source *ret, struct toolrack_error *err) {
    CLEANUP(closep) int fd = memfd_create("toolrack-package", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const char *data = given->data;
    *ret = SOURCE_INIT;
    (void)snprintf(ret->name, sizeof ret->name, "%s", given->name);
    for (size_t at = 0; fd >= 0 && at < given->length;) {
        ssize_t written = write(fd, data + at, given->length - at);
        if (written < 0 && errno != EINTR) {
            break;
        }
        at += written > 0 ? (size_t)written : 0;
    }
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size != given->length) {
        return error_set(err, TOOLRACK_E_IO, "cannot hold %s in memory: %s", given->name,
                         strerror(errno));
    }
    int code = archive_hold(fd, given->name, &ret->fd, err);
    code = code < 0 ? code : read_held(ret->fd, given->name, NULL, ret->sha256, err);
    buf_add_text(&ret->signature, given->signature);
    return code < 0 ? code : ret->signature.failed ? error_oom(err) : 0;
}

/* Where the package of an entry is. */
static void add_place(struct buf *name, const struct source_index *index,
                      const struct index_entry *entry) {
    const char *slash = strrchr(index->location, '/');
    buf_printf(name, "%.*s%s", slash != NULL ? (int)(slash - index->location) + 1 : 0,
               index->location, entry->file);
}

int source_read_signature(const struct source_index *index, const struct index_entry *entry,
                          struct buf *text, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    add_place(&name, index, entry);
    return name.failed ? error_oom(err) : fetch_signature(name.data, text, err);
}

int source_open_entry(const struct source_index *index, const struct index_entry *entry,
                      struct source *ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    *ret = SOURCE_INIT;
    add_place(&name, index, entry);
    if (name.failed) {
        return error_oom(err);
    }
    if (entry->size > ARCHIVE_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%s: the package has %llu bytes, and %u are the most", name.data,
                         (unsigned long long)entry->size, ARCHIVE_SIZE_MAX);
    }
    int code = open_package(name.data, entry->size, ret, err);
    if (code == 0 && strcmp(ret->sha256, entry->sha256) != 0) {
        code = error_set(
                err, TOOLRACK_E_REFUSED,
                "%s is not the file that the index means: its SHA-256 is %s, and the index "
                "says %s (mix and match)",
                name.data, ret->sha256, entry->sha256);
    }
    (void)snprintf(ret->id, sizeof ret->id, "%s", entry->id);
    (void)snprintf(ret->version, sizeof ret->version, "%s", entry->version);
    return code;
}

/* -------------------------------------------------------------------- name */

/* Split "TEXT@VERSION", if what is behind the last @ is a version or range. */
static void split(struct source_name *name) {
    struct semver_range range;
    char *at = strrchr(name->text, '@');
    if (at == NULL || at == name->text || strlen(at + 1) > SEMVER_RANGE_LENGTH_MAX ||
        !semver_range_parse(at + 1, &range)) {
        return;
    }
    (void)snprintf(name->version, sizeof name->version, "%s", at + 1);
    *at = '\0';
}

int source_name_read(const char *text, struct source_name *ret, struct toolrack_error *err) {
    struct stat st;
    *ret = (struct source_name){.kind = SOURCE_FILE};
    if (strlen(text) > SOURCE_NAME_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "the name is longer than %u bytes",
                         SOURCE_NAME_MAX);
    }
    (void)snprintf(ret->text, sizeof ret->text, "%s", text);
    bool is_there = !download_is_url(text) && stat(text, &st) == 0;
    if (!is_there) {
        split(ret);
    }
    if (download_is_url(ret->text)) {
        ret->kind = SOURCE_URL;
        return 0;
    }
    if (is_there || stat(ret->text, &st) == 0) {
        ret->kind = S_ISDIR(st.st_mode) ? SOURCE_FOLDER : SOURCE_FILE;
        return 0;
    }
    ret->kind = SOURCE_ID;
    return strchr(ret->text, '/') == NULL && !ends_with(ret->text, SUFFIX) &&
                           manifest_id_valid(ret->text)
                   ? 0
                   : error_set(err, TOOLRACK_E_NOT_FOUND,
                               "there is no file, folder or package '%s'", ret->text);
}

/* -------------------------------------------------------------------- open */

static const char *or_null(const char *text) {
    return text[0] != '\0' ? text : NULL;
}

static int no_version(const char *where, const char *id, const char *version,
                      struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_NOT_FOUND, "%s has no package '%s'%s%s", where, id,
                     version[0] != '\0' ? " of version " : "", version);
}

/* The package of an index, which must have packages of one id only. */
static int open_only(const struct source_judge *judge, const struct source_name *name,
                     struct source *ret, struct toolrack_error *err) {
    CLEANUP(source_index_finish) struct source_index index = {.location = NULL};
    int code = source_index_open(judge, name->text, &index, err);
    if (code < 0) {
        return code;
    }
    const struct package_index *list = &index.index;
    if (list->count == 0 || strcmp(list->entries[0].id, list->entries[list->count - 1].id) != 0) {
        return list->count == 0
                       ? error_set(err, TOOLRACK_E_NOT_FOUND, "%s has no packages", index.location)
                       : error_set(err, TOOLRACK_E_INVALID,
                                   "%s has several packages; name one, such as: %s", index.location,
                                   COMMAND("install --index", name->text, list->entries[0].id));
    }
    const char *id = list->entries[0].id;
    const struct index_entry *entry = index_find(list, id, or_null(name->version));
    return entry != NULL ? source_open_entry(&index, entry, ret, err)
                         : no_version(index.location, id, name->version, err);
}

/* A folder has an index, or is one that a person has put a package into. */
static bool has_index(const char *folder) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    buf_printf(&path, "%s/" INDEX_FILE, folder);
    return !path.failed && access(path.data, F_OK) == 0;
}

/* The only package of a folder; an empty text: there is none, or several. */
static int find_only(const char *folder, struct buf *ret, struct toolrack_error *err) {
    DIR *dir = opendir(folder);
    unsigned count = 0;
    if (dir == NULL) {
        return error_set(err, TOOLRACK_E_IO, "cannot read the folder %s: %s", folder,
                         strerror(errno));
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.' && ends_with(entry->d_name, SUFFIX) && ++count == 1) {
            buf_printf(ret, "%s/%s", folder, entry->d_name);
        }
    }
    (void)closedir(dir);
    if (count > 1) {
        buf_clear(ret);
    }
    return ret->failed ? error_oom(err) : 0;
}

/* A folder without an index, to which somebody has copied a package. */
static int open_folder(const struct source_name *name, struct source *ret,
                       struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf file = BUF_INIT;
    int code = find_only(name->text, &file, err);
    if (code == 0 && file.length == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND,
                         "the folder %s has no " INDEX_FILE " and not exactly one file " SUFFIX
                         "; name a file, or make an index of them: %s",
                         name->text, COMMAND("index", name->text));
    }
    if (code < 0) {
        return code;
    }
    return open_package(file.data, ARCHIVE_SIZE_MAX, ret, err);
}

int source_open(const struct source_judge *judge, const struct source_name *name,
                struct source *ret, struct toolrack_error *err) {
    bool is_package = name->kind == SOURCE_FILE ||
                      (name->kind == SOURCE_URL && ends_with(name->text, SUFFIX));
    bool is_bare = name->kind == SOURCE_FOLDER && !has_index(name->text);
    *ret = SOURCE_INIT;
    if (is_package || is_bare) {
        ret->is_local = name->kind != SOURCE_URL;
        (void)snprintf(ret->version, sizeof ret->version, "%.*s", (int)SEMVER_LENGTH_MAX,
                       name->version);
        return is_bare ? open_folder(name, ret, err)
                       : open_package(name->text, ARCHIVE_SIZE_MAX, ret, err);
    }
    return open_only(judge, name, ret, err);
}
