/* csv - reading, filtering, aggregating and joining CSV, by libcsv and an SQLite database in
 * memory.
 *
 * Files are read from the folders that the plugin was granted, as the filesystem plugin finds them;
 * nothing is ever written. */
#include <toolrack/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../filesystem/place.h"
#include "work.h"

/* Columns of a result: those of two sheets. */
#define OUTPUTS_MAX ((size_t)2 * SHEET_COLUMNS_MAX)

static tr_status finish_reply(struct work *work, struct buf *out) {
    tr_status status = TR_FAILED;
    buf_add_char(out, '}');
    if (!work->failed) {
        status = out->failed ? tr_fail(work->call, TR_LIMIT_EXCEEDED, NULL, "out of memory")
                             : tr_reply_json(work->call, out->data);
    }
    buf_finish(out);
    return work_finish(work, status);
}

/* ------------------------------------------------------------ csv_read, csv_filter */

/* The chosen columns, or all, as the select list and as names. */
static bool select_columns(struct work *work, const struct sheet *sheet, const char **names,
                           size_t *ret_columns, size_t *ret_count) {
    size_t i;
    size_t count;
    yyjson_val *item;
    yyjson_val *chosen = yyjson_obj_get(work->arguments, "columns");
    *ret_count = 0;
    yyjson_arr_foreach (chosen, i, count, item) {
        char field[32];
        (void)snprintf(field, sizeof field, "columns/%zu", i);
        if (!work_find_column(work, sheet, yyjson_get_str(item), field,
                              &ret_columns[(*ret_count)++])) {
            return false;
        }
    }
    for (i = 0; chosen == NULL && i < sheet->columns; i++) {
        ret_columns[(*ret_count)++] = i;
    }
    buf_add_text(&work->sql, "SELECT ");
    for (i = 0; i < *ret_count; i++) {
        if (i > 0) {
            buf_add_char(&work->sql, ',');
        }
        sheet_add_column(sheet, ret_columns[i], &work->sql);
        names[i] = sheet->names[ret_columns[i]];
    }
    buf_printf(&work->sql, " FROM %c", sheet->table);
    return true;
}

static void write_types(const struct sheet *sheet, const size_t *columns, size_t count,
                        struct buf *out) {
    static const char *const names[] = {"", "integer", "number", "text"};
    buf_add_text(out, ",\"types\":[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s\"%s\"", i > 0 ? "," : "", names[sheet->types[columns[i]]]);
    }
    buf_add_char(out, ']');
}

static bool add_order(struct work *work, const struct sheet *sheet) {
    size_t i;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (yyjson_obj_get(work->arguments, "order_by"), i, count, item) {
        char field[48];
        size_t column;
        (void)snprintf(field, sizeof field, "order_by/%zu/column", i);
        if (!work_find_column(work, sheet, yyjson_get_str(yyjson_obj_get(item, "column")), field,
                              &column)) {
            return false;
        }
        buf_add_text(&work->sql, i == 0 ? " ORDER BY " : ",");
        sheet_add_column(sheet, column, &work->sql);
        buf_add_text(&work->sql,
                     yyjson_get_bool(yyjson_obj_get(item, "descending")) ? " DESC" : "");
    }
    return true;
}

/* Rows that fit the conditions, of which csv_read has none. */
static bool write_rows(struct work *work, struct buf *out) {
    const char *names[SHEET_COLUMNS_MAX];
    size_t columns[SHEET_COLUMNS_MAX];
    size_t count;
    uint64_t matched = 0;
    if (!work_load(work, &work->left, 'l', work->arguments, "") ||
        !select_columns(work, &work->left, names, columns, &count)) {
        return false;
    }
    size_t where = work->sql.length;
    struct buf counting = BUF_INIT;
    bool fine = work_add_where(work, &work->left);
    if (fine && !work->sql.failed) {
        buf_printf(&counting, "SELECT count(*) FROM l%s", work->sql.data + where);
        fine = !counting.failed && work_count(work, counting.data, &matched);
    }
    buf_finish(&counting);
    if (!fine || !add_order(work, &work->left)) {
        return false;
    }
    work_add_offset(work);
    if (!work_rows(work, names, out)) {
        return false;
    }
    write_types(&work->left, columns, count, out);
    buf_printf(out, ",\"total\":%llu,\"matched\":%llu", (unsigned long long)work->left.rows,
               (unsigned long long)matched);
    return true;
}

