/* blacklist, whitelist: tools that are never recommended, and tools that are recommended first. */
#include <string.h>

#include "cli/json.h"
#include "cli/rows.h"

#define MS_PER_S 1000

static const char *list_name(enum toolrack_mark mark) {
    return mark == TOOLRACK_MARK_BLACKLIST ? "blacklist" : "whitelist";
}

/* -------------------------------------------------------------------- list */

static void add_row(struct table *table, yyjson_val *row) {
    table_add(table, rows_member(row, "tool", NULL));
    rows_add_time(table, yyjson_obj_get(row, "since_ms"), MS_PER_S, NULL);
    rows_add_time(table, yyjson_obj_get(row, "retry_ms"), MS_PER_S, NULL);
    table_add(table, rows_member(row, "who", NULL));
    table_add(table, rows_member(row, "why", NULL));
}

static int list(struct cli *cli, enum toolrack_mark mark) {
    static const char *const headings[] = {"TOOL", "SINCE", "RETRY", "WHO", "WHY"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_marked(cli->host, mark, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_row,
                                          .nothing = mark == TOOLRACK_MARK_BLACKLIST
                                                             ? "the blacklist is empty"
                                                             : "the whitelist is empty"});
}

/* --------------------------------------------------------------- add, remove */

static int change(struct cli *cli, enum toolrack_mark mark, bool on) {
    const char *name = cli->options.words.items[1];
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) ||
        toolrack_mark(cli->host, mark, name, on, cli->options.reason, who, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s %s the %s", name, on ? "added to" : "removed from",
                   list_name(mark));
        cli_end_decision(cli);
        return CLI_OK;
    }
    return json_print_done(cli, name, list_name(mark), on);
}

static int run(struct cli *cli, enum toolrack_mark mark) {
    const struct texts *words = &cli->options.words;
    if (words->count == 0 || (words->count == 1 && strcmp(words->items[0], "list") == 0)) {
        return list(cli, mark);
    }
    if (words->count == 2 && strcmp(words->items[0], "add") == 0) {
        return change(cli, mark, true);
    }
    if (words->count == 2 && strcmp(words->items[0], "remove") == 0) {
        return change(cli, mark, false);
    }
    (void)cli_error(cli, TOOLRACK_E_INVALID,
                    "the argument must be list, or add or remove with the name of one tool, as in "
                    "'toolrack %s add NAME'",
                    list_name(mark));
    return cli_fail_usage(cli);
}

int verb_blacklist(struct cli *cli) {
    return run(cli, TOOLRACK_MARK_BLACKLIST);
}

int verb_whitelist(struct cli *cli) {
    return run(cli, TOOLRACK_MARK_WHITELIST);
}
