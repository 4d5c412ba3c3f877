#include "life/allowance.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "plugin/capability.h"

struct policy_options allowance_options(const struct life_options *options,
                                        const struct scan_folder *folder, struct descriptor *desc) {
    return (struct policy_options){.config = options->config,
                                   .desc = desc,
                                   .trust = folder->trust,
                                   .isolation = folder->isolation,
                                   .pin = folder->pin,
                                   .app_isolation = options->isolation,
                                   .origin = folder->origin,
                                   .places = options->places,
                                   .worker_program = options->worker_program};
}

/* --------------------------------------------------------------- what is stored */

struct collecting {
    struct arena *arena;
    struct policy_row *rows;
    size_t count;
    size_t room;
    bool failed;
};

static void take_row(void *user, const struct store_capability *row) {
    struct collecting *all = user;
    if (all->count == all->room && !all->failed) {
        size_t room = all->room == 0 ? 16 : all->room * 2;
        struct policy_row *rows = arena_alloc(all->arena, room * sizeof *rows);
        all->failed = rows == NULL;
        if (rows != NULL && all->count > 0) {
            memcpy(rows, all->rows, all->count * sizeof *rows);
        }
        all->rows = rows;
        all->room = room;
    }
    if (all->failed) {
        return;
    }
    struct policy_row *kept = &all->rows[all->count];
    *kept = (struct policy_row){
            .kind = row->kind,
            .word = arena_copy(all->arena, row->word, strlen(row->word)),
            .capability = arena_copy(all->arena, row->capability, strlen(row->capability))};
    all->failed = kept->word == NULL || kept->capability == NULL;
    all->count += !all->failed;
}

static bool applies(const struct policy_options *policy, const char *word) {
    for (size_t i = 0; i < policy->row_count; i++) {
        if (policy->rows[i].kind == STORE_CAPABILITY_COVERED &&
            strcmp(policy->rows[i].word, word) == 0) {
            return true;
        }
    }
    return false;
}

/* Store that a word applies from now on, and what it covers. A failure is not the plugin's: then
 * the word applies for the first time again at the next start. */
static bool cover(const struct life_options *options, const char *identity, const char *word,
                  const struct tr_plugin *plugin, struct arena *arena) {
    struct toolrack_error unheard;
    struct store_capability *rows =
            arena_alloc(arena, (plugin->capability_count + 1u) * sizeof *rows);
    size_t count = 0;
    if (rows == NULL) {
        return false;
    }
    const struct store_capability row = {.plugin = identity,
                                         .kind = STORE_CAPABILITY_COVERED,
                                         .word = word,
                                         .capability = "",
                                         .since_s = clock_wall_s(),
                                         .who = "configuration"};
    rows[count++] = row;
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        const struct tr_capability *declared = &plugin->capabilities[i];
        if (capability_is_allowed(word, declared->kind, declared->value)) {
            rows[count] = row;
            rows[count].capability = policy_capability_text(arena, declared);
            if (rows[count++].capability == NULL) {
                return false;
            }
        }
    }
    (void)store_capabilities_add(options->store, rows, count, &unheard);
    return true;
}

int allowance_read(const struct life_options *options, const char *identity, struct arena *arena,
                   struct policy_options *policy, struct toolrack_error *err) {
    struct config_policy asked;
    struct collecting all = {.arena = arena};
    struct toolrack_error why;
    config_policy(options->config, policy->desc->plugin->id, &asked);
    if (policy->desc->plugin->capability_count == 0 && yyjson_arr_size(asked.allow) == 0) {
        return 0;
    }
    int code = store_capabilities_read(options->store, identity, take_row, &all, &why);
    if (code == TOOLRACK_E_NO_MEMORY || all.failed) {
        return error_oom(err);
    }
    policy->rows = all.rows;
    policy->row_count = all.count;
    policy->rows_unread = code < 0;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (asked.allow, at, count, item) {
        const char *word = yyjson_get_str(item);
        if (code == 0 && policy_is_word(word) && !applies(policy, word) &&
            !cover(options, identity, word, policy->desc->plugin, arena)) {
            return error_oom(err);
        }
    }
    return 0;
}

