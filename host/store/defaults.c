#include "store/defaults.h"

#include "store/database.h"
#include "store/shared.h"

int store_default_set(struct store *store, const struct store_default *chosen,
                      struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"tool name", chosen->tool, STORE_TEXT_SIZE_MAX},
                                          {"version", chosen->version, STORE_TEXT_SIZE_MAX}),
                              err);
    code = code < 0 ? code : shared_check(store, chosen->order, err);
    if (code == 0 && chosen->version == NULL) {
        code = database_run(store, "DELETE FROM defaults WHERE tool = ?1",
                            VALUES(value_text(chosen->tool)), err);
    } else if (code == 0) {
        code = database_run(store,
                            "INSERT INTO defaults (tool, version, identity) VALUES (?1, ?2, ?3) "
                            "ON CONFLICT (tool) DO UPDATE SET version = ?2, "
                            "identity = coalesce(?3, identity)",
                            VALUES(value_text(chosen->tool), value_text(chosen->version),
                                   value_text(chosen->identity)),
                            err);
    }
    code = code < 0 ? code
                    : shared_done(store, chosen->order, STORE_SHARED_DEFAULT, chosen->tool, err);
    return database_end(store, code, err);
}

int store_defaults_read(struct store *store,
                        void (*visit)(void *user, const struct store_default *chosen), void *user,
                        struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_DEFAULTS,
                                  "SELECT tool, version FROM defaults ORDER BY tool", NO_VALUES,
                                  &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_default){.tool = value_as_text(&row[0]),
                                            .version = value_as_text(&row[1])});
    }
    return code;
}

int store_choices_read(struct store *store,
                       void (*visit)(void *user, const struct store_default *chosen), void *user,
                       struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_IDENTITIES,
                             "SELECT tool, version, identity FROM defaults "
                             "WHERE identity IS NOT NULL ORDER BY tool",
                             NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_default){.tool = value_as_text(&row[0]),
                                            .version = value_as_text(&row[1]),
                                            .identity = value_as_text(&row[2])});
    }
    return code;
}
