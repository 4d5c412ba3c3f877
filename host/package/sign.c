#include "package/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/new-file.h"
#include "package/archive.h"

/* ---------------------------------------------------------------------- read */

static int fail_open(const char *path, struct toolrack_error *err) {
    return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                     "cannot read %s: %s", path, strerror(errno));
}

/* Nothing is waited for, such as on a pipe. */
static int open_regular(const char *path, struct stat *ret_status, struct toolrack_error *err) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, ret_status) < 0) {
        return fail_open(path, err);
    }
    if (!S_ISREG(ret_status->st_mode)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is no regular file", path);
    }
    int opened = fd;
    fd = -1;
    return opened;
}

/* The room is there from the start: growing would leave parts of a secret in memory that is free.
 */
static int read_all(int fd, const char *path, size_t max, struct buf *out,
                    struct toolrack_error *err) {
    if (!buf_reserve(out, max + 1)) {
        return error_oom(err);
    }
    for (;;) {
        ssize_t length = read(fd, out->data + out->length, max + 1 - out->length);
        if (length < 0 && errno != EINTR) {
            return fail_open(path, err);
        }
        if (length == 0) {
            out->data[out->length] = '\0';
            return 0;
        }
        out->length += length > 0 ? (size_t)length : 0;
        if (out->length > max) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "%s is larger than %zu bytes, which no key or signature is", path,
                             max);
        }
    }
}

/* Everybody may read a public key, so its mode is no reason to refuse it. */
static int check_secret(const char *path, const struct stat *status, struct buf *text,
                        struct toolrack_error *err) {
    struct public_key public;
    if (public_key_parse(text->data, text->length, &public, NULL) == 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "this is a public key, which signs nothing; give the secret key that was "
                         "made with it, such as NAME.key");
    }
    if ((status->st_mode & 077) != 0) {
        sodium_memzero(text->data, text->length);
        buf_clear(text);
        return error_set(err, TOOLRACK_E_REFUSED,
                         "other users may read the secret key %s; take that from them: chmod 600 "
                         "it, and make a new key if one of them may have read it",
                         path);
    }
    return 0;
}

int sign_read_text(const char *path, size_t max, bool secret, struct buf *out,
                   struct toolrack_error *err) {
    struct stat status;
    CLEANUP(closep) int fd = open_regular(path, &status, err);
    if (fd < 0) {
        return fd;
    }
    int code = read_all(fd, path, max, out, err);
    return code == 0 && secret ? check_secret(path, &status, out, err) : code;
}

/* The line of a public key: 56 characters of base64, of which the first two are always these. */
static bool is_key(const char *word) {
    return strncmp(word, "RW", 2) == 0 && strlen(word) == 56 && strpbrk(word, "./") == NULL;
}

int sign_read_public(const char *path_or_key, struct public_key *ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (is_key(path_or_key) && access(path_or_key, F_OK) < 0) {
        return public_key_parse(path_or_key, strlen(path_or_key), ret, err);
    }
    int code = sign_read_text(path_or_key, KEY_TEXT_MAX, false, &text, err);
    code = code == 0 ? public_key_parse(text.data, text.length, ret, err) : code;
    if (code == TOOLRACK_E_INVALID) {
        error_prefix(err, path_or_key);
    }
    return code;
}

static int name_signature(const char *path, char ret[PATH_MAX], struct toolrack_error *err) {
    int length = snprintf(ret, PATH_MAX, "%s%s", path, SIGNATURE_SUFFIX);
    return length > 0 && length < PATH_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "the path of %s is too long", path);
}

int sign_read_signature(const char *path, struct signature_text *ret, struct toolrack_error *err) {
    char name[PATH_MAX];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = name_signature(path, name, err);
    code = code == 0 ? sign_read_text(name, KEY_TEXT_MAX, false, &text, err) : code;
    if (code == TOOLRACK_E_NOT_FOUND) {
        return error_set(err, code, "%s has no signature: there is no file %s", path, name);
    }
    code = code == 0 ? signature_parse(text.data, text.length, ret, err) : code;
    if (code == TOOLRACK_E_INVALID) {
        error_prefix(err, name);
    }
    return code;
}

/* ---------------------------------------------------------------------- sign */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_package(const char *path) {
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".trp") == 0;
}

/* The public key that a file is, if it is one. */
static bool read_key(int fd, struct public_key *ret) {
    char text[KEY_TEXT_MAX];
    ssize_t length = pread(fd, text, sizeof text, 0);
    return length > 0 && public_key_parse(text, (size_t)length, ret, NULL) == 0;
}

/* What a signature says of a file, beside its bytes. */
static int describe_file(int fd, const char *path, const struct secret_key *secret,
                         struct signed_file *ret, struct buf *comment, struct toolrack_error *err) {
    struct public_key key;
    if (is_package(path)) {
        CLEANUP(manifest_finish) struct manifest manifest;
        int code = archive_unpack(fd, -1, &manifest, err);
        if (code < 0) {
            return code;
        }
        ret->kind = "package";
        signature_comment_package(base_name(path), manifest.id, manifest.version, comment);
    } else if (read_key(fd, &key)) {
        ret->kind = "key";
        signature_comment_key(secret->number, key.number, comment);
    } else {
        ret->kind = "file";
        signature_comment_file(base_name(path), comment);
    }
    return comment->failed ? error_oom(err) : 0;
}

/* Words are separated by spaces, and a line ends the comment. */
static int check_name(const char *path, struct toolrack_error *err) {
    for (const char *at = base_name(path); *at != '\0'; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "a file whose name has spaces or control characters cannot be "
                             "signed; rename it");
        }
    }
    return strlen(base_name(path)) < sizeof((struct signature_text *)0)->file
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID, "the name of the file is too long");
}

int sign_file(const char *path, const struct secret_key *secret, struct signed_file *ret,
              struct toolrack_error *err) {
    struct stat status;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    CLEANUP(buf_finish) struct buf comment = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(closep) int fd = open_regular(path, &status, err);
    if (fd < 0) {
        return fd;
    }
    CLEANUP(closep) int held = -1;
    int code = check_name(path, err);
    code = code == 0 ? name_signature(path, ret->path, err) : code;
    code = code == 0 ? archive_hold(fd, path, &held, err) : code;
    code = code == 0 ? describe_file(held, path, secret, ret, &comment, err) : code;
    code = code == 0 ? signature_hash(held, ARCHIVE_SIZE_MAX, hash, NULL, err) : code;
    if (code < 0) {
        return code;
    }
    signature_make(hash, comment.data, secret, &text);
    (void)snprintf(ret->comment, sizeof ret->comment, "%s", comment.data);
    return text.failed ? error_oom(err)
                       : new_file_write(ret->path, text.data, text.length, 0644, true, err);
}

/* ---------------------------------------------------------------- succession */

int sign_verify_succession(const struct signature_text *signature, const struct public_key *old_key,
                           const struct public_key *new_key, const char *text, size_t length,
                           struct toolrack_error *err) {
    char old_id[KEY_ID_ROOM];
    char new_id[KEY_ID_ROOM];
    uint8_t hash[SIGNATURE_HASH_SIZE];
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)text, length, NULL, 0);
    int code = signature_verify(signature, hash, old_key, err);
    if (code < 0) {
        return code;
    }
    (void)key_id(old_key->number, old_id);
    (void)key_id(new_key->number, new_id);
    return strcmp(signature->succeeds, old_id) == 0 && strcmp(signature->key, new_id) == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "the signature of key %s does not say that key %s succeeds it; "
                               "whoever has both signs with `toolrack sign`",
                               old_id, new_id);
}
