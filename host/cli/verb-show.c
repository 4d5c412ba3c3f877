#include <string.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/parameters.h"
#include "cli/rows.h"
#include "toolrack/records.h"

#define REASON_MAX 512u

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* -------------------------------------------------------------------- text */

static bool is_same(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    return b != NULL && toolrack_tool_uid(a) == toolrack_tool_uid(b);
}

static void add_versions(struct cli *cli, const struct toolrack_tool *tool) {
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = view_versions(cli->host, tool);
    if (tools == NULL || toolrack_tools_count(tools) < 2) {
        return;
    }
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *called = toolrack_get(cli->host, toolrack_tool_name(tool));
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *other = toolrack_tools_get(tools, i);
        buf_printf(&text, "%s%s%s%s", i > 0 ? ", " : "", toolrack_tool_version(other),
                   toolrack_tool_enabled(other) ? "" : " (disabled)",
                   !is_same(other, called)               ? ""
                   : toolrack_tool_is_set_default(other) ? " (default, set)"
                                                         : " (default)");
    }
    rows_add_line(&cli->out, "versions", text.data);
}

static void add_statistics(struct cli *cli, const struct toolrack_tool *tool) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = view_read_statistics(cli->host, tool);
    yyjson_val *statistics = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    if (statistics != NULL) {
        rows_add_label(&cli->out, "calls");
        buf_printf(&cli->out, "%llu, %llu of them failed; half took at most ",
                   (unsigned long long)rows_number(statistics, "calls"),
                   (unsigned long long)rows_number(statistics, "failures"));
        text_add_duration(&cli->out, rows_number(statistics, "p50_ns"));
        buf_add_char(&cli->out, '\n');
    }
}

/* A schema, indented for people; escaped, because a plugin wrote it. */
static void add_schema(struct buf *out, const char *heading, const char *schema) {
    if (schema == NULL) {
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(schema, strlen(schema), 0);
    size_t length = 0;
    CLEANUP(freep) char *pretty = yyjson_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, &length);
    buf_printf(out, "\n%s\n", heading);
    text_add_escaped(out, pretty != NULL ? pretty : schema,
                     pretty != NULL ? length : strlen(schema));
    buf_add_char(out, '\n');
}

/* The C function of a typed tool. */
static void add_prototype(struct buf *out, const struct toolrack_tool *tool) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_tool_prototype(tool, &text, NULL) == 0) {
        rows_add_line(out, "C function", toolrack_text_data(text, NULL));
    }
}

static void add_words(struct buf *out, const char *label, yyjson_val *list) {
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *word;
    yyjson_arr_foreach (list, at, count, word) {
        buf_printf(&words, "%s%s", at > 0 ? ", " : "", yyjson_get_str(word));
    }
    rows_add_line(out, label, words.data);
}

static void add_capability(struct buf *out, yyjson_val *capability) {
    const char *kind = rows_text(capability, "kind");
    const char *value = rows_text(capability, "value");
    const char *path = rows_text(capability, "path");
    bool allowed = yyjson_get_bool(yyjson_obj_get(capability, "allowed"));
    if (kind == NULL || value == NULL) {
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "%s %s", kind, value);
    if (path != NULL && strcmp(path, value) != 0 &&
        yyjson_obj_get(capability, "narrower") == NULL) {
        buf_printf(&text, " (%s)", path);
    }
    const char *refused = rows_text(capability, "refused");
    yyjson_val *narrower = yyjson_obj_get(capability, "narrower");
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (narrower, at, count, item) {
        buf_printf(&text, "%s%s", at == 0 ? ", of which " : ", ", yyjson_get_str(item));
    }
    buf_add_text(&text, allowed ? ": allowed" : refused != NULL ? ": refused: " : ": not allowed");
    buf_add_text(&text, refused != NULL ? refused : "");
    rows_add_line(out, "capability", text.data);
}

static void add_isolation(struct cli *cli, const struct toolrack_tool *tool) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = view_read_isolation(cli->host, tool);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *sandbox = yyjson_obj_get(root, "sandbox");
    rows_add_line(&cli->out, "isolation", rows_text(root, "isolation"));
    add_words(&cli->out, "sandbox", yyjson_obj_get(sandbox, "in_force"));
    add_words(&cli->out, "missing", yyjson_obj_get(sandbox, "missing"));
    size_t at;
    size_t count;
    yyjson_val *capability;
    yyjson_arr_foreach (yyjson_obj_get(root, "capabilities"), at, count, capability) {
        add_capability(&cli->out, capability);
    }
}

