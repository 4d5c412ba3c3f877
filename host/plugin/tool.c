/* One tool of a plugin: its record, its strings, its schemas. */
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "base/semver.h"
#include "plugin/reader.h"

/* A longer description costs a model more than it helps. */
#define DESCRIPTION_LENGTH_GOOD 1024u

#define TOOL_FLAGS_KNOWN                                                                           \
    (TR_DISABLED | TR_READ_ONLY | TR_DESTRUCTIVE | TR_IDEMPOTENT | TR_OPEN_WORLD | TR_TASK_NEVER | \
     TR_TASK_ALWAYS)

#define W(field) RECORD_WORD(struct tr_tool, field)
static const struct record_shape tool_shape = {
        .what = "tool",
        .size_min = RECORD_SIZE_MIN(struct tr_tool, run),
        .size = sizeof(struct tr_tool),
        .pointers = W(name) | W(description) | W(version) | W(title) | W(category) | W(tags) |
                    W(params) | W(result) | W(result_description) | W(function) | W(schema) |
                    W(result_schema) | W(run) | W(examples) | W(deprecated) | W(purpose) |
                    W(scenarios) | W(icons)};
#undef W

/* The name is first: findings are named after it. */
static const struct text_field tool_name = TEXT_FIELD(struct tr_tool, name, TEXT_LINE);
static const struct text_field tool_texts[] = {
        TEXT_FIELD(struct tr_tool, description, TEXT_FREE), /* bit 0 of what is invalid */
        TEXT_FIELD(struct tr_tool, version, TEXT_LINE),
        TEXT_FIELD(struct tr_tool, title, TEXT_LINE),
        TEXT_FIELD(struct tr_tool, category, TEXT_LINE),
        TEXT_FIELD(struct tr_tool, tags, TEXT_LINE),
        TEXT_FIELD(struct tr_tool, result_description, TEXT_FREE),
        TEXT_FIELD(struct tr_tool, schema, TEXT_FREE),
        TEXT_FIELD(struct tr_tool, result_schema, TEXT_FREE),
        TEXT_FIELD(struct tr_tool, deprecated, TEXT_LINE),
        TEXT_FIELD(struct tr_tool, purpose, TEXT_LINE),
        TEXT_FIELD(struct tr_tool, scenarios, TEXT_LINE),
        TEXT_FIELD(struct tr_tool, icons, TEXT_FREE),
};

static bool is_blank(const char *text) {
    return text == NULL || text[strspn(text, " \t\r\n")] == '\0';
}

/* A text with a finding of its own (`bad_name`, `bad_description`) is not missing. */
static bool check_texts(struct reader *reader, const struct tr_tool *tool, bool bad_name,
                        bool bad_description) {
    bool sound = true;
    if (bad_name) {
        sound = false;
    } else if (is_blank(tool->name)) {
        reader_report(reader, FINDING_TOOL_NAME, "the tool has no name");
        sound = false;
    } else if (!name_valid(tool->name)) {
        reader_report(reader, FINDING_TOOL_NAME, "\"%.*s\" cannot be the name of a tool",
                      FINDING_SHOWN_MAX, tool->name);
        sound = false;
    }
    if (tool->version != NULL && !semver_valid(tool->version)) {
        reader_report(reader, FINDING_TOOL_VERSION,
                      "version \"%.*s\" of the tool is not a Semantic Version", FINDING_SHOWN_MAX,
                      tool->version);
        sound = false;
    }
    size_t length = tool->description == NULL ? 0 : strlen(tool->description);
    if (bad_description) {
        sound = false;
    } else if (is_blank(tool->description)) {
        reader_report(reader, FINDING_TOOL_DESCRIPTION, "the tool has no description");
        sound = false;
    } else if (length > DESCRIPTION_LENGTH_GOOD) {
        reader_report(reader, FINDING_TOOL_DESCRIPTION_LONG,
                      "the tool's description has %zu bytes, more than %u", length,
                      DESCRIPTION_LENGTH_GOOD);
    }
    return sound;
}

/* Whether the caller's check accepts a schema. */
static bool check_schema(struct reader *reader, const char *schema, bool is_result) {
    const struct descriptor_options *options = reader->options;
    lint_hidden(reader, schema, is_result);
    if (options == NULL || options->check_schema == NULL) {
        return true;
    }
    char reason[READER_REASON_MAX] = "";
    if (options->check_schema(options->user, schema, strlen(schema), is_result, &reader->steps,
                              reason, sizeof reason)) {
        if (reason[0] != '\0') {
            reader_report(reader, FINDING_SCHEMA_DEFAULT,
                          "a default in the schema of the %s is ignored: %s",
                          is_result ? "result" : "arguments", reason);
        }
        return true;
    }
    reader_report(reader, is_result ? FINDING_SCHEMA_RESULT_INVALID : FINDING_SCHEMA_INVALID,
                  "the schema of the %s cannot be used: %s", is_result ? "result" : "arguments",
                  reason);
    return false;
}

/* ---------------------------------------------------------- typed tools */

static const char *take_derived(struct reader *reader) {
    struct buf *derived = &reader->derived;
    if (derived->failed) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
        return NULL;
    }
    if (derived->length > DESCRIPTOR_TEXT_MAX) {
        reader_report(reader, FINDING_SCHEMA_INVALID,
                      "the schema of its types would take %zu bytes, the limit is %u",
                      derived->length, DESCRIPTOR_TEXT_MAX);
        return NULL;
    }
    char *copy = reader_alloc(reader, derived->length + 1);
    if (copy != NULL) {
        memcpy(copy, derived->data, derived->length);
    }
    return copy;
}

