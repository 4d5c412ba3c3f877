/* Which of the files that claim an id may use it. */
#include "life/identities.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/semver.h"
#include "base/sort.h"
#include "config/config.h"
#include "life/identities-parts.h"
#include "plugin/origin.h"
#include "store/identities.h"

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
    record->row.file =
            row->file != NULL ? arena_copy(records->arena, row->file, strlen(row->file)) : NULL;
    record->row.version = row->version != NULL
                                  ? arena_copy(records->arena, row->version, strlen(row->version))
                                  : NULL;
    records->failed = records->failed || (row->file != NULL && record->row.file == NULL) ||
                      (row->version != NULL && record->row.version == NULL);
    records->failed = records->failed || record->row.plugin == NULL || record->row.origin == NULL;
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
    struct records of = {.items = all->count > 0 ? all->items + low : NULL};
    while (low + of.count < all->count && strcmp(of.items[of.count].row.plugin, id) == 0) {
        of.count++;
    }
    return of;
}

const struct store_identity *identities_record_of(const struct records *records,
                                                  const char *origin) {
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

/* Whether `a` comes before `b`, which is later in the order of the folders. */
static bool is_before(const struct records *records, const struct identity_claim *a,
                      const struct identity_claim *b) {
    const struct store_identity *x = identities_record_of(records, a->folder->origin);
    const struct store_identity *y = identities_record_of(records, b->folder->origin);
    bool a_owns = x != NULL && x->owns;
    bool b_owns = y != NULL && y->owns;
    int64_t a_order = x != NULL ? x->order : INT64_MAX;
    int64_t b_order = y != NULL ? y->order : INT64_MAX;
    return a->folder->trust != b->folder->trust ? a->folder->trust > b->folder->trust
           : a_owns != b_owns                   ? a_owns
           : a->came_before != b->came_before   ? a->came_before
                                                : a_order <= b_order;
}

int identities_refuse(struct identity_claim *claim, const char *rule, const char *reason,
                      const char *fix) {
    claim->verdict = IDENTITY_REFUSED;
    claim->rule = rule;
    claim->reason = reason;
    claim->fix = fix;
    return reason != NULL && fix != NULL ? 0 : TOOLRACK_E_NO_MEMORY;
}

static int refuse_other_origin(const struct judging *judging, struct identity_claim *claim,
                               const struct identity_claim *first) {
    return identities_refuse(
            claim, IDENTITY_RULE_TAKEN,
            arena_printf(&judging->identities->arena,
                         "Plugin already exists: %s is %s (%s); this file, of trust %s, is "
                         "another plugin",
                         identity_claim_id(claim), first->path, trust_name(first->folder->trust),
                         trust_name(claim->folder->trust)),
            "give the plugin an id of its own, or remove one of the two files");
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
    *move = (struct identity_move){
            .next = identities->moves,
            .to = to,
            .from = from,
            .is_known = identities_record_of(&judging->records, to->folder->origin) != NULL};
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
            code = identities_refuse(
                    claim, IDENTITY_RULE_BOUND,
                    arena_printf(arena,
                                 "%s for plugin %s from %s, which is absent; this file is "
                                 "from %s",
                                 place, identity_claim_id(claim), owner->origin,
                                 claim->folder->origin),
                    arena_printf(arena,
                                 "if it is the same plugin, say so: %s; else give it another "
                                 "id, or remove what was decided",
                                 COMMAND("adopt", claim->path)));
            claim->owner = from;
        }
    }
    return code;
}

/* Who owned the id is not known. What serves has been judged before, and builtin plugins come first
 * anyway; for others the configuration's members of the id may be those of somebody else. */
