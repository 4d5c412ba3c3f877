#include "cli/rows.h"

#include <time.h>

#include "cli/json.h"
#include "cli/output.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

yyjson_doc *rows_read(const struct toolrack_text *text) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    return yyjson_read(json, length, YYJSON_READ_BIGNUM_AS_RAW);
}

const char *rows_member(yyjson_val *object, const char *key, const char *otherwise) {
    const char *text = yyjson_get_str(yyjson_obj_get(object, key));
    return text != NULL ? text : otherwise;
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

int rows_print(struct cli *cli, const struct toolrack_text *text, const struct rows_view *view) {
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = rows_read(text);
    CLEANUP(table_finish) struct table table;
    size_t at;
    size_t count;
    yyjson_val *object;
    table_init(&table, view->headings, view->columns);
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, object) {
        view->add(&table, object);
    }
    if (count > 0) {
        table_print(&table, output_width(), &cli->out);
    } else {
        output_note("%s", view->nothing);
    }
    return CLI_OK;
}
