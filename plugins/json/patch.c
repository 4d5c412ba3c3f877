#include "patch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json-equal.h"
#include "base/json-pointer.h"
#include "base/json.h"

/* Longest key in a pointer; longer ones are found nowhere. */
#define KEY_MAX ((size_t)4096)

struct patching {
    yyjson_mut_doc *doc;
    size_t values_left;
    enum patch_end end;
    char *message; /* PATCH_MESSAGE_MAX */
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct patching *with, const char *format,
                                                         ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(with->message, PATCH_MESSAGE_MAX, format, args);
    va_end(args);
    with->end = PATCH_REFUSED;
    return false;
}

static bool too_large(struct patching *with, const char *why) {
    (void)snprintf(with->message, PATCH_MESSAGE_MAX, "%s", why);
    with->end = PATCH_TOO_LARGE;
    return false;
}

/* ------------------------------------------------------------ places */

/* A place in the document: the value, the container that it is in and its key or index there. */
struct place {
    const char *pointer;
    size_t length;
    size_t depth;
    yyjson_mut_val *value;     /* NULL: nothing is there */
    yyjson_mut_val *container; /* NULL: the place is the root */
    char key[KEY_MAX];
    size_t key_length;
    size_t index; /* in an array; its size behind the last item */
};

/* Digits without a leading zero, as RFC 6901 has it; "-" is behind the last item. */
static bool read_index(const char *step, size_t length, size_t count, size_t *ret) {
    if (length == 1 && step[0] == '-') {
        *ret = count;
        return true;
    }
    size_t index = 0;
    if (length == 0 || length > 9 || (length > 1 && step[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (step[i] < '0' || step[i] > '9') {
            return false;
        }
        index = index * 10 + (size_t)(step[i] - '0');
    }
    *ret = index;
    return index <= count;
}

static bool take_step(struct patching *with, struct place *place, const char *step, size_t length) {
    place->depth++;
    place->container = place->value;
    place->value = NULL;
    if (yyjson_mut_is_arr(place->container)) {
        size_t count = yyjson_mut_arr_size(place->container);
        if (!read_index(step, length, count, &place->index)) {
            return refuse(with, "%.*s: \"%.*s\" is no index of an array of %zu items",
                          (int)(step + length - place->pointer), place->pointer, (int)length, step,
                          count);
        }
        place->value = yyjson_mut_arr_get(place->container, place->index);
        return true;
    }
    if (!yyjson_mut_is_obj(place->container)) {
        return refuse(with, "%.*s is not there: what is above it is no object and no array",
                      (int)(step + length - place->pointer), place->pointer);
    }
    if (length > KEY_MAX) {
        return refuse(with, "a key is longer than %zu bytes", KEY_MAX);
    }
    place->key_length = json_pointer_unescape(step, length, place->key);
    place->value = yyjson_mut_obj_getn(place->container, place->key, place->key_length);
    return true;
}

static bool escapes_are_right(const char *pointer, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (pointer[i] == '~' &&
            (i + 1 == length || (pointer[i + 1] != '0' && pointer[i + 1] != '1'))) {
            return false;
        }
    }
    return true;
}

/* Where a member of an operation points; all containers of it are there. */
static bool find_place(struct patching *with, yyjson_val *operation, const char *member,
                       struct place *ret) {
    yyjson_val *said = yyjson_obj_get(operation, member);
    if (!yyjson_is_str(said)) {
        return refuse(with, "needs \"%s\", a JSON Pointer", member);
    }
    ret->pointer = yyjson_get_str(said);
    ret->length = yyjson_get_len(said);
    ret->depth = 0;
    ret->value = yyjson_mut_doc_get_root(with->doc);
    ret->container = NULL;
    const char *end = ret->pointer + ret->length;
    if ((ret->length > 0 && ret->pointer[0] != '/') ||
        !escapes_are_right(ret->pointer, ret->length)) {
        return refuse(with,
                      "\"%s\" is no JSON Pointer: a \"/\" before each key, ~1 for / and ~0 for ~",
                      ret->pointer);
    }
    for (const char *at = ret->pointer; at < end;) {
        const char *step = at + 1;
        const char *next = memchr(step, '/', (size_t)(end - step));
        at = next == NULL ? end : next;
        if (ret->value == NULL) {
            return refuse(with, "%.*s is not there", (int)(step - 1 - ret->pointer), ret->pointer);
        }
        if (!take_step(with, ret, step, (size_t)(at - step))) {
            return false;
        }
    }
    return true;
}

static bool find_value(struct patching *with, yyjson_val *operation, const char *member,
                       struct place *ret) {
    return find_place(with, operation, member, ret) &&
           (ret->value != NULL || refuse(with, "%s is not there", ret->pointer));
}

/* ------------------------------------------------------------ copies */

/* Count a copy that is to be put below `depth` containers. */
static bool count_values(struct patching *with, yyjson_mut_val *value, size_t depth) {
    if (depth > PATCH_DEPTH_MAX) {
        return too_large(with, "the document becomes too deep");
    }
    if (with->values_left-- == 0) {
        with->values_left = 0;
        return too_large(with, "the operations copy too many values");
    }
    size_t i;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *item;
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, i, count, item) {
            if (!count_values(with, item, depth + 1)) {
                return false;
            }
        }
    } else if (yyjson_mut_is_obj(value)) {
        yyjson_mut_obj_foreach(value, i, count, key, item) {
            if (!count_values(with, item, depth + 1)) {
                return false;
            }
        }
    }
    return true;
}

