/* Giving capabilities to plugins and taking them: by a person, by a grant, and by another host. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "life/allowance.h"
#include "life/life.h"
#include "life/parts.h"
#include "life/reload.h"
#include "permit/permit.h"
#include "plugin/capability.h"
#include "registry/document.h"
#include "registry/registry.h"

/* ---------------------------------------------------------------- give and take */

/* A decision about one plugin. */
struct deciding {
    struct life *life;
    struct plugin *plugin; /* a reference */
    const struct policy *policy;
    struct arena arena;
    struct store_capability *rows; /* to be stored */
    size_t count;
};

static void deciding_finish(struct deciding *deciding) {
    plugin_unref(deciding->plugin);
    arena_finish(&deciding->arena);
}

static int begin(struct life *life, const char *name, struct deciding *ret,
                 struct toolrack_error *err) {
    *ret = (struct deciding){.life = life};
    arena_init(&ret->arena, NULL, 0);
    ret->plugin = life_find_plugin(life, name, err);
    if (ret->plugin == NULL) {
        return TOOLRACK_E_NOT_FOUND;
    }
    const struct generation *generation = generation_of(ret->plugin);
    const char *id = ret->plugin->desc->plugin->id;
    if (generation == NULL || !ret->plugin->isolated) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "plugin '%s' runs in the host's process, with all rights of the host: "
                         "nothing can be allowed to it or taken from it, unless it runs in workers "
                         "(\"isolation\": \"process\" in its policy, and a new start)",
                         id);
    }
    ret->policy = &generation->policy;
    if (ret->policy->capability_count == 0) {
        return error_set(err, TOOLRACK_E_INVALID, "plugin '%s' declares no capability", id);
    }
    ret->rows = arena_zalloc(&ret->arena, ret->policy->capability_count * sizeof *ret->rows);
    return ret->rows != NULL ? 0 : error_oom(err);
}

/* Whether a person's words name a declared capability: as it is declared, by its real path, by a
 * word, or by another item of "allow". A host of the network cannot be held to, so what declares
 * one is given only by words that say its port of every host. */
static bool is_named(const char *words, const struct policy_capability *capability,
                     const char *text, bool is_given) {
    uint32_t kind = capability->declared->kind;
    const char *name = policy_capability_name(kind);
    size_t length = strlen(name);
    return capability_is_allowed(words, kind, capability->declared->value) ||
           (strcmp(words, text) == 0 && (!is_given || kind != TR_CAP_NETWORK)) ||
           (!is_given && (strcmp(words, "*") == 0 || strcmp(words, name) == 0)) ||
           (capability->path != NULL && strncmp(words, name, length) == 0 && words[length] == ':' &&
            strcmp(words + length + 1, capability->path) == 0);
}

static int not_declared(const struct deciding *deciding, const char *words,
                        struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    for (size_t i = 0; i < deciding->policy->capability_count; i++) {
        const struct tr_capability *declared = deciding->policy->capabilities[i].declared;
        buf_printf(&list, "%s%s:%s", i > 0 ? ", " : "", policy_capability_name(declared->kind),
                   declared->value);
    }
    return error_set(err, TOOLRACK_E_INVALID,
                     "plugin '%s' does not declare '%.100s'; it declares %s%s",
                     deciding->plugin->desc->plugin->id, words, list.failed ? "" : list.data,
                     strncmp(words, "network:", strlen("network:")) == 0
                             ? "; a host cannot be held to: write network:*:PORT"
                             : "");
}

/* Collect the rows of what is named. */
static int choose(struct deciding *deciding, const char *words, enum store_capability_kind kind,
                  const char *who, struct toolrack_error *err) {
    for (size_t i = 0; i < deciding->policy->capability_count; i++) {
        const struct policy_capability *capability = &deciding->policy->capabilities[i];
        const char *text = policy_capability_text(&deciding->arena, capability->declared);
        if (text == NULL) {
            return error_oom(err);
        }
        if (is_named(words, capability, text, kind == STORE_CAPABILITY_GIVEN)) {
            deciding->rows[deciding->count++] =
                    (struct store_capability){.plugin = deciding->plugin->identity_text,
                                              .kind = kind,
                                              .word = "",
                                              .capability = text,
                                              .since_s = clock_wall_s(),
                                              .who = who};
        }
    }
    return deciding->count > 0 ? 0 : not_declared(deciding, words, err);
}

static void note(const struct deciding *deciding, const char *decision, const char *who) {
    const struct plugin *plugin = deciding->plugin;
    for (size_t i = 0; i < deciding->count; i++) {
        permit_note(deciding->life->options.permit,
                    &(struct store_decision){.version = plugin->desc->plugin->version,
                                             .plugin = plugin->desc->plugin->id,
                                             .origin = plugin->origin,
                                             .decision = decision,
                                             .who = who,
                                             .why = deciding->rows[i].capability});
    }
}

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

