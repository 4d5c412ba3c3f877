#include "plan/reference.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"

/* Longest reference inside a string, with its "${" and "}": it is looked for so far. */
#define REFERENCE_INSIDE_MAX (2u * JSON_POINTER_MAX)

/* ------------------------------------------------------------------------------- one reference */

/* Take a prefix off a text. */
static bool take(const char **text, size_t *length, const char *prefix) {
    size_t prefix_length = strlen(prefix);
    if (*length < prefix_length || memcmp(*text, prefix, prefix_length) != 0) {
        return false;
    }
    *text += prefix_length;
    *length -= prefix_length;
    return true;
}

/* Take what comes before the next separator. */
static void take_part(const char **text, size_t *length, char separator, const char **ret,
                      size_t *ret_length) {
    const char *end = memchr(*text, separator, *length);
    *ret = *text;
    *ret_length = end != NULL ? (size_t)(end - *text) : *length;
    *text += *ret_length;
    *length -= *ret_length;
}

/* Read what follows "#/" or "${", with a separator between the parts. False: it is no reference.
 * The rest of it, from a separator on, is left in text and length. */
static bool read_root(const char **text, size_t *length, char separator, struct reference *ret) {
    const char *part;
    size_t part_length;
    take_part(text, length, separator, &part, &part_length);
#define IS(word) (part_length == strlen(word) && memcmp(part, word, part_length) == 0)
    ret->kind = IS("nodes")    ? REFERENCE_NODE
                : IS("inputs") ? REFERENCE_INPUT
                : IS("item")   ? REFERENCE_ITEM
                               : REFERENCE_WRONG;
    if (ret->kind == REFERENCE_WRONG) {
        return false;
    }
    ret->name = "";
    ret->name_length = 0;
    if (ret->kind != REFERENCE_ITEM) {
        if (*length == 0) {
            ret->kind = REFERENCE_WRONG;
            return true;
        }
        (*text)++;
        (*length)--;
        take_part(text, length, separator, &ret->name, &ret->name_length);
        if (memchr(ret->name, '\0', ret->name_length) != NULL) {
            ret->kind = REFERENCE_WRONG; /* in no name */
            return true;
        }
    }
    if (ret->kind == REFERENCE_NODE) {
        if (*length > 0) {
            (*text)++;
            (*length)--;
        }
        take_part(text, length, separator, &part, &part_length);
        if (!IS("result")) {
            ret->kind = REFERENCE_WRONG;
        }
    }
#undef IS
    return true;
}

/* Whether an object is one that stands for something else. */
static yyjson_val *alone(yyjson_val *value, const char *key) {
    return yyjson_obj_size(value) == 1 ? yyjson_obj_get(value, key) : NULL;
}

static bool read_object(yyjson_val *value, struct reference *ret) {
    yyjson_val *target = alone(value, "$ref");
    const char *text = yyjson_get_str(target);
    size_t length = yyjson_get_len(target);
    if (text == NULL) {
        return false;
    }
    ret->text = text;
    ret->text_length = length;
    if (!take(&text, &length, "#/") || !read_root(&text, &length, '/', ret)) {
        return false;
    }
    ret->path = text;
    ret->path_length = length;
    return true;
}

/* The path of a reference inside a string, as a JSON Pointer; false: it is too long. */
static bool write_path(const char *text, size_t length, struct reference *ret) {
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        const char *as = text[i] == '.' ? "/" : json_pointer_escape(text[i]);
        char plain[2] = {text[i], '\0'};
        as = as != NULL ? as : plain;
        if (used + strlen(as) >= sizeof ret->path_text) {
            return false;
        }
        memcpy(ret->path_text + used, as, strlen(as));
        used += strlen(as);
    }
    ret->path = ret->path_text;
    ret->path_length = used;
    return true;
}

/* The next reference of a string, from *at on; false: there is none. */
static bool next_inside(const char *string, size_t length, size_t *at, struct reference *ret) {
    while (*at < length) {
        const char *found = memchr(string + *at, '$', length - *at);
        if (found == NULL) {
            return false;
        }
        size_t from = (size_t)(found - string);
        const char *text = found;
        size_t left = length - from;
        bool is_long = left > REFERENCE_INSIDE_MAX;
        left = is_long ? REFERENCE_INSIDE_MAX : left;
        *at = from + 1;
        if (!take(&text, &left, "${")) {
            continue;
        }
        const char *end = memchr(text, '}', left);
        size_t inside = end != NULL ? (size_t)(end - text) : left;
        left = inside;
        if ((end == NULL && !is_long) || !read_root(&text, &left, '.', ret)) {
            continue;
        }
        ret->text = found;
        ret->text_length = strlen("${") + inside + (end != NULL);
        *at = from + ret->text_length;
        if (end == NULL || (ret->kind != REFERENCE_WRONG && !write_path(text, left, ret))) {
            ret->kind = REFERENCE_WRONG;
        }
        return true;
    }
    return false;
}

bool reference_is(yyjson_val *value) {
    struct reference reference;
    return read_object(value, &reference);
}

bool reference_begins(const char *text, size_t length) {
    struct reference reference;
    size_t at = 0;
    return next_inside(text, length, &at, &reference) && reference.text == text;
}

yyjson_val *reference_literal(yyjson_val *value) {
    return alone(value, "$literal");
}

void reference_add_inside(struct buf *out, const char *text) {
    buf_add_text(out, "${");
    for (const char *at = text + strlen("#/"); *at != '\0'; at++) {
        buf_add_char(out, *at == '/' ? '.' : *at);
    }
    buf_add_char(out, '}');
}

