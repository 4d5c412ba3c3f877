/* An archive is read twice: first only its compressor, to count what it unpacks to (measure()), so
 * that nothing is behind what the tape archive says; then its members. */
#include "package/archive.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "package/libarchive.h"

static_assert(MANIFEST_SHA256_SIZE == crypto_hash_sha256_BYTES, "what libsodium makes");

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define READ_SIZE (64u * 1024)

/* Characters of the name of a member that are shown. */
#define MEMBER_SHOWN_MAX 100u

/* A member is a block, and its bytes in whole blocks; two blocks of zeros are the end. */
#define TAR_BLOCK 512u
#define TAR_END   (2u * TAR_BLOCK)

/* ------------------------------------------------------------------- sources */

/* A file that libarchive reads by callbacks. */
struct source {
    int fd;
    uint64_t at;
    int failed; /* errno */
    bool is_too_large;
    unsigned char bytes[READ_SIZE];
};

static la_ssize_t read_source(struct archive *archive, void *user, const void **ret_bytes) {
    struct source *source = user;
    ssize_t length;
    (void)archive;
    do {
        length = pread(source->fd, source->bytes, sizeof source->bytes, (off_t)source->at);
    } while (length < 0 && errno == EINTR);
    if (length < 0) {
        source->failed = errno;
        return -1;
    }
    source->at += (uint64_t)length;
    source->is_too_large = source->at > ARCHIVE_SIZE_MAX;
    *ret_bytes = source->bytes;
    return source->is_too_large ? -1 : length;
}

static void read_freep(struct archive **archive) {
    if (*archive != NULL) {
        (void)libarchive.read_free(*archive);
    }
}

static void write_freep(struct archive **archive) {
    if (*archive != NULL) {
        (void)libarchive.write_free(*archive);
    }
}

static void entry_freep(struct archive_entry **entry) {
    if (*entry != NULL) {
        libarchive.entry_free(*entry);
    }
}

/* Why libarchive failed. */
static int fail(struct archive *archive, const struct source *source, struct toolrack_error *err) {
    const char *why = libarchive.error_string(archive);
    if (source->failed != 0) {
        return error_set(err, TOOLRACK_E_IO, "the package cannot be read: %s",
                         strerror(source->failed));
    }
    if (source->is_too_large) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the package is larger than %u bytes, which is the most",
                         ARCHIVE_SIZE_MAX);
    }
    if (libarchive.errno_of(archive) == ENOMEM) {
        return error_oom(err);
    }
    return error_set(err, TOOLRACK_E_INVALID,
                     "this is no package, or a damaged one: it must be a tar.zst as `toolrack "
                     "pack` writes it (%s)",
                     why != NULL ? why : "not readable");
}

/* Open the archive of a source with its compressor, and one form of members.
 * @param is_raw  all that the compressor has, as one member */
static int open_source(struct source *source, bool is_raw, struct archive **ret,
                       struct toolrack_error *err) {
    source->at = 0;
    *ret = libarchive.read_new();
    if (*ret == NULL) {
        return error_oom(err);
    }
    if (libarchive.read_support_filter_zstd(*ret) != ARCHIVE_OK) {
        return error_set(err, TOOLRACK_E_IO,
                         "libarchive was built without zstd; install Debian's libarchive13");
    }
    (void)(is_raw ? libarchive.read_support_format_raw(*ret)
                  : libarchive.read_support_format_tar(*ret));
    return libarchive.read_open2(*ret, source, NULL, read_source, NULL, NULL) == ARCHIVE_OK
                   ? 0
                   : fail(*ret, source, err);
}

/* Whether its only compressor is zstd. */
static bool is_zstd(struct archive *archive) {
    return libarchive.filter_count(archive) == 2 &&
           libarchive.filter_code(archive, 0) == ARCHIVE_FILTER_ZSTD;
}

/* ------------------------------------------------------------------- measure */

static int check_size(uint64_t size, uint64_t compressed, struct toolrack_error *err) {
    if (size > MANIFEST_UNPACKED_MAX + (uint64_t)MANIFEST_SIZE_MAX +
                       (MANIFEST_FILES_MAX + 4u) * 2u * TAR_BLOCK) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the package unpacks to more than %u bytes, which is the most",
                         MANIFEST_UNPACKED_MAX);
    }
    if (size > ARCHIVE_RATIO_FROM && size / ARCHIVE_RATIO_MAX > compressed) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the package unpacks to more than %u times its size, as no plugin does",
                         ARCHIVE_RATIO_MAX);
    }
    return 0;
}

