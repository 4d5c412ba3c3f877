/* decisions: what was decided about calls and tools, by whom and why. */
#include <string.h>

#include "cli/json.h"
#include "cli/rows.h"

#define MS_PER_S      1000
#define LIMIT_DEFAULT 1000u

static const char *const headings[] = {"TIME", "DECISION", "TOOL", "PLUGIN", "WHO", "WHY"};

static enum style style_of(const char *decision) {
    static const char *const bad[] = {"refused",    "denied",   "revoked",
                                      "changed",    "disabled", "disallowed capability",
                                      "quarantined"};
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        if (strcmp(decision, bad[i]) == 0) {
            return STYLE_BAD;
        }
    }
    return STYLE_PLAIN;
}

static void add_versioned(struct buf *out, const char *name, const char *version) {
    if (name != NULL) {
        buf_printf(out, "%s%s%s", name, version != NULL ? "@" : "", version != NULL ? version : "");
    }
}

static void add_row(struct table *table, yyjson_val *row) {
    CLEANUP(buf_finish) struct buf tool = BUF_INIT;
    const char *version = rows_member(row, "version", NULL);
    const char *decision = rows_member(row, "decision", "");
    CLEANUP(buf_finish) struct buf plugin = BUF_INIT;
    add_versioned(&tool, rows_member(row, "tool", NULL), version);
    /* What is about a plugin as a whole has the plugin's version. */
    add_versioned(&plugin, rows_member(row, "plugin", NULL), tool.length == 0 ? version : NULL);
    rows_add_time(table, yyjson_obj_get(row, "time_ms"), MS_PER_S, NULL);
    table_add(table, decision);
    table_emphasize(table, style_of(decision));
    table_add(table, tool.failed ? NULL : tool.data);
    table_add(table, plugin.failed ? NULL : plugin.data);
    table_add(table, rows_member(row, "who", rows_member(row, "caller", NULL)));
    table_add(table, rows_member(row, "why", NULL));
}

int verb_decisions(struct cli *cli) {
    const struct options *options = &cli->options;
    struct toolrack_decisions_filter filter = TOOLRACK_DECISIONS_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    filter.tool = options->tool;
    filter.plugin = options->plugin;
    filter.limit = options->limit != 0 ? options->limit : LIMIT_DEFAULT;
    if (cli_since(cli, &filter.since_ms) < 0) {
        return cli_fail_usage(cli);
    }
    if (toolrack_decisions(cli->host, &filter, &text, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_row,
                                          .nothing = "no matching decisions"});
}
