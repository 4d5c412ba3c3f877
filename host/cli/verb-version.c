#include "cli/json.h"
#include "toolrack/plugin.h"

int verb_version(struct cli *cli) {
    if (!cli->options.json) {
        buf_printf(&cli->out, "toolrack %s\n", toolrack_version());
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", "toolrack");
    json_add_text(doc, root, "version", toolrack_version());
    /* The plugin ABI that this build supports. */
    yyjson_mut_val *abi = yyjson_mut_obj_add_obj(doc, root, "plugin_abi");
    (void)yyjson_mut_obj_add_int(doc, abi, "major", TR_ABI_MAJOR);
    (void)yyjson_mut_obj_add_int(doc, abi, "minor", TR_ABI_MINOR);
    return json_print(cli, doc, root);
}