/* Unpack all of it, to nowhere. */
static int measure(struct source *source, uint64_t *ret, struct toolrack_error *err) {
    unsigned char bytes[READ_SIZE];
    struct archive_entry *entry;
    struct stat status;
    uint64_t size = 0;
    CLEANUP(read_freep) struct archive *archive = NULL;
    if (fstat(source->fd, &status) < 0) {
        return error_set(err, TOOLRACK_E_IO, "the package cannot be read: %s", strerror(errno));
    }
    int code = open_source(source, true, &archive, err);
    if (code < 0) {
        return code;
    }
    if (libarchive.read_next_header(archive, &entry) != ARCHIVE_OK) {
        return fail(archive, source, err);
    }
    if (!is_zstd(archive)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "this is no package: it is not compressed by zstd, and only that");
    }
    for (;;) {
        la_ssize_t length = libarchive.read_data(archive, bytes, sizeof bytes);
        if (length < 0) {
            return fail(archive, source, err);
        }
        if (length == 0) {
            break;
        }
        size += (uint64_t)length;
        code = check_size(size, (uint64_t)status.st_size, err);
        if (code < 0) {
            return code;
        }
    }
    *ret = size;
    return 0;
}

/* ------------------------------------------------------------------- members */

/* A member that is not the one that must be there. What an archive calls it is on one line, without
 * control characters. */
static int refuse_member(struct archive_entry *entry, const char *wanted,
                         struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf found = BUF_INIT;
    const char *name = libarchive.entry_pathname(entry);
    text_add_in_quotes(&found, name != NULL ? name : "", MEMBER_SHOWN_MAX);
    if (found.failed) {
        return error_oom(err);
    }
    return wanted == NULL
                   ? error_set(err, TOOLRACK_E_INVALID,
                               "the package has the file %s, which its manifest does not name",
                               found.data)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the package has the file %s where %s must be: its files are the "
                               "manifest and, in their order, those that the manifest names",
                               found.data, wanted);
}

static uint64_t member_size(uint64_t size) {
    return TAR_BLOCK + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

/* The next member, which must be a plain file of this path and, unless it is the manifest, size. */
static int next_member(struct archive *archive, struct source *source, const char *path,
                       const uint64_t *size, uint64_t *ret_size, struct toolrack_error *err) {
    struct archive_entry *entry;
    int result = libarchive.read_next_header(archive, &entry);
    if (result == ARCHIVE_EOF) {
        return error_set(err, TOOLRACK_E_INVALID, "the package ends before its file %s", path);
    }
    if (result != ARCHIVE_OK) {
        return fail(archive, source, err);
    }
    const char *found = libarchive.entry_pathname(entry);
    if (found == NULL || strcmp(found, path) != 0) {
        return refuse_member(entry, path, err);
    }
    if (libarchive.entry_filetype(entry) != AE_IFREG || libarchive.entry_hardlink(entry) != NULL ||
        libarchive.entry_symlink(entry) != NULL || libarchive.entry_sparse_count(entry) != 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the package has %s as a link, device, folder or sparse file; only plain "
                         "files are accepted",
                         path);
    }
    if (libarchive.format(archive) != ARCHIVE_FORMAT_TAR_USTAR) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the package's file %s is not in the form ustar; make the package with "
                         "`toolrack pack`",
                         path);
    }
    la_int64_t stated = libarchive.entry_size(entry);
    if (!libarchive.entry_size_is_set(entry) || stated < 0 ||
        (size != NULL && (uint64_t)stated != *size)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the package's file %s has another size than its manifest says", path);
    }
    *ret_size = (uint64_t)stated;
    return 0;
}

