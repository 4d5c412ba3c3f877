#include "life/identities.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/semver.h"
#include "config/config.h"
#include "permit/permit.h"
#include "plugin/origin.h"
#include "store/identities.h"

/* An id gets another owner. */
struct identity_move {
    struct identity_move *next;
    const struct identity_claim *to;
    const char *from; /* the identity of the owner until now */
    bool is_known;    /* `to` was recorded before */
};

/* A row of the store. */
struct record {
    struct store_identity row; /* its strings are in the arena */
};

/* The records that are needed, by id. */
struct records {
    struct arena *arena;
    struct record *items;
    size_t count;
    size_t room;
    bool failed;
};

/* ----------------------------------------------------------------- records */

static void take_record(void *user, const struct store_identity *row) {
    struct records *records = user;
    if (records->count == records->room) {
        size_t room = records->room == 0 ? 16 : 2 * records->room;
        struct record *grown = realloc(records->items, room * sizeof *grown);
        if (grown == NULL) {
            records->failed = true;
            return;
        }
        records->items = grown;
        records->room = room;
    }
    struct record *record = &records->items[records->count++];
    record->row = *row;
    record->row.plugin = arena_copy(records->arena, row->plugin, strlen(row->plugin));
    record->row.origin = arena_copy(records->arena, row->origin, strlen(row->origin));
    records->failed = records->failed || record->row.plugin == NULL || record->row.origin == NULL;
}

static const char *id_of(const struct identity_claim *claim) {
    return claim->desc->plugin->id;
}

