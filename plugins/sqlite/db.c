#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

/* Instructions between two looks. */
#define STEPS_A_LOOK 1000
#define WAIT_STEP_NS 5000000

static int64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------ failing */

bool db_fail(struct db *db, tr_status code, const char *field, const char *format, ...) {
    char message[TR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!db->failed) {
        db->failed = true;
        (void)tr_fail(db->call, code, field, "%s", message);
    }
    return false;
}

bool db_fail_sqlite(struct db *db) {
    const char *said = sqlite3_errmsg(db->sqlite);
    if (db->denied[0] != '\0') {
        return db_fail(db, TR_INVALID_ARGUMENTS, "sql", "%s", db->denied);
    }
    switch (sqlite3_errcode(db->sqlite)) {
    case SQLITE_INTERRUPT:
        if (tr_cancelled(db->call)) {
            return db_fail(db, TR_CANCELLED, NULL, "cancelled");
        }
        return db_fail(db, TR_LIMIT_EXCEEDED, "sql", "%s",
                       db->stopped == NULL ? "interrupted" : db->stopped);
    case SQLITE_NOMEM:
        return db_fail(db, TR_LIMIT_EXCEEDED, "sql",
                       "the statement takes too much memory; select or sort less");
    case SQLITE_TOOBIG:
        return db_fail(db, TR_LIMIT_EXCEEDED, "sql", "%s: a value may have %d MiB", said,
                       DB_VALUE_MAX >> 20);
    case SQLITE_FULL:
        return db_fail(db, TR_LIMIT_EXCEEDED, "path",
                       "the database is full: the disk has no room, or it would be larger than "
                       "%lld MiB",
                       (long long)(DB_SIZE_MAX >> 20));
    case SQLITE_BUSY:
        return db_fail(db, TR_FAILED, "path",
                       "another process keeps the database locked; try again");
    case SQLITE_NOTADB:
        return db_fail(db, TR_INVALID_ARGUMENTS, "path", "is no SQLite database, or is encrypted");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return db_fail(db, TR_FAILED, "path", "the database cannot be %s: %s",
                       db->use == DB_READS || db->use == DB_EXPLAINS ? "read" : "written",
                       db->use == DB_READS || db->use == DB_EXPLAINS
                               ? "another process writes it in WAL mode, for which its folder must "
                                 "be granted for writing too"
                               : "it, or its folder, in which SQLite makes files, is read-only");
    case SQLITE_ERROR: return db_fail(db, TR_INVALID_ARGUMENTS, "sql", "%s", said);
    default: return db_fail(db, TR_FAILED, NULL, "%s", said);
    }
}

/* ------------------------------------------------------------ limits */

static int look(void *user) {
    struct db *db = user;
    if (tr_cancelled(db->call)) {
        return 1;
    }
    if (now_ms() > db->deadline_ms) {
        db->stopped = "the statement ran longer than timeout_ms; select less, or allow more";
    } else if (sqlite3_memory_used() - db->memory_before > DB_MEMORY_MAX) {
        db->stopped = "the statement takes too much memory; select or sort less";
    }
    return db->stopped != NULL;
}

/* Another process has the lock. */
static int wait_for_lock(void *user, int times) {
    struct db *db = user;
    struct timespec pause = {.tv_nsec = WAIT_STEP_NS};
    if (tr_cancelled(db->call) || (int64_t)times * WAIT_STEP_NS / 1000000 > DB_WAIT_MS) {
        return 0;
    }
    (void)nanosleep(&pause, NULL);
    return 1;
}

