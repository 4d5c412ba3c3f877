#include "row.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "toolrack/error.h"

#define ROW(name, ...) {.plugin = "zoo_" #name, .tool = "zoo_" #name, __VA_ARGS__},
#define ATTEMPT(arguments_, errnos, holds, alone_) \
    {.plugin = "zoo_hostile",                      \
     .tool = "zoo_hostile",                        \
     .arguments = "{" arguments_ "}",              \
     .says = errnos,                               \
     .needs = holds,                               \
     .alone = alone_},
const struct zoo_row zoo_rows[] = {
#include "zoo.def"
};
#undef ROW
#undef ATTEMPT
const size_t zoo_row_count = sizeof zoo_rows / sizeof zoo_rows[0];

bool zoo_says(const char *text, const char *alternatives) {
    for (const char *at = alternatives; at != NULL;) {
        const char *bar = strchr(at, '|');
        size_t length = bar != NULL ? (size_t)(bar - at) : strlen(at);
        if (memmem(text, strlen(text), at, length) != NULL) {
            return true;
        }
        at = bar != NULL ? bar + 1 : NULL;
    }
    return false;
}

/* The value of ${name}, in `room`. */
static const char *value_of(const char *name, size_t length, const struct zoo_aims *aims,
                            char room[64]) {
    const char *const names[] = {"secret", "store", "new", "port", "host"};
    const char *const values[] = {aims->secret, aims->store, aims->new_file};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) != length || memcmp(names[i], name, length) != 0) {
            continue;
        }
        (void)snprintf(room, 64, "%d", i == 3 ? (int)aims->port : (int)aims->host);
        return i < 3 ? values[i] : room;
    }
    return "";
}

const char *zoo_arguments(const struct zoo_row *row, const struct zoo_aims *aims, char room[512]) {
    const char *at = row->arguments != NULL ? row->arguments : "{}";
    size_t used = 0;
    while (*at != '\0') {
        char number[64];
        const char *end = strncmp(at, "${", 2) == 0 ? strchr(at, '}') : NULL;
        const char *piece =
                end != NULL ? value_of(at + 2, (size_t)(end - at) - 2, aims, number) : at;
        size_t length = end != NULL ? strlen(piece) : 1;
        if (used + length + 1 > 512) {
            break; /* cut: no JSON, which the call refuses */
        }
        memcpy(room + used, piece, length);
        used += length;
        at = end != NULL ? end + 1 : at + 1;
    }
    room[used] = '\0';
    return room;
}
