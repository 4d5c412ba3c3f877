/* Giving capabilities to plugins and taking them. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "life/allow-effect.h"
#include "life/allowance.h"
#include "life/guard-way.h"
#include "life/life.h"
#include "life/parts.h"
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
    struct policy_options options; /* of a policy as it is now */
    struct arena arena;
    const char *who;
    enum store_capability_kind kind;
    struct store_capability *rows; /* to be stored */
    size_t count;
};

static void deciding_finish(struct deciding *deciding) {
    plugin_unref(deciding->plugin);
    arena_finish(&deciding->arena);
}

static int begin(struct life *life, const char *name, enum store_capability_kind kind,
                 const char *who, struct deciding *ret, struct toolrack_error *err) {
    *ret = (struct deciding){.life = life, .kind = kind, .who = who};
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
    ret->options = allowance_options(&life->options, generation->file->folder, ret->plugin->desc);
    int code = allowance_read(&life->options, ret->plugin->identity_text, &ret->arena,
                              &ret->options, err);
    size_t room = ret->policy->capability_count + ret->options.row_count + 1;
    ret->rows = arena_zalloc(&ret->arena, room * sizeof *ret->rows);
    return code < 0 ? code : ret->rows != NULL ? 0 : error_oom(err);
}

/* Whether a person's words name a declared capability: as it is declared, by its real path, by a
 * word, or by another item of "allow". A host of the network cannot be held to, so what declares
 * one is given only by words that say its port of every host. */
static bool is_named(const char *words, const struct policy_capability *capability,
                     const char *text, bool is_given) {
    uint32_t kind = capability->declared->kind;
    const char *name = policy_capability_name(kind);
    size_t length = strlen(name);
    const char *path = kind == TR_CAP_SPAWN ? capability->path : capability->declared_path;
    return capability_is_allowed(words, kind, capability->declared->value) ||
           (strcmp(words, text) == 0 && (!is_given || kind != TR_CAP_NETWORK)) ||
           (!is_given && (strcmp(words, "*") == 0 || strcmp(words, name) == 0)) ||
           (path != NULL && strncmp(words, name, length) == 0 && words[length] == ':' &&
            strcmp(words + length + 1, path) == 0);
}

static int not_declared(const struct deciding *deciding, const char *words,
                        struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    for (size_t i = 0; i < deciding->policy->capability_count; i++) {
        const struct tr_capability *declared = deciding->policy->capabilities[i].declared;
        buf_printf(&list, "%s%s:%s", i > 0 ? ", " : "", policy_capability_name(declared->kind),
                   declared->value);
    }
    struct capability_fault fault;
    bool is_good = capability_check_allowance(words, &fault);
    return error_set(err, TOOLRACK_E_INVALID,
                     "plugin '%s' does not declare '%.100s'%s%s%s%s; it declares %s",
                     deciding->plugin->desc->plugin->id, words, is_good ? "" : ": ",
                     is_good ? "" : fault.cause, is_good ? "" : "; ", is_good ? "" : fault.fix,
                     list.failed ? "" : list.data);
}

static void add(struct deciding *deciding, const char *text) {
    for (size_t i = 0; i < deciding->count; i++) {
        if (strcmp(deciding->rows[i].capability, text) == 0) {
            return;
        }
    }
    deciding->rows[deciding->count++] =
            (struct store_capability){.plugin = deciding->plugin->identity_text,
                                      .kind = deciding->kind,
                                      .word = "",
                                      .capability = text,
                                      .since_s = clock_wall_s(),
                                      .who = deciding->who};
}

/* The path in a declared one to which an item leads; NULL: it is no such item. */
static int find_narrower(struct deciding *deciding, const char *item, size_t capability,
                         const char **ret_path, struct toolrack_error *err) {
    return policy_find_narrower(&deciding->options, &deciding->arena, item,
                                deciding->policy->capabilities[capability].declared, ret_path, err);
}

