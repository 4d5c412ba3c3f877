#include "view/tool.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json-string.h"
#include "base/text.h"
#include "toolrack/records.h"
#include "view/json.h"

bool view_is_shared(const struct toolrack_refusal *refusal) {
    return strcmp(refusal->rule, "tool-shared") == 0;
}

bool view_is_absent(const struct toolrack_refusal *refusal) {
    return strcmp(refusal->rule, "plugin-absent") == 0;
}

#define REASON_MAX 512u
/* Bytes of the kinds of capabilities that a tool lacks. */
#define NEEDS_MAX  64

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

const char *view_permission(enum toolrack_permission permission) {
    switch (permission) {
    case TOOLRACK_PERMISSION_SAFE: return "safe";
    case TOOLRACK_PERMISSION_CONFIRM: return "confirm";
    case TOOLRACK_PERMISSION_DANGEROUS: return "dangerous";
    }
    return "unknown";
}

/* What is before the value of a member, and its length. */
#define KEY(text) (text), sizeof(text) - 1

/* Append a key and its text, or null for NULL. Bytes that are not UTF-8 are replaced. */
static void write_text(struct buf *out, const char *key, size_t key_length, const char *text) {
    buf_add(out, key, key_length);
    if (text == NULL) {
        buf_add_text(out, "null");
        return;
    }
    size_t length = strlen(text);
    if (!buf_add_json_text(out, text, length)) {
        CLEANUP(buf_finish) struct buf valid = BUF_INIT;
        text_add_valid(&valid, text, length);
        out->failed = out->failed || valid.failed;
        (void)buf_add_json_text(out, valid.failed ? "" : valid.data, valid.length);
    }
}

/* "a, b" as ["a","b"]. */
static void write_words(struct buf *out, const char *key, size_t key_length, const char *words,
                        const char *separators) {
    buf_add(out, key, key_length);
    buf_add_char(out, '[');
    bool is_first = true;
    for (const char *at = words; at != NULL && *at != '\0';) {
        at += strspn(at, " \t");
        size_t length = strcspn(at, separators);
        size_t end = length;
        while (end > 0 && (at[end - 1] == ' ' || at[end - 1] == '\t')) {
            end--;
        }
        if (end > 0) {
            char *word = strndup(at, end);
            out->failed = out->failed || word == NULL;
            write_text(out, ",", !is_first, word);
            free(word);
            is_first = false;
        }
        at += length;
        at += strspn(at, separators);
    }
    buf_add_char(out, ']');
}

static void write_bool(struct buf *out, const char *key, size_t key_length, bool value) {
    buf_add(out, key, key_length);
    buf_add(out, value ? "true" : "false", value ? 4 : 5);
}

/* As a document whose values are written later, the tools took 6.0 of the 25.7 million instructions
 * of `toolrack list --json` with 1,000 tools; written at once, with names copied in two pieces
 * (base/json-string.c), they take 3.4. */
void view_write_tool(struct buf *out, const struct toolrack_tool *tool) {
    write_text(out, KEY("{\"id\":"), toolrack_tool_name(tool));
    buf_add_text(out, ",\"uid\":");
    buf_add_json_uint(out, toolrack_tool_uid(tool));
    write_text(out, KEY(",\"name\":"), toolrack_tool_name(tool));
    write_text(out, KEY(",\"version\":"), toolrack_tool_version(tool));
    write_text(out, KEY(",\"description\":"), toolrack_tool_description(tool));
    write_bool(out, KEY(",\"enabled\":"), toolrack_tool_enabled(tool));
    buf_add_text(out, ",\"priority\":");
    buf_add_json_int(out, toolrack_tool_priority(tool));
    write_text(out, KEY(",\"permission\":"), view_permission(toolrack_tool_permission(tool)));
    write_text(out, KEY(",\"category\":"), toolrack_tool_category(tool));
    write_words(out, KEY(",\"tags\":"), toolrack_tool_tags(tool), ", \t");
    write_text(out, KEY(",\"purpose\":"), toolrack_tool_purpose(tool));
    write_words(out, KEY(",\"scenarios\":"), toolrack_tool_scenarios(tool), ",");
    write_text(out, KEY(",\"deprecated\":"), toolrack_tool_deprecated(tool));
    write_bool(out, KEY(",\"set_default\":"), toolrack_tool_is_set_default(tool));
    write_bool(out, KEY(",\"kept\":"), toolrack_tool_is_kept(tool));
    write_text(out, KEY(",\"plugin\":"), toolrack_tool_plugin(tool));
    write_text(out, KEY(",\"state\":"), toolrack_tool_state_name(tool));
    if (toolrack_tool_state(tool) == TOOLRACK_STATE_NEEDS) {
        char needs[NEEDS_MAX];
        toolrack_tool_needs(tool, needs, sizeof needs);
        write_words(out, KEY(",\"needs\":"), needs, ", ");
    }
    char reason[REASON_MAX];
    toolrack_tool_reason(tool, reason, sizeof reason);
    if (reason[0] != '\0') {
        write_text(out, KEY(",\"reason\":"), reason);
    }
    buf_add_char(out, '}');
}

void view_add_tool(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct toolrack_tool *tool) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    view_write_tool(&text, tool);
    json_add_members(doc, object, text.failed ? NULL : text.data, text.length);
}

/* ------------------------------------------------------------- one in full */

const struct view_annotation view_annotations[VIEW_ANNOTATIONS] = {
        {"readOnlyHint", "read-only", toolrack_tool_read_only},
        {"destructiveHint", "destructive", toolrack_tool_destructive},
        {"idempotentHint", "idempotent", toolrack_tool_idempotent},
        {"openWorldHint", "open-world", toolrack_tool_open_world},
};

