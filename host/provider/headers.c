#include "provider/headers.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* What the transfer sets itself: another value would break it, or send it elsewhere. */
static const char *const own[] = {"content-length", "content-type",   "transfer-encoding",
                                  "connection",     "host",           "expect",
                                  "accept",         "accept-encoding"};

#define TOKEN_CHARACTERS                                                  \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&" \
    "'*+-.^_`|~"

static int check(const char *line, struct toolrack_error *err) {
    size_t name = strspn(line, TOKEN_CHARACTERS);
    size_t length = strnlen(line, HEADER_LENGTH_MAX + 1);
    if (name == 0 || line[name] != ':' || line[name + 1 + strspn(line + name + 1, " \t")] == '\0') {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a header is \"NAME: VALUE\", such as \"anthropic-beta: NAME\"");
    }
    for (size_t i = name; i < length; i++) {
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "the header %.*s has a control character: leave it out", (int)name,
                             line);
        }
    }
    if (length > HEADER_LENGTH_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "the header %.40s is longer than %u bytes",
                         line, HEADER_LENGTH_MAX);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        if (strlen(own[i]) == name && strncasecmp(own[i], line, name) == 0) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "the header %.*s is set by the transfer itself: leave it out",
                             (int)name, line);
        }
    }
    return 0;
}

int headers_check(const char *const *lines, struct toolrack_error *err) {
    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++) {
        int code = i < HEADERS_MAX ? check(lines[i], err)
                                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                               "there are more than %u headers", HEADERS_MAX);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

bool headers_has(const char *const *lines, const char *line) {
    size_t length = strcspn(line, ":");
    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++) {
        if (strcspn(lines[i], ":") == length && strncasecmp(lines[i], line, length) == 0) {
            return true;
        }
    }
    return false;
}
