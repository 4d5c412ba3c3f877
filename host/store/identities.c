#include "store/identities.h"

#include "plugin/origin.h"
#include "store/database.h"

/* -------------------------------------------------------------------- read */

#define IDENTITIES_WHERE(condition)                                                  \
    "SELECT plugin, origin, trust, id, seen_s, owns, file, version FROM identities " \
    "WHERE " condition " ORDER BY plugin, id"

int store_identities_read(struct store *store, const char *plugin,
                          void (*visit)(void *user, const struct store_identity *identity),
                          void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_IDENTITIES,
                             plugin != NULL ? IDENTITIES_WHERE("plugin = ?1")
                                            : IDENTITIES_WHERE("?1 IS NULL"),
                             VALUES(value_text(plugin)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_identity identity = {.plugin = value_as_text(&row[0]),
                                          .origin = value_as_text(&row[1]),
                                          .trust = (int)row[2].number,
                                          .order = row[3].number,
                                          .seen_s = row[4].number,
                                          .owns = row[5].number != 0,
                                          .file = value_as_optional_text(&row[6]),
                                          .version = value_as_optional_text(&row[7])};
        visit(user, &identity);
    }
    return code;
}

int store_names_read(struct store *store, const char *tool,
                     void (*visit)(void *user, const struct store_name *name), void *user,
                     struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_IDENTITIES,
                             "SELECT names.tool, plugin || ' ' || origin, names.id FROM names "
                             "JOIN identities ON identities.id = names.identity "
                             "WHERE names.tool = ?1 ORDER BY names.id",
                             VALUES(value_text(tool)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_name){.tool = value_as_text(&row[0]),
                                         .identity = value_as_text(&row[1]),
                                         .order = row[2].number});
    }
    return code;
}

/* Whether a query finds a row. */
static int is_found(struct store *store, const char *sql, const struct value *values,
                    bool *ret_found, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_IDENTITIES, sql, values, &rows, err);
    *ret_found = rows.count > 0;
    return code;
}

int store_set_is_recorded(struct store *store, const unsigned char set[STORE_SHA256_SIZE],
                          bool *ret_recorded, struct toolrack_error *err) {
    return is_found(store, "SELECT 1 FROM identity_sets WHERE sha256 = ?1",
                    VALUES(value_bytes(set, STORE_SHA256_SIZE)), ret_recorded, err);
}

int store_identity_is_bound(struct store *store, const char *identity, bool *ret_bound,
                            struct toolrack_error *err) {
    return is_found(store,
                    "SELECT 1 WHERE EXISTS (SELECT 1 FROM pins WHERE plugin = ?1) "
                    "OR EXISTS (SELECT 1 FROM quarantine WHERE plugin = ?1) "
                    "OR EXISTS (SELECT 1 FROM defaults WHERE identity = ?1)",
                    VALUES(value_text(identity)), ret_bound, err);
}

/* ------------------------------------------------------------------ record */

/* The row that was recorded is needed for its names: INSERT OR IGNORE would not say its number. */
static int record_names(struct store *store, const struct store_sighting *row,
                        struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < row->tool_count; i++) {
        code = database_run(
                store,
                "INSERT OR IGNORE INTO names (tool, identity) SELECT ?3, id "
                "FROM identities WHERE plugin = ?1 AND origin = ?2",
                VALUES(value_text(row->plugin), value_text(row->origin), value_text(row->tools[i])),
                err);
    }
    return code;
}

static int record_owner(struct store *store, const char *plugin, const char *origin,
                        struct toolrack_error *err) {
    int code = database_run(store,
                            "UPDATE identities SET owns = (origin = ?2) "
                            "WHERE plugin = ?1 AND owns <> (origin = ?2)",
                            VALUES(value_text(plugin), value_text(origin)), err);
    /* A set was recorded together with its owners. */
    return code == 0 && database_changes(store) > 0
                   ? database_run(store, "DELETE FROM identity_sets", NO_VALUES, err)
                   : code;
}

