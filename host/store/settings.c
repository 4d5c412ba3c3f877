#include "store/database.h"
#include "store/shared.h"

/* Settings of a selector; of single versions too when it is a name alone: a setting for all
 * versions replaces theirs. */
#define SELECTED "(selector = ?1 OR substr(selector, 1, length(?1) + 1) = ?1 || '@')"

static int put(struct store *store, const struct value *values, struct toolrack_error *err) {
    return database_run(store,
                        "INSERT INTO settings (selector, plugin, enabled, priority) "
                        "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (selector, plugin) DO UPDATE SET "
                        "enabled = coalesce(?3, enabled), priority = coalesce(?4, priority)",
                        values, err);
}

/* Whoever provides the name. */
static int disable(struct store *store, const struct store_setting *setting,
                   struct toolrack_error *err) {
    const struct value selector = value_text(setting->selector);
    int code = database_run(store, "UPDATE settings SET enabled = NULL WHERE " SELECTED,
                            VALUES(selector), err);
    return code < 0 ? code
                    : put(store,
                          VALUES(selector, value_text(""), value_number(0),
                                 value_optional_number(false, 0)),
                          err);
}

/* For one plugin; what disabled the name, and settings of schema 3, go. */
static int favour(struct store *store, const struct store_setting *setting, const char *plugin,
                  struct toolrack_error *err) {
    const struct value *values =
            VALUES(value_text(setting->selector), value_text(plugin),
                   value_optional_number(setting->has_enabled && setting->enabled, 1),
                   value_optional_number(setting->has_priority, setting->priority));
    int code = database_run(store,
                            "UPDATE settings SET enabled = iif(?3 IS NULL, enabled, NULL), "
                            "priority = iif(?4 IS NULL, priority, NULL) "
                            "WHERE " SELECTED " AND plugin IN (?2, '')",
                            values, err);
    return code < 0 ? code : put(store, values, err);
}

static int clear(struct store *store, const struct store_setting *setting,
                 struct toolrack_error *err) {
    return database_run(store,
                        "UPDATE settings SET enabled = iif(?2, NULL, enabled), "
                        "priority = iif(?3, NULL, priority) WHERE selector = ?1",
                        VALUES(value_text(setting->selector), value_number(setting->has_enabled),
                               value_number(setting->has_priority)),
                        err);
}

int store_keep_setting(struct store *store, const struct store_setting *setting,
                       const char *const *plugins, size_t plugin_count,
                       struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code < 0 ? code : shared_check(store, setting->order, err);
    if (code == 0 && setting->clears) {
        code = clear(store, setting, err);
    } else if (code == 0 && setting->has_enabled && !setting->enabled) {
        code = disable(store, setting, err);
    }
    bool favours = !setting->clears &&
                   (setting->has_priority || (setting->has_enabled && setting->enabled));
    for (size_t i = 0; code == 0 && favours && i < plugin_count; i++) {
        code = favour(store, setting, plugins[i], err);
    }
    if (code == 0) {
        code = database_run(store,
                            "DELETE FROM settings WHERE enabled IS NULL AND priority IS NULL",
                            NO_VALUES, err);
    }
    if (code == 0 && (setting->has_enabled || setting->order != NULL)) {
        code = shared_done(store, setting->order, STORE_SHARED_ENABLED, setting->selector, err);
    }
    if (code == 0 && setting->has_priority && setting->order == NULL) {
        code = shared_done(store, NULL, STORE_SHARED_PRIORITY, setting->selector, err);
    }
    return database_end(store, code, err);
}

/* Ordered by selector: a name comes before its versions; if it came later, it would replace
 * theirs. So does what holds for whoever provides the name before what holds for one plugin. */
#define SETTINGS(plugin) \
    "SELECT selector, enabled, priority, " plugin " FROM settings ORDER BY selector, " plugin

int store_read_settings(struct store *store,
                        void (*visit)(void *user, const struct store_setting *setting), void *user,
                        struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_bound(store, SCHEMA_SETTINGS, SETTINGS("''"), SETTINGS("plugin"),
                                   &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_setting){.selector = value_as_text(&row[0]),
                                            .plugin = value_as_text(&row[3]),
                                            .has_enabled = row[1].kind == VALUE_NUMBER,
                                            .enabled = row[1].number != 0,
                                            .has_priority = row[2].kind == VALUE_NUMBER,
                                            .priority = (int32_t)row[2].number});
    }
    return code;
}