static int read_manifest(struct archive *archive, struct source *source, struct manifest *ret,
                         uint64_t *ret_size, struct toolrack_error *err) {
    uint64_t size;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = next_member(archive, source, MANIFEST_NAME, NULL, &size, err);
    if (code < 0) {
        return code;
    }
    if (size > MANIFEST_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the manifest %s has %llu bytes; %u are the most", MANIFEST_NAME,
                         (unsigned long long)size, MANIFEST_SIZE_MAX);
    }
    if (!buf_reserve(&text, size)) {
        return error_oom(err);
    }
    while (text.length < size) {
        la_ssize_t length =
                libarchive.read_data(archive, text.data + text.length, size - text.length);
        if (length <= 0) {
            return fail(archive, source, err);
        }
        text.length += (size_t)length;
    }
    *ret_size = size;
    return manifest_parse(text.data != NULL ? text.data : "", text.length, ret, err);
}

static int open_members(struct source *source, struct archive **ret, struct manifest *ret_manifest,
                        uint64_t *ret_size, struct toolrack_error *err) {
    int code = open_source(source, false, ret, err);
    return code == 0 ? read_manifest(*ret, source, ret_manifest, ret_size, err) : code;
}

int archive_read_manifest(int fd, struct manifest *ret, struct toolrack_error *err) {
    uint64_t size;
    manifest_init(ret);
    CLEANUP(freep) struct source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        return error_oom(err);
    }
    source->fd = fd;
    int code = libarchive_load(err);
    CLEANUP(read_freep) struct archive *archive = NULL;
    return code == 0 ? open_members(source, &archive, ret, &size, err) : code;
}

/* -------------------------------------------------------------------- unpack */

static int fail_write(const char *path, int number, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "%s cannot be written: %s", path, strerror(number));
}

/* Open the file of a path below a folder; its own folder is made. Their modes are the same whatever
 * the umask is. */
static int create_file(int folder, const char *path, int *ret, struct toolrack_error *err) {
    char platform[MANIFEST_PLATFORM_ROOM];
    if (manifest_is_plugin(path, platform) &&
        (mkdirat(folder, platform, 0755) < 0 || fchmodat(folder, platform, 0755, 0) < 0)) {
        return fail_write(platform, errno, err);
    }
    *ret = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return *ret >= 0 && fchmod(*ret, 0644) == 0 ? 0 : fail_write(path, errno, err);
}

/* Unpack the data of a member into `to` (-1: nowhere), and compare its hash. */
static int unpack_data(struct archive *archive, struct source *source,
                       const struct manifest_file *file, int to, struct toolrack_error *err) {
    unsigned char bytes[READ_SIZE];
    uint8_t sha256[MANIFEST_SHA256_SIZE];
    uint64_t size = 0;
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    while (size < file->size) {
        la_ssize_t length = libarchive.read_data(archive, bytes, sizeof bytes);
        if (length <= 0) {
            return fail(archive, source, err);
        }
        (void)crypto_hash_sha256_update(&state, bytes, (size_t)length);
        int failed = to >= 0 ? write_all(to, bytes, (size_t)length) : 0;
        if (failed < 0) {
            return fail_write(file->path, -failed, err);
        }
        size += (uint64_t)length;
    }
    (void)crypto_hash_sha256_final(&state, sha256);
    if (size != file->size || memcmp(sha256, file->sha256, sizeof sha256) != 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the package's file %s has other bytes than its manifest says",
                         file->path);
    }
    return to < 0 || fsync(to) == 0 ? 0 : fail_write(file->path, errno, err);
}

static int unpack_file(struct archive *archive, struct source *source,
                       const struct manifest_file *file, int folder, struct toolrack_error *err) {
    uint64_t size;
    CLEANUP(closep) int to = -1;
    int code = next_member(archive, source, file->path, &file->size, &size, err);
    if (code == 0 && folder >= 0) {
        code = create_file(folder, file->path, &to, err);
    }
    return code == 0 ? unpack_data(archive, source, file, to, err) : code;
}

/* The members, after the manifest, and their end. */
static int unpack_files(struct archive *archive, struct source *source,
                        const struct manifest *manifest, int folder, struct toolrack_error *err) {
    struct archive_entry *entry;
    for (size_t i = 0; i < manifest->file_count; i++) {
        int code = unpack_file(archive, source, &manifest->files[i], folder, err);
        if (code < 0) {
            return code;
        }
    }
    int result = libarchive.read_next_header(archive, &entry);
    if (result == ARCHIVE_OK) {
        return refuse_member(entry, NULL, err);
    }
    return result == ARCHIVE_EOF ? 0 : fail(archive, source, err);
}

