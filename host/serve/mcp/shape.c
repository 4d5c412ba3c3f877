/* shape.c - see shape.h. */
#include "serve/mcp/shape.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "serve/mcp/result.h"

/* Members that came later than the objects that have them. */
static const struct {
    const char *name;
    unsigned trait; /* of the revisions that have it */
} later[] = {
        {"title", DIALECT_STRUCTURED},
        {"_meta", DIALECT_STRUCTURED},
        {"lastModified", DIALECT_STRUCTURED},
        {"icons", DIALECT_ICONS},
};

/* Members whose values are such objects again, or arrays of them. */
static const char *const inner[] = {"annotations", "arguments", "content", "resource"};

bool shape_is_whole(const struct dialect *dialect) {
    return (dialect->traits & DIALECT_STRUCTURED) != 0 && (dialect->traits & DIALECT_ICONS) != 0;
}

static bool has(const struct dialect *dialect, const char *name) {
    for (size_t i = 0; i < ARRAY_LENGTH(later); i++) {
        if (strcmp(later[i].name, name) == 0) {
            return (dialect->traits & later[i].trait) != 0;
        }
    }
    return true;
}

static bool is_inner(const char *name) {
    for (size_t i = 0; i < ARRAY_LENGTH(inner); i++) {
        if (strcmp(inner[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void add_object(struct buf *out, const struct dialect *dialect, yyjson_val *object) {
    bool is_first = true;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    buf_add_char(out, '{');
    json_obj_foreach (object, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        if (has(dialect, name)) {
            buf_add(out, ",", !is_first);
            is_first = false;
            buf_add_json_string(out, name, yyjson_get_len(key));
            buf_add_char(out, ':');
            if (is_inner(name)) {
                shape_add(out, dialect, value);
            } else {
                json_add_value(out, value);
            }
        }
    }
    buf_add_char(out, '}');
}

void shape_add(struct buf *out, const struct dialect *dialect, yyjson_val *value) {
    if (yyjson_is_arr(value)) {
        size_t at;
        size_t count;
        yyjson_val *item;
        buf_add_char(out, '[');
        yyjson_arr_foreach (value, at, count, item) {
            buf_add(out, ",", at > 0);
            shape_add(out, dialect, item);
        }
        buf_add_char(out, ']');
    } else if (!yyjson_is_obj(value) || shape_is_whole(dialect)) {
        json_add_value(out, value);
    } else if (!result_add_link(out, dialect, value)) {
        add_object(out, dialect, value);
    }
}
