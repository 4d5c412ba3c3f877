/* The file of the database, before SQLite opens it: SQLite follows links, waits for the other end
 * of a pipe, adds its tables to the database of any program, and believes a log that somebody put
 * beside the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ownership.h"
#include "store/database.h"

/* Check one file by its path. 0; 1: there is none; TOOLRACK_E_IO. No descriptor is opened: closing
 * it would release the locks that SQLite has on the file in this process. */
static int check_one(const char *path, struct toolrack_error *err) {
    struct stat st;
    struct toolrack_error why;
    if (lstat(path, &st) < 0) {
        return errno == ENOENT
                       ? 1
                       : error_set(err, TOOLRACK_E_IO, "cannot open %s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s is %s, not a regular file; it is left as it is, move it away", path,
                         S_ISLNK(st.st_mode)    ? "a symbolic link"
                         : S_ISDIR(st.st_mode)  ? "a folder"
                         : S_ISFIFO(st.st_mode) ? "a named pipe"
                         : S_ISSOCK(st.st_mode) ? "a socket"
                                                : "a device");
    }
    int code = ownership_judge(&st, path, true, &why);
    return code < 0 ? error_set(err, TOOLRACK_E_IO, "%s is not used: %s", path, why.message) : 0;
}

int database_check_file(const struct store *store, bool *ret_exists, struct toolrack_error *err) {
    static const char *const beside[] = {"-wal", "-journal", "-shm"};
    struct toolrack_error why;
    int code = ownership_check(store->dir, &why);
    struct stat st;
    if (code == TOOLRACK_E_REFUSED && geteuid() == 0 && stat(store->dir, &st) == 0 &&
        st.st_uid != 0) { /* that of a service: the folder is right, and root is not */
        return error_set(err, TOOLRACK_E_IO,
                         "the state folder %s is not used: it belongs to user %u, who could change "
                         "what root reads there; do this as that user (sudo -u '#%u')",
                         store->dir, (unsigned)st.st_uid, (unsigned)st.st_uid);
    }
    if (code == TOOLRACK_E_REFUSED) {
        return error_set(err, TOOLRACK_E_IO, "the state folder %s is not used: %s", store->dir,
                         why.message);
    }
    if (code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    code = check_one(store->path, err);
    if (code < 0) {
        return code;
    }
    *ret_exists = code == 0;
    for (size_t i = 0; i < ARRAY_LENGTH(beside); i++) {
        CLEANUP(freep) char *path = NULL;
        if (asprintf(&path, "%s%s", store->path, beside[i]) < 0) {
            path = NULL;
            return error_oom(err);
        }
        code = check_one(path, err);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

bool store_is_blank(const char *state_dir) {
    CLEANUP(freep) char *path = NULL;
    struct stat st;
    if (asprintf(&path, "%s/" STORE_FILE, state_dir) < 0) {
        path = NULL;
    }
    return path != NULL && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
           clock_wall_s() - st.st_mtim.tv_sec > STORE_BLANK_S;
}

int database_create_file(const struct store *store, struct toolrack_error *err) {
    CLEANUP(closep)
    int fd = open(store->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 || errno == EEXIST ? 0
                                      : error_set(err, TOOLRACK_E_IO, "cannot make %s: %s",
                                                  store->path, strerror(errno));
}

/* One statement, so one state of the file. */
static const char whose[] =
        "SELECT user_version, (SELECT application_id FROM pragma_application_id), "
        "(SELECT count(*) FROM sqlite_schema), "
        "(SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'settings') "
        "FROM pragma_user_version";

int database_check_owner(struct store *store, struct toolrack_error *err) {
    sqlite3_stmt *statement = NULL;
    bool is_read = sqlite.prepare_v2(store->db, whose, -1, &statement, NULL) == SQLITE_OK &&
                   sqlite.step(statement) == SQLITE_ROW;
    int number = is_read ? sqlite.column_int(statement, 0) : 0;
    int application = is_read ? sqlite.column_int(statement, 1) : 0;
    bool is_empty = is_read && sqlite.column_int(statement, 2) == 0;
    bool has_settings = is_read && sqlite.column_int(statement, 3) != 0;
    int code = is_read ? 0 : database_failed(store, "use", err);
    (void)sqlite.finalize(statement);
    bool is_ours = number == 0 ? is_empty && application == 0 : has_settings;
    if (code == 0 && application != 0 && application != DATABASE_APPLICATION_ID) {
        is_ours = false;
    }
    return code < 0 || is_ours
                   ? code
                   : error_set(err, TOOLRACK_E_IO,
                               "%s is the database of another program; it is left as it is, move "
                               "it away to start with an empty one",
                               store->path);
}
