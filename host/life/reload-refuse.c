/* What a file has does not serve: rows and events. The plugin that serves stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "life/history.h"
#include "life/reload-parts.h"
#include "registry/registry.h"

struct toolrack_refusal *reload_refusals(const char *file, const struct descriptor *desc,
                                         size_t *ret_count) {
    struct toolrack_refusal *rows = calloc(desc->finding_count + 1u, sizeof *rows);
    *ret_count = 0;
    for (uint32_t i = 0; rows != NULL && i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->severity == FINDING_ERROR) {
            rows[(*ret_count)++] = (struct toolrack_refusal){
                    .file = file,
                    .plugin = desc->plugin != NULL ? desc->plugin->id : NULL,
                    .tool = finding->tool,
                    .rule = finding->rule,
                    .reason = finding->cause,
                    .fix = finding->fix};
        }
    }
    return rows;
}

/* The plugin id of a file: from its present content, else of the plugin that serves. */
static const char *id_of(const struct reload *reload) {
    return reload->desc != NULL && reload->desc->plugin != NULL ? reload->desc->plugin->id
           : reload->old != NULL                                ? reload->old->desc->plugin->id
                                                                : NULL;
}

/* Of words about the content that the file has; never 0. */
static uint64_t mark_of(const struct file_identity *identity, const char *words) {
    uint64_t mark = name_mix(name_hash(words, strlen(words)), identity->inode);
    mark = name_mix(mark, identity->size);
    return name_mix(mark, (uint64_t)identity->ctime_ns) | 1;
}

bool reload_tell_refused(struct life *life, struct plugin_file *file, const char *plugin_id,
                         const char *words, bool is_asked) {
    uint64_t mark = mark_of(&file->identity, words);
    if (file->told == mark && !is_asked) {
        return false;
    }
    file->told = mark;
    life_tell(life, TOOLRACK_EVENT_REFUSED, plugin_id, words);
    return true;
}

enum reload_outcome reload_refuse_rows(struct reload *reload, const struct toolrack_refusal *rows,
                                       size_t count) {
    struct life *life = reload->life;
    struct toolrack_error err;
    const struct registry_swap swap = {
            .file = reload->file->path, .refusals = rows, .refusal_count = count};
    const struct toolrack_refusal *first = &rows[0];
    int code = reload->is_moved ? reload_remove_moved(reload, rows, count, &err)
                                : registry_swap(life->options.registry, &swap, NULL, &err);
    if (code < 0) {
        log_line(life->options.log, LOG_ERROR, "reload", "%s: %s", reload->file->path, err.message);
    }
    reload->file->is_refused = true;
    struct toolrack_error words; /* cuts between characters, makes it one line */
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s%s%s", first->reason,
                    first->fix != NULL ? "; " : "", first->fix != NULL ? first->fix : "");
    memcpy(reload->row->reason, words.message, sizeof reload->row->reason);
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s is refused%s: %s", reload->file->path,
                    reload->old != NULL && !reload->is_moved && atomic_load(&reload->old->staged)
                            ? ", and its previous content keeps serving"
                            : "",
                    reload->row->reason);
    bool is_asked = reload->how == RELOAD_IF_CHANGED || reload_is_forced(reload->how);
    if (reload_tell_refused(life, reload->file, id_of(reload), words.message, is_asked)) {
        history_note(life, reload->file, id_of(reload), NULL, "refused", reload->row->reason);
    }
    return RELOAD_REFUSED;
}

enum reload_outcome reload_refuse(struct reload *reload, const char *rule, const char *tool,
                                  const char *reason, const char *fix) {
    return reload_refuse_rows(reload,
                              &(struct toolrack_refusal){.file = reload->file->path,
                                                         .plugin = id_of(reload),
                                                         .tool = tool,
                                                         .rule = rule,
                                                         .reason = reason,
                                                         .fix = fix},
                              1);
}

enum reload_outcome reload_refuse_for_now(struct reload *reload, const struct toolrack_error *err) {
    if (err->code ==
        TOOLRACK_E_CANCELLED) { /* the host is closing, which says nothing of the file */
        memcpy(reload->row->reason, err->message, sizeof reload->row->reason);
        return RELOAD_UNCHANGED;
    }
    return reload_refuse(reload, "reload-failed", NULL, err->message,
                         "reload it when the cause is removed");
}
