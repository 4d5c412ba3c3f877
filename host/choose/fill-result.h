/* fill-result.h - the result of arguments_fill() while it is made. */
#pragma once

#include <string.h>

#include "choose/fill-parts.h"

struct result {
    struct arguments arguments; /* first: the caller has its address */
    uint32_t magic;
    struct arena arena;
    char *json;
    struct arguments_value *values;    /* those of `arguments` */
    struct arguments_invalid *invalid; /* the same */
};

struct missing_list {
    struct arguments_missing *list;
    size_t count;
};

static inline const char *result_copy(struct result *result, const char *text) {
    return arena_copy(&result->arena, text, strlen(text));
}

/** Set the value at a JSON Pointer of an object, with the objects and elements that it is in. */
bool fill_set_member(struct fill *fill, yyjson_mut_doc *doc, const char *pointer, const char *json);

/** Find the required members of an object that nothing gives. `base` is its JSON Pointer.
 * @return false: out of memory. */
bool fill_find_missing(struct fill *fill, struct result *result, struct missing_list *missing,
                       yyjson_val *schema, const char *base);

/** Find the values that their schema or their unit refuses.
 * @return false: out of memory. */
bool fill_find_invalid(struct fill *fill, struct result *result);

/** Say of a value of the text that it cannot be, and ask for another. */
bool fill_add_invalid(struct fill *fill, struct result *result, const char *pointer,
                      const char *json, const char *reason);

/** Find what the text says for a parameter that was left out, and is not understood:
 * fill-unread.c.
 * @return false: out of memory. */
bool fill_find_unread(struct fill *fill, struct result *result);

/** Check what only the schema as a whole says, where nothing else is missing or invalid.
 * @return false: out of memory. */
bool fill_check_whole(struct fill *fill, struct result *result, struct missing_list *missing);