static int judge_unread(const struct judging *judging) {
    struct arena *arena = &judging->identities->arena;
    const struct life_options *options = judging->identities->options;
    bool is_mentioned = config_mentions(options->config, identity_claim_id(judging->claims[0]));
    int code = 0;
    for (size_t i = 0; is_mentioned && code == 0 && i < judging->count; i++) {
        struct identity_claim *claim = judging->claims[i];
        if (claim->verdict != IDENTITY_REFUSED && !claim->came_before &&
            claim->folder->trust != TRUST_BUILTIN) {
            code = identities_refuse(
                    claim, IDENTITY_RULE_UNREAD,
                    arena_printf(arena,
                                 "the configuration has a policy or settings for plugin %s, "
                                 "and from where that plugin is cannot be read: %s",
                                 identity_claim_id(claim), judging->unread->message),
                    "mend the state folder, or move toolrack.db away to begin with no "
                    "decisions");
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
        code = identities_judge_versions(judging, origin);
    }
    if (code == 0 && owner != NULL && strcmp(owner->origin, origin) != 0) {
        code = judge_owner(judging, owner, first);
    }
    if (code == 0 && judging->unread != NULL) {
        code = judge_unread(judging);
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
    int order = strcmp(identity_claim_id(x), identity_claim_id(y));
    return order != 0 ? order : (x > y) - (x < y);
}

static void add_string(struct buf *words, const char *string) {
    buf_add(words, string, strlen(string) + 1);
}

/* What would be recorded, as a hash; an origin is said where it differs from the one before. False:
 * out of memory. */
static bool hash_set(const struct identities *identities, uint8_t ret[32]) {
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    const struct scan_folder *folder = NULL;
    for (size_t i = 0; i < identities->count; i++) {
        const struct identity_claim *claim = &identities->claims[i];
        add_string(&words, claim->folder != folder ? claim->folder->origin : "");
        folder = claim->folder;
        add_string(&words, identity_claim_id(claim));
        add_string(&words, identity_claim_file(claim));
        add_string(&words, claim->desc->plugin->version);
        for (uint32_t j = 0; j < claim->desc->tool_count; j++) {
            add_string(&words, claim->desc->tools[j].tool->name);
        }
        add_string(&words, "");
    }
    (void)crypto_generichash(ret, 32, (const unsigned char *)words.data, words.length, NULL, 0);
    return !words.failed;
}

static size_t end_of_id(struct identity_claim *const *claims, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count &&
           strcmp(identity_claim_id(claims[end]), identity_claim_id(claims[first])) == 0) {
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
            if (strcmp(identity_claim_id(claims[i]), name) != 0 ||
                claims[i]->folder->trust == TRUST_BUILTIN) {
                continue;
            }
            int code = identities_refuse(
                    claims[i], IDENTITY_RULE_TAKEN,
                    arena_printf(&identities->arena, "Plugin already exists: %s is defined in %s",
                                 name, identities->options->places->config_file),
                    "give the plugin an id of its own, or the definition another name");
            *ret_clear = false;
            if (code < 0) {
                return code;
            }
        }
    }
    return 0;
}

static int judge_all(struct identities *identities, struct identity_claim **claims, bool whole,
                     struct toolrack_error *err) {
    size_t count = identities->count;
    bool is_clear = whole; /* each id is claimed once */
    struct records records = {.arena = &identities->arena};
    struct toolrack_error why;
    int read = 0;
    for (size_t i = 0; i < count; i++) {
        is_clear = is_clear && end_of_id(claims, count, i) == i + 1;
    }
    if (judge_defined(identities, claims, &is_clear) < 0) {
        return error_oom(err);
    }
    if (is_clear && identities_keeps(identities)) {
        if (!hash_set(identities, identities->set)) {
            return error_oom(err);
        }
        (void)store_set_is_recorded(identities->options->store, identities->set,
                                    &identities->is_recorded, &why);
        if (identities->is_recorded) {
            return 0;
        }
    }
    if (identities_keeps(identities)) {
        read = store_identities_read(identities->options->store,
                                     count > 0 && end_of_id(claims, count, 0) == count
                                             ? identity_claim_id(claims[0])
                                             : NULL,
                                     take_record, &records, &why);
    }
    int code = records.failed ? TOOLRACK_E_NO_MEMORY : 0;
    for (size_t i = 0, end; code == 0 && i < count; i = end) {
        end = end_of_id(claims, count, i);
        if (claims[i]->verdict == IDENTITY_REFUSED &&
            claims[end - 1]->verdict == IDENTITY_REFUSED) {
            continue; /* the name of a definition */
        }
        const struct judging judging = {.identities = identities,
                                        .unread = read < 0 ? &why : NULL,
                                        .claims = claims + i,
                                        .count = end - i,
                                        .records =
                                                records_of(&records, identity_claim_id(claims[i]))};
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
    sort(sorted, count, sizeof *sorted, compare_claims);
    int code = judge_all(identities, sorted, whole, err);
    free(sorted);
    return code;
}

void identities_finish(struct identities *identities) {
    arena_finish(&identities->arena);
}
