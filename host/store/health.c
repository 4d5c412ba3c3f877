#include "store/health.h"

#include <string.h>

#include "store/database.h"

#define COLUMNS                                                                             \
    "failed_1_ms, failed_2_ms, failed_3_ms, failed_4_ms, failed_5_ms, since_ms, trial_ms, " \
    "cool_down_ms, tried"
_Static_assert(STORE_HEALTH_FAILURES == 5, "the table has a column for each");

/* Columns as in COLUMNS. */
static void read_row(const struct value *row, struct store_health *ret) {
    for (size_t i = 0; i < STORE_HEALTH_FAILURES; i++) {
        ret->failed_ms[i] = row[i].number;
    }
    row += STORE_HEALTH_FAILURES;
    ret->since_ms = row[0].number;
    ret->retry_ms = row[1].number;
    ret->cool_down_ms = row[2].number;
    ret->tried = row[3].number != 0;
}

/* A row of schema 3 is replaced by that of the plugin. */
static int write_one(struct store *store, const char *tool, const char *version, const char *plugin,
                     const struct store_health *health, struct toolrack_error *err) {
    int code = database_run(
            store, "DELETE FROM health WHERE tool = ?1 AND version = ?2 AND plugin IN (?3, '')",
            VALUES(value_text(tool), value_text(version), value_text(plugin)), err);
    if (code < 0 || (health->failed_ms[0] == 0 && health->since_ms == 0)) {
        return code;
    }
    code = database_run(
            store,
            "INSERT INTO health (tool, version, " COLUMNS ", plugin) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            VALUES(value_text(tool), value_text(version), value_number(health->failed_ms[0]),
                   value_number(health->failed_ms[1]), value_number(health->failed_ms[2]),
                   value_number(health->failed_ms[3]), value_number(health->failed_ms[4]),
                   value_number(health->since_ms), value_number(health->retry_ms),
                   value_number(health->cool_down_ms), value_number(health->tried),
                   value_text(plugin)),
            err);
    if (code < 0) {
        return code;
    }

    /* Remove the oldest rows when there are too many. */
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    code = database_read_inside(store, "SELECT count(*) FROM health", NO_VALUES, &rows, err);
    if (code < 0 || rows_at(&rows, 0)->number <= STORE_HEALTH_MAX) {
        return code;
    }
    return database_run(
            store,
            "DELETE FROM health WHERE (tool, version, plugin) IN (SELECT tool, version, "
            "plugin FROM health ORDER BY max(failed_1_ms, failed_2_ms, failed_3_ms, "
            "failed_4_ms, failed_5_ms, trial_ms) DESC "
            "LIMIT -1 OFFSET ?1)",
            VALUES(value_number(STORE_HEALTH_MAX)), err);
}

int store_health_find(struct store *store, const char *tool, const char *version,
                      const char *plugin, struct store_health *ret, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_BOUND,
                                  "SELECT " COLUMNS " FROM health WHERE tool = ?1 "
                                  "AND version = ?2 AND plugin IN (?3, '') "
                                  "ORDER BY plugin DESC LIMIT 1",
                                  VALUES(value_text(tool), value_text(version), value_text(plugin)),
                                  &rows, err);
    *ret = (struct store_health){0};
    if (code == 0 && rows.count > 0) {
        read_row(rows_at(&rows, 0), ret);
    }
    return code;
}

int store_health_change(struct store *store, const char *tool, const char *version,
                        const char *plugin, bool (*change)(void *user, struct store_health *health),
                        void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    struct store_health health = {0};
    int code = database_begin(store, DATABASE_SOON, NO_LIMITS, err);
    if (code == 0) {
        code = database_read_inside(
                store,
                "SELECT " COLUMNS " FROM health WHERE tool = ?1 AND version = ?2 "
                "AND plugin IN (?3, '') ORDER BY plugin DESC LIMIT 1",
                VALUES(value_text(tool), value_text(version), value_text(plugin)), &rows, err);
    }
    if (rows.count > 0) {
        read_row(rows_at(&rows, 0), &health);
    }
    if (code == 0 && change(user, &health)) {
        code = write_one(store, tool, version, plugin, &health, err);
    }
    return database_end(store, code, err);
}

#define FORGOTTEN \
    "(tool = ?1 OR tool || '@' || version = ?1) AND (?2 IS NULL OR plugin IN (?2, ''))"

int health_forget(struct store *store, const char *selector, const char *plugin, int *ret_count,
                  struct toolrack_error *err) {
    /* Count the tools on the blacklist; failures of tools that are not on it are cleared too. */
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    const struct value *values = VALUES(value_text(selector), value_text(plugin));
    int code = database_read_inside(
            store, "SELECT 1 FROM health WHERE since_ms <> 0 AND " FORGOTTEN, values, &rows, err);
    if (code == 0) {
        code = database_run(store, "DELETE FROM health WHERE " FORGOTTEN, values, err);
    }
    if (code == 0 && ret_count != NULL) {
        *ret_count = (int)rows.count;
    }
    return code;
}

#define HEALTH(plugin) \
    "SELECT tool, version, " plugin ", " COLUMNS " FROM health ORDER BY tool, version, " plugin

int store_health_read(struct store *store,
                      void (*visit)(void *user, const char *tool, const char *version,
                                    const char *plugin, const struct store_health *health),
                      void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_bound(store, SCHEMA_CALLS, HEALTH("''"), HEALTH("plugin"), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_health health;
        read_row(row + 3, &health);
        visit(user, value_as_text(&row[0]), value_as_text(&row[1]), value_as_text(&row[2]),
              &health);
    }
    return code;
}
