/* database.h - values, statements and transactions, for the files of the store.
 *
 * Included inside host/store/ only. A function that changes something has the form
 *
 *     int code = database_begin(store, DATABASE_DURABLE,
 *                               TEXT_LIMITS({"name", name, STORE_TEXT_SIZE_MAX}), err);
 *     if (code == 0) {
 *         code = database_run(store, "DELETE FROM ...", VALUES(value_text(name)), err);
 *     }
 *     return database_end(store, code, err);
 *
 * A function that reads copies the rows first and visits them without the lock: so the visitor may
 * call the store, and take locks that other threads hold while they call the store. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/libsqlite.h"
#include "store/store.h"

/* The schema version that this toolrack writes, and the versions that added each group of
 * tables. */
#define SCHEMA_NUMBER       17
#define SCHEMA_SETTINGS     1
#define SCHEMA_DECISIONS    2
#define SCHEMA_DEFAULTS     3
#define SCHEMA_CALLS        3
#define SCHEMA_IDENTITIES   4
#define SCHEMA_FAILURES     4
#define SCHEMA_CONTENTS     4
#define SCHEMA_CAPABILITIES 4
#define SCHEMA_BOUND        4 /* tools' records and settings have an identity */
#define SCHEMA_MASKED       4
#define SCHEMA_SERVING      5 /* tokens and tasks; approvals have a caller */
#define SCHEMA_SELECTIONS   7
#define SCHEMA_VECTORS      8
#define SCHEMA_SELECTED_KEY 9
#define SCHEMA_RUNS         10
#define SCHEMA_RUN_CALLS    11 /* calls say of which run they are */
#define SCHEMA_AGREED       11
#define SCHEMA_RUN_TEXTS    13 /* which are beside the rows of runs */
#define SCHEMA_CHANGED      14 /* calls say what was changed in their arguments */
#define SCHEMA_KEYS         15 /* that sign packages */
#define SCHEMA_SHARED       17 /* decisions that a group of hosts shares */

/* How long to wait for another process that is writing. */
#define STORE_BUSY_MS 5000

/** Whether the transaction is on the disk when it ends, or may be lost by a power cut (never by the
 * end of a process). A durable transaction makes all earlier ones durable. */
enum database_sync { DATABASE_DURABLE, DATABASE_SOON };

/* Most statements that are kept prepared. */
#define STORE_KEPT_MAX 128u

/** A statement that stays prepared as long as its connection is open. */
struct kept_statement {
    const char *sql; /* compared by address; NULL: this place is free */
    sqlite3_stmt *statement;
};

/* Its file in the state folder. */
#define STORE_FILE "toolrack.db"

/* A file as stat() shows it; size -1 if it does not. */
struct store_stamp {
    int64_t size;
    struct timespec changed;
    uint64_t inode;
};

struct store {
    char *dir;                 /* NULL: the store is in memory */
    char *path;                /* as shown in messages */
    pthread_mutex_t lock;      /* guards what follows */
    sqlite3 *db;               /* NULL while there is no file that can be used */
    bool will_write;           /* db is opened with write access at once, if it can be */
    bool may_write;            /* db is a file, and was opened with write access */
    bool writable;             /* db was made ready for writing */
    bool has_decided;          /* a durable transaction was begun in it since then */
    bool damaged;              /* a part of db is corrupt: nothing is written to it any more */
    bool no_room;              /* the last attempt to open it failed for want of room */
    bool immutable;            /* db was opened as a file that does not change */
    struct start_cache *start; /* NULL, but while a host that only reads is opened */
    struct store_stamp stamp;  /* of the file when db was opened, if `immutable` or `may_write` */
    enum database_sync sync;   /* of the next commit, when db is writable */
    struct kept_statement kept[STORE_KEPT_MAX]; /* of db */
};

/* ------------------------------------------------------------------ values */

enum value_kind { VALUE_END, VALUE_NULL, VALUE_NUMBER, VALUE_TEXT, VALUE_BYTES, VALUE_ROWS };