static tr_status run_rows(struct tr_call *call) {
    struct work work;
    struct buf out = BUF_INIT;
    buf_add_char(&out, '{');
    (void)(work_begin(&work, call) && write_rows(&work, &out));
    return finish_reply(&work, &out);
}

static tr_status csv_read(struct tr_call *call) {
    return run_rows(call);
}

static tr_status csv_filter(struct tr_call *call) {
    return run_rows(call);
}

/* ------------------------------------------------------------ csv_aggregate */

/* The one behind the last column. */
static void drop_comma(struct buf *sql) {
    if (!sql->failed) {
        buf_truncate(sql, sql->length - 1);
    }
}

struct outputs {
    char *names[OUTPUTS_MAX]; /* owned */
    size_t count;
};

static bool add_output(struct work *work, struct outputs *outputs, const char *name) {
    if (outputs->count == OUTPUTS_MAX) {
        return work_fail(work, TR_LIMIT_EXCEEDED, NULL, "more than %zu columns", OUTPUTS_MAX);
    }
    outputs->names[outputs->count] = strdup(name);
    return outputs->names[outputs->count++] != NULL ||
           work_fail(work, TR_FAILED, NULL, "out of memory");
}

static void finish_outputs(struct outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        free(outputs->names[i]);
    }
}

static bool add_groups(struct work *work, struct outputs *outputs) {
    size_t i;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (yyjson_obj_get(work->arguments, "group_by"), i, count, item) {
        char field[32];
        size_t column;
        (void)snprintf(field, sizeof field, "group_by/%zu", i);
        if (!work_find_column(work, &work->left, yyjson_get_str(item), field, &column)) {
            return false;
        }
        sheet_add_column(&work->left, column, &work->sql);
        buf_add_char(&work->sql, ',');
        if (!add_output(work, outputs, work->left.names[column])) {
            return false;
        }
    }
    return true;
}

static const struct {
    const char *name;
    const char *before;
    bool numbers;
} functions[] = {{"count", "count(", false}, {"count_distinct", "count(DISTINCT ", false},
                 {"sum", "sum(", true},      {"mean", "avg(", true},
                 {"min", "min(", false},     {"max", "max(", false}};

static bool fail_text(struct work *work, size_t column, const char *field, const char *function) {
    const struct sheet_cell *odd = &work->left.odd_cells[column];
    const char *name = work->left.names[column];
    if (odd->row == 0) {
        return work_fail(work, TR_INVALID_ARGUMENTS, field,
                         "\"%.64s\" has no numbers, so it has no %s", name, function);
    }
    return work_fail(
            work, TR_INVALID_ARGUMENTS, field,
            "\"%.64s\" has cells that are no numbers, so it has no %s: the first is \"%s\" in "
            "row %llu; of numbers such as 1.200,50 decimal and thousands say how they are "
            "written, here \",\" and \".\"",
            name, function, odd->text, (unsigned long long)odd->row);
}

/* One value of each group: "sum_price", unless it has a name. */
static bool add_function(struct work *work, yyjson_val *item, size_t number,
                         struct outputs *outputs) {
    char field[48];
    char made[160];
    const char *said = yyjson_get_str(yyjson_obj_get(item, "function"));
    const char *name = yyjson_get_str(yyjson_obj_get(item, "column"));
    const char *as = yyjson_get_str(yyjson_obj_get(item, "as"));
    size_t column = SIZE_MAX;
    size_t at = 0;
    while (at + 1 < sizeof functions / sizeof functions[0] && said != NULL &&
           strcmp(functions[at].name, said) != 0) {
        at++;
    }
    (void)snprintf(field, sizeof field, "aggregates/%zu/column", number);
    if (name == NULL && at != 0) {
        return work_fail(work, TR_INVALID_ARGUMENTS, field, "must be given for %s",
                         functions[at].name);
    }
    if (name != NULL && !work_find_column(work, &work->left, name, field, &column)) {
        return false;
    }
    if (functions[at].numbers && work->left.types[column] == SHEET_TEXT) {
        return fail_text(work, column, field, functions[at].name);
    }
    buf_add_text(&work->sql, functions[at].before);
    if (name == NULL) {
        buf_add_char(&work->sql, '*');
    } else {
        sheet_add_column(&work->left, column, &work->sql);
    }
    buf_add_text(&work->sql, "),");
    (void)snprintf(made, sizeof made, "%s%s%.100s", functions[at].name, name == NULL ? "" : "_",
                   name == NULL ? "" : name);
    return add_output(work, outputs, as == NULL ? made : as);
}

