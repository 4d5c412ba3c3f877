/* blacklist, whitelist: what is never recommended, and what before all others. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/table.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define TIME_ROOM 32u

/* A moment as people read it, in the time of this place; NULL for null. */
static const char *time_text(yyjson_val *value, char text[TIME_ROOM]) {
    time_t moment = (time_t)(yyjson_get_sint(value) / 1000);
    struct tm parts;
    if (!yyjson_is_int(value) || localtime_r(&moment, &parts) == NULL ||
        strftime(text, TIME_ROOM, "%Y-%m-%d %H:%M:%S", &parts) == 0) {
        return NULL;
    }
    return text;
}

static const char *list_name(enum toolrack_mark mark) {
    return mark == TOOLRACK_BLACKLIST ? "blacklist" : "whitelist";
}

/* -------------------------------------------------------------------- list */

static void add_row(struct table *table, yyjson_val *row) {
    char since[TIME_ROOM];
    char trial[TIME_ROOM];
    table_add(table, yyjson_get_str(yyjson_obj_get(row, "tool")));
    table_add(table, time_text(yyjson_obj_get(row, "since_ms"), since));
    table_add(table, time_text(yyjson_obj_get(row, "trial_ms"), trial));
    table_add(table, yyjson_get_str(yyjson_obj_get(row, "who")));
    table_add(table, yyjson_get_str(yyjson_obj_get(row, "why")));
}

static int print_list(struct cli *cli, enum toolrack_mark mark, const struct toolrack_text *text) {
    static const char *const headings[] = {"TOOL", "SINCE", "TRIAL", "WHO", "WHY"};
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *rows = yyjson_doc_get_root(doc);
    if (yyjson_arr_size(rows) == 0) {
        output_note("nothing is on the %s", list_name(mark));
        return CLI_OK;
    }
    CLEANUP(table_finish) struct table table;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        add_row(&table, row);
    }
    table_print(&table, output_width(), &cli->out);
    return CLI_OK;
}

static int list(struct cli *cli, enum toolrack_mark mark) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_error err;
    if (toolrack_marked(cli->host, mark, &text, &err) < 0) {
        return cli_fail(cli, &err);
    }
    return cli->options.json ? json_print_text(cli, text) : print_list(cli, mark, text);
}

/* --------------------------------------------------------------- add, remove */

static int change(struct cli *cli, enum toolrack_mark mark, bool on) {
    const char *name = cli->options.words.items[1];
    char who[CLI_WHO_ROOM];
    struct toolrack_error err;
    cli_who(who, sizeof who);
    if (toolrack_mark(cli->host, mark, name, on, cli->options.reason, who, &err) < 0) {
        return cli_fail(cli, &err);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s is %s the %s\n", name, on ? "on" : "off", list_name(mark));
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    (void)yyjson_mut_obj_add_bool(doc, root, list_name(mark), on);
    return json_print(cli, doc, root);
}

static int run(struct cli *cli, enum toolrack_mark mark) {
    const struct texts *words = &cli->options.words;
    struct toolrack_error err;
    if (words->count == 1 && strcmp(words->items[0], "list") == 0) {
        return list(cli, mark);
    }
    if (words->count == 2 && strcmp(words->items[0], "add") == 0) {
        return change(cli, mark, true);
    }
    if (words->count == 2 && strcmp(words->items[0], "remove") == 0) {
        return change(cli, mark, false);
    }
    (void)error_set(&err, TOOLRACK_E_INVALID,
                    "say list, or add or remove and the name of one tool: toolrack %s add NAME",
                    list_name(mark));
    return cli_fail_usage(cli, &err);
}

int verb_blacklist(struct cli *cli) {
    return run(cli, TOOLRACK_BLACKLIST);
}

int verb_whitelist(struct cli *cli) {
    return run(cli, TOOLRACK_WHITELIST);
}
