#include "remote/mcp/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "worker/launch.h"

struct secrets {
    struct lock lock;
    char *items[SECRETS_COUNT_MAX];
    size_t count; /* that were ever added */
};

struct secrets *mount_secrets_create(void) {
    struct secrets *secrets = calloc(1, sizeof *secrets);
    if (secrets != NULL) {
        lock_init(&secrets->lock);
    }
    return secrets;
}

void mount_secrets_destroy(struct secrets *secrets) {
    if (secrets != NULL) {
        for (size_t i = 0; i < SECRETS_COUNT_MAX; i++) {
            free(secrets->items[i]);
        }
        lock_finish(&secrets->lock);
        free(secrets);
    }
}

void mount_secrets_add(struct secrets *secrets, const char *text, size_t length) {
    char *copy = secrets != NULL && length >= SECRETS_HIDDEN_MIN ? strndup(text, length) : NULL;
    if (copy != NULL) {
        LOCK_SCOPE(&secrets->lock);
        char **item = &secrets->items[secrets->count++ % SECRETS_COUNT_MAX];
        free(*item);
        *item = copy;
    }
}

void mount_secrets_hide(struct secrets *secrets, char *text) {
    if (secrets == NULL) {
        return;
    }
    LOCK_SCOPE(&secrets->lock);
    for (size_t i = 0; i < SECRETS_COUNT_MAX && secrets->items[i] != NULL; i++) {
        size_t length = strlen(secrets->items[i]);
        for (char *at = text; (at = strstr(at, secrets->items[i])) != NULL; at += length) {
            memset(at, '*', length);
        }
    }
}

/* ------------------------------------------------------------------ expand */

/* A file of this user that neither others can read nor the programs of servers. @return NULL, or
 * what is wrong with it */
static const char *read_file(const char *path, struct buf *out) {
    CLEANUP(freep) char *real = realpath(path, NULL);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    if (fd < 0) {
        return strerror(errno);
    }
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        return "it is no regular file";
    }
    if (real != NULL && launch_reads(real)) {
        return "every MCP server on this machine may read what is in that folder; put it into "
               "another one, such as your home";
    }
    if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
        return "others can read it, or it is theirs; make it yours with chmod 600";
    }
    size_t before = out->length;
    ssize_t got = 1;
    while (got > 0 && out->length - before <= SECRETS_LENGTH_MAX && buf_reserve(out, 4096)) {
        got = read(fd, out->data + out->length, 4096);
        out->length += got > 0 ? (size_t)got : 0;
    }
    if (got != 0 && !out->failed) {
        return got < 0 ? strerror(errno) : "it has more than 65536 bytes";
    }
    if (out->length > before && out->data[out->length - 1] == '\n') {
        buf_truncate(out, out->length - 1); /* as editors end files */
    }
    return out->length > before && memchr(out->data + before, '\0', out->length - before) != NULL
                   ? "it has a zero byte"
                   : NULL;
}

static int expand_one(const char *server, bool is_file, const char *name, struct buf *out,
                      struct toolrack_error *err) {
    if (is_file) {
        const char *wrong = name[0] == '/' ? read_file(name, out) : "its path must begin with '/'";
        return wrong == NULL ? 0
                             : error_set(err, TOOLRACK_E_INVALID,
                                         "MCP server '%s' wants the file %s, which cannot be used: "
                                         "%s",
                                         server, name, wrong);
    }
    const char *value = getenv(name);
    if (value == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "MCP server '%s' wants the environment variable %s, which is not set",
                         server, name);
    }
    buf_add_text(out, value);
    return 0;
}

/* What is in the place of "NAME" and "NAME:-otherwise", as a shell has them. */
static bool is_variable(const char *name, const char *end) {
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    return length > 0 && (name + length == end || strncmp(name + length, ":-", 2) == 0);
}

/* Something that other clients fill in would be taken as it stands, as a key for example. */
static int refuse_other(const char *server, const char *at, const char *end,
                        struct toolrack_error *err) {
    int length = (int)strcspn(at + 2, ":}");
    return is_variable(at + 2, end)
                   ? error_set(err, TOOLRACK_E_INVALID,
                               "MCP server '%s' has ${%.*s}, which is not filled in here; write "
                               "${env:%.*s}",
                               server, length, at + 2, length, at + 2)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "MCP server '%s' has ${%.*s...}, which only another client fills "
                               "in; write the value, ${env:NAME} or ${file:PATH}",
                               server, length, at + 2);
}

int mount_secrets_refuse(const char *server, const char *text, struct toolrack_error *err) {
    static const char *const of_clients[] = {"env:",    "file:",           "input:",   "command:",
                                             "config:", "workspaceFolder", "userHome", "cwd}"};
    for (const char *at = text; (at = strstr(at, "${")) != NULL; at += 2) {
        for (size_t i = 0; i < ARRAY_LENGTH(of_clients); i++) {
            if (strncmp(at + 2, of_clients[i], strlen(of_clients[i])) == 0) {
                return error_set(err, TOOLRACK_E_INVALID,
                                 "MCP server '%s' has ${%.*s...} where nothing is filled in; write "
                                 "the value, and a secret in \"env\", where others do not see it",
                                 server, (int)strcspn(at + 2, ":}"), at + 2);
            }
        }
    }
    return 0;
}

/* The next "${...}"; NULL: there is none that is closed. */
static const char *find(const char *text, const char **ret_end) {
    const char *at = strstr(text, "${");
    *ret_end = at != NULL ? strchr(at, '}') : NULL;
    return *ret_end != NULL ? at : NULL;
}

int mount_secrets_expand(struct secrets *secrets, const char *server, const char *text,
                         struct buf *out, struct toolrack_error *err) {
    const char *end;
    for (const char *at; (at = find(text, &end)) != NULL; text = end + 1) {
        bool is_file = strncmp(at, "${file:", 7) == 0;
        if (!is_file && strncmp(at, "${env:", 6) != 0) {
            return refuse_other(server, at, end, err);
        }
        const char *begin = at + (is_file ? 7 : 6);
        CLEANUP(freep) char *name = strndup(begin, (size_t)(end - begin));
        if (name == NULL) {
            return error_oom(err);
        }
        buf_add(out, text, (size_t)(at - text));
        size_t before = out->length;
        int code = expand_one(server, is_file, name, out, err);
        if (code < 0) {
            return code;
        }
        if (!out->failed) {
            mount_secrets_add(secrets, out->data + before, out->length - before);
        }
    }
    buf_add_text(out, text);
    return out->failed ? error_oom(err) : 0;
}
