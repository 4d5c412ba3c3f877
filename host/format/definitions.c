/* definitions.c - write the tools of a host as one provider's array. */
#include "format/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hidden.h"
#include "base/name.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "format/provider.h"
#include "format/report.h"
#include "format/schema-rewrite.h"
#include "schema/secret.h"

const struct provider *provider_of(enum toolrack_format format) {
    switch (format) {
    case TOOLRACK_FORMAT_OPENAI: return &provider_openai;
    case TOOLRACK_FORMAT_OPENAI_RESPONSES: return &provider_openai_responses;
    case TOOLRACK_FORMAT_ANTHROPIC: return &provider_anthropic;
    case TOOLRACK_FORMAT_GEMINI: return &provider_gemini;
    case TOOLRACK_FORMAT_OLLAMA: return &provider_ollama;
    case TOOLRACK_FORMAT_MCP: return &provider_mcp;
    case TOOLRACK_FORMAT_COUNT: break;
    }
    return NULL;
}

void provider_add_text(struct buf *out, const char *key, const char *text) {
    if (text != NULL) {
        buf_add_text(out, ",\"");
        buf_add_text(out, key);
        buf_add_text(out, "\":");
        format_report_text(out, text, strlen(text));
    }
}

/* ---------------------------------------------------------- names in use */

typedef char wire_name[FORMAT_NAME_MAX + 1];

/* The names in use, a hash table with open addressing: a provider refuses a request with the same
 * name twice. */
struct taken {
    wire_name *names; /* "": an empty slot */
    size_t mask;
};

static bool taken_init(struct taken *taken, size_t count) {
    size_t slots = 8;
    while (slots < 2 * count) {
        slots *= 2;
    }
    taken->names = calloc(slots, sizeof(wire_name));
    taken->mask = slots - 1;
    return taken->names != NULL;
}

/* The slot of a name, or the empty slot where it belongs. */
static char *taken_slot(const struct taken *taken, const char *name) {
    size_t at = name_hash(name, strlen(name)) & taken->mask;
    while (taken->names[at][0] != '\0' && strcmp(taken->names[at], name) != 0) {
        at = (at + 1) & taken->mask;
    }
    return taken->names[at];
}

/* ----------------------------------------------------------------- a tool */

struct export {
    enum toolrack_format format;
    const struct provider *provider;
    struct buf *out;
    struct buf *report; /* NULL: no report is wanted */
    struct buf *names;  /* NULL: they are not wanted */
    struct taken taken;
    size_t count;
    size_t count_max;
    size_t bytes_max;
    struct buf description; /* of the current tool, like the next five */
    struct buf title;
    struct buf shown; /* the description with its hidden characters visible */
    struct buf schema;
    struct buf result_schema;
    struct buf visible; /* a schema, likewise */
    struct buf keys;    /* of the current tool: see struct rewrite */
    yyjson_alc *memory; /* memory that one schema frees is used for the next */
};

/* ------------------------------------------------------ hidden characters */

/* A text of the tool, or its copy in `room` in which everybody sees what it has. */
static const char *show_text(const struct report *report, const char *what, const char *text,
                             struct buf *room) {
    size_t length = text != NULL ? strlen(text) : 0;
    uint32_t point = 0;
    if (hidden_find(text, length, NULL, &point) == length) {
        return text;
    }
    buf_clear(room);
    hidden_add_visible(room, text, length);
    format_report_add(report, "rewritten", NULL,
                      "the %s has hidden characters, the first is U+%04X; they are shown as codes",
                      what, point);
    return room->failed ? NULL : room->data;
}

/* The same for a schema. What a caller must write exactly as it is cannot be shown otherwise:
 * TOOLRACK_E_REFUSED, with the reason in the report. */
static int show_schema(struct export *export, const struct report *report, const char *what,
                       struct buf *schema) {
    struct visible visible;
    buf_clear(&export->visible);
    if (!visible_json(schema->data, strlen(schema->data), &export->visible, &visible)) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (!visible.found) {
        return 0;
    }
    if (visible.is_required) {
        format_report_add(
                report, schema == &export->schema ? "refused" : "rewritten", NULL,
                "%s: a name or value in its %s has the hidden character U+%04X, and would have "
                "to be written exactly so",
                schema == &export->schema ? "the tool is not exported"
                                          : "the result schema is omitted",
                what, visible.point);
        return TOOLRACK_E_REFUSED;
    }
    format_report_add(report, "rewritten", NULL,
                      "the %s has hidden characters, the first is U+%04X; they are shown as codes",
                      what, visible.point);
    buf_clear(schema);
    buf_add(schema, export->visible.data, export->visible.length);
    return schema->failed ? TOOLRACK_E_NO_MEMORY : 0;
}

/* ---------------------------------------------------------------- describing */

/* A call does not need the result schema: if it cannot be described, the tool is exported without
 * it. */
