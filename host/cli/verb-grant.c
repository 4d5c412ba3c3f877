/* grant, revoke, grants, approvals: what may run, and who decided it. */
#include <string.h>

#include "base/command.h"
#include "base/text.h"
#include "cli/id.h"
#include "cli/json.h"
#include "cli/rows.h"

/* ------------------------------------------------------------ grant, revoke */

static int print_granted(struct cli *cli) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", cli->options.words.items[0]);
    (void)yyjson_mut_obj_add_bool(doc, root, "granted", true);
    if (cli->options.for_s != 0) {
        (void)yyjson_mut_obj_add_uint(doc, root, "for_s", cli->options.for_s);
    }
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

int verb_grant(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) || toolrack_grant(cli->host, name, cli->options.for_s, who, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    if (cli->options.json) {
        return print_granted(cli);
    }
    if (cli->options.for_s != 0) {
        static const struct {
            unsigned seconds;
            const char *name;
        } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
        size_t unit = 0;
        while (cli->options.for_s % units[unit].seconds != 0) {
            unit++;
        }
        unsigned number = cli->options.for_s / units[unit].seconds;
        buf_printf(&cli->out, "%s is granted for %u %s%s", name, number, units[unit].name,
                   text_plural(number));
    } else {
        buf_printf(&cli->out, "%s is granted until it is revoked", name);
    }
    cli_end_decision(cli);
    return CLI_OK;
}

/* Whether the configuration grants a tool too, which no command changes. */
static bool is_configured(struct cli *cli, const char *name) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_error unheard;
    size_t length = strcspn(name, "@");
    if (toolrack_grants(cli->host, &text, &unheard) < 0) {
        return false;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        const char *tool = rows_member(row, "tool", "");
        if (yyjson_is_null(yyjson_obj_get(row, "since_s")) &&
            strcmp(rows_member(row, "who", ""), "configuration") == 0 &&
            strncmp(tool, name, length) == 0 && tool[length] == '\0') {
            return true;
        }
    }
    return false;
}

int verb_revoke(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) || toolrack_revoke(cli->host, name, who, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    bool configured = is_configured(cli, name);
    if (cli->options.json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
        yyjson_mut_val *root = yyjson_mut_obj(doc);
        json_add_text(doc, root, "name", name);
        (void)yyjson_mut_obj_add_bool(doc, root, "revoked", true);
        if (configured) {
            (void)yyjson_mut_obj_add_bool(doc, root, "configured", true);
        }
        cli_add_reached(cli, doc, root);
        return json_print(cli, doc, root);
    }
    buf_printf(&cli->out, "grants and approvals of %s withdrawn%s", name,
               configured ? "; the configuration still grants it, until it is removed from "
                            "\"grants\" there"
                          : "");
    cli_end_decision(cli);
    return CLI_OK;
}

/* ------------------------------------------------------------------- grants */

static void add_grant(struct table *table, yyjson_val *grant) {
    table_add(table, rows_member(grant, "tool", NULL));
    table_add(table, rows_member(grant, "version", "all"));
    table_add(table, rows_member(grant, "kind", NULL));
    table_add(table, rows_member(grant, "plugin", NULL));
    table_add(table, rows_member(grant, "state", NULL));
    rows_add_time(table, yyjson_obj_get(grant, "expires_s"), 1, "never");
    rows_add_time(table, yyjson_obj_get(grant, "since_s"), 1, NULL);
    table_add(table, rows_member(grant, "who", NULL));
    table_add(table, rows_member(grant, "conversation", "all"));
}

int verb_grants(struct cli *cli) {
    static const char *const headings[] = {"TOOL",    "VERSION", "KIND", "PLUGIN",      "STATE",
                                           "EXPIRES", "SINCE",   "WHO",  "CONVERSATION"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_grants(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_grant,
                                          .nothing = "there are no grants or approvals"});
}

/* ---------------------------------------------------------------- approvals */

/* Of a plan (plan "NAME") the version is a hash, by which nobody looks for it. */
static void add_pending(struct table *table, yyjson_val *pending) {
    const char *tool = rows_member(pending, "tool", "");
    table_add(table, rows_member(pending, "id", NULL));
    table_add(table, tool);
    table_add(table, strchr(tool, ' ') != NULL ? "-" : rows_member(pending, "version", NULL));
    table_add(table, rows_member(pending, "caller", NULL));
    rows_add_time(table, yyjson_obj_get(pending, "expires_s"), 1, NULL);
    table_add(table, rows_member(pending, "arguments_text", NULL));
}

