/* keys: who may sign packages. */
#include <string.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/password.h"
#include "cli/rows.h"
#include "toolrack/package.h"

/* ---------------------------------------------------------------------- list */

static void join(struct buf *out, yyjson_val *array) {
    size_t at;
    size_t count;
    yyjson_val *value;
    yyjson_arr_foreach (array, at, count, value) {
        buf_printf(out, "%s%s", at > 0 ? " " : "", yyjson_get_str(value));
    }
}

static void add_key(struct table *table, yyjson_val *key) {
    CLEANUP(buf_finish) struct buf ids = BUF_INIT;
    join(&ids, yyjson_obj_get(key, "ids"));
    table_add(table, rows_member(key, "id", NULL));
    table_add(table, rows_member(key, "trust", NULL));
    table_add(table, ids.failed ? NULL : ids.data);
    table_add(table, rows_member(key, "name", NULL));
    table_add(table, yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(key, "follows"))));
    rows_add_time(table, yyjson_obj_get(key, "since_s"), 1, NULL);
    table_add(table, rows_member(key, "who", NULL));
}

static int list(struct cli *cli) {
    static const char *const headings[] = {"KEY",      "TRUST", "IDS", "NAME",
                                           "SUCCEEDS", "SINCE", "WHO"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (cli_open(cli, NULL) < 0 || toolrack_keys(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_key,
                                          .nothing = "no keys are trusted here"});
}

/* ----------------------------------------------------------------------- new */

static int new_pair(struct cli *cli, const char *name) {
    CLEANUP(password_finish) struct buf password = BUF_INIT;
    CLEANUP(buf_finish) struct buf secret_file = BUF_INIT;
    CLEANUP(buf_finish) struct buf public_file = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    bool encrypts = !cli->options.no_password;
    buf_printf(&secret_file, "%s.key", name);
    buf_printf(&public_file, "%s.pub", name);
    if (secret_file.failed || public_file.failed) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    if (!encrypts && cli->options.password_file != NULL) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "--no-password and --password-file contradict each other; give one");
        return cli_fail_usage(cli);
    }
    if ((encrypts &&
         password_read(cli, "Password that encrypts the secret key", true, &password) < 0) ||
        toolrack_key_create(secret_file.data, public_file.data, encrypts ? password.data : NULL,
                            &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    rows_add_line(&cli->out, "key", rows_text(root, "id"));
    rows_add_line(&cli->out, "secret", secret_file.data);
    rows_add_line(&cli->out, "public", public_file.data);
    output_note("keep %s to yourself, and a copy of it: who loses it can ship no update",
                secret_file.data);
    return CLI_OK;
}

/* ----------------------------------------------------------------------- add */

static int add(struct cli *cli, const char *file) {
    const struct options *options = &cli->options;
    char who[CLI_WHO_ROOM];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_key key = TOOLRACK_KEY_INIT;
    key.key = file;
    key.trust = options->trust;
    key.ids = options->ids.count > 0 ? options->ids.items : NULL;
    key.name = options->key_name;
    cli_who(who, sizeof who);
    if (cli_open(cli, NULL) < 0 || !cli_keeps(cli) ||
        toolrack_key_add(cli->host, &key, &text, who, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *follows = yyjson_arr_get_first(yyjson_obj_get(root, "follows"));
    CLEANUP(buf_finish) struct buf ids = BUF_INIT;
    join(&ids, yyjson_obj_get(root, "ids"));
    buf_printf(&cli->out, "key %s may sign %s, with the trust %s", rows_member(root, "id", ""),
               ids.failed ? "" : ids.data, rows_member(root, "trust", ""));
    if (follows != NULL) {
        buf_printf(&cli->out, "; it succeeds key %s", yyjson_get_str(follows));
    }
    buf_add_char(&cli->out, '\n');
    return CLI_OK;
}

/* -------------------------------------------------------------------- remove */

static int remove_key(struct cli *cli, const char *id) {
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    if (cli_open(cli, NULL) < 0 || !cli_keeps(cli) ||
        toolrack_key_remove(cli->host, id, who, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
        yyjson_mut_val *root = yyjson_mut_obj(doc);
        json_add_text(doc, root, "id", id);
        (void)yyjson_mut_obj_add_bool(doc, root, "removed", true);
        return json_print(cli, doc, root);
    }
    buf_printf(&cli->out, "key %s is removed\n", id);
    return CLI_OK;
}

/* ---------------------------------------------------------------------- verb */

/* An option that another action would ignore. */
static const char *misplaced(const struct options *options, const char *action) {
    bool is_new = strcmp(action, "new") == 0;
    bool is_add = strcmp(action, "add") == 0;
    return !is_new && options->no_password             ? "--no-password"
           : !is_new && options->password_file != NULL ? "--password-file"
           : !is_add && options->trust != NULL         ? "--trust"
           : !is_add && options->ids.count > 0         ? "--ids"
           : !is_add && options->key_name != NULL      ? "--name"
                                                       : NULL;
}

int verb_keys(struct cli *cli) {
    const struct texts *words = &cli->options.words;
    const char *action = words->count > 0 ? words->items[0] : "list";
    const char *option = misplaced(&cli->options, action);
    if (option != NULL) {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "keys %s takes no %s; leave it out", action,
                        option);
        return cli_fail_usage(cli);
    }
    if (words->count < 2 && strcmp(action, "list") == 0) {
        return list(cli);
    }
    if (words->count == 2 && strcmp(action, "new") == 0) {
        return new_pair(cli, words->items[1]);
    }
    if (words->count == 2 && strcmp(action, "add") == 0) {
        return add(cli, words->items[1]);
    }
    if (words->count == 2 && strcmp(action, "remove") == 0) {
        return remove_key(cli, words->items[1]);
    }
    (void)cli_error(
            cli, TOOLRACK_E_INVALID,
            "the argument must be list, new with a NAME, add with a KEY, or remove with the "
            "id of a key");
    return cli_fail_usage(cli);
}