/* Have the names of all files on the disk. */
static int sync_folders(const struct manifest *manifest, int folder, struct toolrack_error *err) {
    char platform[MANIFEST_PLATFORM_ROOM];
    for (size_t i = 0; i < manifest->file_count; i++) {
        if (!manifest_is_plugin(manifest->files[i].path, platform)) {
            continue;
        }
        CLEANUP(closep) int fd = openat(folder, platform, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0) {
            return fail_write(platform, errno, err);
        }
    }
    return fsync(folder) == 0 ? 0 : fail_write("the folder of the package", errno, err);
}

/* What a whole archive of the manifest's files unpacks to. */
static uint64_t expected_size(const struct manifest *manifest, uint64_t manifest_size) {
    uint64_t size = member_size(manifest_size) + TAR_END;
    for (size_t i = 0; i < manifest->file_count; i++) {
        size += member_size(manifest->files[i].size);
    }
    return size;
}

static int unpack(struct source *source, int folder, struct manifest *ret,
                  struct toolrack_error *err) {
    uint64_t size;
    uint64_t manifest_size = 0;
    CLEANUP(read_freep) struct archive *archive = NULL;
    int code = measure(source, &size, err);
    if (code == 0) {
        code = open_members(source, &archive, ret, &manifest_size, err);
    }
    if (code == 0) {
        code = unpack_files(archive, source, ret, folder, err);
    }
    if (code == 0 && size != expected_size(ret, manifest_size)) {
        code = error_set(err, TOOLRACK_E_INVALID,
                         "the package does not end behind its last file; make the package with "
                         "`toolrack pack`");
    }
    return code == 0 && folder >= 0 ? sync_folders(ret, folder, err) : code;
}

int archive_unpack(int fd, int folder, struct manifest *ret, struct toolrack_error *err) {
    manifest_init(ret);
    CLEANUP(freep) struct source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        return error_oom(err);
    }
    source->fd = fd;
    int code = libarchive_load(err);
    return code == 0 ? unpack(source, folder, ret, err) : code;
}

/* --------------------------------------------------------------------- write */

/* A file that libarchive writes by a callback. */
struct sink {
    int fd;
    int failed; /* errno */
};

static la_ssize_t write_sink(struct archive *archive, void *user, const void *bytes, size_t size) {
    struct sink *sink = user;
    (void)archive;
    int failed = write_all(sink->fd, bytes, size);
    sink->failed = -failed;
    return failed == 0 ? (la_ssize_t)size : -1;
}

static int fail_pack(struct archive *archive, const struct sink *sink, struct toolrack_error *err) {
    const char *why = sink->failed != 0 ? strerror(sink->failed) : libarchive.error_string(archive);
    return error_set(err, TOOLRACK_E_IO, "the package cannot be written: %s",
                     why != NULL ? why : "libarchive does not say why");
}

static int open_sink(struct sink *sink, struct archive **ret, struct toolrack_error *err) {
    char level[16];
    (void)snprintf(level, sizeof level, "%d", ARCHIVE_LEVEL);
    *ret = libarchive.write_new();
    if (*ret == NULL) {
        return error_oom(err);
    }
    return libarchive.write_set_format_ustar(*ret) == ARCHIVE_OK &&
                           libarchive.write_add_filter_zstd(*ret) == ARCHIVE_OK &&
                           libarchive.write_set_filter_option(*ret, "zstd", "compression-level",
                                                              level) == ARCHIVE_OK &&
                           libarchive.write_set_bytes_in_last_block(*ret, 1) == ARCHIVE_OK &&
                           libarchive.write_open(*ret, sink, NULL, write_sink, NULL) == ARCHIVE_OK
                   ? 0
                   : fail_pack(*ret, sink, err);
}

static int begin_member(struct archive *archive, const struct sink *sink, const char *path,
                        uint64_t size, struct toolrack_error *err) {
    CLEANUP(entry_freep) struct archive_entry *entry = libarchive.entry_new();
    if (entry == NULL) {
        return error_oom(err);
    }
    libarchive.entry_set_pathname(entry, path);
    libarchive.entry_set_filetype(entry, AE_IFREG);
    libarchive.entry_set_perm(entry, 0644);
    libarchive.entry_set_uid(entry, 0);
    libarchive.entry_set_gid(entry, 0);
    libarchive.entry_set_mtime(entry, 0, 0);
    libarchive.entry_set_size(entry, (la_int64_t)size);
    return libarchive.write_header(archive, entry) == ARCHIVE_OK ? 0
                                                                 : fail_pack(archive, sink, err);
}

