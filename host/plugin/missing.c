#include "plugin/missing.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "plugin/capability.h"
#include "toolrack/plugin.h"

struct missing {
    const char *plugin_id; /* this and the items are in the arena */
    struct missing_capability *items;
    size_t count;
    const char *text;
    struct arena arena;
};

/* --------------------------------------------------------------- what a message says */

static bool is_of_name(char character) {
    return isalnum((unsigned char)character) ||
           (character != '\0' && strchr("_-./", character) != NULL);
}

/* Whether a name begins here, or the host of a URL. */
static bool begins_name(const char *message, const char *at) {
    return at == message || !is_of_name(at[-1]) || (at[-1] == '/' && at[0] != '/');
}

/* Whether what follows a name ends it. A sentence may end there too. */
static bool ends_name(const char *rest) {
    return !is_of_name(rest[0]) || (rest[0] == '.' && !is_of_name(rest[1]));
}

/* Whether a message has a name as a whole; with `is_folder`, also a path below it. */
static bool has_name(const char *message, const char *name, bool is_folder) {
    size_t length = strlen(name);
    for (const char *at = message; length > 0 && (at = strstr(at, name)) != NULL; at++) {
        bool is_below = is_folder && (at[length] == '/' || name[length - 1] == '/');
        if (begins_name(message, at) && (is_below || ends_name(at + length))) {
            return true;
        }
    }
    return false;
}

/* Whether it has the host of "api.example.com:443". */
static bool has_host(const char *message, const char *value) {
    char host[256];
    size_t length = strcspn(value, ":");
    if (value[length] != ':' || length >= sizeof host) {
        return false;
    }
    memcpy(host, value, length);
    host[length] = '\0';
    return has_name(message, host, true);
}

static bool is_named(const struct missing_capability *item, const char *message) {
    const char *value = item->value;
    const char *slash = strrchr(value, '/');
    switch (item->kind) {
    case TR_CAP_READ:
    case TR_CAP_WRITE:
        return has_name(message, value, true) ||
               (item->path != NULL && has_name(message, item->path, true));
    case TR_CAP_NETWORK: return has_host(message, value);
    case TR_CAP_SPAWN:
        return has_name(message, value, false) ||
               (slash != NULL && has_name(message, slash + 1, false));
    default: return has_name(message, value, false);
    }
}

/* Whether a message has words of what a kind is for. */
static bool is_about(uint32_t kind, const char *message) {
    static const char *const files[] = {"open", "file", "folder", "directory", "write", NULL};
    static const char *const network[] = {"connect",        "resolve", "network", "socket",
                                          "address family", "://",     NULL};
    static const char *const programs[] = {"exec", "spawn", "fork", "program", NULL};
    static const char *const environment[] = {"environment", "variable", NULL};
    const char *const *words = kind == TR_CAP_NETWORK ? network
                               : kind == TR_CAP_SPAWN ? programs
                               : kind == TR_CAP_ENV   ? environment
                                                      : files;
    for (; *words != NULL; words++) {
        if (strcasestr(message, *words) != NULL) {
            return true;
        }
    }
    return false;
}

/* --------------------------------------------------------------------- in words */

enum fit { FIT_ANY, FIT_KIND, FIT_NAME };

static enum fit fit_of(const struct missing_capability *item, const char *message) {
    return is_named(item, message) ? FIT_NAME : is_about(item->kind, message) ? FIT_KIND : FIT_ANY;
}

/* Append those that fit at least so well. */
static void describe(const struct missing *missing, const char *message, enum fit least,
                     bool is_sure, struct buf *out) {
    CLEANUP(buf_finish) struct buf items = BUF_INIT;
    CLEANUP(buf_finish) struct buf names = BUF_INIT;
    size_t count = 0;
    for (size_t i = 0; i < missing->count; i++) {
        const struct missing_capability *item = &missing->items[i];
        if (least == FIT_ANY || fit_of(item, message) >= least) {
            buf_printf(&names, "%s%s:%s", count > 0 ? ", " : "", capability_kind_name(item->kind),
                       item->value);
            buf_printf(&items, " '%s'", item->allowance);
            count++;
        }
    }
    if (names.failed || items.failed) {
        out->failed = true;
    } else if (is_sure || count == 1) {
        buf_printf(out, "its plugin declares %s, which %s not allowed: toolrack allow %s%s",
                   names.data, count == 1 ? "is" : "are", missing->plugin_id, items.data);
    } else {
        buf_printf(out,
                   "one of these may be missing, which its plugin declares and which are not "
                   "allowed: %s: toolrack allow %s%s",
                   names.data, missing->plugin_id, items.data);
    }
}

void missing_explain(const struct missing *missing, const char *message, struct buf *out) {
    enum fit best = FIT_ANY;
    for (size_t i = 0; i < missing->count; i++) {
        enum fit fit = fit_of(&missing->items[i], message);
        best = fit > best ? fit : best;
    }
    describe(missing, message, best, best == FIT_NAME, out);
}

const char *missing_text(const struct missing *missing) {
    return missing != NULL ? missing->text : NULL;
}

/* ------------------------------------------------------------------------- life */

static const char *copy(struct arena *arena, const char *text) {
    return arena_copy(arena, text, strlen(text));
}

static bool copy_all(struct missing *missing, const char *plugin_id,
                     const struct missing_capability *items, size_t count) {
    struct arena *arena = &missing->arena;
    missing->plugin_id = copy(arena, plugin_id);
    missing->items = arena_zalloc(arena, (count + 1) * sizeof *missing->items);
    for (size_t i = 0; missing->items != NULL && i < count; i++) {
        struct missing_capability *kept = &missing->items[i];
        *kept = (struct missing_capability){.kind = items[i].kind,
                                            .value = copy(arena, items[i].value),
                                            .allowance = copy(arena, items[i].allowance)};
        kept->path = items[i].path != NULL ? copy(arena, items[i].path) : NULL;
        if (kept->value == NULL || kept->allowance == NULL ||
            (items[i].path != NULL && kept->path == NULL)) {
            return false;
        }
    }
    missing->count = count;
    return missing->plugin_id != NULL && missing->items != NULL;
}

struct missing *missing_create(const char *plugin_id, const struct missing_capability *items,
                               size_t count) {
    CLEANUP(missing_freep) struct missing *missing = calloc(1, sizeof *missing);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (missing == NULL) {
        return NULL;
    }
    arena_init(&missing->arena, NULL, 0);
    if (!copy_all(missing, plugin_id, items, count)) {
        return NULL;
    }
    describe(missing, "", FIT_ANY, true, &text);
    missing->text = text.failed ? NULL : copy(&missing->arena, text.data);
    return missing->text != NULL ? STEAL(missing) : NULL;
}

void missing_free(struct missing *missing) {
    if (missing != NULL) {
        arena_finish(&missing->arena);
        free(missing);
    }
}
