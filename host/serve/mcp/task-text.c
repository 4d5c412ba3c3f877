/* task-text.c - see task-text.h. */
#include "serve/mcp/task-text.h"

#include "base/cleanup.h"
#include "base/json-write.h"
#include "serve/mcp/rpc.h"
#include "toolrack/toolrack.h"

static const struct {
    const char *name;
    bool is_outcome;
} members[] = {
        {"taskId", false},         {"status", false},        {"statusMessage", false},
        {"createdAt", false},      {"lastUpdatedAt", false}, {"ttlMs", false},
        {"pollIntervalMs", false}, {"inputRequests", true},  {"result", true},
        {"error", true},
};

void task_text_add(struct buf *out, const struct toolrack_text *text, bool whole) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    out->failed = out->failed || root == NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        yyjson_val *value = yyjson_obj_get(root, members[i].name);
        /* Without a message there is none; without a time it lives for ever. */
        bool is_there = value != NULL && (!yyjson_is_null(value) || i != 2);
        if (is_there && (whole || !members[i].is_outcome)) {
            rpc_add_member(out, members[i].name);
            json_add_value(out, value);
        }
    }
    yyjson_doc_free(doc);
}