static yyjson_mut_val *value_of(struct patching *with, yyjson_val *operation) {
    yyjson_val *said = yyjson_obj_get(operation, "value");
    if (said == NULL) {
        (void)refuse(with, "needs \"value\"");
        return NULL;
    }
    yyjson_mut_val *value = yyjson_val_mut_copy(with->doc, said);
    if (value == NULL) {
        (void)too_large(with, "out of memory");
    }
    return value;
}

/* ------------------------------------------------------------ operations */

/* Put a value where the place is: RFC 6902's "add", or "replace". `value` is no part of the
 * document. */
static bool put(struct patching *with, struct place *place, yyjson_mut_val *value, bool replace) {
    if (value == NULL || !count_values(with, value, place->depth)) {
        return false;
    }
    if (place->container == NULL) {
        yyjson_mut_doc_set_root(with->doc, value);
        return true;
    }
    bool done;
    if (yyjson_mut_is_arr(place->container)) {
        done = replace ? yyjson_mut_arr_replace(place->container, place->index, value) != NULL
                       : yyjson_mut_arr_insert(place->container, value, place->index);
    } else {
        yyjson_mut_val *key = yyjson_mut_strncpy(with->doc, place->key, place->key_length);
        done = key != NULL &&
               (place->value != NULL ? yyjson_mut_obj_replace(place->container, key, value)
                                     : yyjson_mut_obj_add(place->container, key, value));
    }
    return done || too_large(with, "out of memory");
}

static bool remove_at(struct patching *with, const struct place *place) {
    if (place->container == NULL) {
        return refuse(with, "the whole document cannot be removed");
    }
    if (yyjson_mut_is_arr(place->container)) {
        (void)yyjson_mut_arr_remove(place->container, place->index);
    } else {
        (void)yyjson_mut_obj_remove_keyn(place->container, place->key, place->key_length);
    }
    return true;
}

static bool do_add(struct patching *with, yyjson_val *operation) {
    struct place place;
    return find_place(with, operation, "path", &place) &&
           put(with, &place, value_of(with, operation), false);
}

static bool do_remove(struct patching *with, yyjson_val *operation) {
    struct place place;
    return find_value(with, operation, "path", &place) && remove_at(with, &place);
}

static bool do_replace(struct patching *with, yyjson_val *operation) {
    struct place place;
    return find_value(with, operation, "path", &place) &&
           put(with, &place, value_of(with, operation), true);
}

static bool do_copy(struct patching *with, yyjson_val *operation) {
    struct place from;
    struct place path;
    if (!find_value(with, operation, "from", &from) ||
        !find_place(with, operation, "path", &path) ||
        !count_values(with, from.value, path.depth)) {
        return false;
    }
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(with->doc, from.value);
    return copy == NULL ? too_large(with, "out of memory") : put(with, &path, copy, false);
}

/* A value cannot be moved into itself. */
static bool is_below(const struct place *path, const struct place *from) {
    return path->length > from->length && memcmp(path->pointer, from->pointer, from->length) == 0 &&
           path->pointer[from->length] == '/';
}

static bool do_move(struct patching *with, yyjson_val *operation) {
    struct place from;
    struct place path;
    if (!find_value(with, operation, "from", &from)) {
        return false;
    }
    path.pointer = yyjson_get_str(yyjson_obj_get(operation, "path"));
    path.length = yyjson_get_len(yyjson_obj_get(operation, "path"));
    if (path.pointer != NULL && is_below(&path, &from)) {
        return refuse(with, "%s cannot be moved into itself", from.pointer);
    }
    if (path.pointer != NULL && strcmp(path.pointer, from.pointer) == 0) {
        return true;
    }
    /* The place is looked for when the value is gone, as RFC 6902 has it. */
    return remove_at(with, &from) && find_place(with, operation, "path", &path) &&
           put(with, &path, from.value, false);
}

static bool do_test(struct patching *with, yyjson_val *operation) {
    struct place place;
    yyjson_val *said = yyjson_obj_get(operation, "value");
    if (said == NULL) {
        return refuse(with, "needs \"value\"");
    }
    if (!find_value(with, operation, "path", &place)) {
        return false;
    }
    yyjson_doc *there = yyjson_mut_val_imut_copy(place.value, NULL);
    if (there == NULL) {
        return too_large(with, "out of memory");
    }
    struct budget budget = {.steps = DIFF_STEPS_MAX};
    bool same = json_equal(yyjson_doc_get_root(there), said, &budget);
    yyjson_doc_free(there);
    if (budget_ended(&budget)) {
        return too_large(with, "the values are too large to be compared");
    }
    return same || refuse(with, "%s has another value", place.pointer);
}

static const struct {
    const char *name;
    bool (*run)(struct patching *with, yyjson_val *operation);
} operations[] = {{"add", do_add},   {"remove", do_remove}, {"replace", do_replace},
                  {"move", do_move}, {"copy", do_copy},     {"test", do_test}};

static bool run_operation(struct patching *with, yyjson_val *operation) {
    const char *name = yyjson_get_str(yyjson_obj_get(operation, "op"));
    for (size_t i = 0; name != NULL && i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(operations[i].name, name) == 0) {
            return operations[i].run(with, operation);
        }
    }
    return refuse(with, "\"op\" must be add, remove, replace, move, copy or test");
}

enum patch_end patch_apply(yyjson_mut_doc *doc, yyjson_val *patch, size_t *ret_at,
                           char message[static PATCH_MESSAGE_MAX]) {
    struct patching with = {
            .doc = doc, .values_left = PATCH_VALUES_MAX, .end = PATCH_OK, .message = message};
    size_t count;
    yyjson_val *operation;
    yyjson_arr_foreach (patch, *ret_at, count, operation) {
        if (!run_operation(&with, operation)) {
            return with.end;
        }
    }
    return PATCH_OK;
}
