/* export: the definitions of tools in a provider's format. */
#include <string.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/offer.h"
#include "cli/output.h"
#include "cli/rows.h"

/* Whether the note is printed without --explain: the tool is not among the definitions, or its
 * calls are refused. */
static bool is_missing(const char *kind) {
    return strcmp(kind, "cut") == 0 || strcmp(kind, "refused") == 0 ||
           strcmp(kind, "disabled") == 0 || strcmp(kind, "changed") == 0 ||
           strcmp(kind, "uncallable") == 0;
}

static void explain(const struct cli *cli, const struct toolrack_text *report) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(report);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        const char *kind = rows_member(row, "kind", "");
        const char *place = rows_member(row, "at", "");
        if (cli->options.explain || is_missing(kind)) {
            output_note("%s: %s%s%s: %s", rows_member(row, "tool", ""), kind,
                        place[0] != '\0' ? " at " : "", place, rows_member(row, "what", ""));
        }
    }
}

/* Whether each name of --allow is one of a tool; a row of the report says that it is not. */
static int check_allowed(struct cli *cli, const struct toolrack_text *report) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(report);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        if (strcmp(rows_member(row, "kind", ""), "unknown") == 0) {
            cli_not_found(cli, rows_member(row, "tool", ""), toolrack_suggest);
            return TOOLRACK_E_NOT_FOUND;
        }
    }
    return 0;
}

static int print_both(struct cli *cli, const struct toolrack_text *definitions,
                      const struct toolrack_text *report) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    const struct toolrack_text *texts[] = {definitions, report};
    const char *const names[] = {"definitions", "report"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read(texts[i]);
        (void)yyjson_mut_obj_add_val(doc, root, names[i],
                                     yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)));
    }
    return json_print(cli, doc, root);
}

int verb_export(struct cli *cli) {
    CLEANUP(offer_finish) struct offer offer = {0};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    enum toolrack_format format = TOOLRACK_FORMAT_OPENAI;
    if (cli_format(cli, NULL, &format) < 0) {
        return cli_fail_usage(cli);
    }
    if (offer_read(cli, &offer) < 0) {
        return cli_fail(cli);
    }
    offer.options.disabled = cli->options.disabled;
    if (toolrack_export(cli->host, format, &offer.options, &text, &report, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (check_allowed(cli, report) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json && cli->options.explain) {
        return print_both(cli, text, report);
    }
    explain(cli, report);
    return json_print_text(cli, text);
}
