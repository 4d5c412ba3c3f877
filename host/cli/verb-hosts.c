/* hosts: who is in the group of hosts that this one has joined, or that a NATS server has. */
#include <stdio.h>
#include <string.h>

#include "cli/json.h"
#include "cli/rows.h"
#include "toolrack/hosts.h"

/* How long answers are awaited: nobody knows how many hosts there are. */
#define ANSWERS_MS 500u

/* So often it asks each host whether it is there, which tells its latency and its clock. */
#define OBSERVER_BEAT_MS 100u

static const char *const headings[] = {"NAME",    "STATE",   "TRUSTED", "RUNNING", "TOOLS",
                                       "VERSION", "LATENCY", "CLOCK",   "KEY"};

static void add_number(struct table *table, yyjson_val *row, const char *name) {
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)rows_number(row, name));
    table_add(table, text);
}

/* What was measured; "-" where it was not. */
static void add_measured(struct table *table, yyjson_val *value, bool has_sign, const char *unit) {
    char text[32];
    long long number = yyjson_get_sint(value);
    (void)snprintf(text, sizeof text, "%s%lld %s", has_sign && number > 0 ? "+" : "", number, unit);
    table_add(table, yyjson_is_null(value) ? "-" : text);
}

static void add_row(struct table *table, yyjson_val *row) {
    bool is_self = yyjson_get_bool(yyjson_obj_get(row, "self"));
    char name[80];
    (void)snprintf(name, sizeof name, "%s%s", rows_member(row, "name", ""),
                   is_self ? " (this one)" : "");
    table_add(table, name);
    table_add(table, rows_member(row, "state", NULL));
    table_add(table, yyjson_get_bool(yyjson_obj_get(row, "trusted")) ? "yes" : "no");
    add_number(table, row, "running");
    add_number(table, row, "tools");
    table_add(table, rows_member(row, "version", NULL));
    add_measured(table, yyjson_obj_get(row, "latency_us"), false, "us");
    add_measured(table, yyjson_obj_get(row, "clock_ms"), true, "ms");
    table_add(table, rows_member(row, "key", NULL));
}

int verb_hosts(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_join_options join = TOOLRACK_JOIN_OPTIONS_INIT;
    join.url = cli->options.nats;
    join.group = cli->options.group;
    join.observes = 1;
    join.beat_ms = OBSERVER_BEAT_MS;
    int code = 0;
    if (join.url != NULL) {
        code = toolrack_join(cli->host, &join, cli->err);
    }
    code = code < 0 ? code : toolrack_hosts(cli->host, ANSWERS_MS, &text, cli->err);
    if (code < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_row,
                                          .nothing = "there are no hosts"});
}