/* By columns of the result, of which SQL knows the numbers. */
static bool order_outputs(struct work *work, const struct outputs *outputs) {
    size_t i;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (yyjson_obj_get(work->arguments, "order_by"), i, count, item) {
        char field[48];
        const char *name = yyjson_get_str(yyjson_obj_get(item, "column"));
        size_t at = 0;
        while (at < outputs->count && strcmp(outputs->names[at], name) != 0) {
            at++;
        }
        if (at == outputs->count) {
            (void)snprintf(field, sizeof field, "order_by/%zu/column", i);
            return work_fail(work, TR_INVALID_ARGUMENTS, field,
                             "the result has no column \"%.64s\"; it has the columns of group_by "
                             "and of aggregates, such as sum_price",
                             name);
        }
        buf_printf(&work->sql, "%s%zu%s", i == 0 ? " ORDER BY " : ",", at + 1,
                   yyjson_get_bool(yyjson_obj_get(item, "descending")) ? " DESC" : "");
    }
    return true;
}

static bool aggregate(struct work *work, struct outputs *outputs, struct buf *out) {
    size_t i;
    size_t count;
    yyjson_val *item;
    if (!work_load(work, &work->left, 'l', work->arguments, "")) {
        return false;
    }
    buf_add_text(&work->sql, "SELECT ");
    if (!add_groups(work, outputs)) {
        return false;
    }
    size_t groups = outputs->count;
    yyjson_arr_foreach (yyjson_obj_get(work->arguments, "aggregates"), i, count, item) {
        if (!add_function(work, item, i, outputs)) {
            return false;
        }
    }
    drop_comma(&work->sql);
    buf_add_text(&work->sql, " FROM l");
    if (!work_add_where(work, &work->left)) {
        return false;
    }
    for (i = 0; i < groups; i++) {
        buf_printf(&work->sql, "%s%zu", i == 0 ? " GROUP BY " : ",", i + 1);
    }
    return order_outputs(work, outputs) &&
           work_rows(work, (const char *const *)outputs->names, out);
}

static tr_status csv_aggregate(struct tr_call *call) {
    struct work work;
    struct outputs outputs = {.count = 0};
    struct buf out = BUF_INIT;
    buf_add_char(&out, '{');
    (void)(work_begin(&work, call) && aggregate(&work, &outputs, &out));
    finish_outputs(&outputs);
    return finish_reply(&work, &out);
}

/* ------------------------------------------------------------ csv_join */

struct key {
    size_t left;
    size_t right;
};

static bool find_keys(struct work *work, struct key *keys, size_t *ret_count) {
    yyjson_val *item;
    *ret_count = 0;
    yyjson_val *on = yyjson_obj_get(work->arguments, "on");
    size_t i;
    size_t count;
    yyjson_arr_foreach (on, i, count, item) {
        char field[32];
        const char *both = yyjson_get_str(item);
        const char *left = both != NULL ? both : yyjson_get_str(yyjson_obj_get(item, "left"));
        const char *right = both != NULL ? both : yyjson_get_str(yyjson_obj_get(item, "right"));
        (void)snprintf(field, sizeof field, "on/%zu", i);
        if (!work_find_column(work, &work->left, left, field, &keys[i].left) ||
            !work_find_column(work, &work->right, right, field, &keys[i].right)) {
            return false;
        }
        ++*ret_count;
    }
    return true;
}

/* Without it each row of the one would be compared with each of the other. */
static bool index_right(struct work *work, const struct key *keys, size_t count) {
    struct buf sql = BUF_INIT;
    buf_add_text(&sql, "CREATE INDEX right_keys ON r(");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_add_char(&sql, ',');
        }
        sheet_add_column_of(&work->right, "", keys[i].right, &sql);
    }
    buf_add_char(&sql, ')');
    bool made =
            !sql.failed && sqlite3_exec(work->database, sql.data, NULL, NULL, NULL) == SQLITE_OK;
    buf_finish(&sql);
    return made || work_fail_sqlite(work);
}

