#include "cli/style.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void style_begin(struct styles *styles, size_t at, enum style style) {
    if (styles == NULL) {
        return;
    }
    struct style_mark *grown =
            reallocarray(styles->marks, styles->count + 1, sizeof styles->marks[0]);
    if (grown != NULL) {
        styles->marks = grown;
        grown[styles->count++] = (struct style_mark){.at = at, .style = style};
    }
}

void style_clear(struct styles *styles) {
    free(styles->marks);
    *styles = (struct styles){0};
}

const char *style_sequence(enum style style) {
    switch (style) {
    case STYLE_PLAIN: break;
    case STYLE_HEADING: return "\x1b[0;1m";
    case STYLE_GOOD: return "\x1b[0;32m";
    case STYLE_CAUTION: return "\x1b[0;33m";
    case STYLE_BAD: return "\x1b[0;31m";
    case STYLE_FAINT: return "\x1b[0;2m";
    case STYLE_EMPHASIS: return "\x1b[0;3m";
    case STYLE_CODE: return "\x1b[0;36m";
    }
    return "\x1b[0m";
}

enum style style_of_state(const char *state) {
    static const struct {
        const char *state;
        enum style style;
    } rows[] = {
            {"loaded", STYLE_GOOD},      {"failed", STYLE_BAD},     {"refused", STYLE_BAD},
            {"quarantined", STYLE_BAD},  {"stuck", STYLE_BAD},      {"changed", STYLE_CAUTION},
            {"left-out", STYLE_CAUTION}, {"disabled", STYLE_FAINT}, {"kept", STYLE_FAINT},
            {"shared", STYLE_CAUTION},   {"absent", STYLE_CAUTION}, {"needs", STYLE_CAUTION},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        if (strcmp(state, rows[i].state) == 0) {
            return rows[i].style;
        }
    }
    return STYLE_PLAIN;
}