static int record_file(struct store *store, const struct store_sighting *row,
                       struct toolrack_error *err) {
    int code = database_run(
            store,
            "UPDATE identities SET file = ?3, version = ?4 WHERE plugin = ?1 AND origin = ?2 "
            "AND (file IS NOT ?3 OR version IS NOT ?4)",
            VALUES(value_text(row->plugin), value_text(row->origin), value_text(row->file),
                   value_text(row->version)),
            err);
    /* As with its owners. */
    return code == 0 && database_changes(store) > 0
                   ? database_run(store, "DELETE FROM identity_sets", NO_VALUES, err)
                   : code;
}

static int record_sighting(struct store *store, const struct store_sighting *row, int64_t now_s,
                           struct toolrack_error *err) {
    int code = database_run(store,
                            "INSERT OR IGNORE INTO identities "
                            "(plugin, origin, trust, seen_s, owns, file, version) "
                            "VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6)",
                            VALUES(value_text(row->plugin), value_text(row->origin),
                                   value_number(row->trust), value_number(now_s),
                                   value_text(row->file), value_text(row->version)),
                            err);
    if (code == 0 && row->file != NULL) {
        code = record_file(store, row, err);
    }
    if (code == 0 && row->owns) {
        code = record_owner(store, row->plugin, row->origin, err);
    }
    return code < 0 ? code : record_names(store, row, err);
}

/* Rows of schema 3, which have an id alone, are from now on those of the owner of the id. */
#define BIND_ROWS_THAT(condition, table)                                           \
    "UPDATE OR IGNORE " table " SET plugin = (SELECT i.plugin || ' ' || i.origin " \
    "FROM identities AS i WHERE i.plugin = " table ".plugin AND i.owns) "          \
    "WHERE " condition "instr(plugin, ' ') = 0 AND EXISTS (SELECT 1 FROM "         \
    "identities AS i WHERE i.plugin = " table ".plugin AND i.owns)"
#define BIND_ROWS(table) BIND_ROWS_THAT("", table)

/* Rows of schema 3 about tools are from now on those of the owner of the tool's name: of the
 * highest trust, and of these the first. */
#define OWNER_OF_NAME(name)                                          \
    "(SELECT i.plugin || ' ' || i.origin FROM names AS n "           \
    "JOIN identities AS i ON i.id = n.identity WHERE n.tool = " name \
    " ORDER BY i.trust DESC, n.id LIMIT 1)"
#define NAME_SELECTED "substr(selector, 1, instr(selector || '@', '@') - 1)"
#define BIND_ROWS_OF_NAMES(table, name, condition)                           \
    "UPDATE OR IGNORE " table                                                \
    " SET plugin = " OWNER_OF_NAME(name) " WHERE plugin = '' AND " condition \
                                         " AND " OWNER_OF_NAME(name) " IS NOT NULL"

static int bind_old_rows(struct store *store, struct toolrack_error *err) {
    static const char *const steps[] = {
            BIND_ROWS("pins"),
            BIND_ROWS("quarantine"),
            BIND_ROWS("crashes"),
            /* Of a million calls, only those are read that may have an id alone. */
            BIND_ROWS_THAT("id IN (SELECT call FROM unbound_calls) AND ", "calls"),
            "DELETE FROM unbound_calls WHERE NOT EXISTS "
            "(SELECT 1 FROM calls WHERE id = call AND instr(plugin, ' ') = 0)",
            BIND_ROWS_OF_NAMES("usage", "usage.tool", "true"),
            BIND_ROWS_OF_NAMES("feedback", "feedback.tool", "true"),
            BIND_ROWS_OF_NAMES("health", "health.tool", "true"),
            BIND_ROWS_OF_NAMES("marks", NAME_SELECTED, "list <> 0"), /* not the blacklist */
            /* What enables, and the priority; what disables stays for the name. */
            "INSERT OR IGNORE INTO settings (selector, plugin, enabled, priority) "
            "SELECT selector, " OWNER_OF_NAME(
                    NAME_SELECTED) ", nullif(enabled, 0), priority "
                                   "FROM settings WHERE plugin = '' AND (enabled <> 0 OR priority "
                                   "IS NOT NULL) "
                                   "AND " OWNER_OF_NAME(NAME_SELECTED) " IS NOT NULL",
            "DELETE FROM settings WHERE plugin = '' AND enabled IS NOT 0 "
            "AND " OWNER_OF_NAME(NAME_SELECTED) " IS NOT NULL",
            "UPDATE settings SET priority = NULL WHERE plugin = '' AND priority IS NOT NULL "
            "AND " OWNER_OF_NAME(NAME_SELECTED) " IS NOT NULL",
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(steps); i++) {
        code = database_run(store, steps[i], NO_VALUES, err);
    }
    return code;
}

