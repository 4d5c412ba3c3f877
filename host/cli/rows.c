#include "cli/rows.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"

#define LABEL_WIDTH 13

const char *rows_text(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

const char *rows_member(yyjson_val *object, const char *key, const char *otherwise) {
    const char *text = rows_text(object, key);
    return text != NULL ? text : otherwise;
}

uint64_t rows_number(yyjson_val *object, const char *key) {
    yyjson_val *value = yyjson_obj_get(object, key);
    return yyjson_is_raw(value) ? strtoull(yyjson_get_raw(value), NULL, 10)
                                : yyjson_get_uint(value);
}

const char *rows_time(int64_t seconds, char text[ROWS_TIME_ROOM]) {
    time_t moment = (time_t)seconds;
    struct tm parts;
    if (localtime_r(&moment, &parts) == NULL ||
        strftime(text, ROWS_TIME_ROOM, "%Y-%m-%d %H:%M:%S", &parts) == 0) {
        text[0] = '\0';
    }
    return text;
}

void rows_add_time(struct table *table, yyjson_val *time, int64_t per_s, const char *otherwise) {
    char text[ROWS_TIME_ROOM];
    bool is_raw = yyjson_is_raw(time);
    int64_t number = is_raw ? strtoll(yyjson_get_raw(time), NULL, 10) : yyjson_get_sint(time);
    table_add(table, is_raw || yyjson_is_int(time) ? rows_time(number / per_s, text) : otherwise);
}

void rows_add_label(struct buf *out, const char *label) {
    buf_printf(out, "%-*s", LABEL_WIDTH, label);
}

void rows_add_line(struct buf *out, const char *label, const char *text) {
    if (text != NULL && text[0] != '\0') {
        rows_add_label(out, label);
        text_add_line(out, text, strlen(text));
        buf_add_char(out, '\n');
    }
}

int rows_print(struct cli *cli, const struct toolrack_text *text, const struct rows_view *view) {
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = view->exact ? json_read_exact(text) : json_read(text);
    CLEANUP(table_finish) struct table table;
    size_t at;
    size_t count;
    yyjson_val *object;
    table_init(&table, view->headings, view->columns);
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, object) {
        view->add(&table, object);
    }
    if (count > 0) {
        table_print(&table, cli->width, &cli->out, &cli->styles);
    } else {
        output_note("%s", view->nothing);
    }
    return CLI_OK;
}

const char *rows_state(const char *state, bool is_enabled, bool is_kept) {
    bool is_fine = strcmp(state, "listed") == 0 || strcmp(state, "loaded") == 0;
    return !is_enabled ? "disabled" : is_kept && is_fine ? "kept" : state;
}
