/* What is allowed of that which a plugin declares: by people, by the configuration, by its trust;
 * the whole, or paths in it. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "life/data.h"
#include "life/policy-parts.h"
#include "plugin/capability.h"

/* --------------------------------------------------------------------- rows */

static const struct policy_row *find_row(const struct making *making,
                                         enum store_capability_kind kind, const char *word,
                                         const char *capability) {
    for (size_t i = 0; i < making->options->row_count; i++) {
        const struct policy_row *row = &making->options->rows[i];
        if (row->kind == kind && strcmp(row->word, word) == 0 &&
            strcmp(row->capability, capability) == 0) {
            return row;
        }
    }
    return NULL;
}

/* A word covers what was declared when it first applied. */
static bool is_covered(const struct making *making, const char *word, const char *text) {
    return making->policy->pin == PIN_OFF ||
           (!making->options->rows_unread &&
            (find_row(making, STORE_CAPABILITY_COVERED, word, "") == NULL ||
             find_row(making, STORE_CAPABILITY_COVERED, word, text) != NULL));
}

/* ------------------------------------------------------------------- places */

const char *policy_own_folder(const struct policy_options *options, struct arena *arena) {
    bool has_one = options->places != NULL && options->origin != NULL &&
                   options->desc->plugin->capability_count > 0;
    return has_one ? data_folder(arena, options->places, options->desc->plugin->id, options->origin)
                   : NULL;
}

static struct policy_values values_of(const struct making *making) {
    return (struct policy_values){.config = making->options->config,
                                  .plugin_id = making->options->desc->plugin->id,
                                  .own_folder = making->guard.own_folder,
                                  .arena = making->arena,
                                  .ways = making->paths.ways};
}

/* Where a declared path leads; NULL in `ret->way.end`: nowhere. False: out of memory. */
bool policy_find_declared(const struct making *making, const struct tr_capability *declared,
                          struct policy_target *ret) {
    const struct policy_values values = values_of(making);
    *ret = (struct policy_target){0};
    if (declared->kind != TR_CAP_READ && declared->kind != TR_CAP_WRITE) {
        return true;
    }
    bool is_found = policy_target_find(&values, declared->value, ret);
    ret->way.end = ret->nowhere == NULL ? ret->way.end : NULL;
    return is_found;
}

bool policy_find_program(const struct making *making, const struct tr_capability *declared,
                         const char **ret_program, const char **ret_nowhere) {
    const struct policy_values values = values_of(making);
    return policy_target_expand(&values, declared->value, ret_program, ret_nowhere);
}

/* What is declared too is given by itself, and is no part of another. */
static bool is_declared(const struct tr_plugin *plugin, const char *item) {
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        const struct tr_capability *declared = &plugin->capabilities[i];
        if (capability_is_allowed(item, declared->kind, declared->value)) {
            return true;
        }
    }
    return false;
}

int policy_find_narrower(const struct policy_options *options, struct arena *arena,
                         const char *item, const struct tr_capability *declared,
                         const char **ret_path, struct toolrack_error *err) {
    const struct making making = {.options = options,
                                  .arena = arena,
                                  .paths.ways = arena,
                                  .guard.own_folder = policy_own_folder(options, arena)};
    const struct policy_values values = values_of(&making);
    struct policy_target whole;
    struct policy_target narrower;
    *ret_path = NULL;
    if (is_declared(options->desc->plugin, item)) {
        return 0;
    }
    if (!policy_find_declared(&making, declared, &whole) ||
        !policy_target_find_narrower(&values, item, declared->kind, whole.way.end, &narrower)) {
        return error_oom(err);
    }
    *ret_path = narrower.way.end;
    return 0;
}

/* ------------------------------------------------------------------ allowed */

/* Note which item of the policy's "allow" it is; what a person gave is no such. */
#define NO_ITEM SIZE_MAX

static void note_allowance(const struct making *making, struct policy_capability *capability,
                           const char *item, size_t index) {
    capability->allowed = true;
    capability->is_given = index == NO_ITEM;
    capability->allowance = index == NO_ITEM ? NULL : item;
    capability->allowance_line =
            index == NO_ITEM
                    ? 0
                    : config_allowance_line(making->options->config,
                                            making->options->desc->plugin->id, index, NULL);
}

/* What grants the whole of it: what a person has decided about it comes before the configuration.
 * `ret_item` NULL: nothing. */
static void find_whole(const struct making *making, struct policy_capability *capability,
                       const char *text, const char **ret_item, size_t *ret_index) {
    const struct tr_capability *declared = capability->declared;
    size_t at;
    size_t count;
    yyjson_val *allowance;
    *ret_item = NULL;
    *ret_index = NO_ITEM;
    if (find_row(making, STORE_CAPABILITY_GIVEN, "", text) != NULL) {
        *ret_item = text;
        return;
    }
    yyjson_arr_foreach (making->asked->allow, at, count, allowance) {
        const char *item = yyjson_get_str(allowance);
        if (capability_is_allowed(item, declared->kind, declared->value)) {
            capability->is_new = policy_is_word(item) && !is_covered(making, item, text);
            if (!capability->is_new) {
                *ret_item = item;
                *ret_index = at;
                return;
            }
        }
    }
}

