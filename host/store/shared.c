#include "store/shared.h"

#include "store/database.h"

/* Of the group, in the table of bases: it was told something. */
#define BEGUN (-1)

/* The word of the last decision of a person, so that one that says the same again is one too. */
#define WORD(kind, selector)                                                                  \
    "coalesce('#' || (SELECT what FROM told WHERE subject = 'decided " kind " ' || " selector \
    "), '')"

/* kind, selector and value of what is stored about names; `now` is a parameter. */
#define LOCALS(now)                                                                                \
    "(SELECT 0 AS kind, selector, iif(min(enabled) = 0, 'false', 'true') || " WORD(                \
            "0",                                                                                   \
            "selector") " AS value FROM settings WHERE enabled IS NOT NULL GROUP BY selector "     \
                        "UNION ALL SELECT 1, selector, max(priority) || " WORD(                    \
                                "1",                                                               \
                                "selector") " FROM settings "                                      \
                                            "WHERE priority IS NOT NULL GROUP BY selector "        \
                                            "UNION ALL SELECT 2, tool, version || " WORD(          \
                                                    "2",                                           \
                                                    "tool") " FROM defaults "                      \
                                                            "UNION ALL SELECT 3, selector, "       \
                                                            "expires_s || ' ' || "                 \
                                                            "coalesce((SELECT what FROM told "     \
                                                            "WHERE subject = 'revoked ' || "       \
                                                            "selector), '') FROM grants "          \
                                                            "WHERE expires_s = 0 OR expires_s "    \
                                                            "> " now " "                           \
                                                            "UNION ALL SELECT 3, substr(subject, " \
                                                            "9), 'revoked ' || what FROM told "    \
                                                            "WHERE substr(subject, 1, 8) = "       \
                                                            "'revoked ' AND NOT EXISTS (SELECT 1 " \
                                                            "FROM grants "                         \
                                                            "WHERE selector = substr(subject, 9) " \
                                                            "AND (expires_s = 0 OR expires_s "     \
                                                            "> " now ")) "                         \
                                                            "UNION ALL SELECT 4, selector, "       \
                                                            "iif(min(list) = 0, 'blacklist', "     \
                                                            "'whitelist') || " WORD(               \
                                                                    "4",                           \
                                                                    "selector") " FROM marks "     \
                                                                                "GROUP BY "        \
                                                                                "selector)"

_Static_assert(STORE_SHARED_ENABLED == 0 && STORE_SHARED_PRIORITY == 1 &&
                       STORE_SHARED_DEFAULT == 2 && STORE_SHARED_GRANT == 3 &&
                       STORE_SHARED_LIST == 4 && STORE_SHARED_KINDS == 5,
               "the kinds in LOCALS");

/* ------------------------------------------------------------ own decisions */

int store_shared_locals(struct store *store, const char *group, int64_t now_s,
                        void (*visit)(void *user, const struct store_shared_local *local),
                        void *user, struct toolrack_error *err) {
    enum { KIND, SELECTOR, VALUE, BASED, BASE, DIGEST };
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(
            store, SCHEMA_SHARED,
            "SELECT l.kind, l.selector, l.value, b.kind IS NOT NULL, b.value, b.digest "
            "FROM " LOCALS(
                    "?2") " l LEFT JOIN shared_bases b "
                          "ON b.grp = ?1 AND b.kind = l.kind AND b.selector = l.selector "
                          "UNION ALL "
                          "SELECT b.kind, b.selector, NULL, 1, b.value, b.digest FROM shared_bases "
                          "b "
                          "WHERE b.grp = ?1 AND b.kind >= 0 AND NOT EXISTS (SELECT 1 FROM " LOCALS(
                                  "?2") " l "
                                        "WHERE l.kind = b.kind AND l.selector = b.selector)",
            VALUES(value_text(group), value_number(now_s)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        if (row[KIND].number >= 0 && row[KIND].number < STORE_SHARED_KINDS) {
            visit(user,
                  &(struct store_shared_local){.kind = (enum store_shared_kind)row[KIND].number,
                                               .selector = value_as_text(&row[SELECTOR]),
                                               .value = value_as_optional_text(&row[VALUE]),
                                               .has_base = row[BASED].number != 0,
                                               .base = value_as_optional_text(&row[BASE]),
                                               .digest = value_as_optional_text(&row[DIGEST])});
        }
    }
    return code;
}

static int set_base(struct store *store, const char *group, int kind, const char *selector,
                    const char *digest, const char *value, struct toolrack_error *err) {
    return database_run(store,
                        "INSERT OR REPLACE INTO shared_bases (grp, kind, selector, digest, value) "
                        "VALUES (?1, ?2, ?3, ?4, ?5)",
                        VALUES(value_text(group), value_number(kind), value_text(selector),
                               value_text(digest), value_text(value)),
                        err);
}

int store_shared_has_begun(struct store *store, const char *group, bool *ret,
                           struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_SHARED,
                             "SELECT 1 FROM shared_bases WHERE grp = ?1 AND kind = -1",
                             VALUES(value_text(group)), &rows, err);
    *ret = rows.count > 0;
    return code;
}

int store_shared_begin(struct store *store, const char *group, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code < 0 ? code : set_base(store, group, BEGUN, "", "", NULL, err);
    return database_end(store, code, err);
}

/* ------------------------------------------------------------- all decisions */

