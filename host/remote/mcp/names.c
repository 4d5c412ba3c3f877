/* names.c - see names.h. */
#include "remote/mcp/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name.h"

/* Longest name here, and of the part that tells cut names apart. */
#define NAME_MAX_LENGTH  64u
#define NAME_HASH_LENGTH 7u

void names_init(struct names *names) {
    *names = (struct names){0};
    arena_init(&names->arena, NULL, 0);
}

void names_finish(struct names *names) {
    arena_finish(&names->arena);
    free(names->items);
    *names = (struct names){0};
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool has_name(const struct names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Other characters become '_', and what is too long or taken ends in a hash of the whole name,
 * which is the same at each start. NULL: no memory. */
static const char *make_name(struct names *names, const char *prefix, const char *remote) {
    char *name =
            arena_printf(&names->arena, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "", remote);
    char *cut = arena_zalloc(&names->arena, NAME_MAX_LENGTH + 1);
    if (name == NULL || cut == NULL) {
        return NULL;
    }
    size_t length = strlen(name);
    uint32_t hash = name_hash(name, length);
    for (size_t i = 0; i < length; i++) {
        name[i] = is_plain(name[i]) ? name[i] : '_';
    }
    if (length <= NAME_MAX_LENGTH && !has_name(names, name)) {
        return name;
    }
    size_t kept = NAME_MAX_LENGTH - NAME_HASH_LENGTH;
    (void)snprintf(cut, NAME_MAX_LENGTH + 1, "%.*s_%06x", (int)(length < kept ? length : kept),
                   name, hash & 0xffffffu);
    return cut;
}

const char *names_add(struct names *names, const char *prefix, const char *remote) {
    if (names->count == names->room) {
        size_t room = 2 * names->room + 16;
        struct name_pair *grown = realloc(names->items, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        names->items = grown;
        names->room = room;
    }
    struct name_pair pair = {.name = make_name(names, prefix, remote),
                             .remote = arena_copy(&names->arena, remote, strlen(remote))};
    if (pair.name == NULL || pair.remote == NULL) {
        return NULL;
    }
    names->items[names->count++] = pair;
    return pair.name;
}

static int compare(const void *a, const void *b) {
    return strcmp(((const struct name_pair *)a)->name, ((const struct name_pair *)b)->name);
}

void names_sort(struct names *names) {
    if (names->count > 0) {
        qsort(names->items, names->count, sizeof *names->items, compare);
    }
}

const char *names_remote(const struct names *names, const char *name) {
    const struct name_pair wanted = {.name = name};
    const struct name_pair *found =
            names->count > 0 ? bsearch(&wanted, names->items, names->count, sizeof wanted, compare)
                             : NULL;
    return found != NULL ? found->remote : NULL;
}

void names_set_mirrors(struct names *names, const struct mirrors *mirrors) {
    names->items[names->count - 1].mirrors = *mirrors;
}

const struct mirrors *names_mirrors(const struct names *names, const char *remote) {
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i].remote, remote) == 0) {
            return &names->items[i].mirrors;
        }
    }
    return NULL;
}
