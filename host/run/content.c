/* content.c - what result.c may write as content, for a reader that does not trust its writer. */
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "run/run.h"

struct member {
    const char *name;
    bool is_needed;
    bool is_string;
};

#define MEMBERS_MAX 9

struct form {
    const char *type;
    struct member members[MEMBERS_MAX]; /* up to one without a name */
};

#define OF_EACH                      \
    {"annotations", false, false}, { \
        "_meta", false, false        \
    }

static const struct form forms[] = {
        {"text", {{"type", true, true}, {"text", true, true}, OF_EACH}},
        {"image", {{"type", true, true}, {"data", true, true}, {"mimeType", true, true}, OF_EACH}},
        {"audio", {{"type", true, true}, {"data", true, true}, {"mimeType", true, true}, OF_EACH}},
        {"resource", {{"type", true, true}, {"resource", true, false}, OF_EACH}},
        {"resource_link",
         {{"type", true, true},
          {"uri", true, true},
          {"name", true, true},
          {"title", false, true},
          {"description", false, true},
          {"mimeType", false, true},
          {"size", false, false},
          OF_EACH}},
};

static const struct member resource[MEMBERS_MAX] = {{"uri", true, true},
                                                    {"mimeType", false, true},
                                                    {"text", false, true},
                                                    {"blob", false, true},
                                                    {"_meta", false, false}};

static const struct member content[MEMBERS_MAX] = {{"content", true, false},
                                                   {"structuredContent", false, false}};

static const struct member annotations[MEMBERS_MAX] = {
        {"audience", false, false}, {"priority", false, false}, {"lastModified", false, true}};

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
    json_obj_foreach (object, at, count, key, value) {
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

bool content_is_uri(const char *text, size_t length) {
    size_t scheme = 0;
    while (scheme < length &&
           (ascii_is_alnum(text[scheme]) || strchr("+-.", text[scheme]) != NULL) &&
           text[scheme] != '\0') {
        scheme++;
    }
    if (length > CONTENT_URI_MAX || scheme == 0 || !ascii_is_letter(text[0]) ||
        scheme + 1 >= length || text[scheme] != ':') {
        return false;
    }
    for (size_t i = scheme + 1; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~' || strchr("<>\"{}|\\^`", text[i]) != NULL) {
            return false;
        }
    }
    return true;
}

static bool is_uri(yyjson_val *value) {
    return yyjson_is_str(value) && content_is_uri(yyjson_get_str(value), yyjson_get_len(value));
}

bool content_is_resource(yyjson_val *value) {
    return has_members(value, resource) &&
           (yyjson_obj_get(value, "text") != NULL) != (yyjson_obj_get(value, "blob") != NULL);
}

/* Who it is for, how important it is (0 to 1), and since when. */
bool content_is_annotations(yyjson_val *value) {
    yyjson_val *priority = yyjson_obj_get(value, "priority");
    yyjson_val *audience = yyjson_obj_get(value, "audience");
    size_t at;
    size_t count;
    yyjson_val *who;
    if (!has_members(value, annotations) ||
        (priority != NULL && (!yyjson_is_num(priority) || !(yyjson_get_num(priority) >= 0) ||
                              !(yyjson_get_num(priority) <= 1))) ||
        (audience != NULL && !yyjson_is_arr(audience))) {
        return false;
    }
    yyjson_arr_foreach (audience, at, count, who) {
        if (!yyjson_equals_str(who, "user") && !yyjson_equals_str(who, "assistant")) {
            return false;
        }
    }
    return true;
}

/* The members that are not strings. */
static bool has_good_objects(yyjson_val *block) {
    yyjson_val *inside = yyjson_obj_get(block, "resource");
    yyjson_val *notes = yyjson_obj_get(block, "annotations");
    yyjson_val *meta = yyjson_obj_get(block, "_meta");
    yyjson_val *size = yyjson_obj_get(block, "size");
    yyjson_val *uri = yyjson_obj_get(block, "uri");
    yyjson_val *meta_inside = yyjson_obj_get(inside, "_meta");
    return (inside == NULL || content_is_resource(inside)) &&
           (notes == NULL || content_is_annotations(notes)) &&
           (meta == NULL || yyjson_is_obj(meta)) && (uri == NULL || is_uri(uri)) &&
           (size == NULL || yyjson_is_uint(size)) &&
           (meta_inside == NULL || yyjson_is_obj(meta_inside));
}

bool content_is_block(yyjson_val *block) {
    yyjson_val *type = yyjson_obj_get(block, "type");
    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
        if (yyjson_equals_str(type, forms[i].type)) {
            return has_members(block, forms[i].members) && has_good_objects(block);
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
        if (!content_is_block(block)) {
            return false;
        }
    }
    return true;
}
