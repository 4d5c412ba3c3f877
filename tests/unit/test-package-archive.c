/* The file of a package: what is written is read, twice the same bytes, and a hostile archive is
 * refused for what is wrong with it, without a file beside the folder that it is unpacked into.
 *
 * Hostile archives are made block by block, as no program would. */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "package/archive.h"

#include "package-test.h"

#define BLOCK 512u

static int make_memory(const struct buf *bytes) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->data, bytes->length), (ssize_t)bytes->length);
    return fd;
}

/* ------------------------------------------------------------------- tar.zst */

struct member {
    const char *name;
    const char *data;   /* NULL: zeros */
    size_t size;        /* with `data` NULL */
    const char *stated; /* what the header says instead of the size, in octal; NULL: the size */
    char type;          /* '\0': a plain file */
    const char *link;
    const char *magic; /* NULL: that of ustar; else 8 bytes */
    size_t length;     /* of `data`; 0: up to its zero */
    unsigned mode;     /* 0: that of a plain file */
};

static void add_blocks(struct buf *tar, const char *data, size_t size) {
    static const char zeros[BLOCK];
    for (size_t at = 0; data == NULL && at < size; at += BLOCK) {
        buf_add(tar, zeros, sizeof zeros);
    }
    if (data != NULL) {
        buf_add(tar, data, size);
        buf_add(tar, zeros, (BLOCK - size % BLOCK) % BLOCK);
    }
}

static void add_member(struct buf *tar, const struct member *member) {
    char header[BLOCK] = "";
    size_t size = member->length > 0     ? member->length
                  : member->data != NULL ? strlen(member->data)
                                         : member->size;
    unsigned sum = 8 * ' ';
    (void)snprintf(header, 100, "%s", member->name);
    (void)snprintf(header + 100, 8, "%07o", member->mode != 0 ? member->mode : 0644u);
    (void)snprintf(header + 108, 8, "%07o", 0u);
    (void)snprintf(header + 116, 8, "%07o", 0u);
    if (member->stated != NULL) {
        (void)snprintf(header + 124, 12, "%s", member->stated);
    } else {
        (void)snprintf(header + 124, 12, "%011zo", size);
    }
    (void)snprintf(header + 136, 12, "%011o", 0u);
    header[156] = member->type != '\0' ? member->type : '0';
    (void)snprintf(header + 157, 100, "%s", member->link != NULL ? member->link : "");
    memcpy(header + 257,
           member->magic != NULL ? member->magic
                                 : "ustar\0"
                                   "00",
           8);
    for (size_t i = 0; i < BLOCK; i++) {
        sum += i >= 148 && i < 156 ? 0 : (unsigned char)header[i];
    }
    (void)snprintf(header + 148, 8, "%06o", sum);
    header[155] = ' ';
    buf_add(tar, header, sizeof header);
    add_blocks(tar, member->data, size);
}

static void add_end(struct buf *tar) {
    add_blocks(tar, NULL, 2 * BLOCK);
}

static la_ssize_t write_buf(struct archive *archive, void *user, const void *bytes, size_t size) {
    (void)archive;
    buf_add(user, bytes, size);
    return (la_ssize_t)size;
}

/* Compress with a filter of libarchive, at a quick level. */
static void compress_with(int (*filter)(struct archive *), const struct buf *from, struct buf *to) {
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    assert_int_equal(archive_write_set_format_raw(archive), ARCHIVE_OK);
    assert_int_equal(filter(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_set_bytes_in_last_block(archive, 1), ARCHIVE_OK);
    assert_int_equal(archive_write_open(archive, to, NULL, write_buf, NULL), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(archive, from->data, from->length),
                     (la_ssize_t)from->length);
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_entry_free(entry);
    (void)archive_write_free(archive);
    assert_false(to->failed);
}

static void compress_zstd(const struct buf *from, struct buf *to) {
    compress_with(archive_write_add_filter_zstd, from, to);
}

/* ------------------------------------------------------------------ packages */

#define README "# hello\n"
#define PLUGIN "this is not run"

static void add_hash(struct buf *out, const char *data) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    char digits[2 * sizeof hash + 1];
    (void)crypto_hash_sha256(hash, (const unsigned char *)data, strlen(data));
    (void)sodium_bin2hex(digits, sizeof digits, hash, sizeof hash);
    buf_add_text(out, digits);
}

