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

/* NULL: memory ran out for the document or its text. */
static char *write_document(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_write_flag flags,
                            size_t *ret_length) {
    if (doc == NULL || root == NULL || incomplete) {
        return NULL;
    }
    yyjson_mut_doc_set_root(doc, root);
    return json_write(doc, flags, NULL, ret_length);
}

void json_add_document(struct buf *out, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    size_t length = 0;
    CLEANUP(freep) char *text = write_document(doc, root, 0, &length);
    out->failed = out->failed || text == NULL;
    buf_add(out, text, length);
}

int json_print(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    size_t length = 0;
    yyjson_write_flag flags = cli->terminal ? YYJSON_WRITE_PRETTY_TWO_SPACES : 0;
    CLEANUP(freep) char *text = write_document(doc, root, flags, &length);
    if (text == NULL) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
    buf_add(&cli->out, text, length);
    buf_add_char(&cli->out, '\n');
    return CLI_OK;
}

int json_print_written(struct cli *cli, const struct buf *text) {
    if (cli->terminal && !text->failed) {
        CLEANUP(yyjson_doc_freep)
        yyjson_doc *doc = yyjson_read(text->data, text->length, YYJSON_READ_NUMBER_AS_RAW);
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = json_begin();
        return json_print(cli, copy, yyjson_val_mut_copy(copy, yyjson_doc_get_root(doc)));
    }
    buf_add(&cli->out, text->data, text->length);
    buf_add_char(&cli->out, '\n');
    if (text->failed || cli->out.failed) {
        (void)cli_oom(cli);
        return cli_fail(cli);
    }
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
