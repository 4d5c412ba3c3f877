#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

#define COLUMNS_MAX 256u

/* The columns that a call has, and the chosen ones. */
struct columns {
    struct tr_call *call;
    yyjson_val *rows;
    bool objects; /* rows are objects, and not arrays */
    const char *names[COLUMNS_MAX];
    size_t count;
};

/* ------------------------------------------------------------ columns */

static bool add_name(struct columns *columns, const char *name) {
    if (columns->count == COLUMNS_MAX) {
        (void)tr_fail(columns->call, TR_LIMIT_EXCEEDED, "columns", "more than %u columns",
                      COLUMNS_MAX);
        return false;
    }
    columns->names[columns->count++] = name;
    return true;
}

/* Columns that nobody has named have numbers. */
static bool number_columns(struct columns *columns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *name = tr_alloc(columns->call, 24);
        if (name == NULL) {
            return false;
        }
        (void)snprintf(name, 24, "%zu", i + 1);
        if (!add_name(columns, name)) {
            return false;
        }
    }
    return true;
}

static bool list_columns(struct columns *columns, yyjson_val *named) {
    yyjson_val *first = yyjson_arr_get_first(columns->rows);
    size_t i;
    size_t count;
    yyjson_val *key;
    yyjson_val *item;
    columns->objects = yyjson_is_obj(first);
    if (named != NULL) {
        yyjson_arr_foreach (named, i, count, item) {
            if (!add_name(columns, yyjson_get_str(item))) {
                return false;
            }
        }
        return true;
    }
    if (!columns->objects) {
        return number_columns(columns, yyjson_arr_size(first));
    }
    for (i = 0, count = yyjson_obj_size(first),
        key = count > 0 ? unsafe_yyjson_get_first(first) : NULL;
         i < count; i++, key = unsafe_yyjson_get_next(key + 1)) {
        if (!add_name(columns, yyjson_get_str(key))) {
            return false;
        }
    }
    return true;
}

static const char *list_names(const struct columns *columns, char *ret, size_t room) {
    size_t length = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < columns->count && length + 1 < room; i++) {
        length += (size_t)snprintf(ret + length, room - length, "%s%s", i > 0 ? ", " : "",
                                   columns->names[i]);
    }
    return ret;
}

static bool find_column(const struct columns *columns, const char *field, const char *name,
                        size_t *ret) {
    for (size_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->names[i], name) == 0) {
            *ret = i;
            return true;
        }
    }
    char names[512];
    (void)tr_fail(columns->call, TR_INVALID_ARGUMENTS, field, "no column \"%.64s\"; there are: %s",
                  name, list_names(columns, names, sizeof names));
    return false;
}

static yyjson_val *cell(const struct columns *columns, yyjson_val *row, size_t column) {
    return columns->objects ? yyjson_obj_get(row, columns->names[column])
                            : yyjson_arr_get(row, column);
}

static bool fail_cell(const struct columns *columns, size_t row, size_t column, const char *what) {
    char field[128];
    if (columns->objects) {
        (void)snprintf(field, sizeof field, "rows/%zu/%.96s", row, columns->names[column]);
    } else {
        (void)snprintf(field, sizeof field, "rows/%zu/%zu", row, column);
    }
    (void)tr_fail(columns->call, TR_INVALID_ARGUMENTS, field, "%s", what);
    return false;
}

/* ------------------------------------------------------------ values */

/* A number, or NaN for null or a cell that is not there. */
static bool read_number(const struct columns *columns, yyjson_val *row, size_t at, size_t column,
                        double *ret) {
    yyjson_val *value = cell(columns, row, column);
    if (value == NULL || yyjson_is_null(value)) {
        *ret = NAN;
        return true;
    }
    if (!yyjson_is_num(value)) {
        return fail_cell(columns, at, column,
                         yyjson_is_str(value) ? "must be a number or null, not text; numbers are "
                                                "written without quotes, and NaN cannot be drawn"
                                              : "must be a number or null");
    }
    *ret = yyjson_get_num(value);
    return fabs(*ret) <= SCALE_VALUE_MAX ||
           fail_cell(columns, at, column, "is too large to be drawn");
}