static uint64_t number_of(yyjson_val *object, const char *key) {
    return yyjson_get_uint(yyjson_obj_get(object, key));
}

static void add_json(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     const char *json) {
    json_add_json(doc, object, key, json, json != NULL ? strlen(json) : 0);
}

struct toolrack_tools *view_versions(struct toolrack *host, const struct toolrack_tool *tool) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    filter.all = true;
    filter.name = toolrack_tool_name(tool);
    struct toolrack_tools *tools = NULL;
    return toolrack_list(host, &filter, &tools, NULL) == 0 ? tools : NULL;
}

yyjson_doc *view_read_statistics(struct toolrack *host, const struct toolrack_tool *tool) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    buf_printf(&name, "%s@%s", toolrack_tool_name(tool), toolrack_tool_version(tool));
    if (name.failed || toolrack_statistics(host, name.data, &text, NULL) < 0) {
        return NULL;
    }
    return json_read(text);
}

yyjson_doc *view_read_isolation(struct toolrack *host, const struct toolrack_tool *tool) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    return toolrack_describe_isolation(host, toolrack_tool_name(tool), &text, NULL) == 0
                   ? json_read(text)
                   : NULL;
}

/* Add the current generation of its plugin and its content. */
static void add_json_content(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root,
                             const struct toolrack_tool *tool) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_why(host, toolrack_tool_name(tool), &text, NULL) < 0) {
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *why = json_read(text);
    yyjson_val *object = yyjson_doc_get_root(why);
    (void)yyjson_mut_obj_add_uint(doc, root, "generation", number_of(object, "generation"));
    json_add_text(doc, root, "sha256", yyjson_get_str(yyjson_obj_get(object, "sha256")));
}

static void add_json_versions(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root,
                              const struct toolrack_tool *tool) {
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = view_versions(host, tool);
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, root, "versions");
    for (size_t i = 0; tools != NULL && i < toolrack_tools_count(tools); i++) {
        (void)yyjson_mut_arr_add_strcpy(doc, array,
                                        toolrack_tool_version(toolrack_tools_get(tools, i)));
    }
}

/* Add the statistics; all 0 when the tool was never called. */
static void add_json_statistics(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root,
                                const struct toolrack_tool *tool) {
    static const char *const keys[] = {"calls",  "failures", "mean_ns",
                                       "p50_ns", "p95_ns",   "max_ns"};
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = view_read_statistics(host, tool);
    yyjson_val *statistics = yyjson_arr_get_first(yyjson_doc_get_root(read));
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "statistics");
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        (void)yyjson_mut_obj_add_uint(doc, object, keys[i], number_of(statistics, keys[i]));
    }
}

/* An example without an expected result has no member "result": null would be a result. */
static void add_json_examples(yyjson_mut_doc *doc, yyjson_mut_val *root,
                              const struct toolrack_tool *tool) {
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, root, "examples");
    for (size_t i = 0; i < toolrack_tool_example_count(tool); i++) {
        const char *result = toolrack_tool_example_result(tool, i);
        yyjson_mut_val *example = yyjson_mut_arr_add_obj(doc, array);
        add_json(doc, example, "arguments", toolrack_tool_example_arguments(tool, i));
        if (result != NULL) {
            add_json(doc, example, "result", result);
        }
    }
}

static const char *task_word(const struct toolrack_tool *tool) {
    switch (toolrack_tool_task(tool)) {
    case TOOLRACK_TASK_NEVER: return "never";
    case TOOLRACK_TASK_ALWAYS: return "always";
    case TOOLRACK_TASK_AUTO: break;
    }
    return "auto";
}

void view_add_tool_page(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root,
                        const struct toolrack_tool *tool, bool shows_file) {
    view_add_tool(doc, root, tool);
    json_add_text(doc, root, "title", toolrack_tool_title(tool));
    json_add_text(doc, root, "file", shows_file ? toolrack_tool_file(tool) : NULL);
    json_add_text(doc, root, "trust", toolrack_tool_trust(tool));
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *prototype = NULL;
    (void)toolrack_tool_prototype(tool, &prototype, NULL);
    json_add_text(doc, root, "prototype",
                  prototype != NULL ? toolrack_text_data(prototype, NULL) : NULL);
    add_json_content(host, doc, root, tool);
    yyjson_mut_val *hints = yyjson_mut_obj_add_obj(doc, root, "annotations");
    for (size_t i = 0; i < VIEW_ANNOTATIONS; i++) {
        (void)yyjson_mut_obj_add_bool(doc, hints, view_annotations[i].key,
                                      view_annotations[i].holds(tool));
    }
    uint32_t deadline_ms = toolrack_tool_deadline_ms(tool);
    if (deadline_ms == 0) {
        (void)yyjson_mut_obj_add_null(doc, root, "deadline_ms");
    } else {
        (void)yyjson_mut_obj_add_uint(doc, root, "deadline_ms", deadline_ms);
    }
    json_add_text(doc, root, "task", task_word(tool));
    add_json(doc, root, "icons", toolrack_tool_icons(tool));
    CLEANUP(yyjson_doc_freep) yyjson_doc *isolation = view_read_isolation(host, tool);
    (void)yyjson_mut_obj_add_val(doc, root, "isolation",
                                 yyjson_val_mut_copy(doc, yyjson_doc_get_root(isolation)));
    add_json_versions(host, doc, root, tool);
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *called = toolrack_get(host, toolrack_tool_name(tool));
    json_add_text(doc, root, "default", called != NULL ? toolrack_tool_version(called) : NULL);
    add_json_statistics(host, doc, root, tool);
    add_json(doc, root, "inputSchema", toolrack_tool_schema(tool));
    add_json(doc, root, "outputSchema", toolrack_tool_result_schema(tool));
    add_json_examples(doc, root, tool);
}
