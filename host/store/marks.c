#include "store/marks.h"

#include "store/database.h"
#include "store/shared.h"

/* Marks of a selector; of single versions too when it is a name alone. */
#define SELECTED "(selector = ?1 OR substr(selector, 1, length(?1) + 1) = ?1 || '@')"

/* Add a mark of one plugin, or of whoever provides the name (""). A mark of schema 3 that is not
 * bound yet counts as that of each plugin. */
static int add_mark(struct store *store, const struct store_mark *mark, const char *plugin,
                    struct toolrack_error *err) {
    const struct value *key =
            VALUES(value_text(mark->selector), value_number(mark->list), value_text(plugin));
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store,
                                    "SELECT 1 FROM marks WHERE selector = ?1 AND list = ?2 "
                                    "AND plugin IN (?3, '')",
                                    key, &rows, err);
    bool marked = rows.count > 0;
    _Static_assert(STORE_BLACKLIST == 0, "as in the next statement");
    if (code == 0 && !marked) {
        code = database_run(store,
                            "DELETE FROM marks WHERE " SELECTED
                            " AND (?2 = 0 OR list = 0 OR plugin IN (?3, ''))",
                            key, err);
    }
    if (code == 0 && !marked) {
        code = database_run(store,
                            "INSERT INTO marks (selector, plugin, list, since_ms, who, why) "
                            "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                            VALUES(value_text(mark->selector), value_text(plugin),
                                   value_number(mark->list), value_number(mark->since_ms),
                                   value_text(mark->who), value_text(mark->why)),
                            err);
    }
    return code == 0 && mark->list == STORE_WHITELIST
                   ? health_forget(store, mark->selector, plugin, NULL, err)
                   : code;
}

int store_mark(struct store *store, const struct store_mark *mark, const char *const *plugins,
               size_t plugin_count, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"selector", mark->selector, STORE_TEXT_SIZE_MAX},
                                          {"name of who decides", mark->who, STORE_TEXT_SIZE_MAX},
                                          {"reason", mark->why, STORE_TEXT_SIZE_MAX}),
                              err);
    code = code < 0 ? code : shared_check(store, mark->order, err);
    if (code == 0 && mark->list == STORE_BLACKLIST) {
        code = add_mark(store, mark, "", err);
    }
    for (size_t i = 0; code == 0 && mark->list == STORE_WHITELIST && i < plugin_count; i++) {
        code = add_mark(store, mark, plugins[i], err);
    }
    code = code < 0 ? code
                    : shared_done(store, mark->order, STORE_SHARED_LIST, mark->selector, err);
    return database_end(store, code, err);
}

/* The message also names the mark that was probably intended. */
static int not_marked(struct store *store, enum store_list list, const char *selector,
                      struct toolrack_error *err) {
    const char *name = list == STORE_BLACKLIST ? "blacklist" : "whitelist";
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(store,
                                    "SELECT selector FROM marks WHERE list = ?2 AND "
                                    "selector = substr(?1, 1, instr(?1, '@') - 1)",
                                    VALUES(value_text(selector), value_number(list)), &rows, err);
    if (code < 0) {
        return code;
    }
    if (rows.count > 0) {
        const char *all = value_as_text(rows_at(&rows, 0));
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "'%s' is not on the %s by itself; all versions of '%s' are: take that off",
                         selector, name, all);
    }
    return error_set(err, TOOLRACK_E_NOT_FOUND, "'%s' is not on the %s", selector, name);
}

int store_unmark(struct store *store, enum store_list list, const char *selector,
                 const struct store_shared_order *order, struct toolrack_error *err) {
    int forgotten = 0;
    int removed = 0;
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    code = code < 0 ? code : shared_check(store, order, err);
    if (code == 0) {
        code = database_run(store, "DELETE FROM marks WHERE list = ?2 AND " SELECTED,
                            VALUES(value_text(selector), value_number(list)), err);
    }
    if (code == 0) {
        removed = database_changes(store);
    }
    if (code == 0 && list == STORE_BLACKLIST) {
        code = health_forget(store, selector, NULL, &forgotten, err);
    }
    if (code == 0 && removed + forgotten == 0) {
        code = not_marked(store, list, selector, err);
    }
    code = code < 0 ? code : shared_done(store, order, STORE_SHARED_LIST, selector, err);
    return database_end(store, code, err);
}

#define MARKS(plugin) \
    "SELECT selector, list, since_ms, who, why, " plugin " FROM marks ORDER BY selector, " plugin

int store_marks_read(struct store *store, void (*visit)(void *user, const struct store_mark *mark),
                     void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_bound(store, SCHEMA_CALLS, MARKS("''"), MARKS("plugin"), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_mark){.selector = value_as_text(&row[0]),
                                         .plugin = value_as_text(&row[5]),
                                         .list = row[1].number == STORE_WHITELIST ? STORE_WHITELIST
                                                                                  : STORE_BLACKLIST,
                                         .since_ms = row[2].number,
                                         .who = value_as_text(&row[3]),
                                         .why = value_as_optional_text(&row[4])});
    }
    return code;
}