/* Other files of the same plugin have kept versions of it. */
static int renew_all(struct life *life, struct plugin *plugin, struct toolrack_error *err) {
    struct toolrack_error unheard;
    int code = renew(life, plugin, err);
    (void)life_follow_capabilities(life, &unheard);
    return code;
}

int life_allow(struct life *life, const char *name, const char *capability, const char *who,
               struct toolrack_error *err) {
    CLEANUP(deciding_finish) struct deciding deciding;
    int code = begin(life, name, &deciding, err);
    if (code == 0) {
        code = choose(&deciding, capability, STORE_CAPABILITY_GIVEN, who, err);
    }
    if (code == 0) {
        code = store_capabilities_add(life->options.store, deciding.rows, deciding.count, err);
    }
    if (code < 0) {
        return code;
    }
    note(&deciding, "allowed capability", who);
    return renew_all(life, deciding.plugin, err);
}

/* Leave out what is taken already, and what the plugin does not have. */
static int drop_absent(struct deciding *deciding, const char *words, struct toolrack_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < deciding->count; i++) {
        const char *text = deciding->rows[i].capability;
        for (size_t j = 0; j < deciding->policy->capability_count; j++) {
            const struct policy_capability *capability = &deciding->policy->capabilities[j];
            const char *own = policy_capability_text(&deciding->arena, capability->declared);
            if (own == NULL) {
                return error_oom(err);
            }
            if (strcmp(own, text) == 0 && !capability->is_taken &&
                (capability->allowed || capability->is_new || capability->refusal != NULL)) {
                deciding->rows[kept++] = deciding->rows[i];
                break;
            }
        }
    }
    deciding->count = kept;
    return kept > 0 ? 0
                    : error_set(err, TOOLRACK_E_NOT_FOUND,
                                "plugin '%s' is not allowed '%.100s': there is nothing to take",
                                deciding->plugin->desc->plugin->id, words);
}

int life_disallow(struct life *life, const char *name, const char *capability, const char *who,
                  struct toolrack_error *err) {
    CLEANUP(deciding_finish) struct deciding deciding;
    int code = begin(life, name, &deciding, err);
    if (code == 0) {
        code = choose(&deciding, capability, STORE_CAPABILITY_TAKEN, who, err);
    }
    if (code == 0) {
        code = drop_absent(&deciding, capability, err);
    }
    if (code == 0) {
        code = store_capabilities_add(life->options.store, deciding.rows, deciding.count, err);
    }
    if (code < 0) {
        return code;
    }
    note(&deciding, "disallowed capability", who);
    return renew_all(life, deciding.plugin, err);
}

bool life_uses_allowance(const struct plugin *plugin, size_t index) {
    const struct generation *generation = generation_of(plugin);
    return generation == NULL || generation->policy.allowances_used[index];
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
    *ret_due = false;
    for (size_t i = 0; code == 0 && i < now.capability_count; i++) {
        *ret_due = *ret_due ||
                   now.capabilities[i].allowed != generation->policy.capabilities[i].allowed;
    }
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

/* -------------------------------------------------------------------------- list */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void add_row(void *user, const struct store_capability *row) {
    const struct listing *listing = user;
    if (row->kind != STORE_CAPABILITY_GIVEN && row->kind != STORE_CAPABILITY_TAKEN) {
        return;
    }
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(listing->doc, listing->list);
    size_t length = identity_id_length(row->plugin);
    (void)yyjson_mut_obj_add_strncpy(listing->doc, object, "plugin", row->plugin, length);
    document_add_text(listing->doc, object, "origin",
                      row->plugin[length] == ' ' ? row->plugin + length + 1 : NULL);
    document_add_text(listing->doc, object, "capability", row->capability);
    (void)yyjson_mut_obj_add_bool(listing->doc, object, "allowed",
                                  row->kind == STORE_CAPABILITY_GIVEN);
    (void)yyjson_mut_obj_add_sint(listing->doc, object, "since_s", row->since_s);
    document_add_text(listing->doc, object, "who", row->who);
}

int life_allowances(struct life *life, struct toolrack_text **ret, struct toolrack_error *err) {
    struct listing listing;
    yyjson_mut_doc *doc = listing.doc = document_begin_list(&listing.list);
    int code = store_capabilities_read(life->options.store, NULL, add_row, &listing, err);
    if (code < 0) {
        yyjson_mut_doc_free(doc);
        return code;
    }
    return document_end(doc, ret, err);
}
