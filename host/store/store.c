#include "store/store.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define STORE_FILE          "toolrack.db"
#define STORE_SCHEMA_NUMBER 1
/* How long to wait for another process that writes. */
#define STORE_BUSY_MS       5000

struct store {
    pthread_mutex_t lock; /* guards what follows */
    char *dir;
    char *path;
    sqlite3 *db;   /* NULL while there is no file */
    bool writable; /* db was opened for writing */
};

static int sql_failed(sqlite3 *db, const char *path, const char *what, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO, "cannot %s %s: %s", what, path,
                     db != NULL ? sqlite3_errmsg(db) : "out of memory");
}

static void close_db(struct store *store) {
    (void)sqlite3_close(store->db);
    store->db = NULL;
    store->writable = false;
}

/* The number of the tables' form in the file; 0 is an empty file, -1 is none that can be read. */
static int schema_number(sqlite3 *db) {
    sqlite3_stmt *statement = NULL;
    int number = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return number;
}

static int check_schema(struct store *store, struct toolrack_error *err) {
    int number = schema_number(store->db);
    if (number < 0) {
        return sql_failed(store->db, store->path, "use", err);
    }
    if (number > STORE_SCHEMA_NUMBER) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s was written by a newer toolrack (form %d, this one knows %d); it is "
                         "left as it is",
                         store->path, number, STORE_SCHEMA_NUMBER);
    }
    return 0;
}

/* The path as a URI that says that the file does not change; to be freed. NULL: out of memory. */
static char *sqlite_uri(const char *path) {
    static const char hex[] = "0123456789abcdef";
    CLEANUP(buf_finish) struct buf uri = BUF_INIT;
    buf_add_text(&uri, "file:");
    for (const char *at = path; *at != '\0'; at++) {
        if (strchr("%?#", *at) == NULL) {
            buf_add_char(&uri, *at);
        } else {
            buf_add(&uri, (char[]){'%', hex[*at >> 4 & 15], hex[*at & 15]}, 3);
        }
    }
    buf_add_text(&uri, "?immutable=1");
    return buf_steal(&uri);
}

static int open_file(struct store *store, const char *name, int flags, struct toolrack_error *err) {
    if (sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        int code = sql_failed(store->db, store->path, "open", err);
        close_db(store);
        return code;
    }
    (void)sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
    int code = check_schema(store, err);
    if (code < 0) {
        close_db(store);
    }
    return code;
}

/* A file in a folder that may not be written to: readers in WAL mode need files beside it, unless
 * it is said that nobody writes. That holds when no log stands beside it and none can be made. */
static int open_immutable(struct store *store, struct toolrack_error *err) {
    CLEANUP(freep) char *log = NULL;
    struct stat st;
    if (asprintf(&log, "%s-wal", store->path) < 0) {
        log = NULL;
        return error_oom(err);
    }
    if (access(store->dir, W_OK) == 0 || (stat(log, &st) == 0 && st.st_size > 0)) {
        return TOOLRACK_E_IO;
    }
    CLEANUP(freep) char *uri = sqlite_uri(store->path);
    if (uri == NULL) {
        return error_oom(err);
    }
    return open_file(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

struct store *store_open(const char *state_dir, struct toolrack_error *err) {
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&store->lock, NULL);
    store->dir = strdup(state_dir);
    if (store->dir == NULL || asprintf(&store->path, "%s/%s", state_dir, STORE_FILE) < 0) {
        store->path = NULL;
        store_close(store);
        return NULL;
    }
    struct stat st;
    struct toolrack_error reason;
    if (stat(store->path, &st) == 0 &&
        open_file(store, store->path, SQLITE_OPEN_READONLY, &reason) < 0 &&
        open_immutable(store, err) < 0 && err != NULL) {
        *err = reason;
    }
    return store;
}

void store_close(struct store *store) {
    if (store != NULL) {
        close_db(store);
        (void)pthread_mutex_destroy(&store->lock);
        free(store->dir);
        free(store->path);
        free(store);
    }
}

/* ------------------------------------------------------------------- write */

/* Make a folder and those above it that are missing. */
static int make_folders(const char *path, struct toolrack_error *err) {
    CLEANUP(freep) char *copy = strdup(path);
    if (copy == NULL) {
        return error_oom(err);
    }
    for (char *at = copy + 1;; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char end = *at;
        *at = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST) {
            return error_set(err, TOOLRACK_E_IO, "cannot make the state folder %s: %s", copy,
                             strerror(errno));
        }
        *at = end;
        if (end == '\0') {
            return 0;
        }
    }
}

