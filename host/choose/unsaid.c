#include "choose/unsaid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "choose/choice.h"
#include "choose/values-parts.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Values that are looked for, and longest one: further ones are guesses. */
#define LEAVES_MAX 256u
#define VALUE_MAX  8192u
/* Places of the text at which one value is looked at. */
#define PLACES_MAX 256u

struct guessing {
    const struct selecting *selecting;
    const struct values *values;
    yyjson_val *rules; /* the arguments that the rules found; NULL: none */
    unsigned leaves;
    struct buf pointer; /* of the value that is looked at, with its final zero */
    struct buf *found;
};

/* ------------------------------------------------------------------------------ by the text */

/* Whether a text between two bytes may be a part of what is written as one. */
static bool is_joined(const struct values *values, size_t at) {
    char byte = values->lower[at];
    bool ends = at + 1 >= values->length || !ascii_is_alnum(values->lower[at + 1]);
    return ascii_is_word(byte) || strchr("-/\\@~", byte) != NULL || (byte == '.' && !ends);
}

static bool is_whole(const struct values *values, size_t start, size_t end) {
    const char *text = values->lower;
    bool first = start == 0 || (text[start] & 0x80) != 0 || !is_joined(values, start - 1);
    bool last = end >= values->length || (text[end - 1] & 0x80) != 0 || !is_joined(values, end);
    return first && last;
}

/* Whether the text wants what it says there. */
static bool is_wanted(const struct values *values, size_t start, size_t end) {
    size_t first;
    size_t last;
    value_tokens_in(values, start, end, &first, &last);
    return !choice_is_denied(values, first, last) && !choice_is_excluded(values, first, last);
}

/* What the text does with a value. */
enum saying { SAYS_NOT, SAYS_AND_DENIES, SAYS };

static enum saying text_says(const struct values *values, const char *value, size_t length) {
    CLEANUP(freep) char *lower = length > 0 && length <= VALUE_MAX ? malloc(length + 1) : NULL;
    enum saying saying = SAYS_NOT;
    size_t at = 0;
    if (lower == NULL) {
        return SAYS_NOT;
    }
    ascii_copy_lower(lower, value, length);
    for (unsigned i = 0; i < PLACES_MAX && at + length <= values->length; i++) {
        const char *place = memmem(values->lower + at, values->length - at, lower, length);
        if (place == NULL) {
            break;
        }
        at = (size_t)(place - values->lower);
        if (is_whole(values, at, at + length)) {
            saying = SAYS_AND_DENIES;
            if (is_wanted(values, at, at + length)) {
                return SAYS;
            }
        }
        at++;
    }
    return saying;
}

static bool text_has_number(const struct values *values, double number) {
    for (size_t i = 0; i < values->count; i++) {
        const struct value *value = &values->list[i];
        bool is_number =
                (VALUE_BIT(value->kind) &
                 (VALUE_BIT(VALUE_NUMBER) | VALUE_BIT(VALUE_QUANTITY) | VALUE_BIT(VALUE_PERCENT) |
                  VALUE_BIT(VALUE_MONEY) | VALUE_BIT(VALUE_ORDINAL))) != 0;
        if (is_number && !(value->number < number || value->number > number) &&
            is_wanted(values, value->start, value->end)) {
            return true;
        }
    }
    return false;
}

/* --------------------------------------------------------------------- by context and schema */

static bool is_same(yyjson_val *a, yyjson_val *b) {
    if (yyjson_is_num(a) && yyjson_is_num(b)) {
        return !(yyjson_get_num(a) < yyjson_get_num(b) || yyjson_get_num(a) > yyjson_get_num(b));
    }
    return a != NULL && yyjson_equals(a, b);
}

/* The values of a parsed text are one array. */
static bool context_has(const struct guessing *guessing, yyjson_val *value) {
    yyjson_val *root = yyjson_doc_get_root(guessing->selecting->asked.context);
    const yyjson_val *end = root != NULL ? unsafe_yyjson_get_next(root) : root;
    for (yyjson_val *one = root; one < end; one++) {
        if (!yyjson_is_ctn(one) && is_same(one, value)) {
            return true;
        }
    }
    return false;
}

