#include "format/schema-edit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "schema/uri.h"

void rewrite_refuse(struct rewrite *rewrite, const struct place *place, const char *format, ...) {
    if (rewrite->refused) {
        return;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(rewrite->refusal, sizeof rewrite->refusal, format, args);
    va_end(args);
    rewrite->refused = true;
    format_report_add(rewrite->report, "refused", place, "%s", rewrite->refusal);
}

void rewrite_check(struct rewrite *rewrite, bool made) {
    rewrite->no_memory = rewrite->no_memory || (!made && !rewrite->refused);
}

void rewrite_put(struct rewrite *rewrite, yyjson_mut_val *object, const char *key,
                 yyjson_mut_val *value) {
    rewrite_check(rewrite,
                  value != NULL && yyjson_mut_obj_add_val(rewrite->doc, object, key, value));
}

void rewrite_filter(struct rewrite *rewrite, yyjson_mut_val *list,
                    bool (*keep)(void *user, yyjson_mut_val *kept, yyjson_mut_val *value),
                    void *user) {
    yyjson_mut_val *kept = yyjson_mut_arr(rewrite->doc);
    yyjson_mut_val *value;
    while ((value = yyjson_mut_arr_remove_first(list)) != NULL) {
        if (keep(user, kept, value)) {
            rewrite_check(rewrite, yyjson_mut_arr_append(kept, value));
        }
    }
    while ((value = yyjson_mut_arr_remove_first(kept)) != NULL) {
        (void)yyjson_mut_arr_append(list, value);
    }
}

bool rewrite_lists(yyjson_mut_val *list, const char *text, size_t length) {
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, at, count, item) {
        if (yyjson_mut_equals_strn(item, text, length)) {
            return true;
        }
    }
    return false;
}

/* Count the values in a value, at most `max`. Recursive: the nesting depth of the text was
 * checked. */
static size_t count_values(yyjson_mut_val *value, size_t max) {
    size_t count = 1;
    size_t at;
    size_t size;
    yyjson_mut_val *key;
    yyjson_mut_val *child;
    if (yyjson_mut_is_obj(value)) {
        yyjson_mut_obj_foreach(value, at, size, key, child) {
            count += count < max ? count_values(child, max - count) : 0;
        }
    } else if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, at, size, child) {
            count += count < max ? count_values(child, max - count) : 0;
        }
    }
    return count;
}

yyjson_mut_val *rewrite_copy(struct rewrite *rewrite, yyjson_mut_val *value) {
    rewrite->copied += count_values(value, REWRITE_COPIED_MAX);
    if (rewrite->copied > REWRITE_COPIED_MAX) {
        rewrite_refuse(rewrite, NULL, "its references expand to more than %u values",
                       REWRITE_COPIED_MAX);
        return NULL;
    }
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(rewrite->doc, value);
    rewrite_check(rewrite, copy != NULL);
    return copy;
}

yyjson_mut_val *rewrite_resolve(struct rewrite *rewrite, const char *reference) {
    CLEANUP(arena_finish) struct arena arena;
    char room[JSON_POINTER_MAX];
    size_t length = 0;
    arena_init(&arena, room, sizeof room);
    if (strcmp(reference, "#") == 0) {
        return rewrite->root;
    }
    if (reference[0] != '#' || reference[1] != '/') {
        return NULL;
    }
    struct uri_part encoded = {reference + 1, strlen(reference + 1)};
    const char *pointer = uri_decode(&arena, encoded, &length);
    rewrite_check(rewrite, pointer != NULL);
    if (pointer == NULL) {
        return NULL;
    }
    yyjson_mut_val *target = yyjson_mut_ptr_getn(rewrite->root, pointer, length);
    if (target == NULL && strncmp(reference, OLD_DEFS, sizeof OLD_DEFS - 1) == 0) {
        yyjson_mut_val *defs = yyjson_mut_obj_get(rewrite->root, "$defs");
        pointer += sizeof OLD_DEFS - 3; /* to the slash before the name */
        target = yyjson_mut_ptr_get(defs, pointer);
    }
    return target;
}

bool rewrite_is_inside(const struct place *place, const yyjson_mut_val *target) {
    for (; place != NULL; place = place->up) {
        if (place->target == target) {
            return true;
        }
    }
    return false;
}
