#include "store/grants.h"

#include "store/database.h"

/* How far a clock may be set back without ending a grant for a time. Further, a grant that was
 * given later than now would hold for longer than was said, or again. */
#define CLOCK_STEP_S 60

static int remove_expired(struct store *store, int64_t now_s, struct toolrack_error *err) {
    return database_run(store, "DELETE FROM grants WHERE expires_s <> 0 AND expires_s <= ?1",
                        VALUES(value_number(now_s)), err);
}

/* Remove the grants of a selector; of single versions too when it is a name alone. */
static int remove_selected(struct store *store, const char *selector, struct toolrack_error *err) {
    return database_run(store,
                        "DELETE FROM grants WHERE selector = ?1 OR "
                        "substr(selector, 1, length(?1) + 1) = ?1 || '@'",
                        VALUES(value_text(selector)), err);
}

int grant_check(const struct store_grant *new, struct toolrack_error *err) {
    return database_check_texts(TEXT_LIMITS({"selector", new->selector, STORE_TEXT_SIZE_MAX},
                                            {"name of who grants", new->who, STORE_TEXT_SIZE_MAX}),
                                err);
}

int grant_put(struct store *store, const struct store_grant *new, struct toolrack_error *err) {
    int code = remove_expired(store, new->granted_s, err);
    if (code == 0) {
        code = remove_selected(store, new->selector, err);
    }
    if (code < 0) {
        return code;
    }
    return database_run(store,
                        "INSERT INTO grants (selector, expires_s, who, granted_s) "
                        "VALUES (?1, ?2, ?3, ?4)",
                        VALUES(value_text(new->selector), value_number(new->expires_s),
                               value_text(new->who), value_number(new->granted_s)),
                        err);
}

int grant_remove(struct store *store, const char *selector, int64_t now_s,
                 struct toolrack_error *err) {
    int code = remove_expired(store, now_s, err);
    if (code == 0) {
        code = remove_selected(store, selector, err);
    }
    if (code < 0 || database_changes(store) > 0) {
        return code;
    }

    /* Not found: the message also names the grant that was probably intended. */
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    code = database_read_inside(store,
                                "SELECT selector FROM grants "
                                "WHERE selector = substr(?1, 1, instr(?1, '@') - 1)",
                                VALUES(value_text(selector)), &rows, err);
    if (code < 0) {
        return code;
    }
    if (rows.count > 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "'%s' has no grant of its own; all versions of '%s' are granted: revoke "
                         "that",
                         selector, value_as_text(rows_at(&rows, 0)));
    }
    return error_set(err, TOOLRACK_E_NOT_FOUND, "there is no grant for '%s'", selector);
}

static bool is_in_force(const struct value *row, int64_t now_s) {
    const struct value *expires_s = &row[1];
    const struct value *granted_s = &row[3];
    return expires_s->kind == VALUE_NUMBER && granted_s->kind == VALUE_NUMBER &&
           (expires_s->number == 0 ||
            (expires_s->number > now_s && granted_s->number <= now_s + CLOCK_STEP_S));
}

/* The time is no parameter of the statement, whose rows are kept for the next start
 * (start-cache.h). */
int store_read_grants(struct store *store, int64_t now_s,
                      void (*visit)(void *user, const struct store_grant *grant), void *user,
                      struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(
            store, SCHEMA_DECISIONS,
            "SELECT selector, expires_s, who, granted_s FROM grants ORDER BY selector", NO_VALUES,
            &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        if (is_in_force(row, now_s)) {
            visit(user, &(struct store_grant){.selector = value_as_text(&row[0]),
                                              .expires_s = row[1].number,
                                              .who = value_as_text(&row[2]),
                                              .granted_s = row[3].number});
        }
    }
    return code;
}
