#include "view/arguments.h"

#include <string.h>
#include <yyjson.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A name that could be taken for something else is in quotes. */
static void add_name(struct buf *out, yyjson_val *name) {
    const char *text = yyjson_get_str(name);
    const size_t length = yyjson_get_len(name);
    bool is_plain = length > 0;
    for (size_t i = 0; is_plain && i < length; i++) {
        is_plain = ascii_is_word(text[i]) || text[i] == '-' || text[i] == '.';
    }
    if (is_plain) {
        buf_add(out, text, length);
    } else {
        buf_add_json_string(out, text, length);
    }
}

/* @return whether all of it is there */
static bool add_value(struct buf *out, yyjson_val *value, size_t value_max) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &length);
    if (text == NULL) {
        out->failed = true;
        return false;
    }
    if (length <= value_max) {
        buf_add(out, text, length);
        return true;
    }
    size_t shown = utf8_cut(text, value_max);
    buf_add(out, text, shown);
    buf_printf(out, "\xe2\x80\xa6 (the first %zu of %zu bytes)", shown, length);
    return false;
}

/* The members of an object in lines. @return whether all of them is there */
static bool add_members(struct buf *out, const char *indent, yyjson_val *object, size_t value_max) {
    bool is_whole = true;
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *value;
    json_obj_foreach (object, at, count, name, value) {
        buf_add_text(out, indent);
        add_name(out, name);
        buf_add_text(out, ": ");
        is_whole = add_value(out, value, value_max) && is_whole;
        buf_add_char(out, '\n');
    }
    return is_whole;
}

/* What a plan says of a call beside its arguments. */
static void add_circumstances(struct buf *out, yyjson_val *call) {
    static const struct {
        const char *key;
        const char *words;
    } circumstances[] = {{"fallback", ", in the place of the node's tool if that fails"},
                         {"when", ", on a condition"},
                         {"force", ", also where it may have taken effect"},
                         {"open", ", with values that are not known yet"},
                         {"asks", ", needs approval"}};
    yyjson_val *items = yyjson_obj_get(call, "max_items");
    yyjson_val *attempts = yyjson_obj_get(call, "attempts");
    yyjson_val *calls = yyjson_obj_get(call, "calls");
    if (items != NULL) {
        buf_printf(out, ", for each of at most %s items", yyjson_get_raw(items));
    }
    if (attempts != NULL) {
        buf_printf(out, ", tried up to %s times", yyjson_get_raw(attempts));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(circumstances); i++) {
        if (yyjson_get_bool(yyjson_obj_get(call, circumstances[i].key))) {
            buf_add_text(out, circumstances[i].words);
        }
    }
    if (yyjson_is_str(calls)) {
        buf_add_text(out, ", a plan that calls ");
        text_add_line(out, yyjson_get_str(calls), yyjson_get_len(calls));
    }
}

static bool is_call(yyjson_val *value) {
    return yyjson_is_str(yyjson_obj_get(value, "node")) &&
           yyjson_is_str(yyjson_obj_get(value, "tool"));
}

/* The calls of a plan. @return whether all of them is there */
static bool add_calls(struct buf *out, yyjson_val *calls, size_t value_max) {
    bool is_whole = true;
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (calls, at, count, call) {
        const char *version = yyjson_get_str(yyjson_obj_get(call, "version"));
        const char *permission = yyjson_get_str(yyjson_obj_get(call, "permission"));
        add_name(out, yyjson_obj_get(call, "node"));
        buf_add_text(out, ": ");
        add_name(out, yyjson_obj_get(call, "tool"));
        buf_printf(out, "%s%s", version != NULL ? " " : "", version != NULL ? version : "");
        buf_printf(out, "%s%s%s", permission != NULL ? " (" : "",
                   permission != NULL ? permission : "", permission != NULL ? ")" : "");
        add_circumstances(out, call);
        buf_add_char(out, '\n');
        is_whole = add_members(out, "  ", yyjson_obj_get(call, "arguments"), value_max) && is_whole;
    }
    return is_whole;
}

bool view_add_arguments(struct buf *out, const char *arguments, size_t value_max) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool is_plan = yyjson_arr_size(root) > 0;
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (root, at, count, call) {
        is_plan = is_plan && is_call(call);
    }
    if (is_plan) {
        return add_calls(out, root, value_max);
    }
    if (yyjson_obj_size(root) > 0) {
        return add_members(out, "", root, value_max);
    }
    buf_add_text(out, yyjson_is_obj(root) ? "no arguments" : arguments);
    buf_add_char(out, '\n');
    return true;
}