/* -------------------------------------------------------------------- in words */

static int copy_text(const struct buf *text, char **ret, struct toolrack_error *err) {
    char *copy = text->failed ? NULL : strdup(text->data);
    if (copy == NULL) {
        return error_oom(err);
    }
    *ret = copy;
    return 0;
}

int allowance_new_text(const struct policy *policy, char **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct policy_capability *capability = &policy->capabilities[i];
        if (capability->is_new) {
            buf_printf(&text, "%s%s:%s", text.length > 0 ? "\n" : "",
                       policy_capability_name(capability->declared->kind),
                       capability->declared->value);
        }
    }
    if (text.length == 0 && !text.failed) {
        *ret = NULL;
        return 0;
    }
    return copy_text(&text, ret, err);
}

/* The item of "allow" that allows a declared capability and no more: a host cannot be held to, so
 * its port is allowed. In the arena; NULL when out of memory. */
static const char *allowance_of(struct arena *arena, const struct tr_capability *declared) {
    struct capability_network network;
    struct capability_fault unused;
    if (declared->kind != TR_CAP_NETWORK ||
        !capability_read_network(declared->value, &network, &unused) || !network.names_host) {
        return policy_capability_text(arena, declared);
    }
    return network.port != 0 ? arena_printf(arena, "network:*:%u", network.port) : "network:*";
}

/* Whether the value is a path whose placeholder stands for nothing yet: it can be given a value. */
static bool is_unset(const struct policy_capability *capability) {
    uint32_t kind = capability->declared->kind;
    return (kind == TR_CAP_READ || kind == TR_CAP_WRITE) && capability->declared_path == NULL &&
           strncmp(capability->declared->value, "${", 2) == 0;
}

/* Whether tools are of no use without what is not granted. */
static bool is_needed(const struct policy_capability *capability) {
    bool has_part = capability->narrower != NULL && capability->narrower[0] != NULL;
    return (capability->declared->flags & TR_CAP_OPTIONAL) == 0 && !has_part;
}

/* Whether what is declared to be written is declared to be read too: reading is of use alone. */
static bool is_read_too(const struct policy *policy, const struct tr_capability *written) {
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct tr_capability *one = policy->capabilities[i].declared;
        if (one->kind == TR_CAP_READ && strcmp(one->value, written->value) == 0) {
            return written->kind == TR_CAP_WRITE;
        }
    }
    return false;
}

int allowance_missing(const char *plugin_id, const struct policy *policy, struct missing **ret,
                      struct toolrack_error *err) {
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    if (policy->capability_count == 0) { /* as of most plugins of a large folder */
        *ret = NULL;
        return 0;
    }
    struct missing_capability *items =
            arena_alloc(&arena, (policy->capability_count + 1) * sizeof *items);
    size_t count = 0;
    for (size_t i = 0; items != NULL && i < policy->capability_count; i++) {
        const struct policy_capability *capability = &policy->capabilities[i];
        if (capability->allowed || (capability->is_void && !is_unset(capability))) {
            continue; /* nothing that an administrator does would help */
        }
        items[count] = (struct missing_capability){
                .kind = capability->declared->kind,
                .value = capability->declared->value,
                .path = capability->path,
                .refusal = capability->refusal != NULL ? capability->refusal : capability->obstacle,
                .allowance = allowance_of(&arena, capability->declared),
                .is_needed = is_needed(capability),
                .is_for_change = is_read_too(policy, capability->declared)};
        if (items[count++].allowance == NULL) {
            return error_oom(err);
        }
    }
    *ret = items != NULL && count > 0 ? missing_create(plugin_id, items, count) : NULL;
    return items == NULL || (count > 0 && *ret == NULL) ? error_oom(err) : 0;
}
