#include "cli/id.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "view/json.h"

/* Most ids that the message about an ambiguous one lists. */
#define LISTED_MAX 8u

static void add_id(struct buf *out, yyjson_val *id) {
    if (yyjson_is_str(id)) {
        buf_add(out, yyjson_get_str(id), yyjson_get_len(id));
    } else {
        buf_printf(out, "%llu", (unsigned long long)yyjson_get_uint(id));
    }
}

int id_find(yyjson_val *rows, const char *key, const char *given, yyjson_val **ret,
            struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf listed = BUF_INIT;
    size_t matching = 0;
    size_t at;
    size_t count;
    yyjson_val *row;
    *ret = NULL;
    if (given[0] == '\0') { /* all ids begin with it, and where there is one, that is not meant */
        return error_set(err, TOOLRACK_E_INVALID, "the id is empty: give one, or its beginning");
    }
    yyjson_arr_foreach (rows, at, count, row) {
        CLEANUP(buf_finish) struct buf id = BUF_INIT;
        add_id(&id, yyjson_obj_get(row, key));
        if (id.failed) {
            return error_oom(err);
        }
        if (strcmp(id.data, given) == 0) {
            *ret = row;
            return 0;
        }
        if (strncmp(id.data, given, strlen(given)) == 0 && matching++ < LISTED_MAX) {
            *ret = row;
            buf_printf(&listed, "%s%s", listed.length > 0 ? ", " : "", id.data);
        }
    }
    if (matching < 2) {
        return 0;
    }
    if (matching > LISTED_MAX) {
        buf_printf(&listed, " and %zu more", matching - LISTED_MAX);
    }
    *ret = NULL;
    return error_set(err, TOOLRACK_E_INVALID, "several ids begin with \"%s\": %s; give more of it",
                     given, listed.failed ? "" : listed.data);
}

int id_complete(const struct toolrack_text *rows, const char *key, const char *given, char **ret,
                struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(rows);
    yyjson_val *row = NULL;
    int code = id_find(yyjson_doc_get_root(doc), key, given, &row, err);
    if (code == 0) {
        const char *whole = yyjson_get_str(yyjson_obj_get(row, key));
        *ret = strdup(whole != NULL ? whole : given);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    return code;
}
