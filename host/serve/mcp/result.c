/* result.c - see result.h. */
#include "serve/mcp/result.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hidden.h"
#include "base/json-write.h"
#include "base/text.h"
#include "serve/mcp/meta.h"
#include "serve/mcp/shape.h"

#define LITERAL(text) text, sizeof(text) - 1

void result_add_text(struct buf *out, const char *text, size_t length) {
    rpc_add_member(out, "content");
    buf_add(out, LITERAL("[{\"type\":\"text\",\"text\":"));
    buf_add_json_string(out, text, length);
    buf_add(out, LITERAL("}]"));
}

/* A text that is a JSON string already. */
static void add_string(struct buf *out, const char *json, size_t length) {
    rpc_add_member(out, "content");
    buf_add(out, LITERAL("[{\"type\":\"text\",\"text\":"));
    buf_add(out, json, length);
    buf_add(out, LITERAL("}]"));
}

static void add_blocks(struct buf *out, const struct dialect *dialect, yyjson_val *blocks) {
    rpc_add_member(out, "content");
    buf_add_char(out, '[');
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (blocks, at, count, block) {
        buf_add(out, ",", at > 0);
        shape_add(out, dialect, block);
    }
    buf_add_char(out, ']');
}

/* Whether a value may be structuredContent in a revision. */
static bool fits(const struct dialect *dialect, bool is_object) {
    return (dialect->traits & DIALECT_STRUCTURED) != 0 &&
           (is_object || (dialect->traits & DIALECT_ANY_VALUE) != 0);
}

