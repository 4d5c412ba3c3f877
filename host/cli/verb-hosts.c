/* hosts: who is in the group of hosts that this one has joined, or that a NATS server has; which
 * packages they have, and a package for all of them. */
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/person.h"
#include "cli/rows.h"
#include "cli/verb-install.h"
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

static int list(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_join_options join = TOOLRACK_JOIN_OPTIONS_INIT;
    join.url = cli->options.nats;
    join.group = cli->options.group;
    join.observes = 1;
    join.orders = 1; /* so that its key is shown, for others to trust it */
    join.beat_ms = OBSERVER_BEAT_MS;
    int code = join.url == NULL ? toolrack_hosts(cli->host, ANSWERS_MS, &text, cli->err)
                                : TOOLRACK_E_NOT_FOUND;
    /* Where no daemon has joined, the server of the configuration is asked. */
    if (code == TOOLRACK_E_NOT_FOUND && (join.url != NULL || toolrack_joins(cli->host))) {
        code = toolrack_join(cli->host, &join, cli->err);
        code = code < 0 ? code : toolrack_hosts(cli->host, ANSWERS_MS, &text, cli->err);
    }
    if (code < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_row,
                                          .nothing = "there are no hosts"});
}

/* ---------------------------------------------------------------- packages */

/* With the key of the state folder, which others obey. */
static int join_to_order(struct cli *cli) {
    struct toolrack_join_options join = TOOLRACK_JOIN_OPTIONS_INIT;
    join.url = cli->options.nats;
    join.group = cli->options.group;
    join.observes = 1;
    join.orders = 1;
    join.beat_ms = OBSERVER_BEAT_MS;
    return toolrack_join(cli->host, &join, cli->err);
}

static void add_installed(struct cli *cli, yyjson_val *host) {
    size_t at;
    size_t count;
    yyjson_val *row;
    const char *reason = rows_member(host, "reason", NULL);
    yyjson_val *packages = yyjson_obj_get(host, "packages");
    buf_printf(&cli->out, "%s:", rows_member(host, "name", ""));
    if (reason != NULL) {
        buf_printf(&cli->out, " not known: %s", reason);
    } else if (yyjson_arr_size(packages) == 0) {
        buf_add_text(&cli->out, " no packages");
    }
    yyjson_arr_foreach (packages, at, count, row) {
        buf_printf(&cli->out, "%s %s %s", at > 0 ? "," : "", rows_member(row, "id", ""),
                   rows_member(row, "version", "damaged"));
    }
    buf_add_char(&cli->out, '\n');
}

static int packages(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    size_t at;
    size_t count;
    yyjson_val *host;
    if (join_to_order(cli) < 0 || toolrack_hosts_packages(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_arr_foreach (yyjson_obj_get(root, "hosts"), at, count, host) {
        add_installed(cli, host);
    }
    buf_printf(&cli->out, "the object store has %zu packages\n",
               yyjson_arr_size(yyjson_obj_get(root, "store")));
    return CLI_OK;
}

/* ----------------------------------------------------------------- rollout */

static void told(void *user, const char *line) {
    const struct install_asking *asking = user;
    if (!asking->cli->options.json) {
        output_note("%s", line);
    }
}

static void add_state(struct cli *cli, yyjson_val *host) {
    const char *from = rows_member(host, "from", NULL);
    const char *reason = rows_member(host, "reason", NULL);
    buf_printf(&cli->out, "%s: %s%s%s%s%s\n", rows_member(host, "name", ""),
               rows_member(host, "state", ""), from != NULL ? ", before it " : "",
               from != NULL ? from : "", reason != NULL ? ": " : "", reason != NULL ? reason : "");
}

static int print_rollout(struct cli *cli, const struct toolrack_text *text) {
    size_t at;
    size_t count;
    yyjson_val *host;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool is_done = yyjson_is_true(yyjson_obj_get(root, "done"));
    if (cli->options.json) {
        int code = json_print_text(cli, text);
        return code == CLI_OK && !is_done ? CLI_FAILED : code;
    }
    yyjson_arr_foreach (yyjson_obj_get(root, "hosts"), at, count, host) {
        add_state(cli, host);
    }
    if (is_done) {
        buf_printf(&cli->out, "%s %s is installed\n", rows_member(root, "id", ""),
                   rows_member(root, "version", ""));
        return CLI_OK;
    }
    (void)cli_error(cli, TOOLRACK_E_EXECUTION_FAILED, "%s %s was not rolled out: %s",
                    rows_member(root, "id", ""), rows_member(root, "version", ""),
                    rows_member(root, "reason", ""));
    return cli_fail(cli);
}

static int rollout(struct cli *cli, const char *file) {
    char who[CLI_WHO_ROOM];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_rollout_options options = TOOLRACK_ROLLOUT_OPTIONS_INIT;
    struct install_asking asking = {.cli = cli};
    cli_who(who, sizeof who);
    options.file = file;
    options.first = cli->options.rollout_first;
    options.calls = cli->options.rollout_calls;
    options.who = who;
    options.agree = install_agree;
    options.told = told;
    options.user = &asking;
    if (!cli_keeps(cli) || join_to_order(cli) < 0) {
        return cli_fail(cli);
    }
    return toolrack_rollout(cli->host, &options, &text, cli->err) < 0
                   ? install_fail(&asking, "roll out", file)
                   : print_rollout(cli, text);
}

int verb_hosts(struct cli *cli) {
    const struct texts *words = &cli->options.words;
    const char *action = words->count > 0 ? words->items[0] : NULL;
    if (action == NULL) {
        return list(cli);
    }
    if (strcmp(action, "packages") == 0 && words->count == 1) {
        return packages(cli);
    }
    if (strcmp(action, "rollout") == 0 && words->count == 2) {
        return rollout(cli, words->items[1]);
    }
    (void)cli_error(cli, TOOLRACK_E_INVALID,
                    "'hosts' takes no word, 'packages', or 'rollout FILE'; see: %s",
                    COMMAND("help", "hosts"));
    return cli_fail_usage(cli);
}
