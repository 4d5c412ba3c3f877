#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "life/identities.h"
#include "permit/permit.h"
#include "plugin/origin.h"
#include "store/identities.h"

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
             "plugin '%s': %s", identity_claim_id(to), why);
    permit_note(identities->options->permit,
                &(struct store_decision){.version = to->desc->plugin->version,
                                         .plugin = identity_claim_id(to),
                                         .origin = to->folder->origin,
                                         .decision = "moved",
                                         .who = "identity",
                                         .why = why});
}

static void tell_updated(const struct identities *identities,
                         const struct identity_update *update) {
    const struct identity_claim *to = update->to;
    char why[ERROR_MESSAGE_MAX];
    (void)snprintf(
            why, sizeof why,
            "updated by another file: %s, version %s, serves with what was decided about %s, "
            "version %s, as long as it asks for no more; remove it if it is not an update",
            to->path, to->desc->plugin->version, update->from->path,
            update->from->desc->plugin->version);
    log_line(identities->options->log, LOG_WARNING, "identity", "plugin '%s': %s",
             identity_claim_id(to), why);
    permit_note(identities->options->permit,
                &(struct store_decision){.version = to->desc->plugin->version,
                                         .plugin = identity_claim_id(to),
                                         .origin = to->folder->origin,
                                         .decision = "updated",
                                         .who = "identity",
                                         .why = why});
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
        rows[count++] = (struct store_sighting){
                .plugin = identity_claim_id(claim),
                .origin = claim->folder->origin,
                .trust = (int)claim->folder->trust,
                .owns = claim->owns,
                .file = claim->verdict == IDENTITY_SERVES ? identity_claim_file(claim) : NULL,
                .version = claim->verdict == IDENTITY_SERVES ? desc->plugin->version : NULL,
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
    if (identities->is_recorded || !identities_keeps(identities)) {
        return;
    }
    for (const struct identity_move *move = identities->moves; move != NULL; move = move->next) {
        tell_moved(identities, move);
    }
    for (const struct identity_update *at = identities->updates; at != NULL; at = at->next) {
        tell_updated(identities, at);
    }
    if (record(identities, &err) < 0) {
        log_line(identities->options->log, LOG_INFO, "identity",
                 "which plugins were seen first is not recorded: %s", err.message);
    }
}

void identities_note_refused(const struct life_options *options,
                             const struct identity_claim *claim) {
    CLEANUP(freep) char *subject = identity_text(identity_claim_id(claim), claim->folder->origin);
    struct toolrack_error unheard;
    bool is_new = true;
    if (subject != NULL && options->places->state_dir != NULL) {
        (void)store_tell_once(options->store, subject, claim->reason, &is_new, &unheard);
    }
    if (is_new) {
        char why[ERROR_MESSAGE_MAX];
        (void)snprintf(why, sizeof why, "%s: %s", claim->path, claim->reason);
        permit_note(options->permit,
                    &(struct store_decision){.version = claim->desc->plugin->version,
                                             .plugin = identity_claim_id(claim),
                                             .origin = claim->folder->origin,
                                             .decision = "refused",
                                             .who = "identity",
                                             .why = why});
    }
}

/* ------------------------------------------------------------------- adopt */

int identities_adopt(const struct life_options *options, const struct identity_claim *claim,
                     const char *who, struct toolrack_error *err) {
    const struct store_sighting row = {.plugin = identity_claim_id(claim),
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
                    &(struct store_decision){.version = claim->desc->plugin->version,
                                             .plugin = row.plugin,
                                             .origin = row.origin,
                                             .decision = "adopted",
                                             .who = who,
                                             .why = why});
    }
    return code;
}
