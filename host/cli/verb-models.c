/* models: one row for each model that the configuration names. */
#include <stdio.h>
#include <string.h>

#include "cli/json.h"
#include "cli/rows.h"
#include "toolrack/agent.h"

static const char *const headings[] = {"NAME", "DEFAULT", "MODEL",   "FORMAT",
                                       "KEY",  "PRICES",  "ENDPOINT"};

/* "0.25 in, 0.025 cached, 0.3 written, 2 out USD": for a million tokens. */
static void add_prices(struct table *table, yyjson_val *prices) {
    char text[160] = "";
    if (prices != NULL && !yyjson_is_null(prices)) {
        (void)snprintf(text, sizeof text, "%.10g in, %.10g cached, %.10g written, %.10g out %s",
                       yyjson_get_num(yyjson_obj_get(prices, "input")),
                       yyjson_get_num(yyjson_obj_get(prices, "cached")),
                       yyjson_get_num(yyjson_obj_get(prices, "written")),
                       yyjson_get_num(yyjson_obj_get(prices, "output")),
                       rows_member(prices, "currency", ""));
    }
    table_add(table, text);
}

static void add_row(struct table *table, yyjson_val *row) {
    table_add(table, rows_member(row, "name", NULL));
    table_add(table, yyjson_get_bool(yyjson_obj_get(row, "is_default")) ? "yes" : NULL);
    table_add(table, rows_member(row, "model", NULL));
    table_add(table, rows_member(row, "format", NULL));
    table_add(table, rows_member(row, "key_env", NULL));
    add_prices(table, yyjson_obj_get(row, "prices"));
    table_add(table, rows_member(row, "endpoint", NULL));
}

int verb_models(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_models(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_row,
                                          .nothing = "the configuration names no models: add "
                                                     "\"models\" to toolrack.json"});
}