static void set_limits(struct db *db) {
    static const struct {
        int what;
        int limit;
    } limits[] = {{SQLITE_LIMIT_LENGTH, DB_VALUE_MAX},  {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                  {SQLITE_LIMIT_COLUMN, 1000},          {SQLITE_LIMIT_EXPR_DEPTH, 200},
                  {SQLITE_LIMIT_COMPOUND_SELECT, 100},  {SQLITE_LIMIT_FUNCTION_ARG, 64},
                  {SQLITE_LIMIT_ATTACHED, 0},           {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                  {SQLITE_LIMIT_VARIABLE_NUMBER, 1000}, {SQLITE_LIMIT_TRIGGER_DEPTH, 20},
                  {SQLITE_LIMIT_WORKER_THREADS, 0}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        (void)sqlite3_limit(db->sqlite, limits[i].what, limits[i].limit);
    }
    (void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    (void)sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
    sqlite3_progress_handler(db->sqlite, STEPS_A_LOOK, look, db);
    (void)sqlite3_busy_handler(db->sqlite, wait_for_lock, db);
}

/* ------------------------------------------------------------ what SQL may do */

/* Pragmas that only tell something; those with an argument, of a table or an index. */
static bool pragma_reads(const char *name, const char *argument) {
    static const char *const with[] = {"table_info",       "table_xinfo",     "table_list",
                                       "index_list",       "index_info",      "index_xinfo",
                                       "foreign_key_list", "integrity_check", "quick_check",
                                       "foreign_key_check"};
    static const char *const without[] = {"user_version",   "application_id", "page_count",
                                          "page_size",      "encoding",       "freelist_count",
                                          "schema_version", "data_version",   "function_list",
                                          "collation_list", "module_list",    "compile_options"};
    for (size_t i = 0; i < sizeof with / sizeof with[0]; i++) {
        if (sqlite3_stricmp(with[i], name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; argument == NULL && i < sizeof without / sizeof without[0]; i++) {
        if (sqlite3_stricmp(without[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool module_is_known(const char *name) {
    static const char *const names[] = {"fts3", "fts4", "fts5", "rtree", "rtree_i32"};
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (sqlite3_stricmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int deny(struct db *db, const char *what, const char *name) {
    if (db->denied[0] == '\0') {
        (void)snprintf(db->denied, sizeof db->denied, "%s%s%.60s", what, name == NULL ? "" : " ",
                       name == NULL ? "" : name);
    }
    return SQLITE_DENY;
}

static int authorize_reading(struct db *db, int action, const char *first, const char *second) {
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_UPDATE:
        /* SQLite asks so for what it declares to itself, such as pragma_table_info(); a statement
         * that does it is refused as one that writes, and by SQLITE_DBCONFIG_DEFENSIVE. */
        return sqlite3_stricmp(first, "sqlite_master") == 0 ? SQLITE_OK : -1;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp(second, "load_extension") == 0 ||
                               sqlite3_stricmp(second, "fts3_tokenizer") == 0
                       ? deny(db, "not allowed: the function", second)
                       : SQLITE_OK;
    case SQLITE_PRAGMA:
        return pragma_reads(first, second) ? SQLITE_OK : deny(db, "not allowed: PRAGMA", first);
    case SQLITE_ATTACH: return deny(db, "not allowed: ATTACH, and VACUUM, which needs it", NULL);
    case SQLITE_DETACH: return deny(db, "not allowed: DETACH", NULL);
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return deny(db, "not allowed: transactions; the statements of a call are one", NULL);
    default: return -1;
    }
}

static int authorize_writing(struct db *db, int action, const char *first, const char *second) {
    switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_ALTER_TABLE:
    case SQLITE_ANALYZE:
    case SQLITE_REINDEX:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_TRIGGER:
    case SQLITE_DROP_TEMP_VIEW: return SQLITE_OK;
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_VTABLE:
        return module_is_known(second) ? SQLITE_OK
                                       : deny(db, "not allowed: the virtual table", first);
    default: return deny(db, "not allowed: the statement", NULL);
    }
}

static int authorize(void *user, int action, const char *first, const char *second,
                     const char *database, const char *trigger) {
    struct db *db = user;
    (void)database;
    (void)trigger;
    int code = authorize_reading(db, action, first, second);
    if (code >= 0) {
        return code;
    }
    return db->use == DB_READS ? deny(db,
                                      "only statements that read are allowed here; "
                                      "sqlite_execute runs others",
                                      NULL)
                               : authorize_writing(db, action, first, second);
}

/* ------------------------------------------------------------ files */

/* SQLite opens a database by its path, and the files beside it when it needs them. So that no
 * exchange of a folder for a link leads it elsewhere meanwhile, the path that it gets begins with
 * the descriptor of the folder. It must not be resolved, which would make the path of it again:
 * this VFS is the usual one, but takes names as they are. It never follows a link in their last
 * part. */
static sqlite3_vfs vfs;
static char vfs_name[48];

static int take_name(sqlite3_vfs *self, const char *name, int size, char *ret) {
    (void)self;
    return snprintf(ret, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

tr_status db_set_up(struct tr_host *host) {
    const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    if (usual == NULL) {
        return TR_FAILED;
    }
    vfs = *usual;
    vfs.pNext = NULL;
    vfs.xFullPathname = take_name;
    /* Two generations of the plugin may be in one process. */
    (void)snprintf(vfs_name, sizeof vfs_name, "toolrack-%p", (void *)&vfs);
    vfs.zName = vfs_name;
    return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? place_open_roots(host) : TR_FAILED;
}

void db_tear_down(void) {
    (void)sqlite3_vfs_unregister(&vfs);
    place_close_roots();
}

/* ------------------------------------------------------------ opening */

static bool exists_beside(const struct db *db, const char *suffix) {
    char path[sizeof db->name + 8];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s%s", db->name, suffix);
    return lstat(path, &status) == 0;
}

/* The path as a URI: all but a few characters are escaped. */
static void add_uri(struct buf *uri, const char *path) {
    buf_add_text(uri, "file:");
    for (; *path != '\0'; path++) {
        bool plain = (*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') ||
                     (*path >= '0' && *path <= '9') || strchr("/._-", *path) != NULL;
        if (plain) {
            buf_add_char(uri, *path);
        } else {
            buf_printf(uri, "%%%02x", (unsigned char)*path);
        }
    }
    buf_add_text(uri, "?immutable=1");
}

static bool open_at(struct db *db, const char *name, int flags) {
    (void)sqlite3_close(db->sqlite);
    db->sqlite = NULL;
    if (sqlite3_open_v2(name, &db->sqlite, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                        db->is_memory ? NULL : vfs_name) != SQLITE_OK) {
        return db->sqlite == NULL ? db_fail(db, TR_FAILED, NULL, "out of memory")
                                  : db_fail_sqlite(db);
    }
    (void)sqlite3_extended_result_codes(db->sqlite, 0);
    set_limits(db);
    return true;
}

/* Whether the file can be read; an empty one can. */
static int try_reading(struct db *db) {
    return sqlite3_exec(db->sqlite,
                        "PRAGMA temp_store=2; PRAGMA cell_size_check=1; PRAGMA mmap_size=0;"
                        "SELECT 1 FROM sqlite_schema LIMIT 1",
                        NULL, NULL, NULL);
}

/* A database in WAL mode that nobody has open has no files beside it, and SQLite may not make them
 * where only reading is granted. It can be read as a file that does not change: whether that was
 * true is looked at in the end. */
static bool open_snapshot(struct db *db) {
    struct buf uri = BUF_INIT;
    add_uri(&uri, db->name);
    bool opened = !uri.failed && lstat(db->name, &db->snapshot) == 0 &&
                  open_at(db, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    buf_finish(&uri);
    db->is_snapshot = opened;
    return opened && (try_reading(db) == SQLITE_OK || db_fail_sqlite(db));
}

static bool open_reading(struct db *db) {
    if (!open_at(db, db->name, SQLITE_OPEN_READONLY)) {
        return false;
    }
    int code = try_reading(db);
    if ((code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && !exists_beside(db, "-wal")) {
        return open_snapshot(db);
    }
    return code == SQLITE_OK || db_fail_sqlite(db);
}

static bool open_writing(struct db *db) {
    int flags = SQLITE_OPEN_READWRITE | (db->use == DB_CREATES ? SQLITE_OPEN_CREATE : 0);
    char pragma[64];
    sqlite3_stmt *statement = NULL;
    int64_t page_size = 4096;
    if (!open_at(db, db->name, flags)) {
        return false;
    }
    if (try_reading(db) != SQLITE_OK) {
        return db_fail_sqlite(db);
    }
    if (sqlite3_prepare_v2(db->sqlite, "PRAGMA page_size", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        page_size = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    (void)snprintf(pragma, sizeof pragma, "PRAGMA max_page_count=%lld; PRAGMA foreign_keys=1",
                   (long long)(DB_SIZE_MAX / (page_size > 0 ? page_size : 4096)));
    return sqlite3_exec(db->sqlite, pragma, NULL, NULL, NULL) == SQLITE_OK || db_fail_sqlite(db);
}

/* For expressions and trials: no file, no capability. */
static bool open_memory(struct db *db) {
    return open_at(db, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) &&
           (try_reading(db) == SQLITE_OK || db_fail_sqlite(db));
}

/* From here on the file is reached by way of its folder. What is opened must be a file: a FIFO
 * would wait. It is only looked at, since closing a descriptor of it would release the locks that
 * this process has on the file. */
static bool open_folder(struct db *db, const char *path) {
    struct stat status;
    struct place_fault fault;
    const char *name = place_name(&db->place);
    db->folder = place_open_parent(&db->place);
    int number = db->folder >= 0 ? 0 : errno == EBUSY ? EINVAL : errno;
    if (number == 0) {
        (void)snprintf(db->name, sizeof db->name, "/proc/self/fd/%d/%s", db->folder, name);
        number = fstatat(db->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0
                         ? S_ISREG(status.st_mode)   ? 0
                           : S_ISLNK(status.st_mode) ? ELOOP
                                                     : EINVAL
                 : errno == ENOENT && db->use == DB_CREATES ? 0
                                                            : errno;
    }
    if (number == EINVAL) {
        return db_fail(db, TR_INVALID_ARGUMENTS, "path", "is no regular file");
    }
    if (number != 0) {
        place_say(&fault, "cannot open", path, number);
        return db_fail(db, fault.code, "path", "%s", fault.message);
    }
    return true;
}

static bool find_file(struct db *db, const char *path) {
    struct place_fault fault;
    bool writes = db->use == DB_WRITES || db->use == DB_CREATES;
    if (place_root_count() == 0) {
        return db_fail(db, TR_INVALID_ARGUMENTS, "path",
                       "no folder is granted: an administrator names one as "
                       "\"paths\": {\"workspace\": ...} and allows the plugin to read it, or to "
                       "write it");
    }
    if (!place_find(path, &db->place, &fault)) {
        return db_fail(db, fault.code, "path", "%s", fault.message);
    }
    if (writes && !db->place.root->writes) {
        return db_fail(db, TR_INVALID_ARGUMENTS, "path",
                       "its folder %s is granted for reading only; an administrator can allow the "
                       "plugin to write it",
                       db->place.root->path);
    }
    if (!db->place.exists && db->use != DB_CREATES) {
        return db_fail(db, TR_INVALID_ARGUMENTS, "path", "there is no file %.300s%s",
                       db->place.path, writes ? "; with create it is made" : "");
    }
    return open_folder(db, path);
}

void db_restrict(struct db *db, bool on) {
    (void)sqlite3_set_authorizer(db->sqlite, on ? authorize : NULL, db);
}

bool db_open(struct db *db, struct tr_call *call, enum db_use use) {
    const char *path = tr_get_string(call, "path", NULL);
    *db = (struct db){
            .call = call, .use = use, .folder = -1, .memory_before = sqlite3_memory_used()};
    db->deadline_ms = now_ms() + tr_get_i64(call, "timeout_ms", 5000);
    if (path == NULL) {
        return db_fail(db, TR_INVALID_ARGUMENTS, "path", "must not contain U+0000");
    }
    bool writes = use == DB_WRITES || use == DB_CREATES;
    db->is_memory = strcmp(path, ":memory:") == 0;
    bool opened = db->is_memory
                          ? open_memory(db)
                          : find_file(db, path) && (writes ? open_writing(db) : open_reading(db));
    if (!opened) {
        return false;
    }
    db_restrict(db, true);
    return true;
}

static bool snapshot_is_true(const struct db *db) {
    struct stat now;
    const struct stat *then = &db->snapshot;
    return lstat(db->name, &now) == 0 && now.st_ino == then->st_ino && now.st_dev == then->st_dev &&
           now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == then->st_mtim.tv_nsec && !exists_beside(db, "-wal");
}

tr_status db_close(struct db *db, tr_status status) {
    if (db->is_snapshot && !db->failed && !snapshot_is_true(db)) {
        (void)db_fail(db, TR_FAILED, "path",
                      "another process has begun to write the database; try again");
    }
    (void)sqlite3_close(db->sqlite);
    if (db->folder >= 0) {
        (void)close(db->folder);
    }
    return db->failed ? TR_FAILED : status;
}

bool db_prepare(struct db *db, const char *sql, sqlite3_stmt **ret, const char **ret_tail) {
    *ret = NULL;
    db->denied[0] = '\0';
    return sqlite3_prepare_v2(db->sqlite, sql, -1, ret, ret_tail) == SQLITE_OK ||
           db_fail_sqlite(db);
}
