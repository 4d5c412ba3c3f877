/* shape.c - see shape.h. */
#include "serve/mcp/shape.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"

/* Members that came later than the objects that have them. */
static const struct {
    const char *name;
    unsigned trait; /* of the revisions that have it */
} later[] = {
        {"title", DIALECT_STRUCTURED},        {"_meta", DIALECT_STRUCTURED},
        {"lastModified", DIALECT_STRUCTURED}, {"icons", DIALECT_ICONS},
        {"outputSchema", DIALECT_STRUCTURED},
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

/* Append the members of an object that are texts. */
static void add_words(struct buf *text, yyjson_val *object, const char *const *names) {
    for (size_t i = 0; names[i] != NULL; i++) {
        yyjson_val *value = yyjson_obj_get(object, names[i]);
        if (yyjson_is_str(value)) {
            buf_add_text(text, text->length > 0 ? ": " : "");
            buf_add(text, yyjson_get_str(value), yyjson_get_len(value));
        }
    }
}

/* A block of content that a revision has not becomes a text.
 * @return false: it has the block; nothing is appended */
static bool add_as_text(struct buf *out, const struct dialect *dialect, yyjson_val *block) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    yyjson_val *type = yyjson_obj_get(block, "type");
    if ((dialect->traits & DIALECT_STRUCTURED) == 0 && yyjson_equals_str(type, "resource_link")) {
        add_words(&text, block, (const char *const[]){"title", "name", "description", "uri", NULL});
    } else if ((dialect->traits & DIALECT_NOTES) == 0 && yyjson_equals_str(type, "audio") &&
               yyjson_is_str(yyjson_obj_get(block, "data"))) {
        buf_add_text(&text, "audio, which protocol version ");
        buf_add_text(&text, dialect->version);
        buf_add_text(&text, " cannot carry");
        add_words(&text, block, (const char *const[]){"mimeType", NULL});
    } else {
        return false;
    }
    buf_add_text(out, "{\"type\":\"text\",\"text\":");
    buf_add_json_string(out, text.data != NULL ? text.data : "", text.length);
    buf_add_char(out, '}');
    return true;
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
    } else if (!add_as_text(out, dialect, value)) {
        add_object(out, dialect, value);
    }
}

/* ------------------------------------------------------------------- tools */

/* The annotations of a tool, with its title where it has no place of its own. */
static void add_notes(struct buf *out, yyjson_val *notes, yyjson_val *title) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    rpc_add_member(out, "annotations");
    buf_add_char(out, '{');
    json_obj_foreach (notes, at, count, key, value) {
        rpc_add_member(out, yyjson_get_str(key));
        json_add_value(out, value);
    }
    if (title != NULL && yyjson_obj_get(notes, "title") == NULL) {
        rpc_add_member(out, "title");
        json_add_value(out, title);
    }
    buf_add_char(out, '}');
}

void shape_add_tool(struct buf *out, const struct dialect *dialect, yyjson_val *tool) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_val *title = has(dialect, "title") ? NULL : yyjson_obj_get(tool, "title");
    buf_add_char(out, '{');
    json_obj_foreach (tool, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        if (!has(dialect, name)) {
            continue;
        }
        if (strcmp(name, "annotations") != 0) {
            rpc_add_member(out, name);
            json_add_value(out, value);
        } else if ((dialect->traits & DIALECT_NOTES) != 0) {
            add_notes(out, value, title);
        }
    }
    buf_add_char(out, '}');
}
