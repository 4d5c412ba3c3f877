/* Invariants:
 *
 *  (1) `db` is used under `lock` only. It is NULL while there is no usable file; the next reader
 *      tries again.
 *  (2) Between two calls no transaction is open: database_end() commits it or rolls it back.
 *  (3) A failed call does not change the file; what could be read before can be read after it.
 *  (4) The tables are upgraded only inside the transaction that first writes to them. So a file
 *      that is only read is not changed, and of two processes that upgrade, the second finds it
 *      done. */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "store/database.h"
#include "store/start-cache.h"

/* Pause between attempts when SQLite itself does not wait. */
#define BUSY_STEP_MS 10

/* ------------------------------------------------------------ open for reading */

static struct store_stamp stamp_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (struct store_stamp){.size = st.st_size,
                                                       .changed = st.st_mtim,
                                                       .inode = st.st_ino}
                                : (struct store_stamp){.size = -1};
}

static bool is_same_stamp(const struct store_stamp *a, const struct store_stamp *b) {
    return a->size == b->size && a->inode == b->inode && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Bytes of SQLite's log beside the file; 0: there is none; -1: out of memory. */
static int64_t log_size(const struct store *store) {
    CLEANUP(freep) char *log = NULL;
    struct stat st;
    if (asprintf(&log, "%s-wal", store->path) < 0) {
        log = NULL;
        return -1;
    }
    return stat(log, &st) == 0 ? st.st_size : 0;
}

/* Whoever closes the file last moves what is in the log into it and removes the log, which takes
 * three syncs, and the next log takes two more: a fifth of the time of `toolrack call` (49 instead
 * of 62 ms on a machine with other work, medians of 80 by turns). So a host that has only added
 * rows which a power cut may take leaves a log that is short, and whoever opens the file next reads
 * it. A host that has decided something leaves none, if it is the last one. */
#define LOG_LEFT_MAX (256 * 1024)

static void close_db(struct store *store) {
    if (store->db != NULL) {
        database_drop_kept(store);
        if (store->may_write && !store->has_decided) {
            int64_t size = log_size(store);
            bool stays = size >= 0 && size <= LOG_LEFT_MAX;
            (void)sqlite.db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)stays, NULL);
        }
        (void)sqlite.close(store->db);
        store->db = NULL;
    }
    store->writable = false;
    store->may_write = false;
    store->immutable = false;
    store->has_decided = false;
}

/* Neither use nor keep what is read at the start any more. Caller holds the lock. */
static void end_start(struct store *store) {
    start_cache_destroy(store->start);
    store->start = NULL;
}

static int check_schema(struct store *store, int *ret_number, struct toolrack_error *err) {
    sqlite3_stmt *statement = database_keep(store, "PRAGMA user_version");
    if (statement == NULL || sqlite.step(statement) != SQLITE_ROW) {
        int code = database_failed(store, "use", err);
        (void)sqlite.reset(statement);
        return code;
    }
    *ret_number = sqlite.column_int(statement, 0); /* 0: the file is empty */
    (void)sqlite.reset(statement);
    if (*ret_number < 0 || *ret_number > SCHEMA_NUMBER) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s was written by a newer toolrack (form %d, this one knows %d); it is "
                         "left as it is",
                         store->path, *ret_number, SCHEMA_NUMBER);
    }
    return 0;
}

static int open_file(struct store *store, const char *name, int flags, struct toolrack_error *err) {
    int number;
    int code = libsqlite_load(err);
    if (code < 0) {
        return code;
    }
    if (sqlite.open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
        database_add_given(store->db) != SQLITE_OK) {
        code = database_failed(store, "open", err);
        close_db(store);
        return code;
    }
    (void)sqlite.busy_timeout(store->db, STORE_BUSY_MS);
    code = database_check_owner(store, err);
    if (code == 0) {
        code = check_schema(store, &number, err);
    }
    /* A process that is killed while it changes the journal mode of a new file leaves an incomplete
     * change, which a reader must undo: so open it again with write access. */
    bool must_undo = code < 0 && sqlite.errcode(store->db) == SQLITE_READONLY &&
                     (flags & SQLITE_OPEN_READONLY) != 0 && access(store->path, W_OK) == 0;
    if (code < 0) {
        store->no_room = database_has_no_room(store);
        close_db(store);
    }
    return must_undo ? open_file(store, name, SQLITE_OPEN_READWRITE, err) : code;
}