/* The manifest of a README and a plugin. */
static void make_manifest(struct buf *out) {
    buf_printf(out,
               "{\"toolrack_package\": 1, \"id\": \"a\", \"version\": \"1.0.0\", \"abi\": \"1.0\", "
               "\"files\": [{\"path\": \"README.md\", \"size\": %zu, \"sha256\": \"",
               strlen(README));
    add_hash(out, README);
    buf_printf(out, "\"}, {\"path\": \"x86_64-gnu/a.so\", \"size\": %zu, \"sha256\": \"",
               strlen(PLUGIN));
    add_hash(out, PLUGIN);
    buf_add_text(out, "\"}]}");
}

static void add_manifest(struct buf *tar) {
    struct buf text = BUF_INIT;
    make_manifest(&text);
    add_member(tar, &(struct member){.name = MANIFEST_NAME, .data = text.data});
    buf_finish(&text);
}

static const struct member readme = {.name = "README.md", .data = README};
static const struct member plugin = {.name = "x86_64-gnu/a.so", .data = PLUGIN};

static size_t counted;

static int count_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)path;
    (void)status;
    (void)kind;
    (void)at;
    counted++;
    return 0;
}

/* How many names are below a folder. */
static size_t count_names(const char *path) {
    counted = 0;
    assert_int_equal(nftw(path, count_one, 16, FTW_PHYS), 0);
    return counted - 1;
}