static bool read_typed(struct reader *reader, struct tr_tool *tool, uint64_t params,
                       uint64_t result, struct descriptor_tool *ret) {
    if (tool->schema != NULL || tool->result_schema != NULL) {
        reader_report(reader, FINDING_TOOL_IGNORED,
                      "the stated schema is not used: a typed tool's is made from its types");
        tool->schema = NULL;
        tool->result_schema = NULL;
    }
    if (params != 0 && tool->param_count == 0) {
        reader_report(reader, FINDING_COUNT_ZERO,
                      "the tool's parameters are not read: .param_count is 0");
    }
    bool sound = params_read(reader, params, tool->param_count, tool->param_size, &tool->params);
    if (result != 0 && reader->failure == 0) {
        sound = result_type_read(reader, result, &tool->result) && sound;
    }
    tool->param_size = sizeof(struct tr_param);
    if (!sound || reader->failure != 0) {
        return false;
    }
    buf_clear(&reader->derived);
    derive_arguments(&reader->derived, tool->params, tool->param_count);
    ret->schema = take_derived(reader);
    if (ret->schema == NULL || !check_schema(reader, ret->schema, false)) {
        return false;
    }
    buf_clear(&reader->derived);
    derive_result(&reader->derived, tool->result, tool->result_description);
    if (reader->derived.length == 0 && !reader->derived.failed) {
        return true;
    }
    ret->result_schema = take_derived(reader);
    return ret->result_schema != NULL && check_schema(reader, ret->result_schema, true);
}

/* ----------------------------------------------------------- JSON tools */

static bool read_json(struct reader *reader, struct tr_tool *tool, uint64_t params, uint64_t result,
                      struct descriptor_tool *ret) {
    if (params != 0 || tool->param_count != 0 || result != 0) {
        reader_report(reader, FINDING_TOOL_IGNORED,
                      "the stated types are not used: a JSON tool has a schema instead");
        tool->param_count = 0;
    }
    tool->param_size = 0;
    if (tool->schema == NULL) {
        reader_report(reader, FINDING_SCHEMA_MISSING, "the JSON tool has no schema");
        return false;
    }
    if (!lint_schema(reader, tool->schema, false) || !check_schema(reader, tool->schema, false)) {
        return false;
    }
    ret->schema = tool->schema;
    ret->result_schema = tool->result_schema;
    return tool->result_schema == NULL || (lint_schema(reader, tool->result_schema, true) &&
                                           check_schema(reader, tool->result_schema, true));
}

bool tool_read(struct reader *reader, uint64_t address, const char *plugin_version,
               struct descriptor_tool *ret) {
    struct tr_tool *tool = reader_alloc(reader, sizeof *tool);
    struct record record;
    if (tool == NULL || !reader_sized_record(reader, &tool_shape, address, FINDING_TOOL_POINTER,
                                             FINDING_TOOL_SIZE, tool, &record)) {
        return false;
    }
    unsigned bad = reader_texts(reader, &record, &tool_name, 1);
    if (tool->name != NULL && name_valid(tool->name)) {
        reader->tool = tool->name;
    }
    bool bad_name = bad > 0;
    unsigned bad_texts =
            reader_texts(reader, &record, tool_texts, sizeof tool_texts / sizeof tool_texts[0]);
    bad += bad_texts > 0;
    uint64_t params;
    uint64_t result;
    uint64_t examples;
    bad += !reader_address(reader, &record, offsetof(struct tr_tool, params), "params", &params);
    bad += !reader_address(reader, &record, offsetof(struct tr_tool, result), "result", &result);
    bad += !reader_address(reader, &record, offsetof(struct tr_tool, examples), "examples",
                           &examples);
    /* A typed tool has a function, a JSON tool has run(). */
    bool typed = false;
    bool run = false;
    if (!reader_function(reader, &record, offsetof(struct tr_tool, function), "function",
                         FINDING_TOOL_FUNCTION, &typed) ||
        !reader_function(reader, &record, offsetof(struct tr_tool, run), "run",
                         FINDING_TOOL_FUNCTION, &run)) {
        bad++;
    } else if (typed == run) {
        reader_report(reader, FINDING_TOOL_ENTRY, "the tool sets %s",
                      typed ? "both function and run" : "neither function nor run");
        bad++;
    }
    if ((tool->flags & ~(uint32_t)TOOL_FLAGS_KNOWN) != 0) {
        reader_report(reader, FINDING_TOOL_FLAGS, "this host does not know the tool's flags 0x%x",
                      tool->flags & ~(uint32_t)TOOL_FLAGS_KNOWN);
    }
    if ((tool->flags & TR_DISABLED) != 0) {
        reader_report(reader, FINDING_TOOL_DISABLED,
                      "the tool is disabled by its flags until an administrator enables it");
    }
    if (tool->permission > TR_DANGEROUS) {
        reader_report(reader, FINDING_TOOL_PERMISSION, "permission %u of the tool is not known",
                      tool->permission);
        bad++;
    }
    bool sound_texts = check_texts(reader, tool, bad_name, (bad_texts & 1u) != 0);
    if (!sound_texts || bad > 0 || reader->failure != 0) {
        return false;
    }
    if (tool->icons != NULL) {
        tool->icons = icons_read(reader, tool->icons);
    }
    tool->size = sizeof *tool;
    *ret = (struct descriptor_tool){.tool = tool,
                                    .version =
                                            tool->version != NULL ? tool->version : plugin_version,
                                    .typed = typed};
    bool sound = typed ? read_typed(reader, tool, params, result, ret)
                       : read_json(reader, tool, params, result, ret);
    return sound && examples_read(reader, examples, tool, ret);
}
