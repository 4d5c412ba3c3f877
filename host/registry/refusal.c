#include "registry/refusal.h"

#include <stdlib.h>
#include <string.h>

struct refusal {
    struct toolrack_refusal row;
    char *strings; /* the strings of `row`, in one block */
};

#define REFUSALS_FIRST_ROOM 16u

static size_t size_of(const char *string) {
    return string != NULL ? strlen(string) + 1 : 0;
}

static const char *put_string(char **at, const char *string) {
    if (string == NULL) {
        return NULL;
    }
    const char *start = *at;
    *at = stpcpy(*at, string) + 1;
    return start;
}

static bool copy_row(const struct toolrack_refusal *from, struct refusal *to) {
    char *at = malloc(size_of(from->file) + size_of(from->plugin) + size_of(from->tool) +
                      size_of(from->rule) + size_of(from->reason) + size_of(from->fix) +
                      size_of(from->version) + 1);
    to->strings = at;
    if (at == NULL) {
        return false;
    }
    to->row.file = put_string(&at, from->file);
    to->row.plugin = put_string(&at, from->plugin);
    to->row.tool = put_string(&at, from->tool);
    to->row.rule = put_string(&at, from->rule);
    to->row.reason = put_string(&at, from->reason);
    to->row.fix = put_string(&at, from->fix);
    to->row.version = put_string(&at, from->version);
    to->row.kept = from->kept;
    return true;
}

static bool reserve(struct toolrack_refusals *list, size_t room) {
    if (room <= list->room) {
        return true;
    }
    struct refusal *grown = realloc(list->items, room * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    list->items = grown;
    list->room = room;
    return true;
}

bool refusals_add(struct toolrack_refusals *list, const struct toolrack_refusal *row) {
    if (list->count == list->room &&
        !reserve(list, list->room == 0 ? REFUSALS_FIRST_ROOM : 2 * list->room)) {
        return false;
    }
    if (!copy_row(row, &list->items[list->count])) {
        return false;
    }
    list->count++;
    return true;
}

void refusals_note(struct toolrack_refusals *list, const struct toolrack_refusal *row,
                   const struct log *log) {
    if (!refusals_add(list, row)) {
        log_line(log, LOG_ERROR, "registry", "out of memory: a refused tool will not be listed");
    }
}

static bool is_or_any(const char *wanted, const char *string) {
    return wanted == NULL || (string != NULL && strcmp(wanted, string) == 0);
}

static bool is_same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool refusals_have(const struct toolrack_refusals *list, const struct toolrack_refusal *row) {
    for (size_t i = 0; i < list->count; i++) {
        const struct toolrack_refusal *other = &list->items[i].row;
        if (is_same(other->file, row->file) && is_same(other->tool, row->tool) &&
            is_same(other->rule, row->rule) && is_same(other->reason, row->reason)) {
            return true;
        }
    }
    return false;
}

const struct toolrack_refusal *refusals_find_own(const struct toolrack_refusals *list,
                                                 const struct toolrack_refusal *row) {
    for (size_t i = 0; i < list->count; i++) {
        const struct toolrack_refusal *other = &list->items[i].row;
        if (is_same(other->file, row->file) && is_same(other->plugin, row->plugin) &&
            is_same(other->tool, row->tool) && is_same(other->rule, row->rule) &&
            other->version != NULL && !other->kept) {
            return other;
        }
    }
    return NULL;
}

void refusals_remove_if(struct toolrack_refusals *list,
                        bool (*is_gone)(const void *user, const struct toolrack_refusal *row),
                        const void *user) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (is_gone(user, &list->items[i].row)) {
            free(list->items[i].strings);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

/* Whether a row has the strings that a pattern has. */
static bool is_like(const void *user, const struct toolrack_refusal *row) {
    const struct toolrack_refusal *like = user;
    return is_or_any(like->file, row->file) && is_or_any(like->rule, row->rule) &&
           is_or_any(like->tool, row->tool) && is_or_any(like->version, row->version);
}

void refusals_remove(struct toolrack_refusals *list, const char *file, const char *rule,
                     const char *tool) {
    refusals_remove_version(list, file, rule, tool, NULL);
}

void refusals_remove_version(struct toolrack_refusals *list, const char *file, const char *rule,
                             const char *tool, const char *version) {
    const struct toolrack_refusal like = {
            .file = file, .rule = rule, .tool = tool, .version = version};
    refusals_remove_if(list, is_like, &like);
}

struct toolrack_refusals *refusals_copy(const struct toolrack_refusals *list) {
    struct toolrack_refusals *copy = calloc(1, sizeof *copy);
    bool complete = copy != NULL && reserve(copy, list->count);
    for (size_t i = 0; complete && i < list->count; i++) {
        complete = refusals_add(copy, &list->items[i].row);
    }
    if (!complete) {
        toolrack_refusals_free(copy);
        return NULL;
    }
    return copy;
}

void refusals_finish(struct toolrack_refusals *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].strings);
    }
    free(list->items);
    *list = (struct toolrack_refusals){0};
}

size_t toolrack_refusals_count(const struct toolrack_refusals *refusals) {
    return refusals->count;
}

const struct toolrack_refusal *toolrack_refusals_get(const struct toolrack_refusals *refusals,
                                                     size_t index) {
    return index < refusals->count ? &refusals->items[index].row : NULL;
}

void toolrack_refusals_free(struct toolrack_refusals *refusals) {
    if (refusals != NULL) {
        refusals_finish(refusals);
        free(refusals);
    }
}
