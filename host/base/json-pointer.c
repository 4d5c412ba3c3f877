#include "base/json-pointer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

size_t json_pointer_unescape(const char *step, size_t length, char *ret) {
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        bool is_escape =
                step[i] == '~' && i + 1 < length && (step[i + 1] == '0' || step[i + 1] == '1');
        i += is_escape;
        ret[used++] = !is_escape ? step[i] : step[i] == '0' ? '~' : '/';
    }
    return used;
}

/* Append a slash and a key from `at` on, as far as it and a final zero fit before `limit`; NULL: it
 * does not fit. */
static char *add_step(char *at, const char *limit, const char *key) {
    if (limit - at < 2) {
        return NULL;
    }
    *at++ = '/';
    for (; *key != '\0'; key++) {
        const char *escape = json_pointer_escape(*key);
        if (limit - at < (escape != NULL ? 3 : 2)) {
            return NULL;
        }
        *at++ = escape != NULL ? escape[0] : *key;
        if (escape != NULL) {
            *at++ = escape[1];
        }
    }
    *at = '\0';
    return at;
}

void json_pointer_add(char *pointer, const char *key) {
    char *end = pointer + strlen(pointer);
    if (add_step(end, pointer + JSON_POINTER_MAX, key) == NULL) {
        *end = '\0';
    }
}

void json_pointer_add_index(char *pointer, size_t index) {
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%zu", index);
    json_pointer_add(pointer, digits);
}

char *json_pointer_join(struct arena *arena, const char *pointer, const char *key) {
    size_t length = strlen(pointer);
    size_t room = length + 2 * strlen(key) + 2;
    char *joined = arena_alloc(arena, room);
    if (joined != NULL) {
        memcpy(joined, pointer, length);
        (void)add_step(joined + length, joined + room, key);
    }
    return joined;
}