/** A parameter of a statement (borrowed until the statement has run) or a column that was read. */
struct value {
    enum value_kind kind;
    int64_t number;
    const void *data; /**< of a column: followed by a zero that `size` does not count */
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

/* Columns of given rows, c1 to c18, and what SQLite knows a pointer to them by. */
#define DATABASE_GIVEN_COLUMNS 19
#define DATABASE_GIVEN         "toolrack rows"

/** Rows in memory, which a statement reads as the table given(?1) if they are its first parameter:
 * so many are added or changed by one statement, for a third of what a statement each costs. Any
 * parameter may be rows. (given.c) */
struct given_rows {
    size_t count;
    /* Set as many columns of a row as the statement names: called once for each, in order. */
    void (*read)(void *user, size_t row, struct value *ret_columns);
    void *user;
};

static inline struct value value_rows(const struct given_rows *rows) {
    return (struct value){.kind = VALUE_ROWS, .data = rows};
}

/** `text` may be NULL. */
static inline struct value value_text(const char *text) {
    if (text == NULL) {
        return (struct value){.kind = VALUE_NULL};
    }
    return (struct value){.kind = VALUE_TEXT, .data = text, .size = strlen(text)};
}

/** The first `size_max` bytes of a string, or fewer, so that no character is cut. */
struct value value_cut_text(const char *text, size_t size_max);

/** The string in a column; "" when the column holds something else, as in a damaged file. */
static inline const char *value_as_text(const struct value *value) {
    return value->kind == VALUE_TEXT ? value->data : "";
}

/** The string in a column that may be NULL. */
static inline const char *value_as_optional_text(const struct value *value) {
    return value->kind == VALUE_TEXT ? value->data : NULL;
}

/** The bytes of a column, padded with zeros or cut to `size`. */
void value_copy_bytes(const struct value *value, void *ret_bytes, size_t size);

/* A condition: the column `plugin` is the identity in a parameter, or the id in it alone, as in
 * rows of schema 3 (identities.h). */
#define IS_IDENTITY(parameter) \
    "plugin IN (" parameter ", substr(" parameter ", 1, instr(" parameter ", ' ') - 1))"

/* -------------------------------------------------------------- statements */

/** Rows that were read; empty when reading failed. */
struct rows {
    struct arena arena;
    struct value *values; /* count * columns */
    size_t columns;
    size_t count;
    size_t room;
};
#define ROWS_INIT ((struct rows){0})

void rows_finish(struct rows *rows);

static inline const struct value *rows_at(const struct rows *rows, size_t i) {
    return &rows->values[i * rows->columns];
}

/** Run a statement that returns rows, and copy the rows. Caller does not hold the lock.
 *
 * @param since     schema version that added the table: a file of an older version has no rows
 * @param ret_rows  initialised with ROWS_INIT; finish it also on failure
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int database_read(struct store *store, int since, const char *sql, const struct value *values,
                  struct rows *ret_rows, struct toolrack_error *err);

/** The same for a statement on the path of calls: preparing it takes ten times as long as running
 * it, so it stays prepared. `sql` must always be the same address. */
int database_read_kept(struct store *store, int since, const char *sql, const struct value *values,
                       struct rows *ret_rows, struct toolrack_error *err);

/** Whether there is a file, and of a schema before `since`: columns that it added are missing.
 * @return as database_read(). [any-thread] */
int database_is_older(struct store *store, int since, bool *ret_older, struct toolrack_error *err);

/** Read a table to which SCHEMA_BOUND added the column `plugin`: with `old_sql` from a file of an
 * earlier schema. Both have no parameters; `sql` stays prepared.
 * @param since  schema version that added the table
 * @return as database_read(). [any-thread] */
int database_read_bound(struct store *store, int since, const char *old_sql, const char *sql,
                        struct rows *ret_rows, struct toolrack_error *err);

/** The same as database_read(), inside a transaction. */
int database_read_inside(struct store *store, const char *sql, const struct value *values,
                         struct rows *ret_rows, struct toolrack_error *err);

/** Run a statement that returns no rows, inside a transaction. Its text is a literal: it stays
 * prepared. */
int database_run(struct store *store, const char *sql, const struct value *values,
                 struct toolrack_error *err);

/** The same for many rows: the statement is prepared once; the caller finalizes it. */
int database_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement,
                     struct toolrack_error *err);
int database_run_prepared(struct store *store, sqlite3_stmt *statement, const struct value *values,
                          struct toolrack_error *err);

/** How many rows the last statement changed. */
static inline int database_changes(const struct store *store) {
    return sqlite.changes(store->db);
}

/** A statement that stays prepared until database_drop_kept(); NULL on failure. Literals only: it
 * is found by the address of its text. To be reset after use. */
sqlite3_stmt *database_keep(struct store *store, const char *sql);
/** As database_read_inside(), with a statement that stays prepared until database_drop_kept().
 * Caller holds the lock. */
int database_run_kept(struct store *store, const char *sql, const struct value *values,
                      struct rows *ret_rows, struct toolrack_error *err);
void database_drop_kept(struct store *store);

/** Whether SQLite's last error is that the disk is full, or a file may not grow. */
bool database_has_no_room(struct store *store);