/* The records of an id, which are adjacent, as the store sorts them by id. */
static struct records records_of(const struct records *all, const char *id) {
    size_t low = 0;
    size_t high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(all->items[middle].row.plugin, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct records of = {.items = all->items + low};
    while (low + of.count < all->count && strcmp(of.items[of.count].row.plugin, id) == 0) {
        of.count++;
    }
    return of;
}

static const struct store_identity *record_of(const struct records *records, const char *origin) {
    for (size_t i = 0; i < records->count; i++) {
        if (strcmp(records->items[i].row.origin, origin) == 0) {
            return &records->items[i].row;
        }
    }
    return NULL;
}

static const struct store_identity *find_owner(const struct records *records) {
    for (size_t i = 0; i < records->count; i++) {
        if (records->items[i].row.owns) {
            return &records->items[i].row;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------- judge */

struct judging {
    struct identities *identities;
    struct identity_claim **claims; /* of one id, in the order of the folders */
    size_t count;
    struct records records; /* of that id */
};

/* Whether `a` comes before `b`, which is later in the order of the folders. */
static bool is_before(const struct records *records, const struct identity_claim *a,
                      const struct identity_claim *b) {
    const struct store_identity *x = record_of(records, a->folder->origin);
    const struct store_identity *y = record_of(records, b->folder->origin);
    bool a_owns = x != NULL && x->owns;
    bool b_owns = y != NULL && y->owns;
    int64_t a_order = x != NULL ? x->order : INT64_MAX;
    int64_t b_order = y != NULL ? y->order : INT64_MAX;
    return a->folder->trust != b->folder->trust ? a->folder->trust > b->folder->trust
           : a_owns != b_owns                   ? a_owns
           : a->came_before != b->came_before   ? a->came_before
                                                : a_order <= b_order;
}

static int refuse(struct identity_claim *claim, const char *rule, const char *reason,
                  const char *fix) {
    claim->verdict = IDENTITY_REFUSED;
    claim->rule = rule;
    claim->reason = reason;
    claim->fix = fix;
    return reason != NULL && fix != NULL ? 0 : TOOLRACK_E_NO_MEMORY;
}

static int refuse_other_origin(const struct judging *judging, struct identity_claim *claim,
                               const struct identity_claim *first) {
    return refuse(claim, IDENTITY_RULE_TAKEN,
                  arena_printf(&judging->identities->arena,
                               "Plugin already exists: %s is %s (%s); this file, of trust %s, is "
                               "another plugin",
                               id_of(claim), first->path, trust_name(first->folder->trust),
                               trust_name(claim->folder->trust)),
                  "give the plugin an id of its own, or remove one of the two files");
}

/* Of the files of one origin the highest version serves. */
static int judge_versions(const struct judging *judging, const char *origin) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < judging->count; i++) {
        struct identity_claim *claim = judging->claims[i];
        for (size_t j = 0; code == 0 && j < judging->count; j++) {
            const struct identity_claim *other = judging->claims[j];
            if (i == j || strcmp(claim->folder->origin, origin) != 0 ||
                strcmp(other->folder->origin, origin) != 0) {
                continue;
            }
            int order = semver_compare(claim->desc->plugin->version, other->desc->plugin->version);
            if (order < 0 && claim->verdict == IDENTITY_SERVES) {
                claim->verdict = IDENTITY_KEPT;
            } else if (order == 0 && claim->verdict != IDENTITY_REFUSED && !claim->came_before &&
                       (other->came_before || j < i)) {
                code = refuse(claim, IDENTITY_RULE_TAKEN,
                              arena_printf(&judging->identities->arena,
                                           "Plugin already exists: %s %s is also %s", id_of(claim),
                                           claim->desc->plugin->version, other->path),
                              "remove one of the two files, or give one another version");
            }
        }
    }
    return code;
}

/* Where something is bound to an owner, in words; NULL: nothing is. */
static const char *place_of_bound(const struct life_options *options,
                                  const struct store_identity *owner, const char *identity) {
    struct toolrack_error unheard;
    bool is_stored = false;
    if (config_mentions(options->config, owner->plugin)) {
        return "the configuration has a policy or settings";
    }
    /* If this cannot be read, something may be bound. */
    return store_identity_is_bound(options->store, identity, &is_stored, &unheard) < 0 || is_stored
                   ? "the store has decisions"
                   : NULL;
}

static int add_move(const struct judging *judging, const struct identity_claim *to,
                    const char *from) {
    struct identities *identities = judging->identities;
    struct identity_move *move = arena_alloc(&identities->arena, sizeof *move);
    if (move == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    *move = (struct identity_move){.next = identities->moves,
                                   .to = to,
                                   .from = from,
                                   .is_known = record_of(&judging->records, to->folder->origin) !=
                                               NULL};
    identities->moves = move;
    return 0;
}

/* The owner of the id is another identity: may `first` become the owner? */
static int judge_owner(const struct judging *judging, const struct store_identity *owner,
                       const struct identity_claim *first) {
    const struct life_options *options = judging->identities->options;
    struct arena *arena = &judging->identities->arena;
    const char *from = arena_printf(arena, "%s %s", owner->plugin, owner->origin);
    if (from == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if ((int)first->folder->trust > owner->trust) {
        return add_move(judging, first, from);
    }
    const char *place = place_of_bound(options, owner, from);
    if (place == NULL) {
        return add_move(judging, first, from);
    }
    int code = 0;
    for (size_t i = 0; code == 0 && i < judging->count; i++) {
        struct identity_claim *claim = judging->claims[i];
        if (claim->verdict != IDENTITY_REFUSED) {
            code = refuse(claim, IDENTITY_RULE_BOUND,
                          arena_printf(arena,
                                       "%s for plugin %s from %s, which is absent; this file is "
                                       "from %s",
                                       place, id_of(claim), owner->origin, claim->folder->origin),
                          arena_printf(arena,
                                       "'toolrack adopt %s' if it is the same plugin; else give it "
                                       "another id, or remove what was decided",
                                       claim->path));
            claim->owner = from;
        }
    }
    return code;
}

/* Judge the claims to one id. */
static int judge_id(const struct judging *judging) {
    struct identity_claim *first = judging->claims[0];
    int code = 0;
    for (size_t i = 1; i < judging->count; i++) {
        if (!is_before(&judging->records, first, judging->claims[i])) {
            first = judging->claims[i];
        }
    }
    const char *origin = first->folder->origin;
    for (size_t i = 0; code == 0 && i < judging->count; i++) {
        struct identity_claim *claim = judging->claims[i];
        if (strcmp(claim->folder->origin, origin) != 0) {
            code = refuse_other_origin(judging, claim, first);
        }
    }
    const struct store_identity *owner = find_owner(&judging->records);
    if (code == 0 && judging->count > 1) {
        code = judge_versions(judging, origin);
    }
    if (code == 0 && owner != NULL && strcmp(owner->origin, origin) != 0) {
        code = judge_owner(judging, owner, first);
    }
    for (size_t i = 0; i < judging->count; i++) {
        judging->claims[i]->owns = judging->claims[i]->verdict != IDENTITY_REFUSED;
    }
    return code;
}

/* ------------------------------------------------------------------- whole */

static int compare_claims(const void *a, const void *b) {
    const struct identity_claim *x = *(struct identity_claim *const *)a;
    const struct identity_claim *y = *(struct identity_claim *const *)b;
    int order = strcmp(id_of(x), id_of(y));
    return order != 0 ? order : (x > y) - (x < y);
}

static void add_string(crypto_generichash_state *hash, const char *string) {
    (void)crypto_generichash_update(hash, (const unsigned char *)string, strlen(string) + 1);
}

/* What would be recorded, as a hash. */
static void hash_set(const struct identities *identities, uint8_t ret[32]) {
    crypto_generichash_state hash;
    (void)crypto_generichash_init(&hash, NULL, 0, 32);
    for (size_t i = 0; i < identities->count; i++) {
        const struct identity_claim *claim = &identities->claims[i];
        add_string(&hash, claim->folder->origin);
        add_string(&hash, id_of(claim));
        for (uint32_t j = 0; j < claim->desc->tool_count; j++) {
            add_string(&hash, claim->desc->tools[j].tool->name);
        }
        add_string(&hash, "");
    }
    (void)crypto_generichash_final(&hash, ret, 32);
}

static size_t end_of_id(struct identity_claim *const *claims, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && strcmp(id_of(claims[end]), id_of(claims[first])) == 0) {
        end++;
    }
    return end;
}

/* A function of a library that the configuration defines has the policy of its name: only builtin
 * plugins, which the administrator also brought, may have the same id. */
static int judge_defined(struct identities *identities, struct identity_claim **claims,
                         bool *ret_clear) {
    const struct config *config = identities->options->config;
    const char *name;
    for (size_t at = 0; (name = config_native_name(config, at)) != NULL; at++) {
        for (size_t i = 0; name[0] != '\0' && i < identities->count; i++) {
            if (strcmp(id_of(claims[i]), name) != 0 || claims[i]->folder->trust == TRUST_BUILTIN) {
                continue;
            }
            int code = refuse(claims[i], IDENTITY_RULE_TAKEN,
                              arena_printf(&identities->arena,
                                           "Plugin already exists: %s is defined in %s", name,
                                           identities->options->places->config_file),
                              "give the plugin an id of its own, or the definition another name");
            *ret_clear = false;
            if (code < 0) {
                return code;
            }
        }
    }
    return 0;
}

/* Without a state folder there is nothing to compare with, and nothing to be kept. */
static bool keeps(const struct identities *identities) {
    return identities->options->places->state_dir != NULL;
}

static int judge_all(struct identities *identities, struct identity_claim **claims, bool whole,
                     struct toolrack_error *err) {
    size_t count = identities->count;
    bool is_clear = whole; /* each id is claimed once */
    struct records records = {.arena = &identities->arena};
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    for (size_t i = 0; i < count; i++) {
        is_clear = is_clear && end_of_id(claims, count, i) == i + 1;
    }
    if (judge_defined(identities, claims, &is_clear) < 0) {
        return error_oom(err);
    }
    if (is_clear && keeps(identities)) {
        hash_set(identities, identities->set);
        (void)store_set_is_recorded(identities->options->store, identities->set,
                                    &identities->is_recorded, &unheard);
        if (identities->is_recorded) {
            return 0;
        }
    }
    if (keeps(identities)) {
        (void)store_identities_read(
                identities->options->store,
                count > 0 && end_of_id(claims, count, 0) == count ? id_of(claims[0]) : NULL,
                take_record, &records, &unheard);
    }
    int code = records.failed ? TOOLRACK_E_NO_MEMORY : 0;
    for (size_t i = 0, end; code == 0 && i < count; i = end) {
        end = end_of_id(claims, count, i);
        if (claims[i]->verdict == IDENTITY_REFUSED &&
            claims[end - 1]->verdict == IDENTITY_REFUSED) {
            continue; /* the name of a definition */
        }
        const struct judging judging = {.identities = identities,
                                        .claims = claims + i,
                                        .count = end - i,
                                        .records = records_of(&records, id_of(claims[i]))};
        code = judge_id(&judging);
    }
    free(records.items);
    return code < 0 ? error_oom(err) : 0;
}

int identities_judge(struct identities *identities, const struct life_options *options,
                     struct identity_claim *claims, size_t count, bool whole,
                     struct toolrack_error *err) {
    *identities = (struct identities){.options = options, .claims = claims, .count = count};
    arena_init(&identities->arena, NULL, 0);
    struct identity_claim **sorted = calloc(count + 1, sizeof(struct identity_claim *));
    if (sorted == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &claims[i];
    }
    qsort(sorted, count, sizeof *sorted, compare_claims);
    int code = judge_all(identities, sorted, whole, err);
    free(sorted);
    return code;
}

void identities_finish(struct identities *identities) {
    arena_finish(&identities->arena);
}

/* ------------------------------------------------------------------ record */

static void tell_moved(const struct identities *identities, const struct identity_move *move) {
    const struct identity_claim *to = move->to;
    const char *from = move->from + identity_id_length(move->from) + 1;
    char why[ERROR_MESSAGE_MAX];
    (void)snprintf(why, sizeof why,
                   "%s is from %s now and was from %s; nothing that was decided about that one "
                   "applies to it",
                   to->path, to->folder->origin, from);
    log_line(identities->options->log, move->is_known ? LOG_INFO : LOG_WARNING, "identity",
             "plugin '%s': %s", id_of(to), why);
    permit_note(identities->options->permit,
                &(struct store_decision){
                        .plugin = id_of(to), .decision = "moved", .who = "identity", .why = why});
}

static int make_rows(struct identities *identities, struct store_sighting *rows,
                     size_t *ret_count) {
    size_t count = 0;
    for (size_t i = 0; i < identities->count; i++) {
        const struct identity_claim *claim = &identities->claims[i];
        if (claim->verdict == IDENTITY_REFUSED) {
            continue;
        }
        const struct descriptor *desc = claim->desc;
        const char **tools =
                arena_alloc(&identities->arena, (desc->tool_count + 1) * sizeof(const char *));
        if (tools == NULL) {
            return TOOLRACK_E_NO_MEMORY;
        }
        for (uint32_t j = 0; j < desc->tool_count; j++) {
            tools[j] = desc->tools[j].tool->name;
        }
        rows[count++] = (struct store_sighting){.plugin = id_of(claim),
                                                .origin = claim->folder->origin,
                                                .trust = (int)claim->folder->trust,
                                                .owns = claim->owns,
                                                .tools = tools,
                                                .tool_count = desc->tool_count};
    }
    *ret_count = count;
    return 0;
}

static int record(struct identities *identities, struct toolrack_error *err) {
    static const uint8_t no_set[sizeof identities->set];
    struct store *store = identities->options->store;
    bool has_set = memcmp(identities->set, no_set, sizeof no_set) != 0;
    size_t count = 0;
    struct store_sighting *rows = calloc(identities->count + 1, sizeof *rows);
    int code = rows == NULL || make_rows(identities, rows, &count) < 0 ? error_oom(err) : 0;
    for (size_t i = 0; i < identities->count; i++) {
        has_set = has_set && identities->claims[i].verdict == IDENTITY_SERVES;
    }
    if (code == 0 && count > 0) {
        code = store_identities_record(store, rows, count, clock_wall_s(),
                                       has_set ? identities->set : NULL, identities->moves != NULL,
                                       err);
    }
    free(rows);
    return code;
}

void identities_record(struct identities *identities) {
    struct toolrack_error err;
    if (identities->is_recorded || !keeps(identities)) {
        return;
    }
    for (const struct identity_move *move = identities->moves; move != NULL; move = move->next) {
        tell_moved(identities, move);
    }
    if (record(identities, &err) < 0) {
        log_line(identities->options->log, LOG_INFO, "identity",
                 "which plugins were seen first is not recorded: %s", err.message);
    }
}

void identities_note_refused(const struct life_options *options,
                             const struct identity_claim *claim) {
    CLEANUP(freep) char *subject = identity_text(id_of(claim), claim->folder->origin);
    struct toolrack_error unheard;
    bool is_new = true;
    if (subject != NULL && options->places->state_dir != NULL) {
        (void)store_tell_once(options->store, subject, claim->reason, &is_new, &unheard);
    }
    if (is_new) {
        permit_note(options->permit, &(struct store_decision){.plugin = id_of(claim),
                                                              .decision = "refused",
                                                              .who = "identity",
                                                              .why = claim->reason});
    }
}

/* ------------------------------------------------------------------- adopt */

int identities_adopt(const struct life_options *options, const struct identity_claim *claim,
                     const char *who, struct toolrack_error *err) {
    const struct store_sighting row = {.plugin = id_of(claim),
                                       .origin = claim->folder->origin,
                                       .trust = (int)claim->folder->trust};
    CLEANUP(freep) char *to = identity_text(row.plugin, row.origin);
    if (to == NULL) {
        return error_oom(err);
    }
    int code = store_identities_record(options->store, &row, 1, clock_wall_s(), NULL, true, err);
    if (code == 0) {
        code = store_identity_adopt(options->store, claim->owner, to, err);
    }
    if (code == 0) {
        char why[ERROR_MESSAGE_MAX];
        (void)snprintf(why, sizeof why, "%s has what was decided about the plugin from %s",
                       claim->path, claim->owner + identity_id_length(claim->owner) + 1);
        log_line(options->log, LOG_INFO, "identity", "plugin '%s': %s", row.plugin, why);
        permit_note(options->permit,
                    &(struct store_decision){
                            .plugin = row.plugin, .decision = "adopted", .who = who, .why = why});
    }
    return code;
}