static int describe_result(struct export *export, const struct format_tool *tool,
                           const struct report *report, struct definition *definition) {
    const struct provider *provider = export->provider;
    if ((provider->rules & RULE_RESULT) == 0 || tool->result_schema == NULL) {
        return 0;
    }
    CLEANUP(buf_finish) struct buf unseen = BUF_INIT;
    struct report quiet = {.out = report->out != NULL ? &unseen : NULL, .tool = report->tool};
    struct rewrite rewrite = {
            .provider = provider, .report = &quiet, .memory = export->memory, .is_result = true};
    buf_clear(&export->result_schema);
    int code = rewrite_text(&rewrite, tool->result_schema, &export->result_schema, NULL);
    if (code == 0 && show_schema(export, report, "result schema", &export->result_schema) < 0) {
        return export->visible.failed || export->result_schema.failed ? TOOLRACK_E_NO_MEMORY : 0;
    }
    if (code == 0 && (rewrite.is_object || (provider->rules & RULE_OBJECT_RESULT) == 0)) {
        definition->result_schema = export->result_schema.data;
    } else if (code != TOOLRACK_E_NO_MEMORY) {
        format_report_add(report, "rewritten", NULL, "the result schema is left out: %s",
                          code < 0 ? rewrite.refusal : "it does not describe an object");
    }
    return code == TOOLRACK_E_NO_MEMORY ? code : 0;
}

static int describe(struct export *export, const struct format_tool *tool,
                    const struct report *report, struct definition *definition) {
    struct rewrite rewrite = {.provider = export->provider,
                              .report = report,
                              .memory = export->memory,
                              .keys = export->names != NULL ? &export->keys : NULL};
    bool wants_strict = (export->provider->rules & RULE_STRICT) != 0;
    CLEANUP(buf_finish) struct buf without = BUF_INIT;
    buf_clear(&export->schema);
    buf_clear(&export->keys);
    if (tool->schema != NULL && !schema_without_secrets(tool->schema, &without)) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (without.length > 0) {
        format_report_add(report, "rewritten", NULL,
                          "the default of a secret is left out; calls still use it");
    }
    int code = rewrite_text(&rewrite, without.length > 0 ? without.data : tool->schema,
                            &export->schema, wants_strict ? &definition->strict : NULL);
    if (code == 0) {
        code = show_schema(export, report, "schema", &export->schema);
    }
    definition->schema = export->schema.data;
    return code < 0 ? code : describe_result(export, tool, report, definition);
}

/* No format has a member for deprecation, so the description says it: else a model would go on
 * calling the tool. */
static void say_deprecated(struct export *export, const struct report *report,
                           struct definition *definition) {
    const char *instead = definition->tool->deprecated;
    if (instead == NULL || instead[0] == '\0') {
        return;
    }
    bool ends = strchr(".!?", instead[strlen(instead) - 1]) != NULL;
    buf_clear(&export->description);
    buf_printf(&export->description, "Deprecated: %s%s", instead, ends ? "" : ".");
    if (definition->description != NULL) {
        buf_printf(&export->description, " %s", definition->description);
    }
    definition->description = export->description.data;
    format_report_add(report, "rewritten", NULL, "the description now says that it is deprecated");
}

/* Where a text of too many characters is cut: after its last sentence, or else its last word,
 * within the first `max` of them; but not in the first half. */
static size_t find_cut(const char *text, size_t length, size_t max) {
    size_t most = 0; /* bytes of `max` characters */
    for (size_t count = 0; most < length && count < max; count++) {
        uint32_t point;
        size_t bytes = utf8_decode(text + most, length - most, &point);
        most += bytes > 0 ? bytes : 1;
    }
    size_t word = 0;
    for (size_t at = most; at > most / 2; at--) {
        if (memchr(" \t\n", text[at], 3) != NULL) {
            if (strchr(".!?:\n", text[at - 1]) != NULL || text[at] == '\n') {
                return at;
            }
            word = word > 0 ? word : at;
        }
        if (at >= 3 && memcmp(text + at - 3, "\xe3\x80\x82", 3) == 0) { /* ideographic full stop */
            return at;
        }
    }
    return word > 0 ? word : most;
}

/* A provider refuses the whole request for a description that is too long. */
static void cut_description(struct export *export, const struct report *report,
                            struct definition *definition) {
    const char *text = definition->description;
    size_t max = export->provider->limits->description_max;
    size_t length = text != NULL ? strlen(text) : 0;
    if (max == 0 || length <= max || utf8_count(text, length) <= max) {
        return;
    }
    /* Bytes that are not UTF-8 become one character each. */
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    text_add_valid(&valid, text, length);
    if (valid.failed) {
        export->description.failed = true;
        return;
    }
    size_t count = utf8_count(valid.data, valid.length);
    size_t cut = find_cut(valid.data, valid.length, max);
    buf_clear(&export->description);
    buf_add(&export->description, valid.data, cut);
    definition->description = export->description.data;
    format_report_add(report, "rewritten", NULL,
                      "the description has %zu characters, and %s accepts %zu: it is cut after %zu",
                      count, export->provider->whose, max, utf8_count(valid.data, cut));
}