/* ------------------------------------------------------------------------------ all of a value */

static bool each_inside(yyjson_val *string, const char *pointer, reference_visit *visit,
                        void *user) {
    struct reference reference;
    for (size_t at = 0;
         next_inside(yyjson_get_str(string), yyjson_get_len(string), &at, &reference);) {
        if (!visit(user, &reference, pointer)) {
            return false;
        }
    }
    return true;
}

bool references_each(yyjson_val *template, char *pointer, reference_visit *visit, void *user) {
    struct reference reference;
    size_t length = strlen(pointer);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    bool goes_on = true;
    if (yyjson_is_str(template)) {
        return each_inside(template, pointer, visit, user);
    }
    if (read_object(template, &reference)) {
        return visit(user, &reference, pointer);
    }
    if (alone(template, "$literal") != NULL) {
        return true;
    }
    json_obj_foreach (template, at, count, key, value) {
        json_pointer_add(pointer, yyjson_get_str(key));
        goes_on = goes_on && references_each(value, pointer, visit, user);
        pointer[length] = '\0';
    }
    yyjson_arr_foreach (template, at, count, value) {
        json_pointer_add_index(pointer, at);
        goes_on = goes_on && references_each(value, pointer, visit, user);
        pointer[length] = '\0';
    }
    return goes_on;
}

/* A filling. */
struct filling {
    reference_find *find;
    template_room *room;
    void *user;
    struct buf *out;
    struct reference_text *missing;
};

static bool fill(const struct filling *filling, yyjson_val *template);

static bool is_too_long(const struct filling *filling, size_t length) {
    if (length > TEMPLATE_FILLED_MAX ||
        (filling->room != NULL && !filling->room(filling->user, length))) {
        *filling->missing = (struct reference_text){.text = NULL};
        return true;
    }
    return false;
}

/* What is known of the length of a value before it is written. */
static size_t length_of(yyjson_val *value) {
    return yyjson_is_str(value) || yyjson_is_raw(value) ? yyjson_get_len(value) : 0;
}

static bool fill_string(const struct filling *filling, yyjson_val *string) {
    CLEANUP(buf_finish) struct buf whole = BUF_INIT;
    const char *text = yyjson_get_str(string);
    size_t length = yyjson_get_len(string);
    size_t written = 0;
    struct reference reference;
    for (size_t at = 0; next_inside(text, length, &at, &reference);) {
        yyjson_val *value = filling->find(filling->user, &reference);
        if (value == NULL) {
            *filling->missing = (struct reference_text){reference.text, reference.text_length};
            return false;
        }
        buf_add(&whole, text + written, (size_t)(reference.text - text) - written);
        written = (size_t)(reference.text - text) + reference.text_length;
        if (is_too_long(filling, filling->out->length + whole.length + length_of(value))) {
            return false;
        }
        if (yyjson_is_str(value)) {
            buf_add(&whole, yyjson_get_str(value), yyjson_get_len(value));
        } else {
            json_add_value(&whole, value);
        }
        if (is_too_long(filling, filling->out->length + whole.length)) {
            return false;
        }
    }
    if (written == 0) {
        buf_add_json_string(filling->out, text, length);
        return true;
    }
    buf_add(&whole, text + written, length - written);
    filling->out->failed = filling->out->failed || whole.failed;
    if (!whole.failed) {
        buf_add_json_string(filling->out, whole.data, whole.length);
    }
    return true;
}

static bool fill_object(const struct filling *filling, yyjson_val *object) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    buf_add_char(filling->out, '{');
    json_obj_foreach (object, at, count, key, value) {
        if (at > 0) {
            buf_add_char(filling->out, ',');
        }
        buf_add_json_string(filling->out, yyjson_get_str(key), yyjson_get_len(key));
        buf_add_char(filling->out, ':');
        if (!fill(filling, value)) {
            return false;
        }
    }
    buf_add_char(filling->out, '}');
    return true;
}

static bool fill_array(const struct filling *filling, yyjson_val *array) {
    size_t at;
    size_t count;
    yyjson_val *value;
    buf_add_char(filling->out, '[');
    yyjson_arr_foreach (array, at, count, value) {
        if (at > 0) {
            buf_add_char(filling->out, ',');
        }
        if (!fill(filling, value)) {
            return false;
        }
    }
    buf_add_char(filling->out, ']');
    return true;
}

static bool fill(const struct filling *filling, yyjson_val *template) {
    struct reference reference;
    if (yyjson_is_str(template)) {
        return fill_string(filling, template);
    }
    if (yyjson_is_arr(template)) {
        return fill_array(filling, template);
    }
    if (!yyjson_is_obj(template)) {
        json_add_value(filling->out, template);
        return true;
    }
    if (read_object(template, &reference)) {
        yyjson_val *value = filling->find(filling->user, &reference);
        if (value == NULL) {
            *filling->missing = (struct reference_text){reference.text, reference.text_length};
            return false;
        }
        if (is_too_long(filling, filling->out->length + length_of(value))) {
            return false;
        }
        json_add_value(filling->out, value);
        return !is_too_long(filling, filling->out->length);
    }
    yyjson_val *literal = alone(template, "$literal");
    if (literal != NULL) {
        json_add_value(filling->out, literal);
        return true;
    }
    return fill_object(filling, template);
}

bool template_fill(yyjson_val *template, reference_find *find, template_room *room, void *user,
                   struct buf *out, struct reference_text *ret_missing) {
    const struct filling filling = {
            .find = find, .room = room, .user = user, .out = out, .missing = ret_missing};
    return fill(&filling, template);
}