static int record_set(struct store *store, const unsigned char *set, struct toolrack_error *err) {
    int code = database_run(store, "INSERT OR IGNORE INTO identity_sets (sha256) VALUES (?1)",
                            VALUES(value_bytes(set, STORE_SHA256_SIZE)), err);
    return code < 0 ? code
                    : database_run(store,
                                   "DELETE FROM identity_sets WHERE id IN (SELECT id FROM "
                                   "identity_sets ORDER BY id DESC LIMIT -1 OFFSET ?1)",
                                   VALUES(value_number(STORE_SETS_MAX)), err);
}

int store_identities_record(struct store *store, const struct store_sighting *rows, size_t count,
                            int64_t now_s, const unsigned char set[STORE_SHA256_SIZE], bool durable,
                            struct toolrack_error *err) {
    int code = database_begin(store, durable ? DATABASE_DURABLE : DATABASE_SOON, NO_LIMITS, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = database_check_texts(
                TEXT_LIMITS({"plugin id", rows[i].plugin, STORE_TEXT_SIZE_MAX},
                            {"folder of the plugin", rows[i].origin, STORE_TEXT_SIZE_MAX}),
                err);
        if (code == 0) {
            code = record_sighting(store, &rows[i], now_s, err);
        }
    }
    if (code == 0) {
        code = bind_old_rows(store, err);
    }
    if (code == 0 && set != NULL) {
        code = record_set(store, set, err);
    }
    return database_end(store, code, err);
}

/* ------------------------------------------------------------------- adopt */

#define MOVE_ROWS(table, column) \
    "UPDATE OR REPLACE " table " SET " column " = ?2 WHERE " column " = ?1"

int store_identity_adopt(struct store *store, const char *from, const char *to,
                         struct toolrack_error *err) {
    static const char *const steps[] = {
            MOVE_ROWS("pins", "plugin"),         MOVE_ROWS("quarantine", "plugin"),
            MOVE_ROWS("crashes", "plugin"),      MOVE_ROWS("defaults", "identity"),
            MOVE_ROWS("capabilities", "plugin"), MOVE_ROWS("cautions", "plugin"),
            MOVE_ROWS("calls", "plugin"),        MOVE_ROWS("feedback", "plugin"),
            MOVE_ROWS("health", "plugin"),       MOVE_ROWS("marks", "plugin"),
            MOVE_ROWS("settings", "plugin"),
    };
    size_t length = identity_id_length(to);
    CLEANUP(freep) char *id = strndup(to, length);
    if (id == NULL) {
        return error_oom(err);
    }
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(steps); i++) {
        code = database_run(store, steps[i], VALUES(value_text(from), value_text(to)), err);
    }
    if (code == 0) {
        code = statistics_move(store, from, to, err);
    }
    if (code == 0) {
        code = record_owner(store, id, to + length + 1, err);
    }
    return database_end(store, code, err);
}

/* -------------------------------------------------------------------- told */

int store_tell_once(struct store *store, const char *subject, const char *what, bool *ret_new,
                    struct toolrack_error *err) {
    const struct value *values = VALUES(value_text(subject), value_text(what));
    bool known;
    int code = is_found(store, "SELECT 1 FROM told WHERE subject = ?1 AND what = ?2", values,
                        &known, err);
    *ret_new = !known;
    if (code < 0 || known) {
        return code;
    }
    code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    if (code == 0) {
        code = database_run(store, "INSERT OR REPLACE INTO told (subject, what) VALUES (?1, ?2)",
                            values, err);
    }
    return database_end(store, code, err);
}