/* Unpack into the folder "in"; nothing else is there afterwards. */
static int unpack_bytes(const struct buf *bytes, struct manifest *manifest) {
    (void)remove_tree("in");
    assert_int_equal(mkdir("in", 0700), 0);
    int folder = open("in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = make_memory(bytes);
    int code = archive_unpack(fd, folder, manifest, &err);
    (void)close(fd);
    (void)close(folder);
    assert_int_equal(count_names("."), 1 + count_names("in"));
    return code;
}

static void assert_refused(const struct buf *bytes, int code, const char *words) {
    struct manifest manifest;
    assert_error(unpack_bytes(bytes, &manifest), code, words);
    manifest_finish(&manifest);
}

/* The same of a tape archive. */
static void assert_tar_refused(const struct buf *tar, int code, const char *words) {
    struct buf bytes = BUF_INIT;
    compress_zstd(tar, &bytes);
    assert_refused(&bytes, code, words);
    buf_finish(&bytes);
}

static void assert_file(const char *path, const char *text) {
    char read_text[256] = "";
    struct stat status;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(read_text, 1, sizeof read_text - 1, file);
    assert_int_equal(length, strlen(text));
    assert_string_equal(read_text, text);
    assert_int_equal(fstat(fileno(file), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
    (void)fclose(file);
}

/* ---------------------------------------------------------------------- good */

static void make_good(struct buf *tar) {
    add_manifest(tar);
    add_member(tar, &readme);
    add_member(tar, &plugin);
}

static void a_package_is_unpacked(void **state) {
    (void)state;
    struct buf tar = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct manifest manifest;
    make_good(&tar);
    add_end(&tar);
    compress_zstd(&tar, &bytes);
    mode_t before = umask(0077);
    assert_ok(unpack_bytes(&bytes, &manifest));
    (void)umask(before);
    assert_string_equal(manifest.id, "a");
    assert_file("in/README.md", README);
    assert_file("in/x86_64-gnu/a.so", PLUGIN);
    assert_int_equal(count_names("in"), 3);
    manifest_finish(&manifest);

    int fd = make_memory(&bytes);
    assert_ok(archive_unpack(fd, -1, &manifest, &err));
    manifest_finish(&manifest);
    assert_ok(archive_read_manifest(fd, &manifest, &err));
    assert_int_equal(manifest.file_count, 2);
    manifest_finish(&manifest);
    (void)close(fd);
    buf_finish(&tar);
    buf_finish(&bytes);
}

/* Two descriptors of the files of the package above. */
static void open_files(int ret[2]) {
    static const char *const texts[] = {README, PLUGIN};
    for (size_t i = 0; i < 2; i++) {
        struct buf bytes = BUF_INIT;
        buf_add_text(&bytes, texts[i]);
        ret[i] = make_memory(&bytes);
        buf_finish(&bytes);
    }
}

static void read_whole(int fd, struct buf *out) {
    char bytes[4096];
    ssize_t length;
    while ((length = pread(fd, bytes, sizeof bytes, (off_t)out->length)) > 0) {
        buf_add(out, bytes, (size_t)length);
    }
}

static void what_is_written_is_read_and_twice_the_same(void **state) {
    (void)state;
    int fds[2];
    struct buf written[2] = {BUF_INIT, BUF_INIT};
    struct buf text = BUF_INIT;
    struct manifest manifest;
    make_manifest(&text);
    assert_ok(manifest_parse(text.data, text.length, &manifest, &err));
    open_files(fds);
    for (size_t i = 0; i < 2; i++) {
        struct manifest again;
        int to = memfd_create("package", MFD_CLOEXEC);
        assert_ok(archive_write(&manifest, fds, to, &err));
        assert_ok(archive_unpack(to, -1, &again, &err));
        assert_int_equal(again.file_count, 2);
        manifest_finish(&again);
        read_whole(to, &written[i]);
        (void)close(to);
    }
    assert_true(written[0].length > 0 && written[0].length == written[1].length);
    assert_memory_equal(written[0].data, written[1].data, written[0].length);
    buf_finish(&written[0]);
    buf_finish(&written[1]);

    /* A file that is another one by now. */
    assert_int_equal(pwrite(fds[1], "T", 1, 0), 1);
    int to = memfd_create("package", MFD_CLOEXEC);
    assert_error(archive_write(&manifest, fds, to, &err), TOOLRACK_E_REFUSED,
                 "x86_64-gnu/a.so changed while it was packed");
    assert_int_equal(pwrite(fds[1], "longer", 6, strlen(PLUGIN)), 6);
    assert_error(archive_write(&manifest, fds, to, &err), TOOLRACK_E_REFUSED, "changed while");
    (void)close(to);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fds[1], (off_t)strlen(PLUGIN)), 0);
    assert_int_equal(pwrite(fds[1], "t", 1, 0), 1);
    assert_error(archive_write(&manifest, fds, full, &err), TOOLRACK_E_IO, "No space left");
    (void)close(full);
    (void)close(fds[0]);
    (void)close(fds[1]);
    manifest_finish(&manifest);
    buf_finish(&text);
}

/* --------------------------------------------------------------- compression */

static void another_compressor_is_refused(void **state) {
    (void)state;
    struct buf tar = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct buf twice = BUF_INIT;
    make_good(&tar);
    add_end(&tar);
    assert_refused(&tar, TOOLRACK_E_INVALID, "not compressed by zstd");
    compress_with(archive_write_add_filter_gzip, &tar, &bytes);
    assert_refused(&bytes, TOOLRACK_E_INVALID, "not compressed by zstd");
    buf_clear(&bytes);
    compress_zstd(&tar, &bytes);
    compress_zstd(&bytes, &twice);
    assert_refused(&twice, TOOLRACK_E_INVALID, "not compressed by zstd, and only that");
    buf_clear(&bytes);
    assert_refused(&bytes, TOOLRACK_E_INVALID, "");
    buf_add_text(&bytes, "hello");
    assert_refused(&bytes, TOOLRACK_E_INVALID, "");
    buf_finish(&tar);
    buf_finish(&bytes);
    buf_finish(&twice);
}

static void one_that_is_cut_off_is_refused(void **state) {
    (void)state;
    struct buf tar = BUF_INIT;
    struct buf bytes = BUF_INIT;
    make_good(&tar);
    add_end(&tar);
    compress_zstd(&tar, &bytes);
    for (size_t length = 0; length < bytes.length; length++) {
        struct buf cut = {.data = bytes.data, .length = length};
        assert_refused(&cut, TOOLRACK_E_INVALID, "");
    }
    /* The tape archive is, and its compressor is whole. */
    for (size_t length = 0; length < tar.length; length += BLOCK / 2) {
        struct buf cut = {.data = tar.data, .length = length};
        assert_tar_refused(&cut, TOOLRACK_E_INVALID, "");
    }
    buf_finish(&tar);
    buf_finish(&bytes);
}

static void data_behind_the_end_is_refused(void **state) {
    (void)state;
    struct buf tar = BUF_INIT;
    struct buf more = BUF_INIT;
    struct buf bytes = BUF_INIT;
    make_good(&tar);
    add_end(&tar);
    compress_zstd(&tar, &bytes);
    size_t whole = bytes.length;
    buf_add_text(&bytes, "and more");
    assert_refused(&bytes, TOOLRACK_E_INVALID, "");
    buf_truncate(&bytes, whole);
    buf_add_text(&more, "a second frame, which only this reader would not see");
    compress_zstd(&more, &bytes);
    assert_refused(&bytes, TOOLRACK_E_INVALID, "does not end behind its last file");
    /* Behind the end of the tape archive, as another archive has it. */
    add_member(&tar, &(struct member){.name = "evil", .data = "x"});
    add_end(&tar);
    assert_tar_refused(&tar, TOOLRACK_E_INVALID, "does not end behind its last file");
    buf_finish(&tar);
    buf_finish(&more);
    buf_finish(&bytes);
}

static void bombs_are_refused(void **state) {
    (void)state;
    struct buf tar = BUF_INIT;
    add_manifest(&tar);
    add_member(&tar, &(struct member){.name = "README.md", .size = 64u << 20});
    add_end(&tar);
    assert_tar_refused(&tar, TOOLRACK_E_LIMIT_EXCEEDED, "more than 200 times its size");
    buf_finish(&tar);
}

static la_ssize_t write_fd(struct archive *archive, void *user, const void *bytes, size_t size) {
    (void)archive;
    return write(*(int *)user, bytes, size);
}

/* Random bytes, so that the ratio is small, and then zeros up to the limit. */
static void one_that_unpacks_to_too_much_is_refused(void **state) {
    (void)state;
    static unsigned char bytes[1u << 20];
    struct manifest manifest;
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    int fd = memfd_create("package", MFD_CLOEXEC);
    assert_int_equal(archive_write_set_format_raw(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter_zstd(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_set_filter_option(archive, "zstd", "compression-level", "1"),
                     ARCHIVE_OK);
    assert_int_equal(archive_write_open(archive, &fd, NULL, write_fd, NULL), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    for (size_t i = 0; i < 520; i++) {
        if (i < 4) {
            randombytes_buf_deterministic(
                    bytes, sizeof bytes,
                    (const unsigned char[randombytes_SEEDBYTES]){(unsigned char)i});
        } else {
            memset(bytes, 0, sizeof bytes);
        }
        assert_int_equal(archive_write_data(archive, bytes, sizeof bytes),
                         (la_ssize_t)sizeof bytes);
    }
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_entry_free(entry);
    (void)archive_write_free(archive);
    assert_error(archive_unpack(fd, -1, &manifest, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "unpacks to more than 536870912 bytes");
    manifest_finish(&manifest);
    (void)close(fd);
}

/* -------------------------------------------------------------------- frames */

/* Exponents of windows, as their byte has them: 2^(10 + n / 8). */
#define WINDOW_MIB  (10u << 3)
#define WINDOW_2GIB (21u << 3)

/* A frame of one block that is not compressed, as no program would write it: of at most 128 KiB. */
static void add_frame(struct buf *to, const char *data, size_t size, unsigned char window) {
    const uint32_t block = 1u | (uint32_t)size << 3;
    const unsigned char head[] = {0x28,
                                  0xb5,
                                  0x2f,
                                  0xfd,
                                  0x00,
                                  window,
                                  (unsigned char)block,
                                  (unsigned char)(block >> 8),
                                  (unsigned char)(block >> 16)};
    buf_add(to, head, sizeof head);
    buf_add(to, data, size);
}

/* One that readers leave out. */
static void add_skipped(struct buf *to, uint32_t stated, const char *data) {
    const unsigned char head[] = {0x50,
                                  0x2a,
                                  0x4d,
                                  0x18,
                                  (unsigned char)stated,
                                  (unsigned char)(stated >> 8),
                                  (unsigned char)(stated >> 16),
                                  (unsigned char)(stated >> 24)};
    buf_add(to, head, sizeof head);
    buf_add_text(to, data);
}

/* An archive of frames is the same as of one; what is in none of them is not unpacked. */
static void frames_are_read_or_refused(void **state) {
    (void)state;
    struct manifest manifest;
    struct buf tar = BUF_INIT;
    struct buf bytes = BUF_INIT;
    make_good(&tar);
    add_end(&tar);
    add_frame(&bytes, tar.data, 700, WINDOW_MIB);
    add_frame(&bytes, tar.data, 0, WINDOW_MIB);
    add_frame(&bytes, tar.data + 700, tar.length - 700, WINDOW_MIB);
    assert_ok(unpack_bytes(&bytes, &manifest));
    assert_file("in/README.md", README);
    manifest_finish(&manifest);
    /* The second frame is that of another archive. */
    buf_clear(&bytes);
    add_frame(&bytes, tar.data, tar.length, WINDOW_MIB);
    add_frame(&bytes, tar.data, tar.length, WINDOW_MIB);
    assert_refused(&bytes, TOOLRACK_E_INVALID, "does not end behind its last file");
    /* One that takes 2 GiB of memory to be read, of which it uses nothing. */
    buf_clear(&bytes);
    add_frame(&bytes, tar.data, tar.length, WINDOW_2GIB);
    assert_refused(&bytes, TOOLRACK_E_INVALID, "too much memory");
    /* What readers leave out may be there, and states its length. */
    buf_clear(&bytes);
    add_frame(&bytes, tar.data, 700, WINDOW_MIB);
    add_skipped(&bytes, 4, "more");
    add_frame(&bytes, tar.data + 700, tar.length - 700, WINDOW_MIB);
    assert_ok(unpack_bytes(&bytes, &manifest));
    manifest_finish(&manifest);
    buf_clear(&bytes);
    add_frame(&bytes, tar.data, tar.length, WINDOW_MIB);
    add_skipped(&bytes, 0xffffffff, "more");
    assert_refused(&bytes, TOOLRACK_E_INVALID, "damaged");
    buf_finish(&tar);
    buf_finish(&bytes);
}

/* Modes of the archive are not those of the files. */
static void modes_are_not_unpacked(void **state) {
    (void)state;
    struct manifest manifest;
    struct buf tar = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct member suid = readme;
    suid.mode = 06777;
    add_manifest(&tar);
    add_member(&tar, &suid);
    add_member(&tar, &plugin);
    add_end(&tar);
    compress_zstd(&tar, &bytes);
    assert_ok(unpack_bytes(&bytes, &manifest));
    assert_file("in/README.md", README); /* with its mode */
    manifest_finish(&manifest);
    buf_finish(&tar);
    buf_finish(&bytes);
}

/* ------------------------------------------------------------------- members */

static void other_members_than_the_manifests_are_refused(void **state) {
    (void)state;
    static const struct {
        struct member first; /* without a name: the manifest */
        struct member second;
        struct member third; /* without a name: none */
        struct member fourth;
        const char *words;
    } cases[] = {
            {.first = {.name = "README.md", .data = README},
             .words = "where toolrack-package.json"},
            {.second = {.name = "x86_64-gnu/a.so", .data = PLUGIN},
             .words = "where README.md must"},
            {.second = {.name = "README.md", .data = README}, .words = "ends before its file x86"},
            {.second = {.name = "README.md", .data = README},
             .third = {.name = "README.md", .data = README},
             .words = "\"README.md\" where x86_64-gnu/a.so must"},
            {.second = {.name = "README.md", .data = README},
             .third = {.name = "x86_64-gnu/a.so", .data = PLUGIN},
             .fourth = {.name = "x86_64-gnu/a.so", .data = PLUGIN},
             .words = "which its manifest does not name"},
            {.second = {.name = "README.md", .data = README},
             .third = {.name = "x86_64-gnu/a.so", .data = PLUGIN},
             .fourth = {.name = "../evil", .data = "x"},
             .words = "\"../evil\", which its manifest does not name"},
            {.second = {.name = "./README.md", .data = README}, .words = "\"./README.md\" where"},
            {.second = {.name = "readme.md", .data = README}, .words = "\"readme.md\" where"},
            {.second = {.name = "../README.md", .data = README}, .words = "\"../README.md\" where"},
            {.second = {.name = "/README.md", .data = README}, .words = "\"/README.md\" where"},
            {.second = {.name = "README.md", .data = "# hellO\n"}, .words = "has other bytes"},
            {.second = {.name = "README.md", .data = README "more"}, .words = "another size"},
            {.second = {.name = "README.md", .data = README, .stated = "00000000011"},
             .words = "another size"},
            {.second = {.name = "README.md", .data = README, .stated = "77777777777"},
             .words = "another size"},
            {.second = {.name = "README.md", .data = README, .stated = "\xff\xff\xff\xff"},
             .words = ""},
            {.second = {.name = "README.md",
                        .data = "",
                        .type = '1',
                        .link = "toolrack-package.json"},
             .words = "as a link"},
            {.second = {.name = "README.md", .data = "", .type = '2', .link = "/etc/passwd"},
             .words = "as a link"},
            {.second = {.name = "README.md", .data = README, .type = '1', .link = "/etc/passwd"},
             .words = "as a link"},
            {.second = {.name = "README.md", .data = "", .type = '3'}, .words = "device"},
            {.second = {.name = "README.md", .data = "", .type = '4'}, .words = "device"},
            {.second = {.name = "README.md", .data = "", .type = '5'}, .words = ""},
            {.second = {.name = "README.md", .data = "", .type = '6'}, .words = "device"},
            {.second = {.name = "README.md", .data = README, .magic = "ustar  "},
             .words = "not in the form ustar"},
            {.second = {.name = "x", .data = "30 path=../../evil-from-pax-name\n", .type = 'x'},
             .third = {.name = "README.md", .data = README},
             .words = ""},
            {.second = {.name = "x", .data = "18 path=README.md\n", .type = 'x'},
             .third = {.name = "other", .data = README},
             .words = "not in the form ustar"},
            {.second = {.name = "x", .data = "18 path=README.md\n", .type = 'g'},
             .third = {.name = "README.md", .data = README},
             .words = "not in the form ustar"},
            {.second = {.name = "././@LongLink",
                        .data = "README.md",
                        .type = 'L',
                        .magic = "ustar  "},
             .third = {.name = "other", .data = README, .magic = "ustar  "},
             .words = "not in the form ustar"},
            {.second = {.name = "README.md", .data = README, .type = 'S', .magic = "ustar  "},
             .words = ""},
            {.second = {.name = "x", .data = "24 linkpath=/etc/passwd\n", .type = 'x'},
             .third = {.name = "README.md", .data = "", .type = '2', .link = "y"},
             .words = "as a link"},
            {.second = {.name = "x", .data = "10 size=1\n", .type = 'x'},
             .third = {.name = "README.md", .data = README},
             .words = "not in the form ustar"},
            {.second = {.name = "x", .data = "10 size=8\n", .type = 'x'},
             .third = {.name = "README.md", .data = README, .stated = "00000000001"},
             .words = "not in the form ustar"},
            {.second = {.name = "x",
                        .data = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
                                "29 GNU.sparse.name=README.md\n"
                                "26 GNU.sparse.realsize=99\n",
                        .type = 'x'},
             .third = {.name = "y", .data = "1\n0\n8\n"},
             .words = ""},
            {.second = {.name = "x", .data = "20 path=README.md\0x\n", .length = 20, .type = 'x'},
             .third = {.name = "other", .data = README},
             .words = ""},
            {.second = {.name = "x", .data = "99999999 path=README.md\n", .type = 'x'},
             .third = {.name = "README.md", .data = README},
             .words = ""},
            {.second = {.name = "x", .data = "-1 path=README.md\n", .type = 'x'},
             .third = {.name = "README.md", .data = README},
             .words = ""},
            {.second = {.name = "././@LongLink",
                        .data = "/etc/passwd",
                        .type = 'K',
                        .magic = "ustar  "},
             .third = {.name = "README.md", .data = "", .type = '2', .magic = "ustar  "},
             .words = "as a link"},
            {.second = {.name = "README.MD", .data = README}, .words = "\"README.MD\" where"},
            {.second = {.name = "RE\xcc\x81"
                                "ADME.md",
                        .data = README},
             .words = "where README.md"},
            {.second = {.name = "R\xc3\x89"
                                "ADME.md",
                        .data = README},
             .words = "where README.md"},
            {.second = {.name = "README.md/", .data = README}, .words = ""},
            {.second = {.name = "README.md\n\033", .data = README},
             .words = "\"README.md\\n\\u001b\" where"},
            {.second = {.name = "README.md", .data = README, .type = 'V'}, .words = ""},
            {.second = {.name = "README.md", .data = README, .type = 'M'}, .words = ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct buf tar = BUF_INIT;
        if (cases[i].first.name == NULL) {
            add_manifest(&tar);
        } else {
            add_member(&tar, &cases[i].first);
        }
        const struct member *const members[] = {&cases[i].second, &cases[i].third,
                                                &cases[i].fourth};
        for (size_t k = 0; k < ARRAY_LENGTH(members); k++) {
            if (members[k]->name != NULL) {
                add_member(&tar, members[k]);
            }
        }
        add_end(&tar);
        assert_tar_refused(&tar, TOOLRACK_E_INVALID, cases[i].words);
        buf_finish(&tar);
    }
}

static void a_manifest_that_is_none_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"", "{}", "not JSON", "{\"toolrack_package\": 1}"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct buf tar = BUF_INIT;
        add_member(&tar, &(struct member){.name = MANIFEST_NAME, .data = texts[i]});
        add_member(&tar, &readme);
        add_end(&tar);
        assert_tar_refused(&tar, TOOLRACK_E_INVALID, MANIFEST_NAME);
        buf_finish(&tar);
    }
    struct buf tar = BUF_INIT;
    add_member(&tar, &(struct member){.name = MANIFEST_NAME, .data = "x", .stated = "00020000001"});
    assert_tar_refused(&tar, TOOLRACK_E_LIMIT_EXCEEDED, "4194304 are the most");
    buf_finish(&tar);
}

/* Something is there already: it is not followed, and not replaced. */
static void what_is_in_the_folder_is_not_followed(void **state) {
    (void)state;
    struct buf tar = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct manifest manifest;
    make_good(&tar);
    add_end(&tar);
    compress_zstd(&tar, &bytes);
    assert_int_equal(mkdir("in", 0700), 0);
    assert_int_equal(symlink("../outside", "in/README.md"), 0);
    int folder = open("in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = make_memory(&bytes);
    assert_error(archive_unpack(fd, folder, &manifest, &err), TOOLRACK_E_IO, "README.md cannot be");
    assert_int_equal(access("outside", F_OK), -1);
    manifest_finish(&manifest);
    (void)close(fd);
    (void)close(folder);
    buf_finish(&tar);
    buf_finish(&bytes);
}

/* ---------------------------------------------------------------------- hold */

static void held_bytes_do_not_change(void **state) {
    (void)state;
    int held = -1;
    char text[8] = "";
    struct buf bytes = BUF_INIT;
    buf_add_text(&bytes, "before");
    int fd = make_memory(&bytes);
    assert_ok(archive_hold(fd, "x.trp", &held, &err));
    assert_int_equal(pwrite(fd, "behind", 6, 0), 6);
    assert_int_equal(read(held, text, sizeof text), 6);
    assert_string_equal(text, "before");
    assert_int_equal(pwrite(held, "x", 1, 0), -1);
    assert_int_equal(ftruncate(held, 0), -1);
    (void)close(held);
    held = -1;
    assert_int_equal(ftruncate(fd, (off_t)ARCHIVE_SIZE_MAX + 1), 0);
    assert_error(archive_hold(fd, "x.trp", &held, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "x.trp is larger than 134217728 bytes");
    assert_int_equal(held, -1);
    (void)close(fd);
    buf_finish(&bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_package_is_unpacked),
            TEST(what_is_written_is_read_and_twice_the_same),
            TEST(another_compressor_is_refused),
            TEST(one_that_is_cut_off_is_refused),
            TEST(data_behind_the_end_is_refused),
            TEST(frames_are_read_or_refused),
            TEST(modes_are_not_unpacked),
            TEST(bombs_are_refused),
            TEST(one_that_unpacks_to_too_much_is_refused),
            TEST(other_members_than_the_manifests_are_refused),
            TEST(a_manifest_that_is_none_is_refused),
            TEST(what_is_in_the_folder_is_not_followed),
            TEST(held_bytes_do_not_change),
    };
    return cmocka_run_group_tests_name("package-archive", tests, NULL, NULL);
}
