/* The token of a file, for a server whose administrator cannot run a command before its start, as
 * in a container. Its hash is in memory only: the file is where it is kept, and who takes it away
 * revokes it. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/ownership.h"
#include "permit/token-grant.h"
#include "permit/tokens-parts.h"

#define HOW_TO_MAKE                                                                       \
    "write one line there: " TOOLRACK_TOKEN_PREFIX " and at least 32 random letters and " \
    "digits, as \"openssl rand -hex 32\" prints them"

/* Characters of a secret, with the prefix; as the header of a request has them. */
#define SECRET_MIN 36u
#define SECRET_MAX 255u
#define ID_BYTES   8u

/* Whether a file was mounted as such, which only who made this container or namespace can do. It is
 * as readable there as its other side is elsewhere, where nobody may reach it. */
static bool is_mounted(int fd) {
    struct statx about;
    return statx(fd, "", AT_EMPTY_PATH, 0, &about) == 0 &&
           (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static void warn_of_readers(const struct tokens *tokens, const char *path, int fd,
                            const struct stat *status) {
    char fix[80];
    if ((status->st_mode & S_IROTH) == 0 || (status->st_uid != geteuid() && is_mounted(fd))) {
        return;
    }
    (void)snprintf(fix, sizeof fix,
                   status->st_uid == geteuid() ? "chmod o-r it"
                                               : "give it to user %u, with mode 0600",
                   (unsigned)geteuid());
    log_line(tokens->options.log, LOG_WARNING, "permission",
             "every user of the machine may read the token in %s (mode %04o); %s, and make a new "
             "one if others may have read this one",
             path, (unsigned)(status->st_mode & 07777), fix);
}

/* Who starts the server names the file and trusts whose it is: in a container that is often a user
 * that only the machine outside knows. Others must not choose the secret; who may read it knows it.
 */
static int check_rights(const struct tokens *tokens, const char *path, int fd,
                        const struct stat *status, struct toolrack_error *err) {
    if (path[0] != '/') {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the file of a token, '%.200s', is not an absolute path; write it from "
                         "the root",
                         path);
    }
    warn_of_readers(tokens, path, fd, status);
    return ownership_check_writers(path, err);
}

static int cannot_read(const char *path, int why, struct toolrack_error *err) {
    return why == EACCES
                   ? error_set(err, TOOLRACK_E_IO,
                               "cannot read the token in %.200s: user %u, who runs this server, "
                               "may not; chmod o+r it in a folder that no other user may enter and "
                               "mount it from there, or give it to that user",
                               path, (unsigned)geteuid())
                   : error_set(err, TOOLRACK_E_IO,
                               "cannot read the token in %.200s: %s; make the file, or let the "
                               "user of the server read it",
                               path, strerror(why));
}

/* One line of a regular file; `ret` has room for SECRET_MAX characters, an end of line, and one
 * that is too many. */
static int read_line(const struct tokens *tokens, const char *path, char ret[SECRET_MAX + 3],
                     struct toolrack_error *err) {
    struct stat status;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        return cannot_read(path, errno, err);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%.200s is no regular file, so it has no token; name another one", path);
    }
    int code = check_rights(tokens, path, fd, &status, err);
    ssize_t got = code < 0 ? 0 : read(fd, ret, SECRET_MAX + 2);
    if (got < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read the token in %.200s: %s", path,
                         strerror(errno));
    }
    if (memchr(ret, '\0', (size_t)got) != NULL) {
        got = 0; /* what follows a NUL would not count */
    }
    ret[got] = '\0';
    char *end = strchr(ret, '\n');
    if (end != NULL && end[1] == '\0') { /* with more lines it is no token */
        *end = '\0';
    }
    return code;
}

static bool is_secret(const char *text) {
    size_t prefix = strlen(TOOLRACK_TOKEN_PREFIX);
    size_t length = strlen(text);
    if (length < SECRET_MIN || length > SECRET_MAX ||
        strncmp(text, TOOLRACK_TOKEN_PREFIX, prefix) != 0) {
        return false;
    }
    for (const char *at = text + prefix; *at != '\0'; at++) {
        if (!ascii_is_letter(*at) && !ascii_is_digit(*at) && strchr("-._~+/", *at) == NULL) {
            return false;
        }
    }
    return true;
}

/* The same secret has the same id after a restart, so that its tasks stay its own. It is made of
 * the hash alone, which it does not tell. */
static void make_id(const unsigned char sha256[STORE_SHA256_SIZE], char ret[32]) {
    unsigned char digest[STORE_SHA256_SIZE];
    char digits[2 * ID_BYTES + 1];
    (void)crypto_hash_sha256(digest, sha256, STORE_SHA256_SIZE);
    (void)sodium_bin2hex(digits, sizeof digits, digest, ID_BYTES);
    (void)snprintf(ret, 32, TOOLRACK_TOKEN_FILE_NAME "-%s", digits);
}

/* Who has the one that was there before is no administrator any more. */
static void exchange(struct tokens *tokens, struct toolrack_token_grant *new) {
    lock_take(&tokens->lock);
    struct toolrack_token_grant *old = tokens->of_file;
    tokens->of_file = new;
    lock_release(&tokens->lock);
    if (old != NULL) {
        atomic_store(&old->revoked, true);
        toolrack_token_grant_unref(old);
    }
}

struct toolrack_token_grant *tokens_of_file(struct tokens *tokens) {
    LOCK_SCOPE(&tokens->lock);
    return tokens->of_file != NULL ? toolrack_token_grant_ref(tokens->of_file) : NULL;
}

static int take(struct tokens *tokens, const char *secret, const char *path,
                struct toolrack_error *err) {
    char id[32];
    struct store_token token = {.name = TOOLRACK_TOKEN_FILE_NAME,
                                .id = id,
                                .admin = true,
                                .created_s = clock_wall_s(),
                                .who = path};
    tokens_hash(secret, token.sha256);
    make_id(token.sha256, id);
    struct toolrack_token_grant *known = tokens_of_file(tokens);
    bool is_same = known != NULL &&
                   sodium_memcmp(known->token.sha256, token.sha256, sizeof token.sha256) == 0;
    toolrack_token_grant_unref(known);
    struct toolrack_token_grant *grant = is_same ? NULL : token_grant_create(&token);
    if (grant != NULL) {
        exchange(tokens, grant);
    }
    return is_same || grant != NULL ? 0 : error_oom(err);
}

int tokens_file(struct tokens *tokens, const char *path, struct toolrack_error *err) {
    char secret[SECRET_MAX + 3];
    if (path == NULL) {
        exchange(tokens, NULL);
        return 0;
    }
    int code = read_line(tokens, path, secret, err);
    if (code == 0 && !is_secret(secret)) {
        code = error_set(err, TOOLRACK_E_INVALID, "%.200s has no token; %s", path, HOW_TO_MAKE);
    }
    code = code < 0 ? code : take(tokens, secret, path, err);
    sodium_memzero(secret, sizeof secret);
    return code;
}
