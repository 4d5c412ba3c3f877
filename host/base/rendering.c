#include "base/rendering.h"

#include <string.h>

#include "base/utf8.h"

void error_add_text(struct buf *out, const struct toolrack_error *err) {
    buf_printf(out, "%s: %s%s%s", toolrack_code_name(err->code), err->field,
               err->field[0] != '\0' ? ": " : "", err->message);
}

/* A name from outside may not be UTF-8. False: no memory. */
static bool add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     const char *text) {
    size_t length = strlen(text);
    if (utf8_valid(text, length)) {
        return yyjson_mut_obj_add_strncpy(doc, object, key, text, length);
    }
    return yyjson_mut_obj_add_str(doc, object, key, "<not UTF-8>");
}

static bool add_trace(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *trace) {
    yyjson_mut_val *lines = yyjson_mut_obj_add_arr(doc, object, "trace");
    while (lines != NULL && *trace != '\0') {
        size_t length = strcspn(trace, "\n");
        if (!yyjson_mut_arr_add_strncpy(doc, lines, trace, length)) {
            return false;
        }
        trace += length + (trace[length] != '\0');
    }
    return lines != NULL;
}

static bool add_mistakes(yyjson_mut_doc *doc, yyjson_mut_val *object,
                         const struct toolrack_error *err) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "mistakes");
    const char *message = NULL;
    const char *field = NULL;
    bool added = list != NULL;
    for (size_t i = 0; added && (field = error_mistake(err, i, &message)) != NULL; i++) {
        yyjson_mut_val *mistake = yyjson_mut_arr_add_obj(doc, list);
        added = add_text(doc, mistake, "field", field) &&
                add_text(doc, mistake, "message", message);
    }
    return added;
}

yyjson_mut_val *error_object(yyjson_mut_doc *doc, const struct toolrack_error *err,
                             const char *type) {
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    bool added =
            add_text(doc, object, "type", type != NULL ? type : toolrack_code_name(err->code)) &&
            add_text(doc, object, "message", err->message) &&
            yyjson_mut_obj_add_bool(doc, object, "is_recoverable",
                                    !err->lasting && toolrack_code_is_recoverable(err->code)) &&
            (err->field[0] == '\0' || add_text(doc, object, "field", err->field)) &&
            (err->mistake_count == 0 || add_mistakes(doc, object, err)) &&
            (err->tool[0] == '\0' || add_text(doc, object, "tool_name", err->tool)) &&
            (!err->from_tool || yyjson_mut_obj_add_str(doc, object, "from", "tool")) &&
            (err->tool_code == 0 || yyjson_mut_obj_add_str(doc, object, "tool_code",
                                                           toolrack_code_name(err->tool_code))) &&
            (err->signal == 0 || yyjson_mut_obj_add_int(doc, object, "signal", err->signal)) &&
            (err->trace[0] == '\0' || add_trace(doc, object, err->trace));
    return added ? object : NULL;
}
