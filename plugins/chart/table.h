/* table.h - the rows of a call as the series of a chart. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <toolrack/plugin.h>
#include <yyjson.h>

/* As many as there are colours. */
#define TABLE_SERIES_MAX 10u
#define TABLE_ROWS_MAX   20000u

enum x_kind { X_CATEGORY, X_NUMBER, X_TIME };

struct series {
    const char *name;
    double *values; /**< one a row; NaN where there is none */
};

struct table {
    size_t count; /**< rows */
    enum x_kind kind;
    const char *x_name;
    const char **labels; /**< of X_CATEGORY */
    double *x;           /**< of X_NUMBER and X_TIME, in order */
    size_t series_count;
    struct series series[TABLE_SERIES_MAX];
};

/** What the x of a chart may be. */
enum x_wanted {
    WANT_CATEGORY, /**< whatever it is, it names a place */
    WANT_ANY,      /**< a number or a time where all are, else a category */
    WANT_SCALE,    /**< a number or a time */
    WANT_NONE      /**< there is none: the column of x is the only series, of numbers */
};

/** Read `rows`, `columns`, `x` and `y` of a call. Memory is the call's, strings are borrowed from
 * `arguments`. False: the call has been failed. [call-thread] */
bool table_read(struct tr_call *call, yyjson_val *arguments, enum x_wanted wanted,
                struct table *ret);