/* Out of memory: as if there were one. */
static bool has_log(const struct store *store) {
    return log_size(store) != 0;
}

/* Open a file beside which the files cannot be made that readers in WAL mode need: the folder has
 * no write permission, or the disk is full. SQLite is told that the file does not change, which is
 * true while there is no log beside it: then no process has it open to write. (If there is one,
 * its index is beside it too, and SQLite needs to make nothing.) */
static int open_immutable(struct store *store, struct toolrack_error *err) {
    static const char hex[] = "0123456789abcdef";
    if ((access(store->dir, W_OK) == 0 && !store->no_room) || has_log(store)) {
        return TOOLRACK_E_IO;
    }
    struct store_stamp stamp = stamp_of(store->path);

    /* The path as a URI with "immutable". */
    CLEANUP(buf_finish) struct buf uri = BUF_INIT;
    buf_add_text(&uri, "file:");
    for (const char *at = store->path; *at != '\0'; at++) {
        if (strchr("%?#", *at) == NULL) {
            buf_add_char(&uri, *at);
        } else {
            buf_add(&uri, (char[]){'%', hex[*at >> 4 & 15], hex[*at & 15]}, 3);
        }
    }
    buf_add_text(&uri, "?immutable=1");
    if (uri.failed) {
        return error_oom(err);
    }
    int code = open_file(store, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    store->immutable = code == 0;
    store->stamp = stamp;
    return code;
}

/* Open the file of a host that will write, for both: opened again for the first row it would be
 * read again, with all its tables, which was 1.9 of the 15.4 million instructions of `toolrack
 * call`. Opening does not change it. */
static bool open_for_both(struct store *store) {
    struct toolrack_error unheard;
    if (!store->will_write || access(store->path, W_OK) < 0 || access(store->dir, W_OK) < 0) {
        return false;
    }
    store->stamp = stamp_of(store->path);
    store->may_write = open_file(store, store->path, SQLITE_OPEN_READWRITE, &unheard) == 0;
    return store->may_write;
}

/* A file that does not exist is an empty store, not a failure. */
static int open_for_reading(struct store *store, struct toolrack_error *err) {
    struct toolrack_error reason;
    bool exists = false;
    if (store->dir == NULL) {
        return 0; /* in memory: empty before the first write */
    }
    int code = database_check_file(store, &exists, err);
    if (code < 0 || !exists) {
        return code;
    }
    if (open_for_both(store)) {
        return 0;
    }
    code = open_file(store, store->path, SQLITE_OPEN_READONLY, &reason);
    if (code == 0 || open_immutable(store, err) == 0) {
        return 0;
    }
    if (err != NULL) {
        *err = reason;
    }
    return code;
}

/* A file that was opened as one that does not change is opened again when it has changed. */
static int keep_open(struct store *store, struct toolrack_error *err) {
    if (store->immutable) {
        struct store_stamp now = stamp_of(store->path);
        if (!is_same_stamp(&now, &store->stamp) || has_log(store)) {
            close_db(store);
        }
    }
    start_cache_end_use(store->start);
    return store->db == NULL ? open_for_reading(store, err) : 0;
}

static int read_file(struct store *store, bool kept, int since, const char *sql,
                     const struct value *values, struct rows *ret_rows,
                     struct toolrack_error *err) {
    int number = 0;
    int code = keep_open(store, err);
    if (code == 0 && store->db != NULL) {
        code = check_schema(store, &number, err);
    }
    if (code == 0 && number >= since) {
        code = kept ? database_run_kept(store, sql, values, ret_rows, err)
                    : database_read_inside(store, sql, values, ret_rows, err);
    }
    if (code < 0) {
        end_start(store); /* what can be read is only a part */
    } else if (number >= since && store->start != NULL) {
        start_cache_add(store->start, number, sql, values, ret_rows);
    }
    return code;
}

static int read_rows(struct store *store, bool kept, int since, const char *sql,
                     const struct value *values, struct rows *ret_rows,
                     struct toolrack_error *err) {
    (void)pthread_mutex_lock(&store->lock);
    bool is_known = start_cache_is_valid(store->start) &&
                    (start_cache_schema(store->start) < since ||
                     start_cache_find(store->start, sql, values, ret_rows));
    int code = is_known ? 0 : read_file(store, kept, since, sql, values, ret_rows, err);
    (void)pthread_mutex_unlock(&store->lock);
    return code;
}

int database_read(struct store *store, int since, const char *sql, const struct value *values,
                  struct rows *ret_rows, struct toolrack_error *err) {
    return read_rows(store, false, since, sql, values, ret_rows, err);
}

int database_read_kept(struct store *store, int since, const char *sql, const struct value *values,
                       struct rows *ret_rows, struct toolrack_error *err) {
    return read_rows(store, true, since, sql, values, ret_rows, err);
}

int database_is_older(struct store *store, int since, bool *ret_older, struct toolrack_error *err) {
    int number = since;
    int code = 0;
    (void)pthread_mutex_lock(&store->lock);
    if (start_cache_is_valid(store->start)) {
        number = start_cache_schema(store->start);
    } else {
        code = keep_open(store, err);
        if (code == 0 && store->db != NULL) {
            code = check_schema(store, &number, err);
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    *ret_older = code == 0 && number < since;
    return code;
}

int database_read_bound(struct store *store, int since, const char *old_sql, const char *sql,
                        struct rows *ret_rows, struct toolrack_error *err) {
    bool is_old = false;
    int code = database_is_older(store, SCHEMA_BOUND, &is_old, err);
    if (code < 0) {
        return code;
    }
    return is_old ? database_read(store, since, old_sql, NO_VALUES, ret_rows, err)
                  : database_read_kept(store, SCHEMA_BOUND, sql, NO_VALUES, ret_rows, err);
}

/* ------------------------------------------------------------ open for writing */

int database_make_folders(const char *path, struct toolrack_error *err) {
    CLEANUP(freep) char *copy = strdup(path);
    if (copy == NULL) {
        return error_oom(err);
    }
    int status = make_folders(copy);
    return status < 0 ? error_set(err, TOOLRACK_E_IO, "cannot make the state folder %s: %s", path,
                                  strerror(-status))
                      : 0;
}

static bool run_text(struct store *store, const char *text) {
    return sqlite.exec(store->db, text, NULL, NULL, NULL) == SQLITE_OK;
}

/* In WAL mode readers do not wait for a writer. When two processes turn it on for a new file, one
 * gets SQLITE_BUSY at once: SQLite waits for a lock only while it holds none. */
static bool turn_wal_on(struct store *store) {
    for (int waited = 0; !run_text(store, "PRAGMA journal_mode = WAL"); waited += BUSY_STEP_MS) {
        if (sqlite.errcode(store->db) != SQLITE_BUSY || waited >= STORE_BUSY_MS) {
            return false;
        }
        (void)usleep(BUSY_STEP_MS * 1000);
    }
    return true;
}

/* Of a file that is new. A page takes four system calls, of SQLite's log and of the file, whatever
 * its size: with pages of 4 KiB, SQLite's own choice, a line of the log costs a fifth more. */
static const char large_pages[] = "PRAGMA page_size = 8192";

/* SQLite keeps 2 MB of pages otherwise, which a host that only adds rows does not need: in KiB. */
static const char keep_little[] = "PRAGMA cache_size = -512";

/* FULL syncs the log at each commit, with everything written to it before; NORMAL does not sync at
 * a commit. It cannot be changed inside a transaction. */
static bool set_sync(struct store *store, enum database_sync sync) {
    if (!run_text(store, sync == DATABASE_DURABLE ? "PRAGMA synchronous = FULL"
                                                  : "PRAGMA synchronous = NORMAL")) {
        return false;
    }
    store->sync = sync;
    return true;
}

/* Whether the file with its name is still the one that is open. */
static bool is_open_for_both(const struct store *store) {
    struct store_stamp now = stamp_of(store->path);
    return store->may_write && now.size >= 0 && now.inode == store->stamp.inode;
}

static int open_again(struct store *store, struct toolrack_error *err) {
    /* Close first: closing a file that was opened as immutable releases the locks of every other
     * descriptor of the file in this process. */
    close_db(store);
    bool exists = false;
    int code = database_make_folders(store->dir, err);
    if (code == 0) {
        code = database_check_file(store, &exists, err);
    }
    if (code == 0 && !exists) {
        code = database_create_file(store, err);
    }
    if (code == 0) {
        code = open_file(store, store->path, SQLITE_OPEN_READWRITE, err);
    }
    store->may_write = code == 0;
    return code;
}

static int open_for_writing(struct store *store, struct toolrack_error *err) {
    end_start(store);
    if (store->writable) {
        return 0;
    }
    if (store->dir == NULL) {
        int code = open_file(store, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, err);
        store->writable = code == 0;
        return code;
    }
    int code = is_open_for_both(store) ? 0 : open_again(store, err);
    if (code == 0 && (!run_text(store, large_pages) || !turn_wal_on(store) ||
                      !set_sync(store, DATABASE_DURABLE) || !run_text(store, keep_little))) {
        code = database_failed(store, "write to", err);
    }
    if (code < 0) {
        close_db(store);
        return code;
    }
    (void)chmod(store->path, 0600);
    store->writable = true;
    return 0;
}

/* ------------------------------------------------------------ transactions */

static bool is_in_transaction(const struct store *store) {
    return store->db != NULL && sqlite.get_autocommit(store->db) == 0;
}

/* ROLLBACK needs memory. Without it the transaction stays open, and every later write would fail: a
 * file is closed, which undoes it; what is in memory alone would be lost by that, so there the next
 * transaction undoes it first. */
static void undo(struct store *store) {
    if (!run_text(store, "ROLLBACK") && is_in_transaction(store) && store->dir != NULL) {
        close_db(store);
    }
}

int database_begin(struct store *store, enum database_sync sync, const struct text_limit *limits,
                   struct toolrack_error *err) {
    int number;
    (void)pthread_mutex_lock(&store->lock);
    int code = database_check_texts(limits, err);
    if (code == 0 && store->damaged) {
        code = error_set(
                err, TOOLRACK_E_IO,
                "cannot write to %s: a part of it is damaged; it is left as it is, move it "
                "away to start with an empty one",
                store->path);
    }
    if (code == 0) {
        code = open_for_writing(store, err);
    }
    if (code == 0 && is_in_transaction(store) && !run_text(store, "ROLLBACK")) {
        code = database_failed(store, "write to", err);
    }
    if (code == 0 &&
        ((store->sync != sync && !set_sync(store, sync)) || !run_text(store, "BEGIN IMMEDIATE"))) {
        code = database_failed(store, "write to", err);
    }
    /* Checked each time: a newer toolrack may have upgraded the file meanwhile. */
    store->has_decided = store->has_decided || sync == DATABASE_DURABLE;
    if (code == 0) {
        code = check_schema(store, &number, err);
    }
    if (code == 0 && number < SCHEMA_NUMBER && !database_migrate(store->db, number)) {
        code = database_failed(store, "write to", err);
    }
    return code;
}

int database_end(struct store *store, int code, struct toolrack_error *err) {
    if (is_in_transaction(store)) {
        if (code == 0 && !run_text(store, "COMMIT")) {
            code = database_failed(store, "write to", err);
        }
        if (code < 0) {
            undo(store);
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    return code;
}

/* -------------------------------------------------------------------- life */

static struct store *open_store(const char *state_dir, bool will_write,
                                struct toolrack_error *err) {
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&store->lock, NULL);
    store->will_write = will_write;
    store->dir = state_dir != NULL ? strdup(state_dir) : NULL;
    int length = state_dir != NULL ? asprintf(&store->path, "%s/%s", state_dir, STORE_FILE)
                                   : asprintf(&store->path, "the store in memory");
    if (length < 0) {
        store->path = NULL;
    }
    if (store->path == NULL || (state_dir != NULL && store->dir == NULL)) {
        store_close(store);
        return NULL;
    }
    bool exists = false;
    if (!will_write && store->dir != NULL && database_check_file(store, &exists, NULL) == 0 &&
        exists) {
        store->start = start_cache_load(store);
    }
    if (!start_cache_is_valid(store->start)) {
        (void)open_for_reading(store, err);
    }
    return store;
}

struct store *store_open(const char *state_dir, struct toolrack_error *err) {
    return open_store(state_dir, false, err);
}

struct store *store_open_to_write(const char *state_dir, struct toolrack_error *err) {
    return open_store(state_dir, true, err);
}

void store_has_started(struct store *store) {
    (void)pthread_mutex_lock(&store->lock);
    start_cache_save(store->start, store);
    end_start(store);
    (void)pthread_mutex_unlock(&store->lock);
}

void store_close(struct store *store) {
    if (store != NULL) {
        close_db(store);
        start_cache_destroy(store->start);
        (void)pthread_mutex_destroy(&store->lock);
        free(store->dir);
        free(store->path);
        free(store);
    }
}
