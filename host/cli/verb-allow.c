/* allow, disallow: what a plugin may use of the system. */
#include "base/command.h"
#include "cli/json.h"
#include "cli/rows.h"

static void add_allowance(struct table *table, yyjson_val *row) {
    table_add(table, rows_member(row, "plugin", NULL));
    table_add(table, rows_member(row, "capability", NULL));
    table_add(table, yyjson_get_bool(yyjson_obj_get(row, "allowed")) ? "allowed" : "disallowed");
    rows_add_time(table, yyjson_obj_get(row, "since_s"), 1, NULL);
    table_add(table, rows_member(row, "who", NULL));
    table_add(table, rows_member(row, "origin", NULL));
}

static int list_allowances(struct cli *cli) {
    static const char *const headings[] = {"PLUGIN", "CAPABILITY", "DECISION",
                                           "SINCE",  "WHO",        "ORIGIN"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_allowances(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_allowance,
                                          .nothing = "nothing was allowed or disallowed beside the "
                                                     "configuration"});
}

typedef int decide_function(struct toolrack *host, const char *plugin, const char *capability,
                            const char *who, struct toolrack_error *err);

static int decide(struct cli *cli, decide_function *function, bool allowed) {
    const struct texts *words = &cli->options.words;
    const char *plugin = words->items[0];
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    if (!cli_keeps(cli)) {
        return cli_fail(cli);
    }
    for (size_t i = 1; i < words->count; i++) {
        if (function(cli->host, plugin, words->items[i], who, cli->err) < 0) {
            return cli_fail(cli);
        }
        if (!cli->options.json) {
            buf_printf(&cli->out, "%s is %s to %s", words->items[i],
                       allowed ? "allowed" : "not allowed", plugin);
            cli_end_decision(cli);
        }
    }
    if (!cli->options.json) {
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "plugin", plugin);
    (void)yyjson_mut_obj_add_bool(doc, root, "allowed", allowed);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "capabilities");
    for (size_t i = 1; i < words->count; i++) {
        (void)yyjson_mut_arr_add_strcpy(doc, list, words->items[i]);
    }
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

int verb_allow(struct cli *cli) {
    size_t count = cli->options.words.count;
    if (count == 0) {
        return list_allowances(cli);
    }
    if (count == 1) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "say what '%s' may use, such as read:/srv/rates.xml; what its plugin "
                        "declares: %s",
                        cli->options.words.items[0], COMMAND("show", cli->options.words.items[0]));
        return cli_fail_usage(cli);
    }
    return decide(cli, toolrack_allow, true);
}

int verb_disallow(struct cli *cli) {
    return decide(cli, toolrack_disallow, false);
}
