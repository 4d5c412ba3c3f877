#include "store/consent.h"

#include <string.h>

#include "base/name.h"
#include "store/capabilities.h"
#include "store/database.h"
#include "store/pending.h"
#include "store/shared.h"

_Static_assert(STORE_CAPABILITY_COVERED == 2, "the kind in a statement");
_Static_assert(STORE_ANSWER_NONE == 0 && STORE_ANSWER_ALLOW_ONCE == 1, "answers in a statement");

/* What the plugin asks for now is covered by the words that apply to it. */
static int capabilities_cover(struct store *store, const struct store_pin *pin,
                              struct toolrack_error *err) {
    int code = 0;
    for (const char *at = pin->capabilities; code == 0 && *at != '\0';) {
        size_t length = strcspn(at, "\n");
        struct value line = value_text(at);
        line.size = length;
        code = database_run(store,
                            "INSERT OR IGNORE INTO capabilities "
                            "(plugin, kind, word, capability, since_s, who) "
                            "SELECT plugin, kind, word, ?2, ?3, ?4 FROM capabilities "
                            "WHERE plugin = ?1 AND kind = 2 AND capability = ''",
                            VALUES(value_text(pin->plugin), line, value_number(pin->approved_s),
                                   value_text(pin->who)),
                            err);
        at += length + (at[length] == '\n');
    }
    return code;
}

int store_consent(struct store *store, const struct store_pin *pins, size_t pin_count,
                  const struct store_grant *grant, const struct store_approval *approval,
                  struct toolrack_error *err) {
    int code = grant != NULL ? grant_check(grant, err) : 0;
    if (code == 0 && approval != NULL) {
        code = approval_check(approval, err);
    }
    for (size_t i = 0; code == 0 && i < pin_count; i++) {
        code = pin_check(&pins[i], err);
    }
    if (code < 0) {
        return code;
    }

    const struct store_shared_order *order = grant != NULL ? grant->order : NULL;
    code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code < 0 ? code : shared_check(store, order, err);
    for (size_t i = 0; code == 0 && i < pin_count; i++) {
        code = pin_put(store, &pins[i], err);
        if (code == 0 && grant != NULL && pins[i].capabilities != NULL) {
            code = capabilities_cover(store, &pins[i], err);
        }
    }
    if (code == 0 && grant != NULL) {
        code = grant_put(store, grant, err);
    }
    if (code == 0 && approval != NULL && approval->answers != NULL) {
        code = pending_approve(store, approval, err);
    }
    if (code == 0 && approval != NULL) {
        code = approval_put(store, approval, err);
    }
    if (code == 0 && order != NULL) {
        code = shared_done(store, order, STORE_SHARED_GRANT, grant->selector, err);
    }
    return database_end(store, code, err);
}

/* Rows of one tool, of all its versions or of one. */
#define OF_SELECTOR "(?1 = tool OR ?1 = tool || '@' || version)"

/* A host may remember what nothing is stored of: an answer that holds until its call ends. */
static int note_withdrawn(struct store *store, const char *selector, struct toolrack_error *err) {
    return database_run(store,
                        "INSERT OR REPLACE INTO told (subject, what) "
                        "VALUES ('revoked ' || ?1, lower(hex(randomblob(8))))",
                        VALUES(value_text(selector)), err);
}

int store_withdraw(struct store *store, const char *selector, bool keeps_pins, int64_t now_s,
                   const struct store_shared_order *order, struct toolrack_error *err) {
    const struct value *values = VALUES(value_text(selector));
    struct toolrack_error not_granted = {0};
    struct toolrack_error not_noted = {0};
    int removed = 0;
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code < 0 ? code : shared_check(store, order, err);
    if (code == 0) {
        code = grant_remove(store, selector, now_s, &not_granted);
        removed += code == 0;
        if (code < 0 && err != NULL) {
            *err = not_granted;
        }
    }
    if (code == 0 || code == TOOLRACK_E_NOT_FOUND) {
        code = database_run(store, "DELETE FROM approvals WHERE " OF_SELECTOR, values, err);
        removed += code == 0 ? database_changes(store) : 0;
    }
    if (code == 0) {
        code = database_run(store,
                            "UPDATE pending SET answer = 0, answered_by = NULL WHERE " OF_SELECTOR
                            " AND answer = 1 AND expires_s > ?2",
                            VALUES(value_text(selector), value_number(now_s)), err);
        removed += code == 0 ? database_changes(store) : 0;
    }
    /* Also what a grant that has expired has left; not what a grant of all versions needs. */
    if (code == 0 && !keeps_pins) {
        code = database_run(store,
                            "DELETE FROM pins WHERE " OF_SELECTOR
                            " AND NOT EXISTS (SELECT 1 FROM grants WHERE selector = "
                            "substr(?1, 1, instr(?1, '@') - 1))",
                            values, err);
        removed += code == 0 ? database_changes(store) : 0;
    }
    if (code == 0) {
        code = removed > 0 ? note_withdrawn(store, selector, err) : TOOLRACK_E_NOT_FOUND;
    }
    code = code < 0 ? code : shared_done(store, order, STORE_SHARED_GRANT, selector, err);
    code = database_end(store, code, err);
    if (code != TOOLRACK_E_NOT_FOUND) {
        return code;
    }
    code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, &not_noted);
    code = code < 0 ? code : shared_check(store, order, &not_noted);
    code = code < 0 ? code : note_withdrawn(store, selector, &not_noted);
    code = code < 0 ? code : shared_done(store, order, STORE_SHARED_GRANT, selector, &not_noted);
    code = database_end(store, code, &not_noted);
    if (code < 0 && err != NULL) {
        *err = not_noted;
    }
    return code < 0 ? code : TOOLRACK_E_NOT_FOUND;
}

int store_withdrawn(struct store *store, const char *tool, const char *version, uint64_t *ret,
                    struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_IDENTITIES,
                                  "SELECT what FROM told WHERE subject IN "
                                  "('revoked ' || ?1, 'revoked ' || ?1 || '@' || ?2) "
                                  "ORDER BY subject",
                                  VALUES(value_text(tool), value_text(version)), &rows, err);
    *ret = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const char *what = value_as_text(rows_at(&rows, i));
        *ret = *ret * 31 + name_hash(what, strlen(what));
    }
    return code;
}