static int add_data(struct archive *archive, const struct sink *sink, const void *bytes,
                    size_t size, struct toolrack_error *err) {
    return size == 0 || libarchive.write_data(archive, bytes, size) == (la_ssize_t)size
                   ? 0
                   : fail_pack(archive, sink, err);
}

static int refuse_changed(const struct manifest_file *file, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_REFUSED, "the file %s changed while it was packed; pack again",
                     file->path);
}

static int add_file(struct archive *archive, const struct sink *sink,
                    const struct manifest_file *file, int fd, struct toolrack_error *err) {
    unsigned char bytes[READ_SIZE];
    uint8_t sha256[MANIFEST_SHA256_SIZE];
    uint64_t at = 0;
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    int code = begin_member(archive, sink, file->path, file->size, err);
    while (code == 0) {
        ssize_t length = pread(fd, bytes, sizeof bytes, (off_t)at);
        if (length < 0) {
            return error_set(err, TOOLRACK_E_IO, "%s cannot be read: %s", file->path,
                             strerror(errno));
        }
        if (length == 0) {
            break;
        }
        at += (uint64_t)length;
        if (at > file->size) {
            return refuse_changed(file, err);
        }
        (void)crypto_hash_sha256_update(&state, bytes, (size_t)length);
        code = add_data(archive, sink, bytes, (size_t)length, err);
    }
    (void)crypto_hash_sha256_final(&state, sha256);
    return code < 0 || (at == file->size && memcmp(sha256, file->sha256, sizeof sha256) == 0)
                   ? code
                   : refuse_changed(file, err);
}

int archive_write(const struct manifest *manifest, const int *fds, int to,
                  struct toolrack_error *err) {
    struct sink sink = {.fd = to};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(write_freep) struct archive *archive = NULL;
    manifest_write(manifest, &text);
    if (text.failed) {
        return error_oom(err);
    }
    int code = libarchive_load(err);
    code = code == 0 ? open_sink(&sink, &archive, err) : code;
    code = code == 0 ? begin_member(archive, &sink, MANIFEST_NAME, text.length, err) : code;
    code = code == 0 ? add_data(archive, &sink, text.data, text.length, err) : code;
    for (size_t i = 0; code == 0 && i < manifest->file_count; i++) {
        code = add_file(archive, &sink, &manifest->files[i], fds[i], err);
    }
    return code == 0 && libarchive.write_close(archive) != ARCHIVE_OK
                   ? fail_pack(archive, &sink, err)
                   : code;
}

/* ---------------------------------------------------------------------- hold */

static int make_memory(void) {
    int fd = memfd_create("toolrack-package", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd >= 0 || errno != EINVAL
                   ? fd
                   : memfd_create("toolrack-package", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int archive_hold(int fd, const char *name, int *ret_fd, struct toolrack_error *err) {
    unsigned char bytes[READ_SIZE];
    uint64_t size = 0;
    CLEANUP(closep) int to = make_memory();
    if (to < 0) {
        return error_set(err, TOOLRACK_E_IO, "there is no memory for %s: %s", name,
                         strerror(errno));
    }
    for (;;) {
        ssize_t length = pread(fd, bytes, sizeof bytes, (off_t)size);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length < 0) {
            return error_set(err, TOOLRACK_E_IO, "%s cannot be read: %s", name, strerror(errno));
        }
        if (length == 0) {
            break;
        }
        size += (uint64_t)length;
        if (size > ARCHIVE_SIZE_MAX) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "%s is larger than %u bytes, which is the most", name,
                             ARCHIVE_SIZE_MAX);
        }
        int failed = write_all(to, bytes, (size_t)length);
        if (failed < 0) {
            return error_set(err, TOOLRACK_E_IO, "there is no memory for %s: %s", name,
                             strerror(-failed));
        }
    }
    if (fcntl(to, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0 ||
        lseek(to, 0, SEEK_SET) < 0) {
        return error_set(err, TOOLRACK_E_IO, "the copy of %s cannot be sealed: %s", name,
                         strerror(errno));
    }
    *ret_fd = to;
    to = -1;
    return 0;
}
