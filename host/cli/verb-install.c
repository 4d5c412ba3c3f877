/* install, update, uninstall, packages, index: plugins in packages that somebody has signed; and
 * the part of rollback and search that is about packages. */
#include "cli/verb-install.h"

#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/person.h"
#include "cli/rows.h"
#include "toolrack/install.h"

/* Changes of an update that are shown, and characters of each text of a package; JSON has all. */
#define CHANGES_SHOWN_MAX 40u
#define TEXT_SHOWN_MAX    240u
/* Names of tools of a package that a search has found. */
#define TOOLS_SHOWN_MAX   16u

/* ------------------------------------------------------------------- report */

static void add_words(struct buf *out, const char *text) {
    text_add_line(out, text, strlen(text));
}

/* What the author of a package has written, of which there may be much: what is cut off says how
 * long it is, so that nobody takes it for all. */
static void add_prose(struct buf *out, const char *text) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    add_words(&line, text);
    if (line.failed || line.data == NULL) {
        out->failed |= line.failed;
        return;
    }
    text_add_cut(out, line.data, line.length, TEXT_SHOWN_MAX);
    if (utf8_count(line.data, line.length) > TEXT_SHOWN_MAX) {
        buf_printf(out, " (of %zu bytes; --json has all)", line.length);
    }
}

static void add_tool(struct buf *out, yyjson_val *tool) {
    buf_add_text(out, "  ");
    add_words(out, rows_member(tool, "name", ""));
    buf_printf(out, " (%s%s%s): ", rows_member(tool, "permission", ""),
               yyjson_get_bool(yyjson_obj_get(tool, "destructive")) ? ", destructive" : "",
               yyjson_get_bool(yyjson_obj_get(tool, "open_world")) ? ", reaches the world outside"
                                                                   : "");
    add_prose(out, rows_member(tool, "description", ""));
    buf_add_char(out, '\n');
}

static void add_capabilities(struct buf *out, yyjson_val *capabilities) {
    size_t at;
    size_t count;
    yyjson_val *capability;
    if (yyjson_arr_size(capabilities) == 0) {
        buf_add_text(out, "capabilities: none\n");
        return;
    }
    buf_add_text(out, "capabilities, which 'toolrack allow' grants:\n");
    yyjson_arr_foreach (capabilities, at, count, capability) {
        buf_add_text(out, "  ");
        add_prose(out, yyjson_get_str(capability));
        buf_add_char(out, '\n');
    }
}

static void add_change(struct buf *out, yyjson_val *change) {
    const char *tool = rows_member(change, "tool", NULL);
    buf_printf(out, "  %s%s", yyjson_get_bool(yyjson_obj_get(change, "breaks")) ? "breaks: " : "",
               rows_member(change, "kind", ""));
    if (tool != NULL) {
        buf_add_text(out, ", ");
        add_words(out, tool);
    }
    buf_add_text(out, ": ");
    add_prose(out, rows_member(change, "text", ""));
    buf_add_char(out, '\n');
}

static void add_changes(struct buf *out, yyjson_val *root) {
    yyjson_val *changes = yyjson_obj_get(root, "changes");
    size_t at;
    size_t count;
    yyjson_val *change;
    if (changes == NULL) {
        return;
    }
    buf_printf(out, "changes since %s:%s\n", rows_member(root, "installed", ""),
               yyjson_arr_size(changes) == 0 ? " none that callers see" : "");
    yyjson_arr_foreach (changes, at, count, change) {
        if (at < CHANGES_SHOWN_MAX) {
            add_change(out, change);
        }
    }
    size_t more = rows_number(root, "more");
    more += count > CHANGES_SHOWN_MAX ? count - CHANGES_SHOWN_MAX : 0;
    if (more > 0) {
        buf_printf(out, "  and %zu more; --json has them\n", more);
    }
}

/* What a package is, what it wants, and what is different. */
static void add_report(struct buf *out, yyjson_val *root) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    const char *key = rows_member(root, "key", NULL);
    const char *description = rows_member(root, "description", NULL);
    buf_printf(out, "%s %s, %s%s, trust %s, from ", rows_member(root, "id", ""),
               rows_member(root, "version", ""), key != NULL ? "signed by " : "unsigned",
               key != NULL ? key : "", rows_member(root, "trust", ""));
    add_words(out, rows_member(root, "source", ""));
    buf_add_char(out, '\n');
    if (description != NULL) {
        buf_add_text(out, "  ");
        add_prose(out, description);
        buf_add_char(out, '\n');
    }
    buf_add_text(out, "tools:\n");
    yyjson_arr_foreach (yyjson_obj_get(root, "tools"), at, count, tool) {
        add_tool(out, tool);
    }
    add_capabilities(out, yyjson_obj_get(root, "capabilities"));
    add_changes(out, root);
}