/* All columns of both, but for the keys of the right that have the name of their left: those are
 * the same. Another name that both have gets "_right". */
static bool select_both(struct work *work, const struct key *keys, size_t key_count, bool outer,
                        struct outputs *outputs) {
    buf_add_text(&work->sql, "SELECT ");
    for (size_t i = 0; i < work->left.columns; i++) {
        bool shared = false;
        for (size_t k = 0; outer && k < key_count; k++) {
            if (keys[k].left == i &&
                strcmp(work->left.names[i], work->right.names[keys[k].right]) == 0) {
                buf_add_text(&work->sql, "coalesce(");
                sheet_add_column(&work->left, i, &work->sql);
                buf_add_char(&work->sql, ',');
                sheet_add_column(&work->right, keys[k].right, &work->sql);
                buf_add_text(&work->sql, "),");
                shared = true;
                break;
            }
        }
        if (!shared) {
            sheet_add_column(&work->left, i, &work->sql);
            buf_add_char(&work->sql, ',');
        }
        if (!add_output(work, outputs, work->left.names[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < work->right.columns; i++) {
        const char *name = work->right.names[i];
        bool is_key = false;
        for (size_t k = 0; k < key_count; k++) {
            is_key = is_key ||
                     (keys[k].right == i && strcmp(work->left.names[keys[k].left], name) == 0);
        }
        if (is_key) {
            continue;
        }
        char made[160];
        bool taken = sheet_find(&work->left, name) != SIZE_MAX;
        (void)snprintf(made, sizeof made, "%.140s_right", name);
        sheet_add_column(&work->right, i, &work->sql);
        buf_add_char(&work->sql, ',');
        if (!add_output(work, outputs, taken ? made : name)) {
            return false;
        }
    }
    drop_comma(&work->sql);
    return true;
}

static bool join(struct work *work, struct outputs *outputs, struct buf *out) {
    struct key keys[16];
    size_t count;
    const char *type = yyjson_get_str(yyjson_obj_get(work->arguments, "type"));
    bool full = type != NULL && strcmp(type, "full") == 0;
    bool left = type != NULL && strcmp(type, "left") == 0;
    if (!work_load(work, &work->left, 'l', yyjson_obj_get(work->arguments, "left"), "left/") ||
        !work_load(work, &work->right, 'r', yyjson_obj_get(work->arguments, "right"), "right/") ||
        !find_keys(work, keys, &count) || !index_right(work, keys, count) ||
        !select_both(work, keys, count, full, outputs)) {
        return false;
    }
    buf_printf(&work->sql, " FROM l %s JOIN r ON ", full ? "FULL" : left ? "LEFT" : "INNER");
    for (size_t i = 0; i < count; i++) {
        buf_add_text(&work->sql, i > 0 ? " AND " : "");
        sheet_add_column(&work->left, keys[i].left, &work->sql);
        buf_add_char(&work->sql, '=');
        sheet_add_column(&work->right, keys[i].right, &work->sql);
    }
    work_add_offset(work);
    return work_rows(work, (const char *const *)outputs->names, out);
}

static tr_status csv_join(struct tr_call *call) {
    struct work work;
    struct outputs outputs = {.count = 0};
    struct buf out = BUF_INIT;
    buf_add_char(&out, '{');
    (void)(work_begin(&work, call) && join(&work, &outputs, &out));
    finish_outputs(&outputs);
    return finish_reply(&work, &out);
}

/* clang-format off */
#define SOURCE \
    "\"text\":{\"type\":\"string\",\"description\":\"The CSV text itself\"}," \
    "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,\"description\":\"The file that has it, in a granted folder, instead of text\"}," \
    "\"delimiter\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1,\"description\":\"What separates cells; without, the one of comma, semicolon, tab and | that is most often in the first line\"}," \
    "\"quote\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1,\"default\":\"\\\"\",\"description\":\"What quotes a cell\"}," \
    "\"decimal\":{\"enum\":[\".\",\",\"],\"default\":\".\",\"description\":\"What is between a number and its decimals\"}," \
    "\"thousands\":{\"enum\":[\".\",\",\",\" \",\"'\",\"_\"],\"description\":\"What is between groups of three digits, as in 1.200,50; without, nothing is\"}," \
    "\"header\":{\"type\":\"boolean\",\"default\":true,\"description\":\"Whether the first row has the names of the columns; without, they are column_1, column_2\"}," \
    "\"types\":{\"enum\":[\"infer\",\"text\"],\"default\":\"infer\",\"description\":\"infer: a column of which every cell is a number has numbers; text: no column has\"}"
#define LIMIT \
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,\"default\":100,\"description\":\"How many rows at most\"}"
#define OFFSET \
    "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000000,\"default\":0,\"description\":\"How many rows are left out at the beginning\"}"
#define COLUMNS \
    "\"columns\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":512,\"items\":{\"type\":\"string\"},\"description\":\"The columns wanted; without, all\"}"
#define WHERE \
    "\"where\":{\"type\":\"array\",\"maxItems\":50,\"description\":\"Conditions\",\"items\":{\"type\":\"object\",\"properties\":{" \
        "\"column\":{\"type\":\"string\",\"description\":\"Name of a column\"}," \
        "\"op\":{\"enum\":[\"eq\",\"ne\",\"lt\",\"le\",\"gt\",\"ge\",\"in\",\"contains\",\"starts_with\",\"ends_with\",\"empty\",\"not_empty\"],\"default\":\"eq\",\"description\":\"How it is compared\"}," \
        "\"value\":{\"description\":\"With what; an array for in\"}" \
    "},\"required\":[\"column\"],\"additionalProperties\":false}}," \
    "\"match\":{\"enum\":[\"all\",\"any\"],\"default\":\"all\",\"description\":\"Whether all conditions must hold, or one\"}"
#define ORDER_BY(what) \
    "\"order_by\":{\"type\":\"array\",\"maxItems\":10,\"description\":\"" what "\",\"items\":{\"type\":\"object\",\"properties\":{" \
        "\"column\":{\"type\":\"string\",\"description\":\"Name of a column\"}," \
        "\"descending\":{\"type\":\"boolean\",\"default\":false,\"description\":\"The largest first\"}" \
    "},\"required\":[\"column\"],\"additionalProperties\":false}}"
#define OBJECT(members, required) "{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "],\"additionalProperties\":false}"
#define RESULT(more, required) \
    "{\"type\":\"object\",\"properties\":{" \
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Names of the columns\"}," \
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{}},\"description\":\"The rows, each with a cell for each column; an empty cell is null\"}," \
    "\"count\":{\"type\":\"integer\",\"description\":\"Rows in this result\"}," \
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"There are more\"}" more \
    "},\"required\":[\"columns\",\"rows\",\"count\",\"truncated\"" required "]}"
#define ROWS_RESULT RESULT( \
    ",\"types\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"What each column has: integer, number or text\"}," \
    "\"total\":{\"type\":\"integer\",\"description\":\"Rows of the whole text or file\"}," \
    "\"matched\":{\"type\":\"integer\",\"description\":\"Rows that fit the conditions\"}", ",\"types\",\"total\",\"matched\"")

TR_JSON_TOOL(csv_read,
    ("Read rows of CSV, as a table: names and types of its columns, how many rows it has, and some of them. "
     "Use it first to see what a file has; csv_filter and csv_aggregate answer questions about it.",
     .title = "Read CSV", .category = "data", .tags = "csv,tsv,table,read,spreadsheet,columns,rows",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_schema = ROWS_RESULT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"text": "name,price\npen,2.5\nlamp,30\n"}),
         TR_SCHEMA({"columns": ["name", "price"], "rows": [["pen", 2.5], ["lamp", 30]], "count": 2, "truncated": false,
                    "types": ["text", "number"], "total": 2, "matched": 2})))),
    OBJECT(SOURCE "," COLUMNS "," OFFSET "," LIMIT, ""))