static int list_pending(struct cli *cli) {
    static const char *const headings[] = {"ID",     "TOOL",    "VERSION",
                                           "CALLER", "EXPIRES", "ARGUMENTS"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_pending(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_pending,
                                          .nothing = "no call waits for approval",
                                          .exact = true});
}

/* The words for the answers. */
static const struct {
    const char *word;
    enum toolrack_approval approval;
    const char *done;
} answers[] = {
        {"allow", TOOLRACK_APPROVAL_ALLOW_ONCE, "may run once, when it is called again"},
        {"conversation", TOOLRACK_APPROVAL_ALLOW_CONVERSATION, "may run in its conversation"},
        {"always", TOOLRACK_APPROVAL_ALLOW_ALWAYS, "may always run"},
        {"deny", TOOLRACK_APPROVAL_DENY, "is denied"},
};

/* The id that begins with what was typed; the same when none does: then the host says why. To be
 * freed. @return 0; or the code of the failure. */
static int find_pending(struct cli *cli, const char *given, char **ret) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_pending(cli->host, &text, cli->err) < 0) {
        return toolrack_error_code(cli->err);
    }
    return id_complete(text, "id", given, ret, cli->own);
}

static int resolve(struct cli *cli, const char *given, size_t answer) {
    char who[CLI_WHO_ROOM];
    CLEANUP(freep) char *id = NULL;
    if (find_pending(cli, given, &id) < 0) {
        return cli_fail_usage(cli);
    }
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) ||
        toolrack_resolve(cli->host, id, answers[answer].approval, who, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s %s", id, answers[answer].done);
        cli_end_decision(cli);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "id", id);
    json_add_text(doc, root, "answer", answers[answer].word);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

/* Deny all calls of a caller that wait. One that somebody answers meanwhile has its answer. */
static int deny_caller(struct cli *cli) {
    struct toolrack_pending_filter filter = TOOLRACK_PENDING_FILTER_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    char who[CLI_WHO_ROOM];
    uint64_t denied = 0;
    filter.caller = cli->options.caller;
    cli_who(who, sizeof who);
    if (toolrack_pending_of(cli->host, &filter, &text, cli->err) < 0 || !cli_keeps(cli)) {
        return cli_fail(cli);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *waiting = json_read(text);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(waiting), at, count, row) {
        int code = toolrack_resolve(cli->host, rows_member(row, "id", ""), TOOLRACK_APPROVAL_DENY,
                                    who, cli->err);
        if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
            return cli_fail(cli);
        }
        denied += code == 0;
    }
    if (denied == 0) {
        (void)cli_error(cli, TOOLRACK_E_NOT_FOUND,
                        "no call of '%s' waits for approval; list those that wait: %s",
                        filter.caller, COMMAND("approvals"));
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%llu call%s of %s %s denied", (unsigned long long)denied,
                   denied == 1 ? "" : "s", filter.caller, denied == 1 ? "is" : "are");
        cli_end_decision(cli);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "caller", filter.caller);
    json_add_text(doc, root, "answer", "deny");
    (void)yyjson_mut_obj_add_uint(doc, root, "calls", denied);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

int verb_approvals(struct cli *cli) {
    const struct texts *words = &cli->options.words;
    if (cli->options.caller != NULL) {
        if (words->count == 1 && strcmp(words->items[0], "deny") == 0) {
            return deny_caller(cli);
        }
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "--caller is for 'approvals deny' only, and without an id");
        return cli_fail_usage(cli);
    }
    if (words->count == 0) {
        return list_pending(cli);
    }
    for (size_t i = 0; words->count == 2 && i < ARRAY_LENGTH(answers); i++) {
        if (strcmp(words->items[0], answers[i].word) == 0) {
            return resolve(cli, words->items[1], i);
        }
    }
    (void)cli_error(cli, TOOLRACK_E_INVALID,
                    "an answer is allow, always, conversation or deny, and the id of a call");
    return cli_fail_usage(cli);
}
