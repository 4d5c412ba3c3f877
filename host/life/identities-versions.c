/* Several files of one folder with one id. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/semver.h"
#include "life/content.h"
#include "life/identities-parts.h"

static bool served_before(const struct judging *judging, const struct identity_claim *claim) {
    const struct store_identity *known =
            identities_record_of(&judging->records, claim->folder->origin);
    return known != NULL && known->file != NULL &&
           strcmp(known->file, identity_claim_file(claim)) == 0;
}

static bool served_this_version(const struct judging *judging, const struct identity_claim *claim) {
    const struct store_identity *known =
            identities_record_of(&judging->records, claim->folder->origin);
    return served_before(judging, claim) && known->version != NULL &&
           strcmp(known->version, claim->desc->plugin->version) == 0;
}

/* When a file was first called with the version that it has, in the order of the store; INT64_MAX:
 * not, as far as is known. */
static int64_t first_used(const struct judging *judging, const struct identity_claim *claim) {
    const struct life_options *options = judging->identities->options;
    CLEANUP(content_history_finish) struct content_history history = {0};
    struct toolrack_error unheard;
    int64_t first = INT64_MAX;
    char *key = arena_printf(&judging->identities->arena, "%s/%s", claim->folder->real,
                             identity_claim_file(claim));
    if (key == NULL || !identities_keeps(judging->identities) ||
        content_read_history(options, key, &history, &unheard) < 0) {
        return first;
    }
    for (size_t i = 0; i < history.count; i++) {
        const struct store_generation *row = &history.rows[i];
        bool is_same = row->plugin != NULL && !row->is_removed &&
                       strcmp(row->plugin, identity_claim_id(claim)) == 0 &&
                       strcmp(row->version, claim->desc->plugin->version) == 0;
        first = is_same && row->sequence < first ? row->sequence : first;
    }
    return first;
}

/* Whether `a` stays, and not `b`, the later one in the folder, which has the same version: what
 * came later may have any name. */
static bool stays(const struct judging *judging, const struct identity_claim *a,
                  const struct identity_claim *b) {
    bool a_served = served_this_version(judging, a);
    bool b_served = served_this_version(judging, b);
    int64_t a_used = first_used(judging, a);
    int64_t b_used = first_used(judging, b);
    return a->came_before != b->came_before ? a->came_before
           : a_served != b_served           ? a_served
           : a_used != b_used               ? a_used < b_used
                                            : a->identity.ctime_ns <= b->identity.ctime_ns;
}

/* What served before, and is a kept version now. */
static int note_update(const struct judging *judging, const struct identity_claim *serving) {
    struct identities *identities = judging->identities;
    for (size_t i = 0; i < judging->count; i++) {
        const struct identity_claim *claim = judging->claims[i];
        if (claim->verdict == IDENTITY_KEPT && served_before(judging, claim)) {
            struct identity_update *update = arena_alloc(&identities->arena, sizeof *update);
            if (update == NULL) {
                return TOOLRACK_E_NO_MEMORY;
            }
            *update = (struct identity_update){identities->updates, serving, claim};
            identities->updates = update;
        }
    }
    return 0;
}

int identities_judge_versions(const struct judging *judging, const char *origin) {
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
                       (j < i ? stays(judging, other, claim) : !stays(judging, claim, other))) {
                code = identities_refuse(
                        claim, IDENTITY_RULE_TAKEN,
                        arena_printf(&judging->identities->arena,
                                     "Plugin already exists: %s %s is also %s",
                                     identity_claim_id(claim), claim->desc->plugin->version,
                                     other->path),
                        "remove one of the two files, or give one another version");
            }
        }
    }
    for (size_t i = 0; code == 0 && i < judging->count; i++) {
        if (judging->claims[i]->verdict == IDENTITY_SERVES) {
            code = note_update(judging, judging->claims[i]);
        }
    }
    return code;
}
