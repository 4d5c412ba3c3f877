/* libsqlite.h - SQLite, loaded when the first file of a store is opened.
 *
 * Debian's library has all its symbols bound when it is loaded, 1,600 of them: three quarters of
 * what the loader had to look up for every command, also for one that a daemon runs or that only
 * tells the version. */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

/** X(name), for sqlite3_<name>. */
#define SQLITE_FUNCTIONS(X) \
    X(bind_blob64)          \
    X(bind_int64)           \
    X(bind_null)            \
    X(bind_pointer)         \
    X(bind_text64)          \
    X(busy_timeout)         \
    X(changes)              \
    X(clear_bindings)       \
    X(close)                \
    X(column_blob)          \
    X(column_bytes)         \
    X(column_count)         \
    X(column_int)           \
    X(column_int64)         \
    X(column_text)          \
    X(column_type)          \
    X(create_module)        \
    X(db_config)            \
    X(declare_vtab)         \
    X(errcode)              \
    X(errmsg)               \
    X(exec)                 \
    X(file_control)         \
    X(finalize)             \
    X(get_autocommit)       \
    X(last_insert_rowid)    \
    X(open_v2)              \
    X(prepare_v2)           \
    X(prepare_v3)           \
    X(reset)                \
    X(result_blob64)        \
    X(result_int64)         \
    X(result_text64)        \
    X(step)                 \
    X(system_errno)         \
    X(value_pointer)        \
    X(vtab_config)

struct libsqlite {
#define SQLITE_MEMBER(name) __typeof__(&sqlite3_##name) name;
    SQLITE_FUNCTIONS(SQLITE_MEMBER)
#undef SQLITE_MEMBER
};

/** The functions of SQLite, valid after libsqlite_load() has returned 0: wherever there is a
 * database or a statement. */
extern struct libsqlite sqlite;

/** Load it, unless it is loaded already.
 * @return 0; TOOLRACK_E_IO: the message names what is missing; TOOLRACK_E_NO_MEMORY. [any-thread]
 */
int libsqlite_load(struct toolrack_error *err);
