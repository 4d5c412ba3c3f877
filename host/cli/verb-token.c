/* token: who may use a server. */
#include <string.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "toolrack/serving.h"

/* -------------------------------------------------------------------- list */

/* The tools of a token, separated by spaces; NULL: all. */
static const char *list_tools(struct buf *out, yyjson_val *token) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    yyjson_arr_foreach (yyjson_obj_get(token, "tools"), at, count, tool) {
        buf_printf(out, "%s%s", at > 0 ? " " : "", yyjson_get_str(tool));
    }
    return yyjson_is_null(yyjson_obj_get(token, "tools")) ? "all"
           : out->failed || out->data == NULL             ? "none"
                                                          : out->data;
}

static void add_token(struct table *table, yyjson_val *token) {
    CLEANUP(buf_finish) struct buf tools = BUF_INIT;
    bool is_admin = yyjson_is_true(yyjson_obj_get(token, "admin"));
    bool approves = yyjson_is_true(yyjson_obj_get(token, "approves"));
    table_add(table, rows_member(token, "name", NULL));
    table_add(table, is_admin && approves ? "administers, approves"
                     : is_admin           ? "administers"
                     : approves           ? "approves"
                                          : NULL);
    table_add(table, rows_member(token, "profile", "all"));
    table_add(table, list_tools(&tools, token));
    rows_add_time(table, yyjson_obj_get(token, "expires_s"), 1, "never");
    if (yyjson_is_true(yyjson_obj_get(token, "expired"))) {
        table_emphasize(table, STYLE_BAD);
    }
    rows_add_time(table, yyjson_obj_get(token, "created_s"), 1, NULL);
    table_add(table, rows_member(token, "who", NULL));
    table_add(table, rows_member(token, "id", NULL));
}

static int list(struct cli *cli) {
    static const char *const headings[] = {"NAME",    "MAY",   "PROFILE", "TOOLS",
                                           "EXPIRES", "SINCE", "WHO",     "ID"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_tokens(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_token,
                                          .nothing = "there are no tokens"});
}

/* --------------------------------------------------------------------- add */

static int print_added(struct cli *cli, const char *name, const struct toolrack_text *secret) {
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s\n", toolrack_text_data(secret, NULL));
        output_note("this is the secret of the token '%s'; it is shown only now", name);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    json_add_text(doc, root, "secret", toolrack_text_data(secret, NULL));
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

static int add_new(struct cli *cli, const char *name) {
    const struct options *options = &cli->options;
    char who[CLI_WHO_ROOM];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *secret = NULL;
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    token.name = name;
    token.profile = options->profile;
    token.tools = options->tools.count > 0 ? options->tools.items : NULL;
    token.rate_per_minute = options->rate;
    token.admin = options->admin;
    token.approves = options->approves;
    if (cli_expires(cli, &token.expires_s) < 0) {
        return cli_fail_usage(cli);
    }
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) || toolrack_token_add(cli->host, &token, &secret, who, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    return print_added(cli, name, secret);
}

/* ------------------------------------------------------------------- verb */

static int revoke_token(struct cli *cli, const char *name) {
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) || toolrack_token_revoke(cli->host, name, who, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return json_print_done(cli, name, "revoked", true);
    }
    buf_printf(&cli->out, "%s is revoked", name);
    cli_end_decision(cli);
    return CLI_OK;
}

/* Options of `add` that another action would ignore. */
static const char *option_of_add(const struct options *options) {
    return options->admin             ? "--admin"
           : options->approves        ? "--approves"
           : options->profile != NULL ? "--profile"
           : options->expires != NULL ? "--expires"
           : options->rate != 0       ? "--rate"
           : options->tools.count > 0 ? "--tool"
                                      : NULL;
}

int verb_token(struct cli *cli) {
    const struct texts *words = &cli->options.words;
    const char *action = words->count > 0 ? words->items[0] : "list";
    bool adds = words->count == 2 && strcmp(action, "add") == 0;
    const char *ignored = adds ? NULL : option_of_add(&cli->options);
    if (ignored != NULL) {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "%s is for 'toolrack token add NAME' only",
                        ignored);
        return cli_fail_usage(cli);
    }
    if (adds) {
        return add_new(cli, words->items[1]);
    }
    if (words->count == 2 && strcmp(action, "revoke") == 0) {
        return revoke_token(cli, words->items[1]);
    }
    if (words->count < 2 && strcmp(action, "list") == 0) {
        return list(cli);
    }
    (void)cli_error(cli, TOOLRACK_E_INVALID,
                    "the argument must be list, or add or revoke with the name of one token, as in "
                    "'toolrack token add NAME'");
    return cli_fail_usage(cli);
}
