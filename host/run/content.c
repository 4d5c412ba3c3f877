/* content.c - what result.c may write as content, for a reader that does not trust its writer. */
#include <string.h>

#include "base/cleanup.h"
#include "run/run.h"

struct member {
    const char *name;
    bool is_needed;
    bool is_string;
};

#define MEMBERS_MAX 4

struct form {
    const char *type;
    struct member members[MEMBERS_MAX]; /* up to one without a name */
};

static const struct form forms[] = {
        {"text", {{"type", true, true}, {"text", true, true}}},
        {"image", {{"type", true, true}, {"data", true, true}, {"mimeType", true, true}}},
        {"audio", {{"type", true, true}, {"data", true, true}, {"mimeType", true, true}}},
        {"resource", {{"type", true, true}, {"resource", true, false}}},
};

static const struct member resource[MEMBERS_MAX] = {{"uri", true, true},
                                                    {"mimeType", false, true},
                                                    {"text", false, true},
                                                    {"blob", false, true}};

static const struct member content[MEMBERS_MAX] = {{"content", true, false},
                                                   {"structuredContent", false, false}};

/* Whether an object has these members, each once, and no other. */
static bool has_members(yyjson_val *object, const struct member members[MEMBERS_MAX]) {
    unsigned seen = 0;
    unsigned needed = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (!yyjson_is_obj(object) || yyjson_obj_size(object) > MEMBERS_MAX) {
        return false;
    }
    for (unsigned i = 0; i < MEMBERS_MAX && members[i].name != NULL; i++) {
        needed |= members[i].is_needed ? 1u << i : 0;
    }
    yyjson_obj_foreach (object, at, count, key, value) {
        unsigned i = 0;
        while (i < MEMBERS_MAX && members[i].name != NULL &&
               !yyjson_equals_str(key, members[i].name)) {
            i++;
        }
        if (i == MEMBERS_MAX || members[i].name == NULL || (seen & 1u << i) != 0 ||
            (members[i].is_string && !yyjson_is_str(value))) {
            return false;
        }
        seen |= 1u << i;
    }
    return (seen & needed) == needed;
}

static bool is_resource(yyjson_val *value) {
    return has_members(value, resource) &&
           (yyjson_obj_get(value, "text") != NULL) != (yyjson_obj_get(value, "blob") != NULL);
}

static bool is_block(yyjson_val *block) {
    yyjson_val *type = yyjson_obj_get(block, "type");
    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
        if (yyjson_equals_str(type, forms[i].type)) {
            yyjson_val *inside = yyjson_obj_get(block, "resource");
            return has_members(block, forms[i].members) && (inside == NULL || is_resource(inside));
        }
    }
    return false;
}

bool content_is_valid(yyjson_val *value, bool is_structured) {
    yyjson_val *blocks = yyjson_obj_get(value, "content");
    size_t at;
    size_t count;
    yyjson_val *block;
    if (!has_members(value, content) || !yyjson_is_arr(blocks) ||
        (yyjson_obj_get(value, "structuredContent") != NULL) != is_structured) {
        return false;
    }
    yyjson_arr_foreach (blocks, at, count, block) {
        if (!is_block(block)) {
            return false;
        }
    }
    return true;
}