/* The narrower items that were found for one capability. */
struct narrowing {
    struct policy_capability *capability;
    const char **items; /* room for all that there are */
    size_t count;
};

/* Grant what an item gives, if it leads into the declared path. */
static int add_narrower(struct making *making, struct narrowing *narrowing, const char *item,
                        size_t index, struct toolrack_error *err) {
    struct policy_capability *capability = narrowing->capability;
    const struct policy_values values = values_of(making);
    uint32_t kind = capability->declared->kind;
    struct policy_target target;
    if (is_declared(making->options->desc->plugin, item)) {
        return 0;
    }
    if (!policy_target_find_narrower(&values, item, kind, capability->declared_path, &target)) {
        return error_oom(err);
    }
    if (target.way.end == NULL || capability->refusal != NULL) {
        return 0;
    }
    int code = path_grants_add(&making->paths, &target.way, kind == TR_CAP_WRITE,
                               &capability->refusal, err);
    if (narrowing->count == 0 || capability->refusal != NULL) {
        note_allowance(making, capability, item, index);
        capability->path = target.way.end;
    }
    narrowing->items[narrowing->count++] = item;
    return code;
}

/* The paths in it that the configuration and people give. What a person took counts for the former
 * only: who takes the whole takes also what was given in it. */
static int add_all_narrower(struct making *making, struct policy_capability *capability,
                            bool is_taken, struct toolrack_error *err) {
    const struct policy_options *options = making->options;
    struct narrowing narrowing = {.capability = capability};
    size_t at;
    size_t count;
    yyjson_val *allowance;
    int code = 0;
    size_t room = yyjson_arr_size(making->asked->allow) + options->row_count + 1;
    narrowing.items = arena_zalloc(making->arena, room * sizeof *narrowing.items);
    if (narrowing.items == NULL) {
        return error_oom(err);
    }
    yyjson_arr_foreach (making->asked->allow, at, count, allowance) {
        const char *item = yyjson_get_str(allowance);
        if (code == 0 && !is_taken && find_row(making, STORE_CAPABILITY_TAKEN, "", item) == NULL) {
            code = add_narrower(making, &narrowing, item, at, err);
        }
    }
    for (size_t i = 0; code == 0 && i < options->row_count; i++) {
        if (options->rows[i].kind == STORE_CAPABILITY_GIVEN) {
            code = add_narrower(making, &narrowing, options->rows[i].capability, NO_ITEM, err);
        }
    }
    capability->narrower = narrowing.items;
    return code;
}

int policy_allow(struct making *making, struct policy_capability *capability,
                 const struct policy_target *target, struct toolrack_error *err) {
    const char *text = policy_capability_text(making->arena, capability->declared);
    if (text == NULL) {
        return error_oom(err);
    }
    bool is_taken = find_row(making, STORE_CAPABILITY_TAKEN, "", text) != NULL;
    const char *item = NULL;
    size_t index = NO_ITEM;
    if (!is_taken) {
        find_whole(making, capability, text, &item, &index);
    }
    if (item != NULL) {
        note_allowance(making, capability, item, index);
        return policy_grant(making, capability, target, err);
    }
    int code = capability->declared_path != NULL
                       ? add_all_narrower(making, capability, is_taken, err)
                       : 0;
    if (code == 0 && !is_taken && !capability->allowed && making->options->trust == TRUST_BUILTIN &&
        capability->declared->kind == TR_CAP_READ) {
        capability->allowed = true;
        return policy_grant(making, capability, target, err);
    }
    capability->is_taken = is_taken && !capability->allowed;
    capability->is_new = capability->is_new && !capability->allowed;
    return code;
}

/* --------------------------------------------------------------------- used */

/* Whether an item of "allow" names something that is declared, or less of it. */
static bool is_used(const struct making *making, const char *item, bool *ret_failed) {
    const struct tr_plugin *plugin = making->options->desc->plugin;
    const struct policy_values values = values_of(making);
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        const struct tr_capability *declared = &plugin->capabilities[i];
        struct policy_target whole;
        struct policy_target narrower;
        if (capability_is_allowed(item, declared->kind, declared->value)) {
            return true;
        }
        *ret_failed = !policy_find_declared(making, declared, &whole) ||
                      !policy_target_find_narrower(&values, item, declared->kind, whole.way.end,
                                                   &narrower);
        if (*ret_failed || narrower.way.end != NULL) {
            return true;
        }
    }
    return false;
}

int policy_note_used(const struct making *making, struct toolrack_error *err) {
    yyjson_val *allow = making->asked->allow;
    if (yyjson_arr_size(allow) == 0) {
        return 0;
    }
    bool *used = arena_zalloc(making->arena, yyjson_arr_size(allow));
    bool failed = used == NULL;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (allow, at, count, item) {
        if (!failed) {
            used[at] = is_used(making, yyjson_get_str(item), &failed);
        }
    }
    making->policy->allowances_used = used;
    return failed ? error_oom(err) : 0;
}
