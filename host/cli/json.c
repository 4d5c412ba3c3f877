#include "cli/json.h"

#include <stdlib.h>

#include "base/json-write.h"

/* Whether memory ran out for any document of this command, which has a thread of its own. */
static _Thread_local bool incomplete;

void json_reset(void) {
    incomplete = false;
}

yyjson_mut_doc *json_begin(void) {
    return json_new(&incomplete);
}

int json_print(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    size_t length = 0;
    yyjson_write_flag flags = cli->terminal ? YYJSON_WRITE_PRETTY_TWO_SPACES : 0;
    CLEANUP(freep) char *text = NULL;
    if (doc != NULL && root != NULL && !incomplete) {
        yyjson_mut_doc_set_root(doc, root);
        text = json_write(doc, flags, NULL, &length);
    }
    if (text == NULL) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    buf_add(&cli->out, text, length);
    buf_add_char(&cli->out, '\n');
    return CLI_OK;
}

int json_print_text(struct cli *cli, const struct toolrack_text *text) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read_exact(text);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = json_begin();
    return json_print(cli, copy, yyjson_val_mut_copy(copy, yyjson_doc_get_root(doc)));
}

int json_print_done(struct cli *cli, const char *name, const char *key, bool value) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    (void)yyjson_mut_obj_add_bool(doc, root, key, value);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}
