#include "remote/mcp/mirror.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/json.h"

struct reading {
    struct arena *arena;
    struct mirror items[MIRRORS_MAX];
    size_t count;
    const char *keys[MIRRORS_DEPTH_MAX];
};

static bool is_name(const char *text) {
    for (const char *at = text; *at != '\0'; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || strchr("!#$%&'*+-.^_`|~", *at) != NULL;
        if (!is_plain) {
            return false;
        }
    }
    return text[0] != '\0';
}

static bool is_taken(const struct reading *reading, const char *name) {
    for (size_t i = 0; i < reading->count; i++) {
        if (strcasecmp(reading->items[i].header, name) == 0) {
            return true;
        }
    }
    return false;
}

static const char *add(struct reading *reading, yyjson_val *schema, yyjson_val *name,
                       size_t depth) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    const char *text = yyjson_get_str(name);
    bool is_plain = yyjson_equals_str(type, "string") || yyjson_equals_str(type, "integer") ||
                    yyjson_equals_str(type, "boolean");
    if (text == NULL || strlen(text) != yyjson_get_len(name) || !is_name(text)) {
        return "is no name that a header may have";
    }
    if (!is_plain) {
        return "is of a value that is no string, integer or boolean";
    }
    if (is_taken(reading, text)) {
        return "is there twice";
    }
    if (reading->count == MIRRORS_MAX) {
        return "is one of more than 64";
    }
    const char **keys = arena_alloc(reading->arena, depth * sizeof *keys);
    const char *copy = arena_copy(reading->arena, text, strlen(text));
    if (keys == NULL || copy == NULL) {
        return "has no memory";
    }
    memcpy(keys, reading->keys, depth * sizeof *keys);
    reading->items[reading->count++] =
            (struct mirror){.header = copy, .keys = keys, .depth = depth};
    return NULL;
}

static const char *read_properties(struct reading *reading, yyjson_val *schema, size_t depth) {
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    yyjson_obj_iter each = yyjson_obj_iter_with(properties); /* none without an object */
    yyjson_val *key;
    const char *wrong = NULL;
    while (wrong == NULL && depth < MIRRORS_DEPTH_MAX &&
           (key = yyjson_obj_iter_next(&each)) != NULL) {
        yyjson_val *one = yyjson_obj_iter_get_val(key);
        yyjson_val *name = yyjson_obj_get(one, "x-mcp-header");
        reading->keys[depth] = yyjson_get_str(key);
        if (name != NULL) {
            reading->keys[depth] =
                    arena_copy(reading->arena, yyjson_get_str(key), yyjson_get_len(key));
            wrong = reading->keys[depth] != NULL ? add(reading, one, name, depth + 1)
                                                 : "has no memory";
        }
        if (wrong == NULL) {
            wrong = read_properties(reading, one, depth + 1);
        }
    }
    return wrong;
}

const char *mirrors_read(yyjson_val *schema, struct arena *arena, struct mirrors *ret) {
    struct reading reading = {.arena = arena};
    *ret = (struct mirrors){0};
    const char *wrong = read_properties(&reading, schema, 0);
    if (wrong != NULL || reading.count == 0) {
        return wrong;
    }
    struct mirror *items = arena_alloc(arena, reading.count * sizeof *items);
    if (items == NULL) {
        return "has no memory";
    }
    memcpy(items, reading.items, reading.count * sizeof *items);
    *ret = (struct mirrors){.items = items, .count = reading.count};
    return NULL;
}

void mirror_add_value(struct buf *out, const char *value, size_t length) {
    bool is_plain = length == 0 || (value[0] != ' ' && value[length - 1] != ' ');
    for (size_t i = 0; i < length; i++) {
        is_plain = is_plain && value[i] >= ' ' && value[i] < 0x7f;
    }
    is_plain = is_plain && (length < 9 || memcmp(value, "=?base64?", 9) != 0);
    if (is_plain) {
        buf_add(out, value, length);
    } else {
        buf_add_text(out, "=?base64?");
        base64_encode(out, value, length);
        buf_add_text(out, "?=");
    }
}

static void write_one(const struct mirror *mirror, yyjson_val *value, struct buf *out) {
    for (size_t i = 0; i < mirror->depth; i++) {
        value = yyjson_obj_get(value, mirror->keys[i]);
    }
    bool is_whole = yyjson_is_real(value) && yyjson_get_real(value) > -9e15 &&
                    yyjson_get_real(value) < 9e15;
    if (!yyjson_is_str(value) && !yyjson_is_int(value) && !yyjson_is_bool(value) && !is_whole) {
        return;
    }
    buf_printf(out, "Mcp-Param-%s: ", mirror->header);
    if (yyjson_is_str(value)) {
        mirror_add_value(out, yyjson_get_str(value), yyjson_get_len(value));
    } else if (yyjson_is_bool(value)) {
        buf_add_text(out, yyjson_get_bool(value) ? "true" : "false");
    } else if (yyjson_is_uint(value)) {
        buf_add_json_uint(out, yyjson_get_uint(value));
    } else {
        buf_add_json_int(out, is_whole ? (int64_t)yyjson_get_real(value) : yyjson_get_sint(value));
    }
    buf_add_text(out, "\r\n");
}

void mirrors_write(const struct mirrors *mirrors, yyjson_val *arguments, struct buf *out) {
    for (size_t i = 0; i < mirrors->count; i++) {
        write_one(&mirrors->items[i], arguments, out);
    }
}
