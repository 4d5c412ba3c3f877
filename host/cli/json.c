#include "cli/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/json-write.h"
#include "base/text.h"
#include "base/utf8.h"

#define REASON_MAX 512u

/* Whether memory ran out for any document of this process. */
static bool incomplete;

static void *allocate(void *context, size_t size) {
    (void)context;
    void *memory = malloc(size);
    incomplete = incomplete || memory == NULL;
    return memory;
}

static void *reallocate(void *context, void *old, size_t old_size, size_t size) {
    (void)context;
    (void)old_size;
    void *memory = realloc(old, size);
    incomplete = incomplete || memory == NULL;
    return memory;
}

static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}

yyjson_mut_doc *json_new(void) {
    static const yyjson_alc alc = {allocate, reallocate, release, NULL};
    return yyjson_mut_doc_new(&alc);
}

void json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text) {
    if (text == NULL) {
        (void)yyjson_mut_obj_add_null(doc, object, key);
        return;
    }
    size_t length = strlen(text);
    if (utf8_valid(text, length)) { /* as nearly all of them */
        (void)yyjson_mut_obj_add_strncpy(doc, object, key, text, length);
        return;
    }
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    text_add_valid(&valid, text, length);
    incomplete = incomplete || valid.failed;
    (void)yyjson_mut_obj_add_strncpy(doc, object, key, valid.data != NULL ? valid.data : "",
                                     valid.length);
}

const char *json_permission(enum toolrack_permission permission) {
    switch (permission) {
    case TOOLRACK_PERMISSION_SAFE: return "safe";
    case TOOLRACK_PERMISSION_CONFIRM: return "confirm";
    case TOOLRACK_PERMISSION_DANGEROUS: return "dangerous";
    }
    return "unknown";
}

/* "a, b" as ["a","b"]. */
static void add_words(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                      const char *words, const char *separators) {
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, key);
    for (const char *at = words; at != NULL && *at != '\0';) {
        at += strspn(at, " \t");
        size_t length = strcspn(at, separators);
        size_t end = length;
        while (end > 0 && (at[end - 1] == ' ' || at[end - 1] == '\t')) {
            end--;
        }
        if (end > 0) {
            (void)yyjson_mut_arr_add_strncpy(doc, array, at, end);
        }
        at += length;
        at += strspn(at, separators);
    }
}

void json_add_tool(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct toolrack_tool *tool) {
    json_add_text(doc, object, "id", toolrack_tool_name(tool));
    (void)yyjson_mut_obj_add_uint(doc, object, "uid", toolrack_tool_uid(tool));
    json_add_text(doc, object, "name", toolrack_tool_name(tool));
    json_add_text(doc, object, "version", toolrack_tool_version(tool));
    json_add_text(doc, object, "description", toolrack_tool_description(tool));
    (void)yyjson_mut_obj_add_bool(doc, object, "enabled", toolrack_tool_enabled(tool));
    (void)yyjson_mut_obj_add_int(doc, object, "priority", toolrack_tool_priority(tool));
    json_add_text(doc, object, "permission", json_permission(toolrack_tool_permission(tool)));
    json_add_text(doc, object, "category", toolrack_tool_category(tool));
    add_words(doc, object, "tags", toolrack_tool_tags(tool), ", \t");
    json_add_text(doc, object, "purpose", toolrack_tool_purpose(tool));
    add_words(doc, object, "scenarios", toolrack_tool_scenarios(tool), ",");
    json_add_text(doc, object, "deprecated", toolrack_tool_deprecated(tool));
    (void)yyjson_mut_obj_add_bool(doc, object, "set_default", toolrack_tool_is_set_default(tool));
    (void)yyjson_mut_obj_add_bool(doc, object, "kept", toolrack_tool_is_kept(tool));
    json_add_text(doc, object, "plugin", toolrack_tool_plugin(tool));
    json_add_text(doc, object, "state", toolrack_tool_state_name(tool));
    char reason[REASON_MAX];
    toolrack_tool_reason(tool, reason, sizeof reason);
    if (reason[0] != '\0') {
        json_add_text(doc, object, "reason", reason);
    }
}

static yyjson_doc *read_text(const struct toolrack_text *text, yyjson_read_flag flags) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    return yyjson_read(json, length, flags);
}

yyjson_doc *json_read(const struct toolrack_text *text) {
    return read_text(text, YYJSON_READ_BIGNUM_AS_RAW);
}

yyjson_doc *json_read_exact(const struct toolrack_text *text) {
    return read_text(text, YYJSON_READ_NUMBER_AS_RAW);
}

int json_print(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    size_t length = 0;
    yyjson_write_flag flags = cli->terminal ? YYJSON_WRITE_PRETTY_TWO_SPACES : 0;
    CLEANUP(freep) char *text = NULL;
    if (doc != NULL && root != NULL && !incomplete) {
        yyjson_mut_doc_set_root(doc, root);
        text = json_write(doc, flags, NULL, &length);
    }
    if (text == NULL) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    buf_add(&cli->out, text, length);
    buf_add_char(&cli->out, '\n');
    return CLI_OK;
}

int json_print_text(struct cli *cli, const struct toolrack_text *text) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read_exact(text);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = json_new();
    return json_print(cli, copy, yyjson_val_mut_copy(copy, yyjson_doc_get_root(doc)));
}

int json_print_done(struct cli *cli, const char *name, const char *key, bool value) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    (void)yyjson_mut_obj_add_bool(doc, root, key, value);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}
