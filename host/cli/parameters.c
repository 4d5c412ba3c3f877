#include "cli/parameters.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/table.h"

/* Objects inside objects whose members have rows. */
#define DEPTH_MAX 4u

/* ------------------------------------------------------------------- cells */

/* Append a value: a string without quotes, a number as it is written, JSON. */
static void add_value(struct buf *out, yyjson_val *value) {
    size_t length = 0;
    if (yyjson_is_str(value) || yyjson_is_raw(value)) {
        const char *text = yyjson_is_raw(value) ? yyjson_get_raw(value) : yyjson_get_str(value);
        text_add_line(out, text, yyjson_get_len(value));
        return;
    }
    CLEANUP(freep) char *json = yyjson_val_write(value, 0, &length);
    if (json != NULL) {
        text_add_line(out, json, length);
    }
}

static void add_list(struct buf *out, yyjson_val *values, const char *between) {
    size_t at;
    size_t count;
    yyjson_val *value;
    yyjson_arr_foreach (values, at, count, value) {
        buf_add_text(out, at > 0 ? between : "");
        add_value(out, value);
    }
}

static void add_type(struct buf *out, yyjson_val *schema) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    yyjson_val *items = yyjson_obj_get(schema, "items");
    if (yyjson_is_arr(type)) {
        add_list(out, type, " or ");
    } else if (yyjson_is_str(type)) {
        add_value(out, type);
    } else {
        bool is_complex =
                yyjson_obj_get(schema, "$ref") != NULL || yyjson_obj_get(schema, "anyOf") != NULL ||
                yyjson_obj_get(schema, "oneOf") != NULL || yyjson_obj_get(schema, "allOf") != NULL;
        buf_add_text(out, is_complex ? "see --schema" : "any");
    }
    if (yyjson_equals_str(type, "array") && yyjson_is_obj(items)) {
        buf_add_text(out, " of ");
        add_type(out, items);
    }
}

/* Append a word of the range, after a comma unless it is the first. */
static void add_separator(struct buf *out) {
    buf_add_text(out, out->length > 0 ? ", " : "");
}

static void add_bound(struct buf *out, const char *before, yyjson_val *bound) {
    if (bound != NULL && !yyjson_is_bool(bound)) {
        add_separator(out);
        buf_add_text(out, before);
        add_value(out, bound);
    }
}

/* "1 to 10", "1 or more", "at most 10", and what is counted. */
static void add_span(struct buf *out, yyjson_val *least, yyjson_val *most, const char *unit) {
    if (least == NULL && most == NULL) {
        return;
    }
    add_separator(out);
    if (least != NULL) {
        add_value(out, least);
        buf_add_text(out, most != NULL ? " to " : " or more");
    } else {
        buf_add_text(out, "at most ");
    }
    if (most != NULL) {
        add_value(out, most);
    }
    buf_add_text(out, unit);
}

static void add_range(struct buf *out, yyjson_val *schema) {
    yyjson_val *choices = yyjson_obj_get(schema, "enum");
    if (choices != NULL) {
        add_list(out, choices, " | ");
    }
    add_bound(out, "", yyjson_obj_get(schema, "const"));
    add_span(out, yyjson_obj_get(schema, "minimum"), yyjson_obj_get(schema, "maximum"), "");
    add_bound(out, "above ", yyjson_obj_get(schema, "exclusiveMinimum"));
    add_bound(out, "below ", yyjson_obj_get(schema, "exclusiveMaximum"));
    add_bound(out, "multiple of ", yyjson_obj_get(schema, "multipleOf"));
    add_span(out, yyjson_obj_get(schema, "minLength"), yyjson_obj_get(schema, "maxLength"),
             " characters");
    add_span(out, yyjson_obj_get(schema, "minItems"), yyjson_obj_get(schema, "maxItems"), " items");
    add_bound(out, "pattern ", yyjson_obj_get(schema, "pattern"));
    add_bound(out, "", yyjson_obj_get(schema, "format"));
}

/* -------------------------------------------------------------------- rows */

static bool is_required(yyjson_val *schema, yyjson_val *name) {
    size_t at;
    size_t count;
    yyjson_val *required;
    yyjson_arr_foreach (yyjson_obj_get(schema, "required"), at, count, required) {
        if (yyjson_equals(required, name)) {
            return true;
        }
    }
    return false;
}

static void add_cell(struct table *table, struct buf *cell) {
    buf_add_char(cell, '\0');
    table_add(table, cell->failed ? NULL : cell->data);
    buf_clear(cell);
}

static void add_row(struct table *table, const char *name, yyjson_val *schema, bool required) {
    CLEANUP(buf_finish) struct buf cell = BUF_INIT;
    yyjson_val *fallback = yyjson_obj_get(schema, "default");
    table_add(table, name);
    add_type(&cell, schema);
    add_cell(table, &cell);
    add_range(&cell, schema);
    add_cell(table, &cell);
    if (fallback != NULL) {
        add_value(&cell, fallback);
    } else {
        buf_add_text(&cell, required ? "required" : "");
    }
    add_cell(table, &cell);
    table_add(table, rows_member(schema, "description", NULL));
}

/* Add a row for each property of an object, and for those of objects in it. */
static void add_rows(struct table *table, const char *before, yyjson_val *object, unsigned depth) {
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *schema;
    json_obj_foreach (yyjson_obj_get(object, "properties"), at, count, name, schema) {
        CLEANUP(buf_finish) struct buf path = BUF_INIT;
        buf_printf(&path, "%s%s", before, yyjson_get_str(name));
        add_row(table, path.failed ? NULL : path.data, schema, is_required(object, name));
        yyjson_val *items = yyjson_obj_get(schema, "items");
        buf_add_text(&path, yyjson_is_obj(items) ? "[]." : ".");
        if (depth < DEPTH_MAX && !path.failed) {
            add_rows(table, path.data, yyjson_is_obj(items) ? items : schema, depth + 1);
        }
    }
}

void parameters_print(struct cli *cli, const char *schema) {
    static const char *const headings[] = {"PARAMETER", "TYPE", "RANGE", "DEFAULT", "DESCRIPTION"};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(schema, strlen(schema), YYJSON_READ_NUMBER_AS_RAW);
    CLEANUP(table_finish) struct table table;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    add_rows(&table, "", yyjson_doc_get_root(doc), 0);
    if (table.cells > table.columns) {
        buf_add_char(&cli->out, '\n');
        table_print(&table, cli->width, &cli->out, &cli->styles);
    }
}

void parameters_print_result(struct cli *cli, const char *schema) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc =
            schema != NULL ? yyjson_read(schema, strlen(schema), YYJSON_READ_NUMBER_AS_RAW) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf range = BUF_INIT;
    if (root == NULL) {
        return;
    }
    const char *description = rows_member(root, "description", NULL);
    add_type(&text, root);
    add_range(&range, root);
    if (range.length > 0 && !range.failed) {
        buf_printf(&text, ", %s", range.data);
    }
    if (description != NULL) {
        buf_printf(&text, ": %s", description);
    }
    rows_add_line(&cli->out, "result", text.failed ? NULL : text.data);
}
