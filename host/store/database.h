/* database.h - what the files of the store share: values, statements, transactions.
 *
 * Known inside host/store/ only. A function that changes something has the form
 *
 *     int code = database_begin(store, DATABASE_DURABLE,
 *                               TEXT_LIMITS({"name", name, STORE_TEXT_SIZE_MAX}), err);
 *     if (code == 0) {
 *         code = database_run(store, "DELETE FROM ...", VALUES(value_text(name)), err);
 *     }
 *     return database_end(store, code, err);
 *
 * and one that reads copies the rows first and visits them without the lock: so the visitor may
 * call the store, and take locks under which others call it. */
#pragma once

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/store.h"

/* The form of the tables that this toolrack writes, and those in which others came first. */
#define SCHEMA_NUMBER    3
#define SCHEMA_SETTINGS  1
#define SCHEMA_DECISIONS 2
#define SCHEMA_DEFAULTS  3
#define SCHEMA_CALLS     3

/* How long to wait for another process that writes. */
#define STORE_BUSY_MS 5000

/** Whether the transaction is on the disk when it ends, or may be lost by a power cut (never by
 * the end of a process). What is durable makes durable all that came before. */
enum database_sync { DATABASE_DURABLE, DATABASE_SOON };

/* Most statements that are kept prepared. */
#define STORE_KEPT_MAX 4u

/** A statement that stays prepared as long as its connection is open. */
struct kept_statement {
    const char *sql; /* by its address; NULL: this place is free */
    sqlite3_stmt *statement;
};

struct store {
    char *dir;               /* NULL: the store is in memory */
    char *path;              /* as messages name it */
    pthread_mutex_t lock;    /* guards what follows */
    sqlite3 *db;             /* NULL while there is no file that can be used */
    bool writable;           /* db was opened for writing */
    bool damaged;            /* a part of it could not be read: nothing is written to it any more */
    enum database_sync sync; /* what its next commit does, when it is writable */
    struct kept_statement kept[STORE_KEPT_MAX]; /* of db */
};

/* ------------------------------------------------------------------ values */

enum value_kind { VALUE_END, VALUE_NULL, VALUE_NUMBER, VALUE_TEXT, VALUE_BYTES };

/** A parameter of a statement (borrowed until it has run) or a column that was read. */
struct value {
    enum value_kind kind;
    int64_t number;
    const void *data; /**< of a column: followed by a zero that does not count */
    size_t size;
};

/** The parameters ?1, ?2 ... of a statement. */
#define VALUES(...) ((const struct value[]){__VA_ARGS__, {.kind = VALUE_END}})
#define NO_VALUES   ((const struct value[]){{.kind = VALUE_END}})

static inline struct value value_number(int64_t number) {
    return (struct value){.kind = VALUE_NUMBER, .number = number};
}

static inline struct value value_optional_number(bool has, int64_t number) {
    return (struct value){.kind = has ? VALUE_NUMBER : VALUE_NULL, .number = number};
}

static inline struct value value_bytes(const void *bytes, size_t size) {
    return (struct value){.kind = VALUE_BYTES, .data = bytes, .size = size};
}

/** `text` may be NULL. */
static inline struct value value_text(const char *text) {
    if (text == NULL) {
        return (struct value){.kind = VALUE_NULL};
    }
    return (struct value){.kind = VALUE_TEXT, .data = text, .size = strlen(text)};
}

/** The first `size_max` bytes of a text, or fewer, so that no character is cut. */
struct value value_cut_text(const char *text, size_t size_max);

/** The text of a column; "" where the column of a damaged file holds something else. */
static inline const char *value_as_text(const struct value *value) {
    return value->kind == VALUE_TEXT ? value->data : "";
}

/** The text of a column that may be NULL. */
static inline const char *value_as_optional_text(const struct value *value) {
    return value->kind == VALUE_TEXT ? value->data : NULL;
}

/** The bytes of a column; filled with zeros, or cut, to `size`. */
void value_copy_bytes(const struct value *value, void *ret_bytes, size_t size);

/* -------------------------------------------------------------- statements */

/** Rows that were read; empty when reading failed. */
struct rows {
    struct arena arena;
    struct value *values; /* count times columns */
    size_t columns;
    size_t count;
    size_t room;
};
#define ROWS_INIT ((struct rows){0})

void rows_finish(struct rows *rows);

static inline const struct value *rows_at(const struct rows *rows, size_t i) {
    return &rows->values[i * rows->columns];
}