TR_JSON_TOOL(csv_filter,
    ("Find the rows of a CSV text or file that fit conditions, in any order, with the columns wanted.",
     .title = "Filter CSV", .category = "data", .tags = "csv,tsv,table,filter,search,sort,rows",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_schema = ROWS_RESULT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"text": "name,price\npen,2.5\nlamp,30\ndesk,120\n", "columns": ["name"],
                                       "where": [{"column": "price", "op": "gt", "value": 10}],
                                       "order_by": [{"column": "price", "descending": true}]}),
         TR_SCHEMA({"columns": ["name"], "rows": [["desk"], ["lamp"]], "count": 2, "truncated": false,
                    "types": ["text"], "total": 3, "matched": 2})))),
    OBJECT(SOURCE "," WHERE "," COLUMNS "," ORDER_BY("How the rows are sorted") "," OFFSET "," LIMIT, "\"where\""))

TR_JSON_TOOL(csv_aggregate,
    ("Count, sum or average the rows of a CSV text or file, for each group of rows or for all. The result can be "
     "drawn by the chart tools.",
     .title = "Aggregate CSV", .category = "data", .tags = "csv,tsv,table,group,sum,count,mean,average,pivot",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_schema = RESULT("", ""),
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"text": "city,sales\nKöln,3\nBonn,4\nKöln,5\n", "group_by": ["city"],
                                       "aggregates": [{"function": "sum", "column": "sales"}, {"function": "count"}],
                                       "order_by": [{"column": "sum_sales", "descending": true}]}),
         TR_SCHEMA({"columns": ["city", "sum_sales", "count"], "rows": [["Köln", 8, 2], ["Bonn", 4, 1]], "count": 2,
                    "truncated": false})))),
    OBJECT(SOURCE "," WHERE ","
        "\"group_by\":{\"type\":\"array\",\"maxItems\":16,\"items\":{\"type\":\"string\"},\"description\":\"Columns of which equal values make a group; without, all rows are one\"},"
        "\"aggregates\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":32,\"description\":\"What is computed of each group\",\"items\":{\"type\":\"object\",\"properties\":{"
            "\"function\":{\"enum\":[\"count\",\"count_distinct\",\"sum\",\"mean\",\"min\",\"max\"],\"description\":\"What is computed; empty cells do not count\"},"
            "\"column\":{\"type\":\"string\",\"description\":\"Of which column; count without it counts rows\"},"
            "\"as\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":100,\"description\":\"Name of the value; without, such as sum_price\"}"
        "},\"required\":[\"function\"],\"additionalProperties\":false}},"
        ORDER_BY("How the groups are sorted, by columns of the result") "," LIMIT, "\"aggregates\""))

