#include <string.h>

#include "base/command.h"
#include "cli/filter.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/table.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)
CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)

static const char *const headings[] = {"NAME",   "VERSION", "PRIORITY",   "PERMISSION",
                                       "PLUGIN", "STATE",   "DESCRIPTION"};

/* ------------------------------------------------------------------ filter */

static const char *const states[] = {"listed",  "loaded",   "failed", "stuck",    "quarantined",
                                     "changed", "left-out", "needs",  "disabled", "kept",
                                     "shared",  "absent",   "refused"};

static const char *state_of(const struct toolrack_tool *tool) {
    return rows_state(toolrack_tool_state_name(tool), toolrack_tool_enabled(tool),
                      toolrack_tool_is_kept(tool));
}

static const char *state_of_row(const struct toolrack_refusal *refusal) {
    return view_is_shared(refusal) ? "shared" : view_is_absent(refusal) ? "absent" : "refused";
}

/* Whether the names of the command line, if there are any, have one that matches. */
static bool has_name(const struct options *options, const char *name, const char *version) {
    const struct texts *words = &options->words;
    bool matches = words->count == 0;
    for (size_t i = 0; i < words->count && !matches; i++) {
        matches = filter_matches(words->items[i], name, version);
    }
    return matches;
}

static bool is_wanted(const struct options *options, const char *name, const char *version,
                      const char *plugin, const char *state) {
    return has_name(options, name, version) &&
           (options->plugin == NULL || (plugin != NULL && strcmp(options->plugin, plugin) == 0)) &&
           (options->in_state == NULL || strcmp(options->in_state, state) == 0);
}

static bool wants_tool(const struct options *options, const struct toolrack_tool *tool) {
    return is_wanted(options, toolrack_tool_name(tool), toolrack_tool_version(tool),
                     toolrack_tool_plugin(tool), state_of(tool));
}

static bool wants_refusal(const struct options *options, const struct toolrack_refusal *refusal) {
    return is_wanted(options, filter_row_name(refusal), refusal->version, refusal->plugin,
                     state_of_row(refusal));
}

static int check_state(struct cli *cli) {
    const char *state = cli->options.in_state;
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    for (size_t i = 0; state != NULL && i < ARRAY_LENGTH(states); i++) {
        if (strcmp(state, states[i]) == 0) {
            return 0;
        }
        buf_printf(&known, "%s%s", i == 0 ? "" : ", ", states[i]);
    }
    return state == NULL ? 0
                         : cli_error(cli, TOOLRACK_E_INVALID,
                                     "there is no state \"%s\"; the states are: %s", state,
                                     known.failed ? "" : known.data);
}

/* ------------------------------------------------------------------- table */

/* Of a tool that lacks capabilities: "needs: read, network". */
static void add_state(struct table *table, const struct toolrack_tool *tool, const char *state) {
    char needs[64] = "";
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (strcmp(state, "needs") == 0) {
        toolrack_tool_needs(tool, needs, sizeof needs);
    }
    buf_printf(&text, "%s%s%s", state, needs[0] != '\0' ? ": " : "", needs);
    table_add(table, text.failed ? state : text.data);
    table_emphasize(table, style_of_state(state));
}

static void add_tool(struct table *table, const struct toolrack_tool *tool) {
    CLEANUP(buf_finish) struct buf priority = BUF_INIT;
    const char *state = state_of(tool);
    buf_printf(&priority, "%d", toolrack_tool_priority(tool));
    table_add(table, toolrack_tool_name(tool));
    table_add(table, toolrack_tool_version(tool));
    table_add(table, priority.data);
    table_add(table, view_permission(toolrack_tool_permission(tool)));
    table_add(table, toolrack_tool_plugin(tool));
    add_state(table, tool, state);
    table_add(table, toolrack_tool_description(tool));
}

/* The name is that of the refused tool or file; the reason replaces the description. */
static void add_refusal(struct table *table, const struct toolrack_refusal *refusal) {
    const char *file = refusal->file != NULL ? refusal->file : "the app";
    table_add(table, filter_row_name(refusal));
    table_add(table, refusal->version);
    table_add(table, NULL);
    table_add(table, NULL);
    table_add(table, refusal->plugin);
    table_add(table, state_of_row(refusal));
    table_emphasize(table, style_of_state(state_of_row(refusal)));
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    buf_printf(&why, "%s; %s (%s)", refusal->reason, refusal->fix, file);
    table_add(table, why.data);
}

