#include "life/foreign.h"

#include "base/error.h"
#include "life/parts.h"

CLEANUP_DEFINE(struct plugin_file, files_destroy_apart)

/* A user who may write the configuration can admit any plugin, so a definition is trusted more than
 * a file in a folder. It still needs grants. */
static const struct scan_folder definitions = {.trust = TRUST_OFFICIAL,
                                               .origin = ORIGIN_CONFIGURATION};

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
    if (code == 0) { /* the store knows it by its identity: the library is the system's */
        atomic_store(&file->key, generation_of(*ret)->identity_text);
        isolate_recall(&life->isolate, *ret);
        generations_serve(&life->generations, STEAL(file), *ret);
    }
    return code;
}