/* One line each: arguments -> result. */
static void add_examples(struct buf *out, const struct toolrack_tool *tool) {
    size_t count = toolrack_tool_example_count(tool);
    for (size_t i = 0; i < count; i++) {
        const char *arguments = toolrack_tool_example_arguments(tool, i);
        const char *result = toolrack_tool_example_result(tool, i);
        buf_add_text(out, i == 0 ? "\nexamples\n" : "");
        text_add_line(out, arguments, strlen(arguments));
        if (result != NULL) {
            buf_add_text(out, " -> ");
            text_add_line(out, result, strlen(result));
        }
        buf_add_char(out, '\n');
    }
}

/* Each line indented: what a plugin says of its tool does not look like what the host says. */
static void add_indented(struct buf *out, const char *text) {
    for (const char *line = text; line != NULL;) {
        const char *end = strchrnul(line, '\n');
        buf_add_text(out, "  ");
        text_add_escaped(out, line, (size_t)(end - line));
        buf_add_char(out, '\n');
        line = *end != '\0' ? end + 1 : NULL;
    }
}

static void print_text(struct cli *cli, const struct toolrack_tool *tool) {
    struct buf *out = &cli->out;
    cli_style(cli, STYLE_HEADING);
    buf_printf(out, "%s %s", toolrack_tool_name(tool), toolrack_tool_version(tool));
    cli_style(cli, STYLE_PLAIN);
    buf_add_char(out, '\n');
    const char *description = toolrack_tool_description(tool);
    if (description != NULL) {
        add_indented(out, description);
    }
    buf_add_char(out, '\n');
    rows_add_line(out, "title", toolrack_tool_title(tool));
    const char *state = rows_state(toolrack_tool_state_name(tool), toolrack_tool_enabled(tool),
                                   toolrack_tool_is_kept(tool));
    rows_add_label(out, "state");
    cli_style(cli, style_of_state(state));
    buf_add_text(out, state);
    cli_style(cli, STYLE_PLAIN);
    buf_add_char(out, '\n');
    char reason[REASON_MAX] = "";
    toolrack_tool_reason(tool, reason, sizeof reason);
    rows_add_line(out, "reason", reason);
    rows_add_label(out, "priority");
    buf_printf(out, "%d\n", toolrack_tool_priority(tool));
    rows_add_line(out, "permission", view_permission(toolrack_tool_permission(tool)));
    rows_add_line(out, "category", toolrack_tool_category(tool));
    rows_add_line(out, "tags", toolrack_tool_tags(tool));
    rows_add_line(out, "purpose", toolrack_tool_purpose(tool));
    rows_add_line(out, "scenarios", toolrack_tool_scenarios(tool));
    rows_add_line(out, "deprecated", toolrack_tool_deprecated(tool));
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    for (size_t i = 0; i < VIEW_ANNOTATIONS; i++) {
        if (view_annotations[i].holds(tool)) {
            buf_printf(&words, "%s%s", words.length > 0 ? ", " : "", view_annotations[i].word);
        }
    }
    rows_add_line(out, "annotations", words.data);
    uint32_t deadline_ms = toolrack_tool_deadline_ms(tool);
    rows_add_label(out, "deadline");
    if (deadline_ms == 0) {
        buf_add_text(out, "the host's default\n");
    } else {
        buf_printf(out, "%u ms\n", deadline_ms);
    }
    add_versions(cli, tool);
    rows_add_line(out, "plugin", toolrack_tool_plugin(tool));
    rows_add_line(out, "file", toolrack_tool_file(tool));
    rows_add_line(out, "trust", toolrack_tool_trust(tool));
    add_isolation(cli, tool);
    add_statistics(cli, tool);
    add_prototype(out, tool);
    parameters_print_result(cli, toolrack_tool_result_schema(tool));
    parameters_print(cli, toolrack_tool_schema(tool));
    if (cli->options.schema) {
        add_schema(out, "arguments", toolrack_tool_schema(tool));
        add_schema(out, "result", toolrack_tool_result_schema(tool));
    }
    add_examples(out, tool);
}

static int print_json(struct cli *cli, const struct toolrack_tool *tool) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    view_add_tool_page(cli->host, doc, root, tool, true);
    return json_print(cli, doc, root);
}

int verb_show(struct cli *cli) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = cli_find(cli, cli->options.words.items[0]);
    if (tool == NULL) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return print_json(cli, tool);
    }
    print_text(cli, tool);
    return CLI_OK;
}
