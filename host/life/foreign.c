#include "life/foreign.h"

#include "base/error.h"
#include "life/life.h"
#include "life/parts.h"
#include "registry/registry.h"

CLEANUP_DEFINE(struct plugin_file, files_destroy_apart)

/* Whoever may write the configuration may let any plugin in: what stands there is trusted more than
 * a file that somebody put into a folder, and still gets no grant of itself. */
static const struct scan_folder definitions = {
        .trust = TRUST_OFFICIAL, .isolation = ISOLATION_UNSTATED, .pin = PIN_UNSTATED};

static int describe(const struct foreign *foreign, struct descriptor **ret,
                    struct toolrack_error *err) {
    bool no_memory = false;
    const struct descriptor_options options = tool_descriptor_options(&no_memory);
    int code = foreign_describe(foreign, NULL, &options, ret, err);
    return no_memory ? error_oom(err) : code;
}

int foreign_make(struct life *life, const struct foreign *foreign, struct descriptor *desc,
                 struct plugin **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(files_destroy_apartp)
    struct plugin_file *file = files_create_apart(&definitions);
    int code = file == NULL ? error_oom(err) : foreign_write(foreign, &text, err);
    if (code < 0) {
        return code;
    }
    const struct generation_source source = {.file = file,
                                             .foreign = foreign,
                                             .foreign_text = text.data,
                                             .desc = desc,
                                             .isolated = true};
    code = generation_create(&life->generations, &source, ret, err);
    if (code == 0) {
        isolate_recall(&life->isolate, *ret);
        generations_serve(&life->generations, STEAL(file), *ret);
    }
    return code;
}

int life_add_foreign(struct life *life, const struct foreign *foreign, uint64_t *ret_uid,
                     struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    CLEANUP(plugin_unrefp) struct plugin *plugin = NULL;
    int code = describe(foreign, &desc, err);
    if (code == 0) {
        code = foreign_make(life, foreign, desc, &plugin, err);
    }
    if (code == 0) {
        code = registry_add_all(life->options.registry, plugin, ret_uid, err);
    }
    error_set_tool(code < 0 ? err : NULL, foreign->name != NULL ? foreign->name : "");
    return code;
}