static bool is_filtered(const struct options *options) {
    return options->words.count > 0 || options->plugin != NULL || options_has_values(options);
}

static void print_table(struct cli *cli, const struct toolrack_tools *tools,
                        const struct toolrack_refusals *refusals) {
    const struct options *options = &cli->options;
    CLEANUP(table_finish) struct table table;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        if (wants_tool(options, toolrack_tools_get(tools, i))) {
            add_tool(&table, toolrack_tools_get(tools, i));
        }
    }
    for (size_t i = 0; refusals != NULL && i < toolrack_refusals_count(refusals); i++) {
        if (wants_refusal(options, toolrack_refusals_get(refusals, i))) {
            add_refusal(&table, toolrack_refusals_get(refusals, i));
        }
    }
    if (table.cells > table.columns) {
        table_print(&table, cli->width, &cli->out, &cli->styles);
    } else if (options->all || options->in_state != NULL) {
        output_note("no tool matches");
    } else {
        output_note("no enabled tool%s; see disabled and refused ones too: %s",
                    is_filtered(options) ? " matches" : "s", COMMAND("list --all"));
    }
}

/* -------------------------------------------------------------------- JSON */

static void begin_row(struct buf *text) {
    buf_add(text, ",", text->length > 1);
}

static void write_refusal(struct buf *text, const struct toolrack_refusal *refusal) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *row = yyjson_mut_obj(doc);
    const char *name = refusal->tool != NULL ? refusal->tool : refusal->file;
    json_add_text(doc, row, "id", name);
    json_add_text(doc, row, "uid", NULL);
    json_add_text(doc, row, "name", name);
    json_add_text(doc, row, "version", refusal->version);
    json_add_text(doc, row, "description", NULL);
    (void)yyjson_mut_obj_add_bool(doc, row, "enabled", false);
    json_add_text(doc, row, "priority", NULL);
    json_add_text(doc, row, "permission", NULL);
    json_add_text(doc, row, "category", NULL);
    (void)yyjson_mut_obj_add_arr(doc, row, "tags");
    json_add_text(doc, row, "plugin", refusal->plugin);
    json_add_text(doc, row, "state", state_of_row(refusal));
    json_add_text(doc, row, "reason", refusal->reason);
    json_add_text(doc, row, "fix", refusal->fix);
    json_add_text(doc, row, "rule", refusal->rule);
    json_add_text(doc, row, "file", refusal->file);
    (void)yyjson_mut_obj_add_bool(doc, row, "kept", refusal->kept);
    json_add_document(text, doc, row);
}

static int print_json(struct cli *cli, const struct toolrack_tools *tools,
                      const struct toolrack_refusals *refusals) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_char(&text, '[');
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        if (wants_tool(&cli->options, toolrack_tools_get(tools, i))) {
            begin_row(&text);
            view_write_tool(&text, toolrack_tools_get(tools, i));
        }
    }
    for (size_t i = 0; refusals != NULL && i < toolrack_refusals_count(refusals); i++) {
        if (wants_refusal(&cli->options, toolrack_refusals_get(refusals, i))) {
            begin_row(&text);
            write_refusal(&text, toolrack_refusals_get(refusals, i));
        }
    }
    buf_add_char(&text, ']');
    return json_print_written(cli, &text);
}

int verb_list(struct cli *cli) {
    const struct options *options = &cli->options;
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    bool all = options->all || options->in_state != NULL;
    if (check_state(cli) < 0) {
        return cli_fail_usage(cli);
    }
    filter.all = all;
    filter.tag = options->tag;
    filter.category = options->category;
    filter.purpose = options->purpose;
    filter.scenario = options->scenario;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    int code = toolrack_list(cli->host, &filter, &tools, cli->err);
    if (code == 0) {
        code = filter_check(cli);
    }
    /* A refused tool has no tags, category or other members for a filter. */
    if (code == 0 && all && !options_has_values(options)) {
        code = toolrack_refused(cli->host, &refusals, cli->err);
    }
    if (code < 0) {
        return cli_fail(cli);
    }
    if (options->json) {
        return print_json(cli, tools, refusals);
    }
    print_table(cli, tools, refusals);
    return CLI_OK;
}
