/* work.h - one call: its arguments, its database, its SQL.
 *
 * SQL is made of the indices of columns and of placeholders; what a caller gives is bound. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>
#include <toolrack/plugin.h>
#include <yyjson.h>

#include "base/buf.h"
#include "sheet.h"

#define WORK_VALUES_MAX 2000u

struct work {
    struct tr_call *call;
    yyjson_doc *doc;
    yyjson_val *arguments;
    sqlite3 *database;
    struct sheet left; /**< or the only one */
    struct sheet right;
    bool failed; /**< the call has been failed */

    struct buf sql;
    yyjson_val *values[WORK_VALUES_MAX]; /**< of the placeholders ?1, ?2 ... */
    size_t value_count;
};

/** Begin: read the arguments and open a database in memory. False: the call has been failed; finish
 * it all the same. [call-thread] */
bool work_begin(struct work *work, struct tr_call *call);
tr_status work_finish(struct work *work, tr_status status);

/** Fail the call; returns false. */
bool work_fail(struct work *work, tr_status code, const char *field, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/** Fail it with what SQLite says; returns false. */
bool work_fail_sqlite(struct work *work);

/** Read the text or file that `source` names, an object with the members of a source, into a
 * sheet. @param field  of the source, with a slash at its end, or "" for the arguments */
bool work_load(struct work *work, struct sheet *sheet, char table, yyjson_val *source,
               const char *field);

/** The column that a value names. */
bool work_find_column(struct work *work, const struct sheet *sheet, const char *name,
                      const char *field, size_t *ret);

/** Append a placeholder for a value. */
bool work_add_value(struct work *work, yyjson_val *value);
/** Append " WHERE ..." for the members `where` and `match` of the arguments, if they are there. */
bool work_add_where(struct work *work, const struct sheet *sheet);
/** Append " LIMIT ... OFFSET ..." where there is an offset. */
void work_add_offset(struct work *work);

/** Run the SQL, and write its rows as members of an object that is open in `out`.
 * @param names  of the columns */
bool work_rows(struct work *work, const char *const *names, struct buf *out);
/** Run other SQL with the same values, which gives one number. */
bool work_count(struct work *work, const char *sql, uint64_t *ret);