/* Note how the definition that was added last is called, and its properties. */
static void add_names(struct export *export, const struct definition *definition) {
    struct buf *names = export->names;
    if (names == NULL) {
        return;
    }
    const char *own = definition->tool->name;
    bool is_renamed = strcmp(own, definition->name) != 0;
    buf_add(names, ",", export->count > 0);
    buf_add_json_string(names, definition->name, strlen(definition->name));
    buf_add_text(names, ":{");
    if (is_renamed) {
        buf_add_text(names, "\"name\":");
        format_report_text(names, own, strlen(own));
    }
    if (export->keys.length > 0) {
        buf_printf(names, "%s\"keys\":{%s}", is_renamed ? "," : "", export->keys.data);
    }
    buf_add_char(names, '}');
}

/* Report a tool that is not exported after all: this note replaces the others about the tool. */
static void cut(struct export *export, const struct report *report, size_t report_length,
                const char *why, size_t number, const char *what) {
    if (export->report != NULL) {
        buf_truncate(export->report, report_length);
    }
    format_report_add(report, "cut", NULL, "%s %zu %s", why, number, what);
}

static int add_tool(struct export *export, const struct format_tool *tool) {
    struct report report = {.out = export->report, .tool = tool->name};
    size_t start = export->out->length;
    size_t noted = export->report != NULL ? export->report->length : 0;
    if (export->count == export->count_max) {
        cut(export, &report, noted, "it is beyond the limit of", export->count_max,
            export->count_max == 1 ? "tool" : "tools");
        return 0;
    }
    wire_name wire;
    struct definition definition = {
            .tool = tool, .name = wire, .title = tool->title, .description = tool->description};
    if (definition.description == NULL && (export->provider->rules & RULE_OBJECT_RESULT) == 0) {
        definition.description = tool->title;
    }
    if (format_wire_name(export->format, tool->name, wire)) {
        format_report_add(&report, "renamed", NULL, "its name for %s is %s",
                          export->provider->whose, wire);
    }
    if (taken_slot(&export->taken, wire)[0] != '\0') {
        format_report_add(&report, "refused", NULL, "another tool already has the name %s", wire);
        return 0;
    }
    say_deprecated(export, &report, &definition);
    definition.title = show_text(&report, "title", definition.title, &export->title);
    definition.description =
            show_text(&report, "description", definition.description, &export->shown);
    cut_description(export, &report, &definition);
    if (export->description.failed || export->title.failed || export->shown.failed) {
        return TOOLRACK_E_NO_MEMORY;
    }
    int code = describe(export, tool, &report, &definition);
    if (code < 0) {
        return code == TOOLRACK_E_NO_MEMORY ? code : 0;
    }
    buf_add_text(export->out, export->count > 0 ? "," : export->provider->before);
    export->provider->add(&definition, export->out);
    if (export->out->length + strlen(export->provider->after) > export->bytes_max) {
        buf_truncate(export->out, start);
        cut(export, &report, noted, "with this tool the definitions have more than",
            export->bytes_max, "bytes");
        return 0;
    }
    (void)strcpy(taken_slot(&export->taken, wire), wire);
    add_names(export, &definition);
    export->count++;
    return 0;
}

/* -------------------------------------------------------------------- all */

/* What is undone of a tool that is cut must not undo that something before it is missing. */
static bool lacks_memory(const struct export *export) {
    return export->out->failed || export->keys.failed ||
           (export->report != NULL && export->report->failed) ||
           (export->names != NULL && export->names->failed);
}

static int add_all(struct export *export, const struct format_tool *tools, size_t count,
                   struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && !lacks_memory(export) && i < count; i++) {
        code = add_tool(export, &tools[i]);
    }
    buf_add_text(export->out, export->count > 0 ? export->provider->after : "[]");
    return code < 0 || lacks_memory(export) ? error_oom(err) : 0;
}

int format_definitions(enum toolrack_format format, const struct format_tool *tools, size_t count,
                       const struct format_limits *limits, struct buf *out, struct buf *report,
                       struct buf *names, struct toolrack_error *err) {
    const struct provider *provider = provider_of(format);
    if (provider == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no format number %d", (int)format);
    }
    struct export export = {.format = format,
                            .provider = provider,
                            .out = out,
                            .report = report,
                            .names = names,
                            .count_max = SIZE_MAX,
                            .bytes_max = SIZE_MAX};
    if (provider->limits->tools_max > 0) {
        export.count_max = provider->limits->tools_max;
    }
    if (limits != NULL && limits->count > 0 && limits->count < export.count_max) {
        export.count_max = limits->count;
    }
    if (limits != NULL && limits->bytes > 0) {
        export.bytes_max = out->length + limits->bytes;
    }
    export.memory = yyjson_alc_dyn_new();
    int code = export.memory != NULL && taken_init(&export.taken, count)
                       ? add_all(&export, tools, count, err)
                       : error_oom(err);
    yyjson_alc_dyn_free(export.memory);
    free(export.taken.names);
    buf_finish(&export.description);
    buf_finish(&export.title);
    buf_finish(&export.shown);
    buf_finish(&export.visible);
    buf_finish(&export.keys);
    buf_finish(&export.schema);
    buf_finish(&export.result_schema);
    return code;
}