int store_shared_read(struct store *store, const char *group, const char *thing,
                      void (*visit)(void *user, const struct store_shared_row *row), void *user,
                      struct toolrack_error *err) {
    enum { THING, HOST, STAMP, VALUE, SEEN, DONE };
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_SHARED,
                             "SELECT thing, host, stamp, value, is_seen, is_done FROM shared "
                             "WHERE grp = ?1 AND (?2 IS NULL OR thing = ?2) ORDER BY thing, host",
                             VALUES(value_text(group), value_text(thing)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_shared_row){.thing = value_as_text(&row[THING]),
                                               .host = value_as_text(&row[HOST]),
                                               .stamp = row[STAMP].number,
                                               .value = value_as_text(&row[VALUE]),
                                               .is_seen = row[SEEN].number != 0,
                                               .is_done = row[DONE].number != 0});
    }
    return code;
}

/* The condition is that of merge_later(). */
static int put(struct store *store, const char *group, const struct store_shared_row *row,
               struct toolrack_error *err) {
    return database_run(
            store,
            "INSERT INTO shared (grp, thing, host, stamp, value, is_seen, is_done) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (grp, thing, host) DO UPDATE SET "
            "stamp = ?4, value = ?5, is_seen = ?6, is_done = ?7 "
            "WHERE ?4 > stamp OR (?4 = stamp AND ?5 > value)",
            VALUES(value_text(group), value_text(row->thing), value_text(row->host),
                   value_number(row->stamp), value_text(row->value), value_number(row->is_seen),
                   value_number(row->is_done)),
            err);
}

int store_shared_take(struct store *store, const char *group, const struct store_shared_row *row,
                      bool *ret_taken, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code < 0 ? code : put(store, group, row, err);
    *ret_taken = code == 0 && database_changes(store) > 0;
    return database_end(store, code, err);
}

/* All decisions about a thing were judged. */
static int settle(struct store *store, const char *group, const char *thing, const char *host,
                  struct toolrack_error *err) {
    return database_run(store,
                        "UPDATE shared SET is_seen = 1, is_done = host = ?3 "
                        "WHERE grp = ?1 AND thing = ?2",
                        VALUES(value_text(group), value_text(thing), value_text(host)), err);
}

int store_shared_tell(struct store *store, const char *group, const struct store_shared_row *row,
                      const struct store_shared_local *local, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0 && row != NULL) {
        code = put(store, group, row, err);
    }
    if (code == 0) {
        code = set_base(store, group, (int)local->kind, local->selector, local->digest,
                        local->value, err);
    }
    return database_end(store, code, err);
}

int store_shared_settle(struct store *store, const char *group, const char *thing, const char *host,
                        struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code < 0 ? code : settle(store, group, thing, host, err);
    return database_end(store, code, err);
}

int store_shared_last(struct store *store, const char *host, int64_t *ret,
                      struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_SHARED,
                             "SELECT coalesce(max(stamp), 0) FROM shared WHERE host = ?1",
                             VALUES(value_text(host)), &rows, err);
    *ret = rows.count > 0 ? rows_at(&rows, 0)[0].number : 0;
    return code;
}

/* ------------------------------------------------------------------- orders */

/* A decision about a name is one about its versions too. */
#define OF_ORDER                                                             \
    "kind = ?2 AND (selector = ?3 OR substr(selector, 1, length(?3) + 1) = " \
    "?3 || '@')"

static int differs(struct store *store, const struct store_shared_order *order, bool *ret,
                   struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(
            store,
            "WITH now AS (SELECT selector, value FROM " LOCALS(
                    "?4") " WHERE " OF_ORDER "), base AS (SELECT selector, value FROM shared_bases "
                          "WHERE grp = ?1 AND " OF_ORDER " AND value IS NOT NULL) "
                          "SELECT 1 WHERE EXISTS (SELECT * FROM now EXCEPT SELECT * FROM base) OR "
                          "EXISTS (SELECT * FROM base EXCEPT SELECT * FROM now)",
            VALUES(value_text(order->group), value_number(order->kind), value_text(order->selector),
                   value_number(order->now_s)),
            &rows, err);
    *ret = rows.count > 0;
    return code;
}

int shared_check(struct store *store, const struct store_shared_order *order,
                 struct toolrack_error *err) {
    bool is_other = false;
    int code = order != NULL ? differs(store, order, &is_other, err) : 0;
    return code == 0 && is_other
                   ? error_set(err, TOOLRACK_E_UNAVAILABLE,
                               "a person has decided about '%s' at this host meanwhile",
                               order->selector)
                   : code;
}

/* A grant has words already, of its end and of revocations. */
static int note_word(struct store *store, enum store_shared_kind kind, const char *selector,
                     struct toolrack_error *err) {
    return kind == STORE_SHARED_GRANT
                   ? 0
                   : database_run(store,
                                  "INSERT OR REPLACE INTO told (subject, what) VALUES "
                                  "('decided ' || ?1 || ' ' || ?2, lower(hex(randomblob(8))))",
                                  VALUES(value_number(kind), value_text(selector)), err);
}

int shared_done(struct store *store, const struct store_shared_order *order,
                enum store_shared_kind kind, const char *selector, struct toolrack_error *err) {
    if (order == NULL) {
        return note_word(store, kind, selector, err);
    }
    const struct value group = value_text(order->group);
    const struct value of_kind = value_number(order->kind);
    const struct value name = value_text(order->selector);
    int code = database_run(store,
                            "INSERT OR REPLACE INTO shared_bases "
                            "(grp, kind, selector, digest, value) VALUES (?1, ?2, ?3, ?4, NULL)",
                            VALUES(group, of_kind, name, value_text(order->digest)), err);
    if (code == 0) {
        code = database_run(
                store,
                "UPDATE shared_bases SET value = (SELECT l.value FROM " LOCALS(
                        "?4") " l WHERE l.kind = shared_bases.kind AND "
                              "l.selector = shared_bases.selector) WHERE grp = ?1 AND " OF_ORDER,
                VALUES(group, of_kind, name, value_number(order->now_s)), err);
    }
    return code < 0 ? code : settle(store, order->group, order->thing, order->host, err);
}
