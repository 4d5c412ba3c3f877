#include "store/approvals.h"

#include "base/utf8.h"
#include "store/database.h"

int approval_check(const struct store_approval *approval, struct toolrack_error *err) {
    if (approval->conversation != NULL && approval->conversation[0] == '\0') {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the call of '%s' belongs to no conversation; allow it once or always",
                         approval->tool);
    }
    return database_check_texts(
            TEXT_LIMITS({"tool name", approval->tool, STORE_TEXT_SIZE_MAX},
                        {"version", approval->version, STORE_TEXT_SIZE_MAX},
                        {"conversation", approval->conversation, STORE_TEXT_SIZE_MAX},
                        {"caller", approval->caller, STORE_TEXT_SIZE_MAX},
                        {"name of who approves", approval->who, STORE_TEXT_SIZE_MAX}),
            err);
}

int approval_put(struct store *store, const struct store_approval *approval,
                 struct toolrack_error *err) {
    /* In the table, an empty conversation means all conversations. */
    const struct value *values =
            VALUES(value_text(approval->tool), value_text(approval->version),
                   value_text(approval->conversation), value_text(approval->who),
                   value_number(approval->approved_s), value_text(approval->caller));
    int code = database_run(store,
                            "DELETE FROM approvals WHERE tool = ?1 AND version = ?2 AND "
                            "conversation = coalesce(?3, '') AND caller IS ?6 AND ?4 IS ?4 AND "
                            "?5 IS ?5",
                            values, err);
    if (code == 0) {
        code = database_run(store,
                            "INSERT INTO approvals (tool, version, conversation, who, approved_s, "
                            "caller) VALUES (?1, ?2, coalesce(?3, ''), ?4, ?5, ?6)",
                            values, err);
    }
    if (code < 0) {
        return code;
    }
    return database_run(store,
                        "DELETE FROM approvals WHERE rowid IN (SELECT rowid "
                        "FROM approvals WHERE conversation <> '' "
                        "ORDER BY approved_s DESC, rowid DESC LIMIT -1 OFFSET ?1)",
                        VALUES(value_number(STORE_CONVERSATION_APPROVALS_MAX)), err);
}

#define FIND(same_caller)                                                                      \
    "SELECT who FROM approvals WHERE tool = ?1 AND version = ?2 AND conversation IN ('', ?3) " \
    "AND (" same_caller ") AND EXISTS (SELECT 1 FROM pins WHERE " IS_IDENTITY(                 \
            "?4") " AND tool = ?1 AND version = ?2) "                                          \
                  "ORDER BY conversation LIMIT 1"
static const char find_approval[] = FIND("caller IS NULL OR caller = coalesce(?5, '')");
static const char find_old_approval[] = FIND("?5 IS ?5");

int store_approval_find(struct store *store, const struct store_approval *approval,
                        const char *plugin, char ret_who[STORE_WHO_SIZE],
                        struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_SERVING, &is_old, err);
    if (code == 0) {
        code = database_read_kept(store, SCHEMA_DECISIONS,
                                  is_old ? find_old_approval : find_approval,
                                  VALUES(value_text(approval->tool), value_text(approval->version),
                                         value_text(approval->conversation), value_text(plugin),
                                         value_text(approval->caller)),
                                  &rows, err);
    }
    if (code < 0 || rows.count == 0) {
        return code < 0 ? code : TOOLRACK_E_NOT_FOUND;
    }
    utf8_copy(ret_who, STORE_WHO_SIZE, value_as_text(rows_at(&rows, 0)));
    return 0;
}

int store_approval_find_version(struct store *store, const char *tool,
                                char ret_version[STORE_WHO_SIZE], struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read(store, SCHEMA_DECISIONS,
                             "SELECT version FROM approvals WHERE tool = ?1 AND conversation = '' "
                             "ORDER BY version LIMIT 1",
                             VALUES(value_text(tool)), &rows, err);
    if (code < 0 || rows.count == 0) {
        return code < 0 ? code : TOOLRACK_E_NOT_FOUND;
    }
    utf8_copy(ret_version, STORE_WHO_SIZE, value_as_text(rows_at(&rows, 0)));
    return 0;
}

#define READ(caller)                                                                    \
    "SELECT tool, version, nullif(conversation, ''), who, approved_s, " caller " FROM " \
    "approvals ORDER BY tool, version, conversation, " caller

int store_approvals_read(struct store *store,
                         void (*visit)(void *user, const struct store_approval *approval),
                         void *user, struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_SERVING, &is_old, err);
    if (code == 0) {
        code = database_read(store, SCHEMA_DECISIONS, is_old ? READ("NULL") : READ("caller"),
                             NO_VALUES, &rows, err);
    }
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        visit(user, &(struct store_approval){.tool = value_as_text(&row[0]),
                                             .version = value_as_text(&row[1]),
                                             .conversation = value_as_optional_text(&row[2]),
                                             .who = value_as_text(&row[3]),
                                             .approved_s = row[4].number,
                                             .caller = value_as_optional_text(&row[5])});
    }
    return code;
}
