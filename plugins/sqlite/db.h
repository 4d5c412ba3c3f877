/* db.h - a database of a caller, opened for one call.
 *
 * The file is in a folder that the plugin was granted. What SQL may do is asked of an authorizer
 * before any of it runs; what it may take is bounded by SQLite's own limits, and by a look at
 * clock, memory and the call every few instructions. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <sqlite3.h>
#include <toolrack/plugin.h>

#include "../filesystem/place.h"

/* Longest string or blob that any expression may make, and how much more SQLite may have in memory
 * than before. */
#define DB_VALUE_MAX  (16 << 20)
#define DB_MEMORY_MAX ((int64_t)256 << 20)
/* A database does not grow beyond this: a worker's files have 256 MiB at most, unless its policy
 * says otherwise. */
#define DB_SIZE_MAX   ((int64_t)200 << 20)
#define DB_WAIT_MS    3000

enum db_use {
    DB_READS,   /**< only statements that read */
    DB_WRITES,  /**< data and schema */
    DB_CREATES, /**< and a file that is not there yet */
    DB_EXPLAINS /**< whatever is only explained, on a connection that only reads */
};

struct db {
    struct tr_call *call;
    enum db_use use;
    sqlite3 *sqlite;
    struct place place;
    int folder;               /**< the folder of the file, O_PATH; -1: none */
    char name[NAME_MAX + 64]; /**< of the file, by way of `folder` */
    int64_t deadline_ms;
    int64_t memory_before;
    bool is_memory;       /**< ":memory:", an empty database of this call alone */
    bool is_snapshot;     /**< read as a file that nobody changes, which is looked at in the end */
    struct stat snapshot; /**< as it was then */
    const char *stopped;  /**< why it was interrupted; or NULL */
    char denied[160];     /**< what the authorizer did not allow; or "" */
    bool failed;          /**< the call has been failed */
};

/** When the plugin is opened and closed: the granted folders, and how SQLite reaches files in them.
 * [plugin] */
tr_status db_set_up(struct tr_host *host);
void db_tear_down(void);

/** Open; false: the call has been failed. Close it all the same. [call-thread] */
bool db_open(struct db *db, struct tr_call *call, enum db_use use);
/** Let the authorizer decide from now on, or do not ask it: for SQL of our own. */
void db_restrict(struct db *db, bool on);
/** Fails the call if a file that was read as a snapshot has changed meanwhile. */
tr_status db_close(struct db *db, tr_status status);

/** Fail the call; returns false. */
bool db_fail(struct db *db, tr_status code, const char *field, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/** Fail it with what SQLite, the authorizer or a limit says; returns false. */
bool db_fail_sqlite(struct db *db);

/** Let `sql` begin with one statement. *ret_tail is what follows it; NULL in *ret: nothing but
 * white space and comments was there. False: the call has been failed. */
bool db_prepare(struct db *db, const char *sql, sqlite3_stmt **ret, const char **ret_tail);
