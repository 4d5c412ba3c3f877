#include "store/capabilities.h"

#include "store/database.h"

int store_capabilities_read(struct store *store, const char *plugin,
                            void (*visit)(void *user, const struct store_capability *row),
                            void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_CAPABILITIES,
                                  "SELECT plugin, kind, word, capability, since_s, who "
                                  "FROM capabilities WHERE ?1 IS NULL OR plugin = ?1 "
                                  "ORDER BY plugin, kind, word, capability",
                                  VALUES(value_text(plugin)), &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_capability){.plugin = value_as_text(&row[0]),
                                               .kind = (enum store_capability_kind)row[1].number,
                                               .word = value_as_text(&row[2]),
                                               .capability = value_as_text(&row[3]),
                                               .since_s = row[4].number,
                                               .who = value_as_text(&row[5])});
    }
    return code;
}

static int remove_row(struct store *store, const char *plugin, enum store_capability_kind kind,
                      const char *capability, struct toolrack_error *err) {
    return database_run(
            store, "DELETE FROM capabilities WHERE plugin = ?1 AND kind = ?2 AND capability = ?3",
            VALUES(value_text(plugin), value_number(kind), value_text(capability)), err);
}

static int add_row(struct store *store, const struct store_capability *row,
                   struct toolrack_error *err) {
    int code = database_check_texts(
            TEXT_LIMITS({"plugin id", row->plugin, STORE_TEXT_SIZE_MAX},
                        {"capability", row->capability, STORE_TEXT_SIZE_MAX},
                        {"name of who decides", row->who, STORE_TEXT_SIZE_MAX}),
            err);
    if (code == 0 && row->kind != STORE_CAPABILITY_COVERED) {
        code = remove_row(store, row->plugin,
                          row->kind == STORE_CAPABILITY_GIVEN ? STORE_CAPABILITY_TAKEN
                                                              : STORE_CAPABILITY_GIVEN,
                          row->capability, err);
    }
    return code < 0 ? code
                    : database_run(store,
                                   "INSERT OR REPLACE INTO capabilities "
                                   "(plugin, kind, word, capability, since_s, who) "
                                   "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                   VALUES(value_text(row->plugin), value_number(row->kind),
                                          value_text(row->word), value_text(row->capability),
                                          value_number(row->since_s), value_text(row->who)),
                                   err);
}

int store_capabilities_add(struct store *store, const struct store_capability *rows, size_t count,
                           struct toolrack_error *err) {
    bool decided = false;
    for (size_t i = 0; i < count; i++) {
        decided = decided || rows[i].kind != STORE_CAPABILITY_COVERED;
    }
    int code = database_begin(store, decided ? DATABASE_DURABLE : DATABASE_SOON, NO_LIMITS, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = add_row(store, &rows[i], err);
    }
    return database_end(store, code, err);
}

int store_capability_remove(struct store *store, const char *plugin,
                            enum store_capability_kind kind, const char *capability,
                            struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE, NO_LIMITS, err);
    if (code == 0) {
        code = remove_row(store, plugin, kind, capability, err);
    }
    return database_end(store, code, err);
}
