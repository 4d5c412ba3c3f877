/* new: the folder of a new plugin. */
#include <string.h>

#include "base/name.h"
#include "cli/json.h"
#include "cli/template.h"

/* What a person does next: the first block of commands in the folder's README.md. */
static void add_next(const struct template_choice *choice, struct buf *out) {
    static const char fence[] = "```sh\n";
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(out, "cd %s\n", choice->id);
    for (size_t i = 0; i < template_file_count; i++) {
        const struct template_file *file = &template_files[i];
        if (template_applies(choice, file) && strcmp(file->path, "README.md") == 0) {
            template_text(choice, file, &text);
        }
    }
    const char *begin = text.failed || text.data == NULL ? NULL : strstr(text.data, fence);
    const char *end = begin == NULL ? NULL : strstr(begin + strlen(fence), "```");
    if (end != NULL) {
        begin += strlen(fence);
        buf_add(out, begin, (size_t)(end - begin));
    }
    out->failed = out->failed || text.failed;
}

static int print_json(struct cli *cli, const struct template_choice *choice, struct buf *next) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "id", choice->id);
    json_add_text(doc, root, "language", choice->language);
    json_add_text(doc, root, "folder", choice->id);
    yyjson_mut_val *files = yyjson_mut_obj_add_arr(doc, root, "files");
    for (size_t i = 0; i < template_file_count; i++) {
        CLEANUP(buf_finish) struct buf path = BUF_INIT;
        if (template_applies(choice, &template_files[i])) {
            template_path(choice, &template_files[i], &path);
            (void)yyjson_mut_arr_add_strcpy(doc, files, path.failed ? "" : path.data);
        }
    }
    yyjson_mut_val *commands = yyjson_mut_obj_add_arr(doc, root, "next");
    char *rest = NULL;
    for (char *line = strtok_r(next->data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        (void)yyjson_mut_arr_add_strcpy(doc, commands, line);
    }
    return json_print(cli, doc, root);
}

static int print_made(struct cli *cli, const struct template_choice *choice) {
    CLEANUP(buf_finish) struct buf next = BUF_INIT;
    add_next(choice, &next);
    if (next.failed) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return print_json(cli, choice, &next);
    }
    size_t count = 0;
    for (size_t i = 0; i < template_file_count; i++) {
        count += template_applies(choice, &template_files[i]);
    }
    buf_printf(&cli->out, "%s: %zu files of a plugin in %s; go on with\n\n%s", choice->id, count,
               strcmp(choice->language, "rust") == 0  ? "Rust"
               : strcmp(choice->language, "c++") == 0 ? "C++"
                                                      : "C",
               next.data);
    return CLI_OK;
}

/* Names that meson or cargo keep for themselves. */
static bool is_reserved(const char *id) {
    static const char *const names[] = {"all",  "benchmark", "build",      "clean",
                                        "dist", "install",   "scan-build", "src",
                                        "test", "toolrack",  "uninstall",  "unit-test"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (strcmp(names[i], id) == 0) {
            return true;
        }
    }
    return false;
}

int verb_new(struct cli *cli) {
    const struct options *options = &cli->options;
    const struct template_choice choice = {
            .id = options->words.items[0],
            .language = options->language != NULL ? options->language : "c",
            .has_json_tool = options->json_tool,
            .has_resources = options->resources,
    };
    if (!template_has_language(choice.language)) {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "--lang takes c, c++ or rust, not \"%s\"",
                        choice.language);
        return cli_fail_usage(cli);
    }
    if (!name_valid_id(choice.id)) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "\"%s\" cannot be the id of a plugin; use 1 to %d of the characters A-Z "
                        "a-z 0-9 _ . and -, the first of them a letter or _",
                        choice.id, NAME_LENGTH_MAX);
        return cli_fail_usage(cli);
    }
    if (is_reserved(choice.id)) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "the build has another meaning for the name \"%s\"; choose another one, "
                        "such as %s-tools",
                        choice.id, choice.id);
        return cli_fail_usage(cli);
    }
    /* The folder is made within milliseconds: a signal waits until it is whole. */
    sigset_t signals;
    sigset_t before;
    cli_block_signals(&signals, &before);
    int code = template_write(&choice, cli->own);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? cli_fail(cli) : print_made(cli, &choice);
}