/* A path of the text in the working folder. */
static bool is_in_folder(const struct guessing *guessing, const char *path, size_t length) {
    const char *folder = guessing->selecting->asked.said.folder;
    size_t folder_length = folder != NULL ? strlen(folder) : 0;
    return folder_length > 0 && length > folder_length + 1 && path[folder_length] == '/' &&
           memcmp(path, folder, folder_length) == 0 &&
           text_says(guessing->values, path + folder_length + 1, length - folder_length - 1) ==
                   SAYS;
}

static bool schema_says(yyjson_val *schema, yyjson_val *value) {
    yyjson_val *choices = yyjson_obj_get(schema, "enum");
    return is_same(yyjson_obj_get(schema, "default"), value) ||
           is_same(yyjson_obj_get(schema, "const"), value) ||
           (yyjson_arr_size(choices) == 1 && is_same(yyjson_arr_get_first(choices), value));
}

/* A choice that the text names only to refuse it. */
static bool is_denied_choice(const struct guessing *guessing, yyjson_val *value,
                             yyjson_val *schema) {
    return yyjson_is_str(value) && yyjson_obj_get(schema, "enum") != NULL &&
           text_says(guessing->values, yyjson_get_str(value), yyjson_get_len(value)) ==
                   SAYS_AND_DENIES;
}

/* ------------------------------------------------------------------------------------- all */

static bool leaf_is_said(struct guessing *guessing, yyjson_val *value) {
    if (++guessing->leaves > LEAVES_MAX) {
        return false;
    }
    if (yyjson_is_null(value) || context_has(guessing, value)) {
        return true;
    }
    const char *text = yyjson_get_str(value);
    if (text != NULL) {
        return text_says(guessing->values, text, yyjson_get_len(value)) == SAYS ||
               is_in_folder(guessing, text, yyjson_get_len(value));
    }
    return yyjson_is_num(value) && text_has_number(guessing->values, yyjson_get_num(value));
}

static void find(struct guessing *guessing, yyjson_val *value, yyjson_val *schema);

static void find_in(struct guessing *guessing, const char *name, size_t length, yyjson_val *part,
                    yyjson_val *schema) {
    size_t before = guessing->pointer.length;
    buf_add_pointer(&guessing->pointer, name, length);
    if (!guessing->pointer.failed) {
        find(guessing, part, schema);
        guessing->pointer.length = before;
    }
}

static void find(struct guessing *guessing, yyjson_val *value, yyjson_val *schema) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    const struct buf *pointer = &guessing->pointer;
    if (schema_says(schema, value) ||
        (!is_denied_choice(guessing, value, schema) && pointer->length > 0 &&
         is_same(yyjson_ptr_getn(guessing->rules, pointer->data, pointer->length), value))) {
        return;
    }
    json_obj_foreach (value, at, count, key, part) {
        const char *name = yyjson_get_str(key);
        size_t length = yyjson_get_len(key);
        find_in(guessing, name, length, part,
                yyjson_obj_getn(yyjson_obj_get(schema, "properties"), name, length));
    }
    yyjson_arr_foreach (value, at, count, part) {
        char index[24];
        int length = snprintf(index, sizeof index, "%zu", at);
        find_in(guessing, index, (size_t)length, part, yyjson_obj_get(schema, "items"));
    }
    if (!yyjson_is_ctn(value) && !leaf_is_said(guessing, value)) {
        buf_add(guessing->found, pointer->data != NULL ? pointer->data : "", pointer->length);
        buf_add_char(guessing->found, '\0');
    }
}

int unsaid_find(const struct selecting *selecting, yyjson_val *arguments, yyjson_val *schema,
                struct buf *ret, struct toolrack_error *err) {
    const struct arguments *rules = selecting->arguments;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = rules != NULL ? yyjson_read(rules->json, rules->json_length, 0) : NULL;
    struct guessing guessing = {.selecting = selecting,
                                .values = selecting->asked.values,
                                .rules = yyjson_doc_get_root(doc),
                                .pointer = BUF_INIT,
                                .found = ret};
    find(&guessing, arguments, schema);
    bool failed = guessing.pointer.failed || ret->failed;
    buf_finish(&guessing.pointer);
    return failed ? error_oom(err) : 0;
}