static bool read_series(const struct columns *columns, size_t column, struct table *table) {
    size_t i;
    size_t count;
    yyjson_val *row;
    bool any = false;
    double *values = tr_alloc(columns->call, table->count * sizeof *values);
    if (values == NULL) {
        return false;
    }
    yyjson_arr_foreach (columns->rows, i, count, row) {
        if (!read_number(columns, row, i, column, &values[i])) {
            return false;
        }
        any = any || !isnan(values[i]);
    }
    if (!any) {
        (void)tr_fail(columns->call, TR_INVALID_ARGUMENTS, "rows", "column \"%.64s\" has no number",
                      columns->names[column]);
        return false;
    }
    table->series[table->series_count++] = (struct series){columns->names[column], values};
    return true;
}

/* Whether a column has a number, so that it can be a series where none are named. */
static bool has_number(const struct columns *columns, size_t column) {
    size_t i;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (columns->rows, i, count, row) {
        if (yyjson_is_num(cell(columns, row, column))) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------ x */

static enum x_kind kind_of(const struct columns *columns, size_t column) {
    size_t i;
    size_t count;
    yyjson_val *row;
    double time;
    bool numbers = true;
    bool times = true;
    yyjson_arr_foreach (columns->rows, i, count, row) {
        yyjson_val *value = cell(columns, row, column);
        numbers = numbers && yyjson_is_num(value);
        times = times && yyjson_is_str(value) && scale_read_time(yyjson_get_str(value), &time);
    }
    return numbers ? X_NUMBER : times ? X_TIME : X_CATEGORY;
}

static const char *label_of(struct tr_call *call, yyjson_val *value) {
    if (yyjson_is_str(value)) {
        return yyjson_get_str(value);
    }
    char *text = tr_alloc(call, 40);
    if (text == NULL) {
        return NULL;
    }
    if (yyjson_is_int(value)) {
        (void)snprintf(text, 40, "%lld", (long long)yyjson_get_sint(value));
    } else if (yyjson_is_num(value)) {
        (void)snprintf(text, 40, "%.6g", yyjson_get_num(value));
    } else {
        (void)snprintf(text, 40, "%s",
                       yyjson_is_true(value)    ? "true"
                       : yyjson_is_false(value) ? "false"
                                                : "");
    }
    return text;
}

static bool read_x(const struct columns *columns, size_t column, struct table *table) {
    size_t i;
    size_t count;
    yyjson_val *row;
    table->x = tr_alloc(columns->call, table->count * sizeof *table->x);
    table->labels = tr_alloc(columns->call, table->count * sizeof *table->labels);
    if (table->x == NULL || table->labels == NULL) {
        return false;
    }
    yyjson_arr_foreach (columns->rows, i, count, row) {
        yyjson_val *value = cell(columns, row, column);
        if (yyjson_is_arr(value) || yyjson_is_obj(value)) {
            return fail_cell(columns, i, column, "must be text, a number, true, false or null");
        }
        table->x[i] = 0;
        table->labels[i] = "";
        if (table->kind == X_NUMBER && !read_number(columns, row, i, column, &table->x[i])) {
            return false;
        }
        if (table->kind == X_TIME) {
            (void)scale_read_time(yyjson_get_str(value), &table->x[i]);
        }
        if (table->kind == X_CATEGORY &&
            (table->labels[i] = label_of(columns->call, value)) == NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------ rows in the order of x */

struct order {
    double x;
    size_t row;
};

static int compare_orders(const void *left, const void *right) {
    const struct order *a = left;
    const struct order *b = right;
    return a->x < b->x ? -1 : a->x > b->x ? 1 : a->row < b->row ? -1 : 1;
}

static void reorder(const struct order *orders, size_t count, double *values, double *spare) {
    for (size_t i = 0; i < count; i++) {
        spare[i] = values[orders[i].row];
    }
    memcpy(values, spare, count * sizeof *values);
}

static bool sort_rows(struct tr_call *call, struct table *table) {
    struct order *orders = tr_alloc(call, table->count * sizeof *orders);
    double *spare = tr_alloc(call, table->count * sizeof *spare);
    if (orders == NULL || spare == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->count; i++) {
        orders[i] = (struct order){table->x[i], i};
    }
    qsort(orders, table->count, sizeof *orders, compare_orders);
    reorder(orders, table->count, table->x, spare);
    for (size_t i = 0; i < table->series_count; i++) {
        reorder(orders, table->count, table->series[i].values, spare);
    }
    return true;
}

/* ------------------------------------------------------------ the whole */

static bool take_series(const struct columns *columns, const char *field, const char *name,
                        struct table *table) {
    size_t column = 0;
    if (table->series_count == TABLE_SERIES_MAX) {
        (void)tr_fail(columns->call, TR_LIMIT_EXCEEDED, field,
                      "at most %u series can be told apart", TABLE_SERIES_MAX);
        return false;
    }
    return find_column(columns, field, name, &column) && read_series(columns, column, table);
}

static bool read_all_series(const struct columns *columns, yyjson_val *y, size_t x_column,
                            struct table *table) {
    size_t i;
    size_t count;
    yyjson_val *item;
    if (yyjson_is_str(y)) {
        return take_series(columns, "y", yyjson_get_str(y), table);
    }
    yyjson_arr_foreach (y, i, count, item) {
        if (!take_series(columns, "y", yyjson_get_str(item), table)) {
            return false;
        }
    }
    for (i = 0; y == NULL && i < columns->count; i++) {
        if (i != x_column && has_number(columns, i) &&
            !take_series(columns, "y", columns->names[i], table)) {
            return false;
        }
    }
    if (table->series_count == 0) {
        char names[512];
        (void)tr_fail(columns->call, TR_INVALID_ARGUMENTS, "y",
                      "no column of numbers to draw beside x; there are: %s",
                      list_names(columns, names, sizeof names));
    }
    return table->series_count > 0;
}

static bool check_rows(struct columns *columns, struct table *table) {
    size_t i;
    size_t count;
    yyjson_val *row;
    table->count = yyjson_arr_size(columns->rows);
    if (table->count < 1 || table->count > TABLE_ROWS_MAX) {
        (void)tr_fail(columns->call, table->count == 0 ? TR_INVALID_ARGUMENTS : TR_LIMIT_EXCEEDED,
                      "rows", "must have from 1 to %u rows, not %zu%s", TABLE_ROWS_MAX,
                      table->count, table->count == 0 ? "" : "; aggregate them first");
        return false;
    }
    bool objects = yyjson_is_obj(yyjson_arr_get_first(columns->rows));
    yyjson_arr_foreach (columns->rows, i, count, row) {
        if (objects ? !yyjson_is_obj(row) : !yyjson_is_arr(row)) {
            char field[32];
            (void)snprintf(field, sizeof field, "rows/%zu", i);
            (void)tr_fail(columns->call, TR_INVALID_ARGUMENTS, field,
                          "must be an %s as the first row is", objects ? "object" : "array");
            return false;
        }
    }
    return true;
}

bool table_read(struct tr_call *call, yyjson_val *arguments, enum x_wanted wanted,
                struct table *ret) {
    struct columns columns = {.call = call, .rows = yyjson_obj_get(arguments, "rows")};
    size_t x = 0;
    *ret = (struct table){.count = 0};
    if (!check_rows(&columns, ret) ||
        !list_columns(&columns, yyjson_obj_get(arguments, "columns"))) {
        return false;
    }
    const char *name = yyjson_get_str(yyjson_obj_get(arguments, "x"));
    if (columns.count == 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "rows", "the first row has no column");
        return false;
    }
    if (name != NULL && !find_column(&columns, "x", name, &x)) {
        return false;
    }
    ret->x_name = columns.names[x];
    if (wanted == WANT_NONE) {
        return read_series(&columns, x, ret);
    }
    ret->kind = wanted == WANT_CATEGORY ? X_CATEGORY : kind_of(&columns, x);
    if (wanted == WANT_SCALE && ret->kind == X_CATEGORY) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "x",
                      "column \"%.64s\" must be numbers or dates (YYYY-MM-DD) in every row",
                      columns.names[x]);
        return false;
    }
    return read_x(&columns, x, ret) &&
           read_all_series(&columns, yyjson_obj_get(arguments, "y"), x, ret) &&
           (ret->kind == X_CATEGORY || sort_rows(call, ret));
}
