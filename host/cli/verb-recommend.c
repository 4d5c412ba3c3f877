/* recommend, feedback: the tools with the best records, and opinions of people about tools. */
#include <string.h>

#include "base/command.h"
#include "base/json.h"
#include "cli/json.h"
#include "cli/rows.h"
#include "toolrack/choose.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* ---------------------------------------------------------------- feedback */

/* Which tool is right for the text of a choice. */
static int correct_selection(struct cli *cli) {
    const struct options *options = &cli->options;
    if (options->tool == NULL || options->words.count > 0 || options->call != 0) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "--select takes --tool NAME and nothing else; usage: toolrack %s %s",
                        cli->options.verb->name, "--select ID --tool NAME");
        return cli_fail_usage(cli);
    }
    const char *tool = strcmp(options->tool, "none") == 0 ? NULL : options->tool;
    if (!cli_keeps(cli) ||
        toolrack_select_feedback(cli->host, NULL, options->selection, tool, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!options->json) {
        buf_printf(&cli->out, "feedback recorded: %s is right for %s\n", options->tool,
                   options->selection);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "select", options->selection);
    json_add_text(doc, root, "tool", tool);
    return json_print(cli, doc, root);
}

int verb_feedback(struct cli *cli) {
    const struct texts *words = &cli->options.words;
    if (cli->options.selection != NULL) {
        return correct_selection(cli);
    }
    if (words->count < 2 || cli->options.tool != NULL) {
        if (cli->options.tool != NULL) {
            (void)cli_error(cli, TOOLRACK_E_INVALID, "--tool is given with --select only");
        } else {
            (void)cli_error(cli, TOOLRACK_E_INVALID,
                            "an argument is missing; usage: toolrack %s %s",
                            cli->options.verb->name, cli->options.verb->arguments);
        }
        return cli_fail_usage(cli);
    }
    const char *name = words->items[0];
    bool good = strcmp(words->items[1], "good") == 0;
    char who[CLI_WHO_ROOM];
    if (!good && strcmp(words->items[1], "bad") != 0) {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "feedback must be good or bad, not \"%s\"",
                        words->items[1]);
        return cli_fail_usage(cli);
    }
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) ||
        toolrack_feedback(cli->host, name, good, cli->options.call, who, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "feedback recorded: %s %s\n", name, words->items[1]);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    json_add_text(doc, root, "feedback", words->items[1]);
    if (cli->options.call != 0) {
        (void)yyjson_mut_obj_add_uint(doc, root, "call", cli->options.call);
    }
    return json_print(cli, doc, root);
}

/* --------------------------------------------------------------- recommend */

static void add_number(struct table *table, double number) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "%.2f", number);
    table_add(table, text.data);
}

static const char *standing(yyjson_val *row) {
    return yyjson_get_bool(yyjson_obj_get(row, "whitelisted")) ? "whitelist"
           : yyjson_get_bool(yyjson_obj_get(row, "retry"))     ? "retry"
                                                               : NULL;
}

static void add_tool(struct table *table, yyjson_val *row) {
    table_add(table, rows_member(row, "tool", NULL));
    table_add(table, rows_member(row, "version", NULL));
    add_number(table, yyjson_get_real(yyjson_obj_get(row, "score")));
    table_add(table, standing(row));
}

static const char *const headings[] = {"TOOL", "VERSION", "SCORE", "LIST", "DESCRIPTION"};
static const char *const factor_headings[] = {"TOOL",   "VERSION", "SCORE", "LIST",
                                              "FACTOR", "VALUE",   "WEIGHT"};

static void add_row(struct table *table, yyjson_val *row) {
    add_tool(table, row);
    table_add(table, rows_member(row, "description", NULL));
}

/* A row for each factor: its value times its weight is what it adds to the score. */
static void add_factors(struct table *table, yyjson_val *row) {
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *factor;
    json_obj_foreach (yyjson_obj_get(row, "factors"), at, count, name, factor) {
        add_tool(table, row);
        table_add(table, yyjson_get_str(name));
        add_number(table, yyjson_get_real(yyjson_obj_get(factor, "value")));
        add_number(table, yyjson_get_real(yyjson_obj_get(factor, "weight")));
    }
}

/* The tools that are not considered, where none is recommended: "; not considered: 1 changed,
 * 2 disabled; see them: toolrack list --all". */
static void add_left_out(const struct cli *cli, struct buf *out) {
    size_t counts[TOOLRACK_STATE_NEEDS + 1] = {0};
    const char *names[TOOLRACK_STATE_NEEDS + 1] = {0};
    size_t disabled = 0;
    const char *before = "; not considered: ";
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    filter.all = true;
    if (toolrack_list(cli->host, &filter, &tools, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        enum toolrack_tool_state state = toolrack_tool_state(tool);
        disabled += !toolrack_tool_enabled(tool);
        if (toolrack_tool_enabled(tool) && state <= TOOLRACK_STATE_NEEDS) {
            counts[state]++;
            names[state] = toolrack_tool_state_name(tool);
        }
    }
    static const enum toolrack_tool_state states[] = {
            TOOLRACK_STATE_CHANGED, TOOLRACK_STATE_FAILED, TOOLRACK_STATE_QUARANTINED,
            TOOLRACK_STATE_LEFT_OUT, TOOLRACK_STATE_NEEDS};
    for (size_t i = 0; i < ARRAY_LENGTH(states); i++) {
        if (counts[states[i]] > 0) {
            buf_printf(out, "%s%zu %s", before, counts[states[i]], names[states[i]]);
            before = ", ";
        }
    }
    if (disabled > 0) {
        buf_printf(out, "%s%zu disabled", before, disabled);
        before = ", ";
    }
    if (before[0] == ',') {
        buf_printf(out, "; see them: %s", COMMAND("list --all"));
    }
}

int verb_recommend(struct cli *cli) {
    struct toolrack_recommend_options options = TOOLRACK_RECOMMEND_OPTIONS_INIT;
    options.task = cli->options.task;
    options.limit = cli->options.limit;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_recommend(cli->host, &options, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    CLEANUP(buf_finish) struct buf nothing = BUF_INIT;
    buf_add_text(&nothing, "no tool can be recommended");
    if (options.task != NULL) {
        buf_add_text(&nothing, ": no text of a tool that may run matches the task");
    }
    add_left_out(cli, &nothing);
    const struct rows_view view = {headings, ARRAY_LENGTH(headings), add_row,
                                   nothing.failed ? "" : nothing.data};
    const struct rows_view explained = {factor_headings, ARRAY_LENGTH(factor_headings), add_factors,
                                        view.nothing};
    return rows_print(cli, text, cli->options.explain ? &explained : &view);
}