TR_JSON_TOOL(csv_join,
    ("Join two CSV texts or files by columns that have equal values, such as orders and their customers.",
     .title = "Join CSV", .category = "data", .tags = "csv,tsv,table,join,merge,lookup,combine",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, .result_schema = RESULT("", ""),
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"left": {"text": "id,total\n1,20\n2,30\n"}, "right": {"text": "id,name\n1,Ada\n"},
                                       "on": ["id"], "type": "left"}),
         TR_SCHEMA({"columns": ["id", "total", "name"], "rows": [[1, 20, "Ada"], [2, 30, null]], "count": 2,
                    "truncated": false})))),
    OBJECT("\"left\":{\"description\":\"The first table\"," "\"type\":\"object\",\"properties\":{" SOURCE "},\"additionalProperties\":false},"
        "\"right\":{\"description\":\"The second table\",\"type\":\"object\",\"properties\":{" SOURCE "},\"additionalProperties\":false},"
        "\"on\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":16,\"description\":\"Columns that must be equal: a name that both have, or one of each\",\"items\":{\"anyOf\":["
            "{\"type\":\"string\"},"
            "{\"type\":\"object\",\"properties\":{\"left\":{\"type\":\"string\",\"description\":\"Column of the first\"},\"right\":{\"type\":\"string\",\"description\":\"Column of the second\"}},\"required\":[\"left\",\"right\"],\"additionalProperties\":false}]}},"
        "\"type\":{\"enum\":[\"inner\",\"left\",\"full\"],\"default\":\"inner\",\"description\":\"inner: rows that have a partner; left: all of the first; full: all of both\"},"
        OFFSET "," LIMIT, "\"left\",\"right\",\"on\""))

TR_PLUGIN(("csv", .description = "Reads, filters, aggregates and joins CSV", .vendor = "toolrack", .license = "MIT",
           .open = place_open_roots, .close = place_close_roots, TR_CAPABILITIES(TR_MAY_READ("${workspace}"))),
          "1.0.0", csv_read, csv_filter, csv_aggregate, csv_join)
