#include "life/allow-effect.h"

#include "base/error.h"
#include "life/allowance.h"
#include "life/parts.h"
#include "life/reload.h"

/* From now on calls run in workers with the present policy; those that run end in the old ones. */
static int renew(struct life *life, struct plugin *plugin, struct toolrack_error *err) {
    const struct generation *generation = generation_of(plugin);
    if (generation->foreign != NULL) {
        return 0; /* it is made at the start only */
    }
    struct plugin_file *file = generation->file;
    if (!files_take(&life->files, file, 0)) {
        return 0; /* this thread has it: it is being made */
    }
    struct reload_row row;
    enum reload_outcome outcome = reload_file(life, file, RELOAD_RENEW, &row);
    int code = outcome != RELOAD_REFUSED
                       ? 0
                       : error_set(err, TOOLRACK_E_REFUSED,
                                   "it is stored, and the workers of '%s' could not be replaced: "
                                   "%s",
                                   plugin->desc->plugin->id, row.reason);
    reload_row_finish(&row);
    files_give(&life->files, file);
    return code;
}

bool life_renew_covered(struct life *life, const char *name) {
    struct toolrack_error unheard;
    CLEANUP(plugin_unrefp) struct plugin *plugin = life_find_plugin(life, name, &unheard);
    return plugin != NULL && plugin->new_capabilities != NULL && generation_of(plugin) != NULL &&
           renew(life, plugin, &unheard) == 0;
}

bool life_is_foreign(struct life *life, const char *name) {
    struct toolrack_error unheard;
    CLEANUP(plugin_unrefp) struct plugin *plugin = life_find_plugin(life, name, &unheard);
    const struct generation *generation = plugin != NULL ? generation_of(plugin) : NULL;
    return generation != NULL && generation->foreign != NULL;
}

bool life_uses_allowance(const struct plugin *plugin, size_t index) {
    const struct generation *generation = generation_of(plugin);
    return generation == NULL || generation->policy.allowances_used[index];
}

/* Whether the store allows a plugin something else than its generation has. */
static int is_due(const struct life *life, const struct plugin *plugin, bool *ret_due,
                  struct toolrack_error *err) {
    const struct generation *generation = generation_of(plugin);
    const struct scan_folder *folder = generation->file->folder;
    CLEANUP(arena_finish) struct arena arena;
    struct policy now = {0};
    struct policy_options options = allowance_options(&life->options, folder, plugin->desc);
    arena_init(&arena, NULL, 0);
    int code = allowance_read(&life->options, plugin->identity_text, &arena, &options, err);
    if (code == 0 && !options.rows_unread) {
        code = policy_make(&options, &arena, &now, err);
    }
    *ret_due = code == 0 && !options.rows_unread && !policy_same_grants(&now, &generation->policy);
    return code;
}

int life_follow_capabilities(struct life *life, struct toolrack_error *err) {
    int code = 0;
    for (struct plugin_file *file = NULL;
         code == 0 && (file = files_next(&life->files, file)) != NULL;) {
        CLEANUP(plugin_unrefp)
        struct plugin *plugin = generations_serving(&life->generations, file);
        struct toolrack_error unheard; /* a refusal is a row and an event */
        bool due = false;
        if (plugin != NULL && plugin->isolated && plugin->desc->plugin->capability_count > 0) {
            code = is_due(life, plugin, &due, err);
        }
        if (due) {
            (void)renew(life, plugin, &unheard);
        }
    }
    return code;
}

int allow_take_effect(struct life *life, struct plugin *plugin, struct toolrack_error *err) {
    struct toolrack_error unheard;
    int code = renew(life, plugin, err);
    (void)life_follow_capabilities(life, &unheard);
    return code;
}