/** Set the error from SQLite's last error: "cannot `what` PATH: ...". Returns the code that was
 * set. */
int database_failed(struct store *store, const char *what, struct toolrack_error *err);

/* ------------------------------------------------------------ transactions */

/** A string to store and its limit; NULL is not checked. */
struct text_limit {
    const char *what;
    const char *text;
    size_t size_max;
};
#define TEXT_LIMITS(...) ((const struct text_limit[]){__VA_ARGS__, {.what = NULL}})
#define NO_LIMITS        ((const struct text_limit[]){{.what = NULL}})

/** @return 0; TOOLRACK_E_LIMIT_EXCEEDED, naming the first string that is too long */
int database_check_texts(const struct text_limit *limits, struct toolrack_error *err);

/** Take the lock, check the strings to be stored, open the file for writing or create it, begin a
 * transaction and upgrade the tables. database_end() must follow, also after a failure. */
int database_begin(struct store *store, enum database_sync sync, const struct text_limit *limits,
                   struct toolrack_error *err);

/** End the transaction of database_begin() and release the lock: commit when `code` is 0, else roll
 * back.
 * @return `code`, or why it could not be committed */
int database_end(struct store *store, int code, struct toolrack_error *err);

/** Make the table of given rows known to a connection. Returns SQLite's status. (given.c) */
int database_add_given(sqlite3 *db);

/** Upgrade tables of an older schema version, inside a transaction. (migrate.c)
 * @return whether it succeeded */
bool database_migrate(sqlite3 *db, int from);

/* Of the file (PRAGMA application_id): "tool". Files of schema 3 and before have 0. */
#define DATABASE_APPLICATION_ID 0x746f6f6c

/** Check what SQLite does not: that the file and its logs are regular files, no links, and that
 * nobody but root and this user may change them or the folder.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int database_check_file(const struct store *store, bool *ret_exists, struct toolrack_error *err);
/** Create the file, empty, with mode 0600, unless there is something. */
int database_create_file(const struct store *store, struct toolrack_error *err);
/** Check that the open database is empty or has the tables of toolrack.
 * @return 0; TOOLRACK_E_IO. */
int database_check_owner(struct store *store, struct toolrack_error *err);

/** Create a folder and its missing parents, accessible to this user alone. */
int database_make_folders(const char *path, struct toolrack_error *err);

/* -------------------------------------------------------- between subjects */

struct store_approval;
struct store_grant;
struct store_pin;
struct store_statistics;

/** Check the limits of its strings; store it, inside a transaction. (approvals.c, grants.c,
 * pins.c) */
int approval_check(const struct store_approval *approval, struct toolrack_error *err);
int approval_put(struct store *store, const struct store_approval *approval,
                 struct toolrack_error *err);
int grant_check(const struct store_grant *grant, struct toolrack_error *err);
int grant_put(struct store *store, const struct store_grant *grant, struct toolrack_error *err);
int pin_check(const struct store_pin *pin, struct toolrack_error *err);
int pin_put(struct store *store, const struct store_pin *pin, struct toolrack_error *err);

/** Answer the call that waits for an approval with it, inside a transaction: it waits no more, and
 * has nothing to be taken.
 * @return as store_pending_resolve(). (pending.c) */
int pending_approve(struct store *store, const struct store_approval *approval,
                    struct toolrack_error *err);

/** Make an id that nobody guesses: `size` - 1 hexadecimal digits, and a zero.
 * @param of  what it names, for the message of a failure */
int database_random_id(const char *of, char *ret_id, size_t size, struct toolrack_error *err);

/** Add to the stored statistics, inside a transaction. (statistics.c) */
int statistics_add(struct store *store, const struct store_statistics *rows, size_t count,
                   struct toolrack_error *err);

/** Add the statistics of one identity to those of another, and remove them, inside a transaction.
 * (statistics.c) */
int statistics_move(struct store *store, const char *from, const char *to,
                    struct toolrack_error *err);

/** Remove the grants of a selector, inside a transaction.
 * @return 0; TOOLRACK_E_NOT_FOUND; only expired grants are removed then. (grants.c) */
int grant_remove(struct store *store, const char *selector, int64_t now_s,
                 struct toolrack_error *err);

/** Clear the failures of the tools that a selector names, inside a transaction.
 * @param plugin     the identity whose tools are meant; NULL: all
 * @param ret_count  how many of these tools were on the blacklist; may be NULL. (health.c) */
int health_forget(struct store *store, const char *selector, const char *plugin, int *ret_count,
                  struct toolrack_error *err);
