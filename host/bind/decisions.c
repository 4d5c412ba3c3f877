#include "bind/decisions.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* Longest pattern of a function, and of an argument. */
#define PATTERN_MAX 255u
/* Most bytes of room that a definition may state. */
#define ROOM_MAX    (64u * 1024 * 1024)

struct parts {
    char function[PATTERN_MAX + 1];
    char argument[PATTERN_MAX + 1];
    struct decision decision;
};

static bool copy(char *to, size_t size, const char *from, const char *end) {
    size_t length = (size_t)(end - from);
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

static bool split(const char *text, struct parts *ret) {
    const char *equals = strchr(text, '=');
    const char *dot = equals == NULL ? NULL : memrchr(text, '.', (size_t)(equals - text));
    if (dot == NULL) {
        return false;
    }
    const char *choice = equals + 1;
    const char *end = choice + strcspn(choice, ":");
    ret->decision.number = 0;
    if (*end == ':') {
        char *rest = NULL;
        ret->decision.number = ascii_is_digit(end[1]) ? strtoull(end + 1, &rest, 10) : 0;
        if (rest == NULL || *rest != '\0' || ret->decision.number == 0 ||
            ret->decision.number > ROOM_MAX) {
            return false;
        }
    }
    return copy(ret->function, sizeof ret->function, text, dot) &&
           copy(ret->argument, sizeof ret->argument, dot + 1, equals) &&
           copy(ret->decision.choice, sizeof ret->decision.choice, choice, end);
}

int decisions_check(const struct decisions *decisions, struct toolrack_error *err) {
    struct parts parts;
    for (size_t i = 0; i < decisions->count; i++) {
        if (!split(decisions->texts[i], &parts)) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "'%.*s' is no decision; write FUNCTION.ARGUMENT=CHOICE, such as "
                             "frexp.exp=out, or out:32 for a room of 32 bytes (at most %u)",
                             (int)PATTERN_MAX, decisions->texts[i], ROOM_MAX);
        }
    }
    return 0;
}

bool decisions_before(const struct decisions *decisions, size_t *at, const char *function,
                      const char *argument, struct decision *ret) {
    struct parts parts;
    while (*at > 0) {
        --*at;
        if (split(decisions->texts[*at], &parts) && fnmatch(parts.function, function, 0) == 0 &&
            fnmatch(parts.argument, argument, 0) == 0) {
            *ret = parts.decision;
            ret->is_pattern = strcmp(parts.argument, argument) != 0;
            return true;
        }
    }
    return false;
}

bool decisions_choose(const struct decisions *decisions, const char *choice) {
    struct parts parts;
    for (size_t i = 0; i < decisions->count; i++) {
        if (split(decisions->texts[i], &parts) && strcmp(parts.decision.choice, choice) == 0) {
            return true;
        }
    }
    return false;
}