/* ---------------------------------------------------------------- agreement */

/* Write text to standard error, a line at a time. */
static void show(const struct buf *text) {
    const char *rest = text->failed || text->data == NULL ? "" : text->data;
    while (*rest != '\0') {
        size_t length = strcspn(rest, "\n");
        (void)output_line(STDERR_FILENO, rest, length);
        rest += length + (rest[length] == '\n');
    }
}

static bool ask(struct install_asking *asking, yyjson_val *report) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf question = BUF_INIT;
    const char *installed = rows_member(report, "installed", NULL);
    asking->is_unanswered = !person_begin(asking->cli);
    if (asking->is_unanswered && asking->cli->options.json) {
        return false;
    }
    add_report(&text, report);
    show(&text);
    if (asking->is_unanswered) {
        return false; /* whoever reads what it wants can say --yes */
    }
    asking->is_asked = true;
    buf_printf(&question, "%s %s %s%s%s?", installed != NULL ? "update" : "install",
               rows_member(report, "id", ""), installed != NULL ? installed : "",
               installed != NULL ? " to " : "", rows_member(report, "version", ""));
    bool agrees = !text.failed && !question.failed && person_agrees(question.data);
    person_finish();
    return agrees;
}

bool install_agree(void *user, const char *report) {
    struct install_asking *asking = user;
    if (asking->cli->options.yes) {
        return true;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(report, strlen(report), 0);
    return doc != NULL && ask(asking, yyjson_doc_get_root(doc));
}

/* The failure of a request: without a person, say what to do. */
int install_fail(const struct install_asking *asking, const char *verb, const char *name) {
    if (asking->is_unanswered) {
        (void)cli_error(
                asking->cli, TOOLRACK_E_CONFIRMATION_REQUIRED,
                "nobody can be asked whether to %s %s, as there is no terminal%s; agree with --yes",
                verb, name, asking->cli->options.json ? "; see what it wants with --dry-run" : "");
    }
    return cli_fail(asking->cli);
}

static void set_options(struct install_asking *asking, const char *name, char *who,
                        struct toolrack_install_options *ret) {
    const struct options *options = &asking->cli->options;
    ret->name = name;
    ret->indexes = options->indexes.count > 0 ? options->indexes.items : NULL;
    ret->is_unsigned = options->is_unsigned;
    ret->looks_only = options->dry_run;
    ret->who = who;
    ret->agree = install_agree;
    ret->user = asking;
}

/* ------------------------------------------------------------------ install */

static void note_serves(yyjson_val *root) {
    yyjson_val *serves = yyjson_obj_get(root, "serves");
    if (yyjson_is_false(serves)) {
        output_note("%s is installed and does not serve: %s", rows_member(root, "id", ""),
                    rows_member(root, "reason", "its file is not used"));
    }
}

/* Of what is not changed. */
static void add_unchanged(struct cli *cli, yyjson_val *root) {
    const char *id = rows_member(root, "id", "");
    const char *version = rows_member(root, "version", "");
    const char *left = rows_member(root, "left", NULL);
    if (yyjson_obj_get(root, "tools") != NULL) {
        add_report(&cli->out, root);
        buf_add_text(&cli->out, "nothing was changed\n");
    } else if (left != NULL) {
        CLEANUP(buf_finish) struct buf name = BUF_INIT;
        buf_printf(&name, "%s@%s", id, left);
        buf_printf(&cli->out, "%s %s stays, as %s was gone back from; to install that again: %s\n",
                   id, version, left, COMMAND("install", name.failed ? id : name.data));
    } else if (yyjson_obj_get(root, "source") == NULL) {
        buf_printf(&cli->out, "%s %s is the newest version\n", id, version);
    } else {
        buf_printf(&cli->out, "%s %s is installed already\n", id, version);
    }
}

void install_add_held(struct buf *out, const char *tool) {
    buf_printf(out, "; '%s' is not as it was approved and does not run; approve it: %s", tool,
               COMMAND("grant", tool));
}

static void add_all_held(struct buf *out, yyjson_val *root) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    yyjson_arr_foreach (yyjson_obj_get(root, "held"), at, count, tool) {
        install_add_held(out, yyjson_get_str(tool));
    }
}