/** Run a statement that gives rows, and copy them. The lock is not held.
 *
 * @param since     form of the tables in which the table came: there are no rows in an older one
 * @param ret_rows  initialised with ROWS_INIT; to be finished also on failure
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int database_read(struct store *store, int since, const char *sql, const struct value *values,
                  struct rows *ret_rows, struct toolrack_error *err);

/** The same of a statement that calls wait for: preparing one costs ten times what running it does,
 * so it is kept. `sql` is always the same address. */
int database_read_kept(struct store *store, int since, const char *sql, const struct value *values,
                       struct rows *ret_rows, struct toolrack_error *err);

/** The same inside a transaction. */
int database_read_inside(struct store *store, const char *sql, const struct value *values,
                         struct rows *ret_rows, struct toolrack_error *err);

/** Run a statement that gives no rows, inside a transaction. */
int database_run(struct store *store, const char *sql, const struct value *values,
                 struct toolrack_error *err);

/** The same once for each of many rows: the statement is prepared once, to be finalized. */
int database_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement,
                     struct toolrack_error *err);
int database_run_prepared(struct store *store, sqlite3_stmt *statement, const struct value *values,
                          struct toolrack_error *err);

/** How many rows the last statement changed. */
static inline int database_changes(const struct store *store) {
    return sqlite3_changes(store->db);
}

/** As database_read_inside(), with a statement that is kept until database_drop_kept(). Caller
 * holds the lock. */
int database_run_kept(struct store *store, const char *sql, const struct value *values,
                      struct rows *ret_rows, struct toolrack_error *err);
void database_drop_kept(struct store *store);

/** Set the error for what SQLite said last: "cannot `what` PATH: ...". Returns its code. */
int database_failed(struct store *store, const char *what, struct toolrack_error *err);

/* ------------------------------------------------------------ transactions */

/** A text to keep and its limit; a text of NULL is not checked. */
struct text_limit {
    const char *what;
    const char *text;
    size_t size_max;
};
#define TEXT_LIMITS(...) ((const struct text_limit[]){__VA_ARGS__, {.what = NULL}})
#define NO_LIMITS        ((const struct text_limit[]){{.what = NULL}})

/** @return 0; TOOLRACK_E_LIMIT_EXCEEDED, naming the first text that is too long */
int database_check_texts(const struct text_limit *limits, struct toolrack_error *err);

/** Take the lock, check the texts that are to be kept, open the file for writing, making it where
 * there is none, begin a transaction and bring the tables into today's form. database_end() follows
 * in any case. */
int database_begin(struct store *store, enum database_sync sync, const struct text_limit *limits,
                   struct toolrack_error *err);

/** End what database_begin() began: commit when `code` is 0, else undo all of it.
 * @return `code`, or why it could not be committed */
int database_end(struct store *store, int code, struct toolrack_error *err);

/** Bring tables of an older form into today's, inside a transaction. (migrate.c)
 * @return whether SQLite did it */
bool database_migrate(sqlite3 *db, int from);

/** Make a folder and those above it that are missing, for this user alone. */
int database_make_folders(const char *path, struct toolrack_error *err);

/* -------------------------------------------------------- between subjects */

struct store_approval;
struct store_grant;
struct store_pin;
struct store_statistics;

/** Whether its texts can be kept; and keep it, inside a transaction. (approvals.c, grants.c,
 * pins.c) */
int approval_check(const struct store_approval *approval, struct toolrack_error *err);
int approval_put(struct store *store, const struct store_approval *approval,
                 struct toolrack_error *err);
int grant_check(const struct store_grant *grant, struct toolrack_error *err);
int grant_put(struct store *store, const struct store_grant *grant, struct toolrack_error *err);
int pin_check(const struct store_pin *pin, struct toolrack_error *err);
int pin_put(struct store *store, const struct store_pin *pin, struct toolrack_error *err);

/** Add what was counted to what is kept, inside a transaction. (statistics.c) */
int statistics_add(struct store *store, const struct store_statistics *rows, size_t count,
                   struct toolrack_error *err);

/** Remove the grants of a selector, inside a transaction.
 * @return 0; TOOLRACK_E_NOT_FOUND, with nothing removed but what had expired. (grants.c) */
int grant_remove(struct store *store, const char *selector, int64_t now_s,
                 struct toolrack_error *err);

/** Forget the failures of what a selector names, inside a transaction.
 * @param ret_count  how many of them were on the blacklist; may be NULL. (health.c) */
int health_forget(struct store *store, const char *selector, int *ret_count,
                  struct toolrack_error *err);