/* The form of the tables; `IF NOT EXISTS`, because another process may come first. */
static const char make_tables[] = "BEGIN IMMEDIATE;"
                                  "CREATE TABLE IF NOT EXISTS settings ("
                                  "  selector TEXT PRIMARY KEY NOT NULL,"
                                  "  enabled INTEGER,"
                                  "  priority INTEGER"
                                  ") WITHOUT ROWID, STRICT;"
                                  "PRAGMA user_version = 1;"
                                  "COMMIT;";

static int open_for_writing(struct store *store, struct toolrack_error *err) {
    if (store->writable) {
        return 0;
    }
    close_db(store);
    int code = make_folders(store->dir, err);
    if (code == 0) {
        code = open_file(store, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    }
    if (code < 0) {
        return code;
    }
    (void)chmod(store->path, 0600);
    /* In WAL mode readers do not wait for a writer; FULL syncs the log at each commit. */
    if (sqlite3_exec(store->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;", NULL, NULL,
                     NULL) != SQLITE_OK ||
        sqlite3_exec(store->db, make_tables, NULL, NULL, NULL) != SQLITE_OK) {
        code = sql_failed(store->db, store->path, "write to", err);
        close_db(store);
        return code;
    }
    store->writable = true;
    return 0;
}

static void bind_optional(sqlite3_stmt *statement, int at, bool has, int value) {
    if (has) {
        (void)sqlite3_bind_int(statement, at, value);
    } else {
        (void)sqlite3_bind_null(statement, at);
    }
}

/* Run one statement on the setting: ?1 selector, ?2 enabled, ?3 priority; NULL is not stated. */
static bool run_on_setting(struct store *store, const char *text,
                           const struct store_setting *setting) {
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(store->db, text, -1, &statement, NULL);
    if (status == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, setting->selector, -1, SQLITE_STATIC);
        bind_optional(statement, 2, setting->has_enabled, setting->enabled);
        bind_optional(statement, 3, setting->has_priority, setting->priority);
        status = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return status == SQLITE_DONE;
}

static bool run(struct store *store, const char *text) {
    return sqlite3_exec(store->db, text, NULL, NULL, NULL) == SQLITE_OK;
}

static int keep_locked(struct store *store, const struct store_setting *setting,
                       struct toolrack_error *err) {
    int code = open_for_writing(store, err);
    if (code < 0) {
        return code;
    }
    static const char keep[] =
            "INSERT INTO settings (selector, enabled, priority) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (selector) DO UPDATE SET enabled = coalesce(?2, enabled), "
            "priority = coalesce(?3, priority)";
    /* What is set for all versions takes the place of what was set for single ones. */
    static const char clear_versions[] =
            "UPDATE settings SET enabled = iif(?2 IS NULL, enabled, NULL), "
            "priority = iif(?3 IS NULL, priority, NULL) "
            "WHERE substr(selector, 1, length(?1) + 1) = ?1 || '@'";
    if (!run(store, "BEGIN IMMEDIATE") || !run_on_setting(store, keep, setting) ||
        !run_on_setting(store, clear_versions, setting) || !run(store, "COMMIT")) {
        code = sql_failed(store->db, store->path, "write to", err);
        (void)run(store, "ROLLBACK");
    }
    return code;
}

int store_keep_setting(struct store *store, const struct store_setting *setting,
                       struct toolrack_error *err) {
    (void)pthread_mutex_lock(&store->lock);
    int code = keep_locked(store, setting, err);
    (void)pthread_mutex_unlock(&store->lock);
    return code;
}

/* -------------------------------------------------------------------- read */

/* Without the lock: nobody else has the store yet, and `visit` may take locks under which others
 * keep settings later. */
int store_read_settings(struct store *store,
                        void (*visit)(void *user, const struct store_setting *setting), void *user,
                        struct toolrack_error *err) {
    /* A file without tables is left by who could not go on after making it: a full disk. */
    if (store->db == NULL || schema_number(store->db) == 0) {
        return 0;
    }
    /* By selector: a name comes before its versions, and would take their place if it came later.
     */
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(
            store->db, "SELECT selector, enabled, priority FROM settings ORDER BY selector", -1,
            &statement, NULL);
    while (status == SQLITE_OK || status == SQLITE_ROW) {
        status = sqlite3_step(statement);
        if (status == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_TEXT) {
            visit(user, &(struct store_setting){
                                .selector = (const char *)sqlite3_column_text(statement, 0),
                                .has_enabled = sqlite3_column_type(statement, 1) != SQLITE_NULL,
                                .enabled = sqlite3_column_int(statement, 1) != 0,
                                .has_priority = sqlite3_column_type(statement, 2) != SQLITE_NULL,
                                .priority = sqlite3_column_int(statement, 2)});
        }
    }
    int code = status == SQLITE_DONE ? 0 : sql_failed(store->db, store->path, "read", err);
    (void)sqlite3_finalize(statement);
    return code;
}
