/* why, release: what happened to a plugin, and letting it go on. */
#include <string.h>

#include "base/error.h"
#include "cli/json.h"
#include "cli/text.h"

#define LABEL_WIDTH 13

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static void add_line(struct buf *out, const char *label, const char *text) {
    if (text != NULL && text[0] != '\0') {
        buf_printf(out, "%-*s", LABEL_WIDTH, label);
        text_add_line(out, text, strlen(text));
        buf_add_char(out, '\n');
    }
}

/* Lines that a plugin had a hand in, each on a line of its own. */
static void add_lines(struct buf *out, const char *text) {
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        buf_add_text(out, "    ");
        text_add_line(out, text, length);
        buf_add_char(out, '\n');
        text += length + (text[length] == '\n');
    }
}

static const char *member(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

static void add_crash(struct buf *out, yyjson_val *crash) {
    yyjson_val *lines = yyjson_obj_get(crash, "last_lines");
    buf_printf(out, "\ncrash of %s\n", member(crash, "time"));
    add_line(out, "tool", member(crash, "tool"));
    add_line(out, "version", member(crash, "version"));
    add_line(out, "signal", member(crash, "signal"));
    add_line(out, "reason", member(crash, "reason"));
    add_line(out, "build id", member(crash, "build_id"));
    add_line(out, "arguments", member(crash, "arguments_hash"));
    const char *backtrace = member(crash, "backtrace");
    if (backtrace != NULL && backtrace[0] != '\0') {
        buf_add_text(out, "backtrace\n");
        add_lines(out, backtrace);
    }
    if (yyjson_arr_size(lines) > 0) {
        buf_add_text(out, "last lines\n");
    }
    size_t at;
    size_t count;
    yyjson_val *line;
    yyjson_arr_foreach (lines, at, count, line) {
        add_lines(out, yyjson_get_str(line));
    }
}

static void print_text(struct buf *out, yyjson_val *root) {
    buf_printf(out, "%s %s\n\n", member(root, "plugin"), member(root, "version"));
    add_line(out, "state", member(root, "state"));
    add_line(out, "reason", member(root, "reason"));
    add_line(out, "file", member(root, "file"));
    size_t at;
    size_t count;
    yyjson_val *crash;
    yyjson_arr_foreach (yyjson_obj_get(root, "crashes"), at, count, crash) {
        add_crash(out, crash);
    }
}

int verb_why(struct cli *cli) {
    struct toolrack_error err;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_why(cli->host, cli->options.words.items[0], &text, &err) < 0) {
        return cli_fail(cli, &err);
    }
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    if (cli->options.json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = json_new();
        return json_print(cli, copy, yyjson_val_mut_copy(copy, yyjson_doc_get_root(doc)));
    }
    print_text(&cli->out, yyjson_doc_get_root(doc));
    return CLI_OK;
}

int verb_release(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    struct toolrack_error err;
    if (toolrack_release(cli->host, name, &err) < 0) {
        return cli_fail(cli, &err);
    }
    if (!cli->options.json) {
        buf_printf(&cli->out, "%s may run again\n", name);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    (void)yyjson_mut_obj_add_bool(doc, root, "released", true);
    return json_print(cli, doc, root);
}
