#include "names.h"

#include <stdlib.h>
#include <string.h>

bool names_add(struct names *names, const char *name, bool is_folder) {
    if (names->count == names->room) {
        size_t room = names->room > 0 ? 2 * names->room : 64;
        struct names_item *items = realloc(names->items, room * sizeof *items);
        if (items == NULL) {
            return false;
        }
        names->items = items;
        names->room = room;
    }
    char *copy = strdup(name);
    if (copy == NULL) {
        return false;
    }
    names->items[names->count++] = (struct names_item){copy, is_folder};
    return true;
}

/* By their bytes, '/' before all others: what is in a folder follows it at once. */
static int compare(const void *one, const void *two) {
    const struct names_item *first = one;
    const struct names_item *second = two;
    const char *a = first->name;
    const char *b = second->name;
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    int rank_a = *a == '/' ? 1 : *a == '\0' ? 0 : (unsigned char)*a + 1;
    int rank_b = *b == '/' ? 1 : *b == '\0' ? 0 : (unsigned char)*b + 1;
    return rank_a != rank_b ? rank_a - rank_b : first->is_folder - second->is_folder;
}

static bool is_below(const char *name, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(name, folder, length) == 0 && name[length] == '/';
}

const char *names_find_conflict(struct names *names, bool may_repeat, bool *ret_is_folder) {
    if (names->count > 0) {
        qsort(names->items, names->count, sizeof *names->items, compare);
    }
    for (size_t i = 0; i + 1 < names->count; i++) {
        const struct names_item *item = &names->items[i];
        const struct names_item *next = &names->items[i + 1];
        bool is_same = strcmp(item->name, next->name) == 0;
        *ret_is_folder = next->is_folder || !is_same;
        if (!item->is_folder &&
            (is_same ? next->is_folder || !may_repeat : is_below(next->name, item->name))) {
            return item->name;
        }
    }
    return NULL;
}

void names_finish(struct names *names) {
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i].name);
    }
    free(names->items);
    *names = (struct names){0};
}
