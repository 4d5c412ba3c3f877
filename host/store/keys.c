#include "store/keys.h"

#include "base/command.h"
#include "store/database.h"

/* Refuse another key with the same id, and a key too many. */
static int check_room(struct store *store, const struct store_key *key,
                      struct toolrack_error *err) {
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_inside(
            store,
            "SELECT count(*) FILTER (WHERE id <> ?1), "
            "count(*) FILTER (WHERE id = ?1 AND public <> ?2) FROM keys",
            VALUES(value_text(key->id), value_bytes(key->public, sizeof key->public)), &rows, err);
    if (code < 0) {
        return code;
    }
    if (rows_at(&rows, 0)[1].number > 0) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "another key has the id %s; remove it first if it is no longer used: %s",
                         key->id, COMMAND("keys remove", key->id));
    }
    return rows_at(&rows, 0)[0].number < STORE_KEYS_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "there are %d keys, which is the most; remove some of them",
                               STORE_KEYS_MAX);
}

int store_key_add(struct store *store, const struct store_key *key, struct toolrack_error *err) {
    int code =
            database_begin(store, DATABASE_DURABLE,
                           TEXT_LIMITS({"list of ids", key->ids, STORE_TEXT_SIZE_MAX},
                                       {"list of earlier keys", key->follows, STORE_TEXT_SIZE_MAX},
                                       {"name of the key", key->comment, STORE_TEXT_SIZE_MAX},
                                       {"name of who decides", key->who, STORE_TEXT_SIZE_MAX}),
                           err);
    if (code == 0) {
        code = check_room(store, key, err);
    }
    if (code == 0) {
        code = database_run(
                store,
                "INSERT OR REPLACE INTO keys (id, public, trust, ids, follows, "
                "comment, since_s, who) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                VALUES(value_text(key->id), value_bytes(key->public, sizeof key->public),
                       value_number(key->trust), value_text(key->ids), value_text(key->follows),
                       value_text(key->comment), value_number(key->since_s), value_text(key->who)),
                err);
    }
    return database_end(store, code, err);
}

int store_key_remove(struct store *store, const char *id, struct toolrack_error *err) {
    int code = database_begin(store, DATABASE_DURABLE,
                              TEXT_LIMITS({"id of a key", id, STORE_TEXT_SIZE_MAX}), err);
    if (code == 0) {
        code = database_run(store, "DELETE FROM keys WHERE id = ?1", VALUES(value_text(id)), err);
    }
    if (code == 0 && database_changes(store) == 0) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "there is no key %s; list them: %s", id,
                         COMMAND("keys list"));
    }
    return database_end(store, code, err);
}

int store_keys_read(struct store *store, void (*visit)(void *user, const struct store_key *key),
                    void *user, struct toolrack_error *err) {
    enum { ID, PUBLIC, TRUST, IDS, FOLLOWS, COMMENT, SINCE, WHO };
    CLEANUP(rows_finish) struct rows rows = ROWS_INIT;
    int code = database_read_kept(store, SCHEMA_KEYS,
                                  "SELECT id, public, trust, ids, follows, comment, since_s, who "
                                  "FROM keys ORDER BY rowid",
                                  NO_VALUES, &rows, err);
    for (size_t i = 0; i < rows.count; i++) {
        const struct value *row = rows_at(&rows, i);
        struct store_key key = {.id = value_as_text(&row[ID]),
                                .trust = (int)row[TRUST].number,
                                .ids = value_as_text(&row[IDS]),
                                .follows = value_as_text(&row[FOLLOWS]),
                                .comment = value_as_text(&row[COMMENT]),
                                .since_s = row[SINCE].number,
                                .who = value_as_text(&row[WHO])};
        value_copy_bytes(&row[PUBLIC], key.public, sizeof key.public);
        visit(user, &key);
    }
    return code;
}
