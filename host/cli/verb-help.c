#include <string.h>

#include "cli/json.h"
#include "cli/output.h"
#include "cli/width.h"

#define NAME_WIDTH    18  /* of options and verbs in lists */
#define DETAILS_WIDTH 80u /* where output is no terminal */

static void add_row(struct buf *out, const char *name, const char *value, const char *help) {
    CLEANUP(buf_finish) struct buf left = BUF_INIT;
    buf_printf(&left, "%s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");
    if (left.failed) {
        out->failed = true;
        return;
    }
    buf_printf(out, "  %-*s  %s\n", NAME_WIDTH, left.data, help);
}

static void add_heading(struct buf *out, struct styles *styles, const char *heading) {
    buf_add_char(out, '\n');
    style_begin(styles, out->length, STYLE_HEADING);
    buf_printf(out, "%s:", heading);
    style_begin(styles, out->length, STYLE_PLAIN);
    buf_add_char(out, '\n');
}

static void add_options(struct buf *out, struct styles *styles, const char *heading,
                        const struct option_spec *options) {
    if (options == NULL) {
        return;
    }
    add_heading(out, styles, heading);
    for (; options->name != NULL; options++) {
        CLEANUP(buf_finish) struct buf name = BUF_INIT;
        buf_printf(&name, "--%s", options->name);
        if (name.failed) {
            out->failed = true;
            return;
        }
        add_row(out, name.data, options->value, options->help);
    }
}

/* Paragraphs, their lines broken for the terminal. */
static void add_paragraphs(struct buf *out, const char *text) {
    size_t width = output_width() > 0 ? output_width() : DETAILS_WIDTH;
    while (*text != '\0') {
        CLEANUP(buf_finish) struct buf paragraph = BUF_INIT;
        while (*text != '\0' && *text != '\n') {
            size_t length = strcspn(text, "\n");
            buf_printf(&paragraph, "%s%.*s", paragraph.length > 0 ? " " : "", (int)length, text);
            text += length + (text[length] == '\n');
        }
        for (size_t at = 0; at < paragraph.length && !paragraph.failed;) {
            size_t next = 0;
            size_t piece = width_fit(paragraph.data + at, paragraph.length - at, width, &next);
            buf_add(out, paragraph.data + at, piece);
            buf_add_char(out, '\n');
            at += next;
        }
        if (*text == '\n') {
            buf_add_char(out, '\n');
            text++;
        }
    }
}

static void add_verb(const struct verb *verb, struct buf *out, struct styles *styles) {
    buf_printf(out, "usage: toolrack %s%s%s%s\n", verb->name,
               verb->options != NULL ? " [options]" : "", verb->arguments[0] != '\0' ? " " : "",
               verb->arguments);
    buf_printf(out, "\n%s\n", verb->summary);
    if (verb->details != NULL) {
        buf_add_char(out, '\n');
        add_paragraphs(out, verb->details);
    }
    add_options(out, styles, "options", verb->options);
    add_options(out, styles, "options of every verb", options_global);
}

void help_overview(struct buf *out, struct styles *styles) {
    static const struct {
        const char *code;
        const char *meaning;
    } exits[] = {
#define EXIT_ROW(constant, code, meaning) {#code, meaning},
            CLI_EXITS(EXIT_ROW)
#undef EXIT_ROW
    };
    buf_add_text(out, "usage: toolrack VERB [arguments] [options]\n\n"
                      "Native tools for language models: list, call and manage them.\n");
    for (const struct verb *verb = cli_verbs; verb->name != NULL; verb++) {
        if (verb->group != NULL) {
            add_heading(out, styles, verb->group);
        }
        add_row(out, verb->name, NULL, verb->summary);
    }
    add_options(out, styles, "options of every verb", options_global);
    add_heading(out, styles, "exit codes");
    for (size_t i = 0; i < ARRAY_LENGTH(exits); i++) {
        buf_printf(out, "  %s  %s\n", exits[i].code, exits[i].meaning);
    }
    buf_add_text(out, "\n'toolrack help VERB' describes a verb.\n");
}

static void add_json_options(yyjson_mut_doc *doc, yyjson_mut_val *object,
                             const struct option_spec *options) {
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, "options");
    for (; options != NULL && options->name != NULL; options++) {
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, array);
        json_add_text(doc, row, "name", options->name);
        json_add_text(doc, row, "value", options->value);
        json_add_text(doc, row, "help", options->help);
    }
}

static void add_json_verb(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct verb *verb) {
    const char *group = verb->group;
    for (const struct verb *before = verb; group == NULL && before > cli_verbs;) {
        group = (--before)->group;
    }
    json_add_text(doc, object, "name", verb->name);
    json_add_text(doc, object, "arguments", verb->arguments);
    json_add_text(doc, object, "help", verb->summary);
    json_add_text(doc, object, "details", verb->details);
    json_add_text(doc, object, "group", group);
    add_json_options(doc, object, verb->options);
}

static int print_json(struct cli *cli, const struct verb *only) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    if (only != NULL) {
        add_json_verb(doc, root, only);
        return json_print(cli, doc, root);
    }
    add_json_options(doc, root, options_global);
    yyjson_mut_val *verbs = yyjson_mut_obj_add_arr(doc, root, "verbs");
    for (const struct verb *verb = cli_verbs; verb->name != NULL; verb++) {
        add_json_verb(doc, yyjson_mut_arr_add_obj(doc, verbs), verb);
    }
    return json_print(cli, doc, root);
}

int help_print(struct cli *cli, const struct verb *verb) {
    if (cli->options.json) {
        return print_json(cli, verb);
    }
    if (verb != NULL) {
        add_verb(verb, &cli->out, &cli->styles);
    } else {
        help_overview(&cli->out, &cli->styles);
    }
    return CLI_OK;
}

int verb_help(struct cli *cli) {
    if (cli->options.words.count == 0) {
        return help_print(cli, NULL);
    }
    const char *name = cli->options.words.items[0];
    const struct verb *verb = options_verb(cli_verbs, name);
    if (verb == NULL) {
        (void)options_unknown_verb(cli_verbs, name, cli->own);
        return cli_fail_usage(cli);
    }
    return help_print(cli, verb);
}