/* Where a JSON value ends that begins at `at`; the text is valid JSON. */
static const char *value_end(const char *at, const char *end) {
    unsigned depth = 0;
    do {
        char c = *at++;
        if (c == '"') {
            /* A quote ends the string unless an odd number of backslashes is before it. */
            for (size_t slashes = 1; slashes % 2 != 0 && at < end; at++) {
                at = memchr(at, '"', (size_t)(end - at));
                slashes = 0;
                while (at[-1 - (ptrdiff_t)slashes] == '\\') {
                    slashes++;
                }
            }
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    } while (at < end && (depth > 0 || memchr(",]}", *at, 3) == NULL));
    return at;
}

static bool skip(const char **at, const char *end, const char *text, size_t length) {
    bool is_there = (size_t)(end - *at) >= length && memcmp(*at, text, length) == 0;
    *at += is_there ? length : 0;
    return is_there;
}

/* A block of text as the host writes it: each revision has its two members. */
static bool is_plain_text(const char *block, const char *end) {
    return skip(&block, end, LITERAL("{\"type\":\"text\",\"text\":")) && *block == '"' &&
           value_end(block, end) == end - 1;
}

static bool add_block(struct buf *out, const struct dialect *dialect, const char *block,
                      const char *end) {
    if (shape_is_whole(dialect) || is_plain_text(block, end)) {
        buf_add(out, block, (size_t)(end - block));
        return true;
    }
    yyjson_doc *doc = yyjson_read(block, (size_t)(end - block), YYJSON_READ_NUMBER_AS_RAW);
    bool is_read = doc != NULL;
    if (is_read) {
        shape_add(out, dialect, yyjson_doc_get_root(doc));
    }
    yyjson_doc_free(doc);
    return is_read;
}

/* Content that run/result.c has written, copied piece by piece: a text of 1 MiB that is also the
 * structured result was parsed and written again by 3 of the 11 ms of such a call, most of it for
 * the pages of the memory in between.
 * @return false: it is not written that way, as by a worker that writes what it likes; `out` is as
 *         it was */
static bool add_as_written(struct buf *out, const struct dialect *dialect, const char *json,
                           size_t length) {
    const char *at = json;
    const char *end = json + length;
    size_t before = out->length;
    if (!skip(&at, end, LITERAL("{\"content\":[")) || memchr(json, '\n', length) != NULL ||
        memchr(json, '\r', length) != NULL) {
        return false;
    }
    rpc_add_member(out, "content");
    buf_add_char(out, '[');
    bool is_good = true;
    for (bool is_first = true; is_good && *at != ']'; is_first = false) {
        is_good = is_first || skip(&at, end, LITERAL(","));
        const char *block = at;
        at = value_end(block, end);
        is_good = is_good && *block == '{' && at < end;
        buf_add(out, ",", !is_first);
        is_good = is_good && add_block(out, dialect, block, at);
    }
    buf_add_char(out, ']');
    if (is_good && skip(&at, end, LITERAL("],\"structuredContent\":"))) {
        if (fits(dialect, *at == '{')) { /* the last member of the object */
            rpc_add_member(out, "structuredContent");
            buf_add(out, at, (size_t)(end - at) - 1);
        }
        return true;
    }
    if (is_good && skip(&at, end, LITERAL("]}"))) {
        return true;
    }
    buf_truncate(out, before);
    return false;
}

static void add_parts(struct buf *out, const struct dialect *dialect, const char *json,
                      size_t length) {
    if (add_as_written(out, dialect, json, length)) {
        return;
    }
    yyjson_doc *doc = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *structured = yyjson_obj_get(root, "structuredContent");
    if (root == NULL) {
        out->failed = true;
    }
    add_blocks(out, dialect, yyjson_obj_get(root, "content"));
    if (structured != NULL && fits(dialect, yyjson_is_obj(structured))) {
        rpc_add_member(out, "structuredContent");
        json_add_value(out, structured);
    }
    yyjson_doc_free(doc);
}

static void add_value(struct buf *out, const struct dialect *dialect,
                      const struct toolrack_tool *tool, const struct toolrack_result *result) {
    size_t length = 0;
    const char *json = toolrack_result_json(result, &length);
    if (toolrack_result_text(result, NULL) != NULL) {
        add_string(out, json, length);
        return;
    }
    if (toolrack_result_is_content(result)) {
        add_parts(out, dialect, json, length);
        return;
    }
    bool has_schema = tool != NULL && toolrack_tool_result_schema(tool) != NULL;
    if (length == 4 && memcmp(json, "null", 4) == 0 && !has_schema) {
        rpc_add_member(out, "content"); /* it gave nothing */
        buf_add(out, LITERAL("[]"));
        return;
    }
    if (json[0] == '"') {
        add_string(out, json, length);
        return;
    }
    result_add_text(out, json, length);
    /* Lists have an outputSchema only where it is about an object. */
    if (has_schema && json[0] == '{' && fits(dialect, true)) {
        rpc_add_member(out, "structuredContent");
        buf_add(out, json, length);
    }
}

void result_add(struct buf *out, const struct dialect *dialect, const struct toolrack_tool *tool,
                const struct toolrack_result *result) {
    size_t length = 0;
    const char *changed = toolrack_result_changed(result, &length);
    add_value(out, dialect, tool, result);
    if (changed != NULL) {
        rpc_add_member(out, "_meta");
        buf_add(out, LITERAL("{\"" META_CHANGED "\":"));
        buf_add(out, changed, length);
        buf_add_char(out, '}');
    }
}

void result_add_value(struct buf *out, const struct dialect *dialect, const char *json,
                      size_t length) {
    result_add_text(out, json, length);
    if (fits(dialect, true)) {
        rpc_add_member(out, "structuredContent");
        buf_add(out, json, length);
    }
}

/* ------------------------------------------------------------------- failures */

/* Its last call may have brought it there, or have come too late. */
static bool is_quarantined(const struct toolrack_tool *tool, const struct toolrack_error *err) {
    return toolrack_error_cause(err) == TOOLRACK_CAUSE_QUARANTINE ||
           (tool != NULL && toolrack_error_code(err) == TOOLRACK_E_EXECUTION_FAILED &&
            !toolrack_error_is_from_tool(err) &&
            toolrack_tool_state(tool) == TOOLRACK_STATE_QUARANTINED);
}

/* Whether another call does no more than one: else a call that was given up, or whose process died,
 * may have done its work. */
static bool is_repeatable(const struct toolrack_tool *tool) {
    return tool != NULL && (toolrack_tool_read_only(tool) || toolrack_tool_idempotent(tool));
}

/* What the one who called may do about a failure. */
static const char *advice(const struct toolrack_tool *tool, const struct toolrack_error *err) {
    if (is_quarantined(tool, err)) {
        return "No tool of this plugin can be called until a person lets it run again: tell the "
               "person, with the command if there is one here.";
    }
    if (toolrack_error_cause(err) == TOOLRACK_CAUSE_DEATH) { /* perhaps of a call beside it */
        return is_repeatable(tool)
                       ? "The tool may be called again; if this happens again, tell the person."
                       : "It may have taken effect: check before you call the tool again; if this "
                         "happens again, tell the person.";
    }
    int code = toolrack_error_code(err);
    bool has_begun = toolrack_error_has_begun(err) || toolrack_error_is_from_tool(err);
    if (code == TOOLRACK_E_TIMEOUT || (code == TOOLRACK_E_LIMIT_EXCEEDED && has_begun)) {
        return is_repeatable(tool) ? "The tool may be called again, with less to do at once."
                                   : "It may have taken effect: check before you call the tool "
                                     "again, with less to do at once.";
    }
    switch (code) {
    case TOOLRACK_E_INVALID_ARGUMENTS: return "Correct the arguments and call the tool again.";
    case TOOLRACK_E_LIMIT_EXCEEDED: return "Call the tool again later, or with less to do at once.";
    case TOOLRACK_E_CONFIRMATION_REQUIRED:
        return "Only a person may decide that: tell the person, and call the tool again "
               "afterwards.";
    case TOOLRACK_E_PERMISSION_DENIED:
        return "Do not call it again unless the person asks for it; say what was denied.";
    default: break;
    }
    return toolrack_error_is_recoverable(err) ? NULL : "The same call will fail again.";
}

void result_add_reason(struct buf *text, const struct principal *principal,
                       const struct toolrack_error *err) {
    const char *field = toolrack_error_field(err);
    buf_add_text(text, toolrack_code_name(toolrack_error_code(err)));
    buf_add_text(text, ": ");
    if (field[0] != '\0') {
        buf_add_text(text, field);
        buf_add_text(text, ": ");
    }
    principal_add_message(text, principal, toolrack_error_message(err),
                          toolrack_error_brief_length(err));
}

void result_add_words(struct buf *text, const struct principal *principal,
                      const struct toolrack_tool *tool, const struct toolrack_error *err) {
    const char *what = advice(tool, err);
    result_add_reason(text, principal, err);
    if (what != NULL) {
        bool ends = text->length > 0 && strchr(".?!", text->data[text->length - 1]) != NULL;
        buf_add_text(text, ends ? "\n" : ".\n");
        buf_add_text(text, what);
    }
}

void result_add_failure(struct buf *out, const struct principal *principal,
                        const struct toolrack_tool *tool, const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    result_add_words(&text, principal, tool, err);
    hidden_add_parts(&valid, text.data != NULL ? text.data : "", text.length, text_add_valid);
    result_add_text(out, valid.data != NULL ? valid.data : "", valid.length);
    buf_add(out, LITERAL(",\"isError\":true"));
}
