#include "cli/json.h"

#define NAME_WIDTH 18 /* of options and verbs in lists */

static void add_row(struct buf *out, const char *name, const char *value, const char *help) {
    CLEANUP(buf_finish) struct buf left = BUF_INIT;
    buf_printf(&left, "%s%s%s", name, value != NULL ? " " : "", value != NULL ? value : "");
    if (left.failed) {
        out->failed = true;
        return;
    }
    buf_printf(out, "  %-*s  %s\n", NAME_WIDTH, left.data, help);
}

static void add_options(struct buf *out, const char *heading, const struct option_spec *options) {
    if (options == NULL) {
        return;
    }
    buf_printf(out, "\n%s\n", heading);
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

static void add_verb(const struct verb *verb, struct buf *out) {
    buf_printf(out, "usage: toolrack %s%s%s%s\n", verb->name,
               verb->options != NULL ? " [options]" : "", verb->arguments[0] != '\0' ? " " : "",
               verb->arguments);
    buf_printf(out, "\n%s\n", verb->summary);
    if (verb->details != NULL) {
        buf_printf(out, "\n%s", verb->details);
    }
    add_options(out, "options:", verb->options);
    add_options(out, "options of every verb:", options_global);
}

void help_overview(struct buf *out) {
    static const struct {
        const char *code;
        const char *meaning;
    } exits[] = {
#define EXIT_ROW(constant, code, meaning) {#code, meaning},
            CLI_EXITS(EXIT_ROW)
#undef EXIT_ROW
    };
    buf_add_text(out, "usage: toolrack VERB [arguments] [options]\n\n"
                      "Native tools for language models: list, call and manage them.\n"
                      "\nverbs:\n");
    for (const struct verb *verb = cli_verbs; verb->name != NULL; verb++) {
        add_row(out, verb->name, NULL, verb->summary);
    }
    add_options(out, "options of every verb:", options_global);
    buf_add_text(out, "\nexit codes:\n");
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
    json_add_text(doc, object, "name", verb->name);
    json_add_text(doc, object, "arguments", verb->arguments);
    json_add_text(doc, object, "help", verb->summary);
    json_add_text(doc, object, "details", verb->details);
    add_json_options(doc, object, verb->options);
}

static int print_json(struct cli *cli, const struct verb *only) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new();
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
        add_verb(verb, &cli->out);
    } else {
        help_overview(&cli->out);
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