/* Append what was done, as lines. */
static void add_done(struct cli *cli, bool is_shown, yyjson_val *root) {
    const char *installed = rows_member(root, "installed", NULL);
    if (!cli->options.dry_run) {
        note_serves(root);
    }
    if (!yyjson_get_bool(yyjson_obj_get(root, "changed"))) {
        add_unchanged(cli, root);
        return;
    }
    if (!is_shown) {
        add_report(&cli->out, root);
    }
    buf_printf(&cli->out, "%s %s is installed%s%s", rows_member(root, "id", ""),
               rows_member(root, "version", ""), installed != NULL ? ", in place of " : "",
               installed != NULL ? installed : "");
    add_all_held(&cli->out, root);
    cli_end_decision(cli);
}

/* What became of one package. */
static int print_done(const struct install_asking *asking, const struct toolrack_text *text) {
    struct cli *cli = asking->cli;
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read(text);
    if (!cli->options.json) {
        add_done(cli, asking->is_asked, yyjson_doc_get_root(read));
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

int verb_install(struct cli *cli) {
    char who[CLI_WHO_ROOM];
    const char *name = cli->options.words.items[0];
    struct install_asking asking = {.cli = cli};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_install_options options = TOOLRACK_INSTALL_OPTIONS_INIT;
    cli_who(who, sizeof who);
    set_options(&asking, name, who, &options);
    if (!cli_keeps(cli)) {
        return cli_fail(cli);
    }
    return toolrack_install(cli->host, &options, &text, cli->err) < 0
                   ? install_fail(&asking, "install", name)
                   : print_done(&asking, text);
}

/* ------------------------------------------------------------------- update */

/* What became of all: a line or more for each, and a note for what failed. */
static int print_all(const struct install_asking *asking, const struct toolrack_text *text) {
    struct cli *cli = asking->cli;
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read(text);
    yyjson_val *rows = yyjson_doc_get_root(read);
    bool has_failed = false;
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        const char *error = rows_member(row, "error", NULL);
        has_failed = has_failed || error != NULL;
        if (!cli->options.json && error != NULL) {
            output_note("%s is not updated: %s", rows_member(row, "id", ""), error);
        } else if (!cli->options.json) {
            add_done(cli, asking->is_asked, row);
        }
    }
    if (cli->options.json) {
        int code = json_print_text(cli, text);
        return code == CLI_OK && has_failed ? CLI_FAILED : code;
    }
    if (yyjson_arr_size(rows) == 0) {
        buf_add_text(&cli->out, "no packages are installed\n");
    }
    return has_failed ? CLI_FAILED : CLI_OK;
}

int verb_update(struct cli *cli) {
    char who[CLI_WHO_ROOM];
    const char *id = cli->options.words.count > 0 ? cli->options.words.items[0] : NULL;
    struct install_asking asking = {.cli = cli};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_install_options options = TOOLRACK_INSTALL_OPTIONS_INIT;
    cli_who(who, sizeof who);
    set_options(&asking, id, who, &options);
    if (!cli_keeps(cli)) {
        return cli_fail(cli);
    }
    int code = toolrack_update(cli->host, &options, &text, cli->err);
    if (code < 0 || asking.is_unanswered) {
        return install_fail(&asking, "update", id != NULL ? id : "the packages");
    }
    return id != NULL ? print_done(&asking, text) : print_all(&asking, text);
}

/* ------------------------------------------------- uninstall, and go back */

static int print_change(struct cli *cli, const struct toolrack_text *text, const char *key,
                        void (*add)(struct buf *out, yyjson_val *root)) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read(text);
    if (!cli->options.json) {
        add(&cli->out, yyjson_doc_get_root(read));
        cli_end_decision(cli);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    (void)yyjson_mut_obj_add_bool(doc, root, key, true);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

static void add_removed(struct buf *out, yyjson_val *root) {
    buf_printf(out, "%s %s is uninstalled", rows_member(root, "id", ""),
               rows_member(root, "version", ""));
}

int verb_uninstall(struct cli *cli) {
    char who[CLI_WHO_ROOM];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) ||
        toolrack_uninstall(cli->host, cli->options.words.items[0], who, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return print_change(cli, text, "uninstalled", add_removed);
}

static void add_went_back(struct buf *out, yyjson_val *root) {
    buf_printf(out, "%s %s is installed, as before %s, which 'toolrack update' does not take again",
               rows_member(root, "id", ""), rows_member(root, "version", ""),
               rows_member(root, "from", ""));
    add_all_held(out, root);
}

int install_go_back_verb(struct cli *cli, const char *id) {
    char who[CLI_WHO_ROOM];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    cli_who(who, sizeof who);
    if (toolrack_install_rollback(cli->host, id, who, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return print_change(cli, text, "rolled_back", add_went_back);
}

/* -------------------------------------------------------------------- lists */

static void add_package(struct table *table, yyjson_val *row) {
    const char *reason = rows_member(row, "reason", NULL);
    table_add(table, rows_member(row, "id", NULL));
    if (reason != NULL) {
        table_add(table, NULL);
        table_add(table, "damaged");
        table_emphasize(table, STYLE_BAD);
        table_add(table, NULL);
        table_add(table, NULL);
        table_add(table, NULL);
        table_add(table, reason);
        return;
    }
    table_add(table, rows_member(row, "version", NULL));
    table_add(table, rows_member(row, "trust", NULL));
    table_add(table, rows_member(row, "key", "unsigned"));
    table_add(table, rows_member(row, "previous", NULL));
    rows_add_time(table, yyjson_obj_get(row, "since_s"), 1, NULL);
    table_add(table, rows_member(row, "source", NULL));
}

int verb_packages(struct cli *cli) {
    static const char *const headings[] = {"ID",     "VERSION", "TRUST", "KEY",
                                           "BEFORE", "SINCE",   "FROM"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_packages(cli->host, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_package,
                                          .nothing = "no packages are installed"});
}

static void add_found(struct table *table, yyjson_val *row) {
    CLEANUP(buf_finish) struct buf tools = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *tool;
    yyjson_arr_foreach (yyjson_obj_get(row, "tools"), at, count, tool) {
        if (at < TOOLS_SHOWN_MAX) {
            buf_printf(&tools, "%s%s", at > 0 ? " " : "", rows_member(tool, "name", ""));
        }
    }
    if (count > TOOLS_SHOWN_MAX) {
        buf_printf(&tools, " and %zu more", count - TOOLS_SHOWN_MAX);
    }
    table_add(table, rows_member(row, "id", NULL));
    table_add(table, rows_member(row, "version", NULL));
    table_add(table, rows_member(row, "installed", NULL));
    table_add(table, rows_member(row, "licence", NULL));
    table_add(table, tools.failed ? NULL : tools.data);
}

int install_search_verb(struct cli *cli) {
    static const char *const headings[] = {"PACKAGE", "VERSION", "INSTALLED", "LICENCE", "TOOLS"};
    const struct options *options = &cli->options;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_search_packages(cli->host,
                                 options->indexes.count > 0 ? options->indexes.items : NULL,
                                 options->words.items[0], &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    return rows_print(cli, text,
                      &(struct rows_view){.headings = headings,
                                          .columns = ARRAY_LENGTH(headings),
                                          .add = add_found,
                                          .nothing = "no package fits; use other words"});
}

/* -------------------------------------------------------------------- index */

static void add_unsigned(struct buf *out, yyjson_val *packages) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (packages, at, count, row) {
        if (!yyjson_get_bool(yyjson_obj_get(row, "signed"))) {
            add_words(out, rows_member(row, "file", ""));
            buf_add_text(out, " has no signature, and is not installed from an index\n");
        }
    }
}

int verb_index(struct cli *cli) {
    const struct options *options = &cli->options;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_make_index(options->words.items[0], options->for_s, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (options->json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    add_unsigned(&cli->out, yyjson_obj_get(root, "packages"));
    add_words(&cli->out, rows_member(root, "file", ""));
    buf_printf(&cli->out, ": number %llu, %zu packages, good until %s; sign it: %s\n",
               (unsigned long long)rows_number(root, "number"),
               yyjson_arr_size(yyjson_obj_get(root, "packages")), rows_member(root, "expires", ""),
               COMMAND("sign --key SECRET.key", rows_member(root, "file", "")));
    return CLI_OK;
}
