#include "registry/refusal.h"

#include <stdlib.h>
#include <string.h>

struct refusal {
    struct toolrack_refusal row;
    char *texts; /* what `row` points into: one block */
};

#define REFUSALS_FIRST_ROOM 16u

static size_t text_size(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *put_text(char **at, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    const char *start = *at;
    *at = stpcpy(*at, text) + 1;
    return start;
}

static bool copy_row(const struct toolrack_refusal *from, struct refusal *to) {
    char *at = malloc(text_size(from->file) + text_size(from->plugin) + text_size(from->tool) +
                      text_size(from->rule) + text_size(from->reason) + text_size(from->fix) + 1);
    to->texts = at;
    if (at == NULL) {
        return false;
    }
    to->row.file = put_text(&at, from->file);
    to->row.plugin = put_text(&at, from->plugin);
    to->row.tool = put_text(&at, from->tool);
    to->row.rule = put_text(&at, from->rule);
    to->row.reason = put_text(&at, from->reason);
    to->row.fix = put_text(&at, from->fix);
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

static bool is(const char *wanted, const char *text) {
    return wanted == NULL || (text != NULL && strcmp(wanted, text) == 0);
}

void refusals_remove(struct toolrack_refusals *list, const char *file, const char *rule,
                     const char *tool) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct toolrack_refusal *row = &list->items[i].row;
        if (is(file, row->file) && is(rule, row->rule) && is(tool, row->tool)) {
            free(list->items[i].texts);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

void refusals_remove_file(struct toolrack_refusals *list, const char *file) {
    refusals_remove(list, file, NULL, NULL);
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
        free(list->items[i].texts);
    }
    free(list->items);
    *list = (struct toolrack_refusals){0};
}

size_t toolrack_refusals_count(const struct toolrack_refusals *refusals) {
    return refusals->count;
}

const struct toolrack_refusal *toolrack_refusals_get(const struct toolrack_refusals *refusals,
                                                     size_t index) {
    return &refusals->items[index].row;
}

void toolrack_refusals_free(struct toolrack_refusals *refusals) {
    if (refusals != NULL) {
        refusals_finish(refusals);
        free(refusals);
    }
}