/* The declared capabilities that are named, or a path in one. */
static int choose_given(struct deciding *deciding, const char *words, struct toolrack_error *err) {
    for (size_t i = 0; i < deciding->policy->capability_count; i++) {
        const struct policy_capability *capability = &deciding->policy->capabilities[i];
        const char *text = policy_capability_text(&deciding->arena, capability->declared);
        if (text == NULL) {
            return error_oom(err);
        }
        if (is_named(words, capability, text, true)) {
            add(deciding, text);
        }
    }
    for (size_t i = 0; deciding->count == 0 && i < deciding->policy->capability_count; i++) {
        const char *path;
        int code = find_narrower(deciding, words, i, &path, err);
        if (code < 0) {
            return code;
        }
        if (path != NULL) {
            add(deciding, words);
            return 0;
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

/* -------------------------------------------------------------------------- give */

/* The rows of the store as they would be. */
static int foresee(struct deciding *deciding, struct policy *ret, struct toolrack_error *err) {
    struct policy_options options = deciding->options;
    struct policy_row *rows =
            arena_alloc(&deciding->arena, (options.row_count + deciding->count + 1) * sizeof *rows);
    size_t count = 0;
    if (rows == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < options.row_count; i++) {
        bool is_replaced = false;
        for (size_t j = 0; j < deciding->count; j++) {
            is_replaced = is_replaced ||
                          (options.rows[i].kind == STORE_CAPABILITY_TAKEN &&
                           strcmp(options.rows[i].capability, deciding->rows[j].capability) == 0);
        }
        if (!is_replaced) {
            rows[count++] = options.rows[i];
        }
    }
    for (size_t j = 0; j < deciding->count; j++) {
        rows[count++] = (struct policy_row){.kind = STORE_CAPABILITY_GIVEN,
                                            .word = "",
                                            .capability = deciding->rows[j].capability};
    }
    options.rows = rows;
    options.row_count = count;
    return policy_make(&options, &deciding->arena, ret, err);
}

/* Whether what is to be stored gives a capability, or a path in it. */
static int is_asked_for(struct deciding *deciding, size_t capability, bool *ret,
                        struct toolrack_error *err) {
    const char *text = policy_capability_text(&deciding->arena,
                                              deciding->policy->capabilities[capability].declared);
    const char *path = NULL;
    int code = text != NULL ? 0 : error_oom(err);
    *ret = false;
    for (size_t i = 0; code == 0 && !*ret && i < deciding->count; i++) {
        const char *item = deciding->rows[i].capability;
        code = find_narrower(deciding, item, capability, &path, err);
        *ret = code == 0 && (path != NULL || strcmp(item, text) == 0);
    }
    return code;
}

/* The rest of what a word names, to be given by itself. */
static const char *rest_of(struct deciding *deciding, const struct policy *now) {
    CLEANUP(buf_finish) struct buf rest = BUF_INIT;
    size_t count = 0;
    buf_add_text(&rest, "; of the rest: ");
    bool is_command = command_begin(&rest, "allow") &&
                      command_add_word(&rest, deciding->plugin->desc->plugin->id);
    for (size_t i = 0; i < now->capability_count; i++) {
        const char *text = policy_capability_text(&deciding->arena, now->capabilities[i].declared);
        for (size_t j = 0; j < deciding->count && text != NULL; j++) {
            if (now->capabilities[i].refusal == NULL &&
                strcmp(deciding->rows[j].capability, text) == 0) {
                is_command = command_add_word(&rest, text) && is_command;
                count++;
            }
        }
    }
    return rest.failed || !is_command || count == 0
                   ? ""
                   : arena_copy(&deciding->arena, rest.data, rest.length);
}

/* What would be given and yet not granted is not stored, nor what would end another grant. A word
 * may cover what has no value yet. */
static int judge(struct deciding *deciding, const char *words, struct toolrack_error *err) {
    struct policy now;
    int code = foresee(deciding, &now, err);
    bool is_word = policy_is_word(words);
    for (size_t i = 0; code == 0 && i < now.capability_count; i++) {
        const struct policy_capability *capability = &now.capabilities[i];
        bool is_asked = false;
        if (capability->refusal == NULL || (is_word && capability->is_void)) {
            continue;
        }
        code = is_asked_for(deciding, i, &is_asked, err);
        if (code < 0 || (!is_asked && !deciding->policy->capabilities[i].allowed)) {
            continue;
        }
        const char *rest = is_word ? rest_of(deciding, &now) : "";
        return error_set(
                err, TOOLRACK_E_REFUSED, "'%s:%s' %s '%s': %s; nothing was changed%s",
                policy_capability_name(capability->declared->kind), capability->declared->value,
                is_asked ? "cannot be allowed to" : "would no longer be granted to",
                deciding->plugin->desc->plugin->id, capability->refusal, rest != NULL ? rest : "");
    }
    return code;
}

int life_allow(struct life *life, const char *name, const char *capability, const char *who,
               struct toolrack_error *err) {
    CLEANUP(deciding_finish) struct deciding deciding;
    int code = begin(life, name, STORE_CAPABILITY_GIVEN, who, &deciding, err);
    if (code == 0) {
        code = choose_given(&deciding, capability, err);
    }
    if (code == 0) {
        code = judge(&deciding, capability, err);
    }
    if (code == 0) {
        code = store_capabilities_add(life->options.store, deciding.rows, deciding.count, err);
    }
    if (code < 0) {
        return code;
    }
    note(&deciding, "allowed capability", who);
    return allow_take_effect(life, deciding.plugin, err);
}

/* -------------------------------------------------------------------------- take */

/* The paths in a declared one that people gave. */
static int add_given_in(struct deciding *deciding, size_t capability, struct toolrack_error *err) {
    const char *path = NULL;
    int code = 0;
    for (size_t i = 0; code == 0 && i < deciding->options.row_count; i++) {
        const struct policy_row *row = &deciding->options.rows[i];
        if (row->kind == STORE_CAPABILITY_GIVEN) {
            code = find_narrower(deciding, row->capability, capability, &path, err);
            if (code == 0 && path != NULL) {
                add(deciding, row->capability);
            }
        }
    }
    return code;
}

/* The paths in declared ones that are granted, by the same words or another name of the path.
 * `ret_part`: of which granted item the words name a part; NULL: of none. */
static int add_narrower(struct deciding *deciding, const char *words, const char **ret_part,
                        struct toolrack_error *err) {
    *ret_part = NULL;
    for (size_t i = 0; i < deciding->policy->capability_count; i++) {
        const struct policy_capability *capability = &deciding->policy->capabilities[i];
        const char *const *items = capability->narrower;
        const char *path;
        const char *other;
        int code = find_narrower(deciding, words, i, &path, err);
        if (code < 0 || path == NULL) {
            if (code < 0) {
                return code;
            }
            continue;
        }
        for (size_t j = 0; items != NULL && items[j] != NULL; j++) {
            code = find_narrower(deciding, items[j], i, &other, err);
            if (code < 0) {
                return code;
            }
            if (other != NULL && strcmp(path, other) == 0) {
                add(deciding, items[j]);
            } else if (other != NULL && guard_below(path, other) != NULL) {
                *ret_part = items[j];
            }
        }
        if (capability->allowed && (items == NULL || items[0] == NULL)) {
            *ret_part = policy_capability_text(&deciding->arena, capability->declared);
        }
    }
    return 0;
}

/* What is named and granted, or would be. */
static int choose_taken(struct deciding *deciding, const char *words, struct toolrack_error *err) {
    const char *id = deciding->plugin->desc->plugin->id;
    const char *part = NULL;
    bool named = false;
    int code = 0;
    for (size_t i = 0; code == 0 && i < deciding->policy->capability_count; i++) {
        const struct policy_capability *capability = &deciding->policy->capabilities[i];
        const char *text = policy_capability_text(&deciding->arena, capability->declared);
        if (text == NULL) {
            return error_oom(err);
        }
        if (!is_named(words, capability, text, false)) {
            continue;
        }
        named = true;
        if (!capability->is_taken &&
            (capability->allowed || capability->is_new || capability->refusal != NULL)) {
            add(deciding, text);
            code = add_given_in(deciding, i, err);
        }
    }
    if (code == 0 && deciding->count == 0) {
        code = add_narrower(deciding, words, &part, err);
    }
    if (code < 0 || deciding->count > 0) {
        return code;
    }
    if (part != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "plugin '%s' is allowed more than '%.100s', of which no part can be "
                         "taken: take '%s', and allow the narrower paths that it needs",
                         id, words, part);
    }
    if (!named) {
        code = not_declared(deciding, words, err);
        for (size_t i = 0; i < deciding->policy->capability_count; i++) {
            const char *path = NULL;
            struct toolrack_error unheard;
            (void)find_narrower(deciding, words, i, &path, &unheard);
            named = named || path != NULL;
        }
    }
    return named ? error_set(err, TOOLRACK_E_NOT_FOUND,
                             "plugin '%s' is not allowed '%.100s': there is nothing to take", id,
                             words)
                 : code;
}

int life_disallow(struct life *life, const char *name, const char *capability, const char *who,
                  struct toolrack_error *err) {
    CLEANUP(deciding_finish) struct deciding deciding;
    int code = begin(life, name, STORE_CAPABILITY_TAKEN, who, &deciding, err);
    if (code == 0) {
        code = choose_taken(&deciding, capability, err);
    }
    if (code == 0) {
        code = store_capabilities_add(life->options.store, deciding.rows, deciding.count, err);
    }
    if (code < 0) {
        return code;
    }
    note(&deciding, "disallowed capability", who);
    return allow_take_effect(life, deciding.plugin, err);
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
