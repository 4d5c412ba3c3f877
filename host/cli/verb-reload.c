/* reload, rollback, adopt: load changed plugin files, return to an earlier content, and say that a
 * file is a plugin about which something was decided. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/text.h"
#include "cli/json.h"
#include "cli/opening.h"
#include "cli/rows.h"
#include "cli/verb-install.h"
#include "toolrack/install.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* FILE: reloaded, test.build, generation 2; the one before is gone */
static void add_row(struct buf *out, yyjson_val *row) {
    const char *file = rows_member(row, "file", "");
    const char *reason = rows_member(row, "reason", "");
    const char *cause = rows_member(row, "cause", "");
    uint64_t generation = rows_number(row, "generation");
    text_add_line(out, file, strlen(file));
    buf_printf(out, ": %s", rows_member(row, "outcome", ""));
    if (rows_member(row, "plugin", "")[0] != '\0') {
        buf_printf(out, ", %s", rows_member(row, "plugin", ""));
    }
    if (generation != 0) {
        buf_printf(out, ", generation %llu", (unsigned long long)generation);
    }
    if (rows_member(row, "old", "")[0] != '\0') {
        buf_printf(out, "; the previous generation is %s%s%s", rows_member(row, "old", ""),
                   cause[0] != '\0' ? ": " : "", cause);
    }
    if (reason[0] != '\0') {
        buf_add_text(out, ": ");
        text_add_line(out, reason, strlen(reason));
    }
    buf_add_char(out, '\n');
}

/* Returns whether a file was refused. */
static bool add_rows(struct buf *out, yyjson_val *rows, bool all) {
    bool refused = false;
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        const char *outcome = rows_member(row, "outcome", "");
        if (strcmp(outcome, "refused") == 0) {
            refused = true;
            opening_drop(rows_member(row, "reason", ""));
        }
        if (all || strcmp(outcome, "unchanged") != 0) {
            add_row(out, row);
        }
    }
    return refused;
}

int verb_reload(struct cli *cli) {
    const char *name = cli->options.words.count > 0 ? cli->options.words.items[0] : NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_reload(cli->host, name, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *rows = yyjson_doc_get_root(doc);
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    bool refused = add_rows(&lines, rows, name != NULL);
    if (cli->options.json) {
        int code = json_print_text(cli, text);
        return code == CLI_OK && refused ? CLI_FAILED : code;
    }
    buf_add_text(&cli->out, lines.length > 0 ? lines.data : "no plugin file has changed\n");
    cli->out.failed = cli->out.failed || lines.failed;
    return refused ? CLI_FAILED : CLI_OK;
}

/* The file of a plugin that is named in some way, before its tools may be others; NULL: unknown. A
 * document has it as UTF-8, which its name need not be: then it is that of the tool, or the name.
 */
static char *file_of(struct cli *cli, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(cli->host, name);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_error unheard; /* the rollback says the same */
    if (tool != NULL && toolrack_tool_file(tool) != NULL) {
        return strdup(toolrack_tool_file(tool));
    }
    if (toolrack_why(cli->host, name, &text, &unheard) < 0) {
        return NULL;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    const char *file = rows_member(yyjson_doc_get_root(doc), "file", NULL);
    return file != NULL && access(file, F_OK) == 0 ? strdup(file) : NULL;
}

/* Whether a document has this file name. */
static bool is_shown_as(const char *file, const char *shown) {
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    text_add_valid(&valid, file, strlen(file));
    return valid.length > 0 && strcmp(valid.data, shown) == 0;
}

/* How much of a hash names a content. */
#define HASH_DIGITS_SHOWN 16

/* Visit the names of the tools that serve now and are held: they are not as they were approved. */
static void visit_held(struct cli *cli, yyjson_val *now,
                       void (*visit)(void *user, const char *tool), void *user) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    filter.all = true;
    if (toolrack_list(cli->host, &filter, &tools, NULL) < 0) {
        return;
    }
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        const char *file = toolrack_tool_file(tool);
        if (toolrack_tool_state(tool) == TOOLRACK_STATE_CHANGED && !toolrack_tool_is_kept(tool) &&
            file != NULL && is_shown_as(file, rows_member(now, "file", ""))) {
            visit(user, toolrack_tool_name(tool));
        }
    }
}

static void add_held(void *user, const char *tool) {
    install_add_held(user, tool);
}

struct held_list {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void list_held(void *user, const char *tool) {
    const struct held_list *held = user;
    (void)yyjson_mut_arr_add_strcpy(held->doc, held->list, tool);
}

static void add_serving(struct cli *cli, const char *name, yyjson_val *now) {
    const char *file = rows_member(now, "file", name);
    text_add_line(&cli->out, file, strlen(file));
    buf_printf(&cli->out,
               ": version %s of %s serves (content %.*s) in place of what the file has, until the "
               "file changes",
               rows_member(now, "version", ""), rows_member(now, "plugin", ""), HASH_DIGITS_SHOWN,
               rows_member(now, "sha256", ""));
    visit_held(cli, now, add_held, &cli->out);
    cli_end_decision(cli);
}

static int print_serving(struct cli *cli, const char *name, yyjson_val *now) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    (void)yyjson_mut_obj_add_bool(doc, root, "rolled_back", true);
    static const char *const members[] = {"plugin", "version", "sha256", "file"};
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        json_add_text(doc, root, members[i], rows_member(now, members[i], NULL));
    }
    const struct held_list held = {doc, yyjson_mut_obj_add_arr(doc, root, "held")};
    visit_held(cli, now, list_held, (void *)(uintptr_t)&held);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

int verb_rollback(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    if (toolrack_is_installed(cli->host, name)) {
        return install_go_back_verb(cli, name);
    }
    CLEANUP(freep) char *file = file_of(cli, name);
    if (!cli_keeps(cli) || toolrack_rollback(cli->host, name, NULL, cli->err) < 0) {
        return cli_fail(cli);
    }
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_why(cli->host, file != NULL ? file : name, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    if (cli->options.json) {
        return print_serving(cli, name, yyjson_doc_get_root(doc));
    }
    add_serving(cli, name, yyjson_doc_get_root(doc));
    return CLI_OK;
}

int verb_adopt(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    char who[CLI_WHO_ROOM];
    cli_who(who, sizeof who);
    if (!cli_keeps(cli) || toolrack_adopt(cli->host, name, who, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s has what was decided about its plugin", name);
        cli_end_decision(cli);
        return CLI_OK;
    }
    return json_print_done(cli, name, "adopted", true);
}
