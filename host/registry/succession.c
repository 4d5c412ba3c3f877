#include "registry/succession.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_name(const struct registration *a, const struct registration *b) {
    return a->name_hash == b->name_hash && strcmp(a->spec->tool->name, b->spec->tool->name) == 0;
}

/* The same version registered again, with the same schemas. */
static bool says_the_same(const struct registration *a, const struct registration *b) {
    return semver_compare(a->spec->version, b->spec->version) == 0 &&
           same_text(a->spec->schema, b->spec->schema) &&
           same_text(a->spec->result_schema, b->spec->result_schema);
}

const struct registration *succession_find(struct toolrack_tool *const *tools, size_t count,
                                           const struct registration *reg) {
    for (size_t i = 0; i < count && same_name(tools[i]->reg, reg); i++) {
        const struct registration *other = tools[i]->reg;
        const char *version = other->spec->version;
        if (other == reg || strcmp(other->plugin->origin, reg->plugin->origin) != 0 ||
            semver_compare(version, reg->spec->version) > 0 || semver_is_prerelease(version) ||
            says_the_same(other, reg)) {
            continue;
        }
        /* Versions of one line are adjacent: all later ones are lower. */
        return semver_same_line(version, reg->spec->version) ? other : NULL;
    }
    return NULL;
}

const struct registration *succession_later(const struct registration *a,
                                            const struct registration *b) {
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    return semver_compare(a->spec->version, b->spec->version) >= 0 ? a : b;
}

/* Most differences in one line of the log; 'why' shows all. */
#define DIFFERENCES_LOGGED 3u

void succession_tell(const struct registration *reg, int level, const struct log *log) {
    const struct succession *succession = reg->succession;
    const struct compatibility *differences = &succession->differences;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < differences->count && i < DIFFERENCES_LOGGED; i++) {
        const struct compatibility_difference *one = &differences->items[i];
        buf_printf(&text, "%s%s: %s", i > 0 ? "; " : "", one->field[0] != '\0' ? one->field : "/",
                   one->text);
    }
    if (differences->found > DIFFERENCES_LOGGED) {
        buf_printf(&text, "; and %zu more", differences->found - DIFFERENCES_LOGGED);
    }
    log_line(log, level, reg->plugin->desc->plugin->id,
             "Tool '%s' %s is not compatible with %s, although its version promises it: %s",
             reg->spec->tool->name, reg->spec->version, succession->older,
             text.failed ? "out of memory" : text.data);
}

bool succession_note(struct registration *reg, const struct registration *older,
                     const struct log *log) {
    if (older == NULL) {
        return false;
    }
    struct succession *succession = calloc(1, sizeof *succession);
    if (succession == NULL) {
        log_line(log, LOG_ERROR, "registry",
                 "out of memory: '%s' %s is not compared with the version before it",
                 reg->spec->tool->name, reg->spec->version);
        return false;
    }
    memcpy(succession->older, older->spec->version, strlen(older->spec->version) + 1);
    compatibility_of_arguments(older->spec->schema, reg->spec->schema, &succession->differences);
    compatibility_of_results(older->spec->result_schema, reg->spec->result_schema,
                             &succession->differences);
    if (succession->differences.found == 0) {
        free(succession);
        return false;
    }
    reg->succession = succession;
    return true;
}
