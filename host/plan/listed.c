#include "plan/listed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

struct listed {
    struct listed *next;
    yyjson_val *array;
    yyjson_val *items[];
};

/* The list of an array; NULL: no memory. */
static const struct listed *list(struct listed **lists, yyjson_val *array) {
    struct listed *listed = *lists;
    while (listed != NULL && listed->array != array) {
        listed = listed->next;
    }
    if (listed != NULL) {
        return listed;
    }
    size_t at;
    size_t count;
    yyjson_val *item;
    listed = malloc(sizeof *listed + yyjson_arr_size(array) * sizeof(listed->items[0]));
    if (listed != NULL) {
        listed->array = array;
        listed->next = *lists;
        *lists = listed;
        yyjson_arr_foreach (array, at, count, item) {
            listed->items[at] = item;
        }
    }
    return listed;
}

/* The index that a step is, without its slash; false: it is none, or beyond all arrays. */
static bool read_index(const char *step, size_t length, size_t *ret) {
    *ret = 0;
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_digit(step[i])) {
            return false;
        }
        *ret = *ret * 10 + (size_t)(step[i] - '0');
    }
    return length > 0 && length < 10 && (length == 1 || step[0] != '0');
}

yyjson_val *listed_find(struct listed **lists, yyjson_val *value, const char *pointer,
                        size_t length) {
    while (length > 0 && value != NULL) {
        const char *end = memchr(pointer + 1, '/', length - 1);
        const size_t size = end != NULL ? (size_t)(end - pointer) : length;
        const size_t count = yyjson_arr_size(value);
        size_t index;
        if (count >= LISTED_MIN && read_index(pointer + 1, size - 1, &index) && index < count) {
            const struct listed *listed = list(lists, value);
            value = listed != NULL ? listed->items[index] : yyjson_arr_get(value, index);
        } else {
            value = yyjson_ptr_getn(value, pointer, size);
        }
        pointer += size;
        length -= size;
    }
    return value;
}

void listed_free(struct listed *lists) {
    for (struct listed *listed = lists, *next; listed != NULL; listed = next) {
        next = listed->next;
        free(listed);
    }
}
