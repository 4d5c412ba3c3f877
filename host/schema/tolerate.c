/* The mistakes of the instance are gone through as they would be told; each that can be put right
 * is. That may show others, inside of what was text before, so it is done again, until the instance
 * is valid or nothing is left that can be put right. */
#include "schema/tolerate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json-twice.h"
#include "base/json.h"
#include "base/number.h"
#include "schema/explain.h"

/* Most times that the instance is gone through: text in text. */
#define ROUNDS_MAX 4u

/* Longest text that is read as JSON. */
#define TEXT_MAX (16u * 1024 * 1024)

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

struct tolerating {
    enum schema_tolerance tolerance;
    yyjson_mut_doc *doc;
    struct schema_changes *changes;
    bool changed; /* in this round */
};

const char *schema_change_name(enum schema_change_kind kind) {
    switch (kind) {
    case SCHEMA_CHANGED_JSON_TEXT: return "json-text";
    case SCHEMA_CHANGED_NUMBER: return "number-text";
    case SCHEMA_CHANGED_BOOLEAN: return "boolean-text";
    case SCHEMA_CHANGED_ONE_ITEM: return "one-item";
    case SCHEMA_CHANGED_CHOICE: return "choice-case";
    }
    return "";
}

const char *schema_change_words(enum schema_change_kind kind) {
    switch (kind) {
    case SCHEMA_CHANGED_JSON_TEXT: return "JSON text was read as JSON";
    case SCHEMA_CHANGED_NUMBER: return "a number in text was read as a number";
    case SCHEMA_CHANGED_BOOLEAN: return "a boolean in text was read as a boolean";
    case SCHEMA_CHANGED_ONE_ITEM: return "one value was taken as an array of one item";
    case SCHEMA_CHANGED_CHOICE: return "a choice was taken in the case that the schema has";
    }
    return "";
}

static bool wants(uint32_t tags, uint32_t some) {
    return (tags & some) != 0;
}

static void replace(struct tolerating *with, const char *field, enum schema_change_kind kind,
                    yyjson_mut_val *value) {
    struct schema_changes *changes = with->changes;
    bool is_cut = strlen(field) + 1 >= SCHEMA_FIELD_MAX;
    for (size_t i = 0; with->changed && i < changes->count; i++) {
        if (strcmp(changes->list[i].field, field) == 0) { /* told twice, by two schemas */
            return;
        }
    }
    if (is_cut || field[0] == '\0' || value == NULL || changes->count == SCHEMA_CHANGES_MAX ||
        !yyjson_mut_doc_ptr_set(with->doc, field, value)) {
        return;
    }
    struct schema_change *change = &changes->list[changes->count++];
    change->kind = kind;
    (void)memcpy(change->field, field, strlen(field) + 1);
    with->changed = true;
}

/* Append the digits of a decimal number without zeros at either end, and the power of ten of the
 * last: equal for equal numbers. */
static void add_digits(struct buf *out, const char *text) {
    size_t begin = out->length;
    long power = 0;
    bool is_fraction = false;
    for (; *text != '\0' && strchr("eE", *text) == NULL; text++) {
        is_fraction = is_fraction || *text == '.';
        if (*text >= '0' && *text <= '9' && (*text != '0' || out->length > begin)) {
            buf_add_char(out, *text);
        }
        power -= is_fraction && *text != '.';
    }
    for (; out->length > begin && out->data[out->length - 1] == '0'; power++) {
        buf_truncate(out, out->length - 1);
    }
    power += *text != '\0' ? strtol(text + 1, NULL, 10) : 0;
    buf_printf(out, "e%ld", out->length > begin ? power : 0);
}

/* Whether a real has all the digits of its text. */
static bool has_all_digits(yyjson_val *real, const char *text) {
    char scratch[NUMBER_SCRATCH_SIZE];
    size_t length = 0;
    CLEANUP(buf_finish) struct buf said = BUF_INIT;
    CLEANUP(buf_finish) struct buf read = BUF_INIT;
    const char *shortest = number_text(yyjson_get_real(real), scratch, &length);
    CLEANUP(freep) char *copy = shortest != NULL ? strndup(shortest, length) : NULL;
    if (copy == NULL) {
        return false;
    }
    add_digits(&said, text);
    add_digits(&read, copy);
    return !said.failed && !read.failed && strcmp(said.data, read.data) == 0;
}

/* The JSON that a text is, if it is of a wanted type. As of arguments, nothing may be given twice,
 * and no digit is lost. */
static yyjson_doc *read_text(uint32_t tags, yyjson_val *value) {
    char pointer[JSON_POINTER_MAX];
    size_t length = yyjson_is_str(value) ? yyjson_get_len(value) : 0;
    if (length == 0 || length > TEXT_MAX) {
        return NULL;
    }
    yyjson_doc *doc = yyjson_read(yyjson_get_str(value), length, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (root == NULL || (tags & TAG_BIT(unsafe_yyjson_get_tag(root))) == 0 ||
        json_is_deeper(root, JSON_DEEPER_MAX) ||
        json_find_twice(root, pointer) != JSON_TWICE_NONE ||
        (yyjson_is_real(root) && !has_all_digits(root, yyjson_get_str(value)))) {
        yyjson_doc_free(doc);
        return NULL;
    }
    return doc;
}

static bool is_number_text(yyjson_val *value) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = read_text(TAGS_OF_TYPE(YYJSON_TYPE_NUM), value);
    return doc != NULL;
}

/* The words for booleans that people type, as pydantic takes them. */
static yyjson_mut_val *read_boolean(struct tolerating *with, yyjson_val *value) {
    static const char *const words[2][6] = {{"false", "0", "no", "off", "f", "n"},
                                            {"true", "1", "yes", "on", "t", "y"}};
    for (size_t i = 0; yyjson_is_str(value) && i < 2 * ARRAY_LENGTH(words[0]); i++) {
        if (strcasecmp(yyjson_get_str(value), words[i % 2][i / 2]) == 0 &&
            strlen(words[i % 2][i / 2]) == yyjson_get_len(value)) {
            return yyjson_mut_bool(with->doc, i % 2 == 1);
        }
    }
    return NULL;
}

/* Whether a value may be several: a text with a separator or bracket, or without anything in it, is
 * none that plainly is one item. */
static bool may_be_several(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    return text != NULL &&
           (text[strspn(text, " \t\r\n")] == '\0' || strpbrk(text, ",;|\r\n[]{}") != NULL);
}

void tolerate_type(struct tolerating *with, const char *field, uint32_t tags, yyjson_val *value) {
    static const uint32_t containers =
            TAGS_OF_TYPE(YYJSON_TYPE_OBJ) | TAGS_OF_TYPE(YYJSON_TYPE_ARR);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_text(tags & containers, value);
    if (doc != NULL) {
        replace(with, field, SCHEMA_CHANGED_JSON_TEXT,
                yyjson_val_mut_copy(with->doc, yyjson_doc_get_root(doc)));
        return;
    }
    if (with->tolerance != SCHEMA_LAX || yyjson_is_null(value)) {
        return;
    }
    if (wants(tags, TAGS_OF_TYPE(YYJSON_TYPE_NUM)) && is_number_text(value)) {
        doc = read_text(TAGS_OF_TYPE(YYJSON_TYPE_NUM), value);
        replace(with, field, SCHEMA_CHANGED_NUMBER,
                yyjson_val_mut_copy(with->doc, yyjson_doc_get_root(doc)));
    } else if (wants(tags, TAGS_OF_TYPE(YYJSON_TYPE_BOOL)) && yyjson_is_str(value)) {
        replace(with, field, SCHEMA_CHANGED_BOOLEAN, read_boolean(with, value));
    } else if (wants(tags, TAGS_OF_TYPE(YYJSON_TYPE_ARR)) && !yyjson_is_arr(value) &&
               !may_be_several(value)) {
        yyjson_mut_val *array = yyjson_mut_arr(with->doc);
        (void)yyjson_mut_arr_append(array, yyjson_val_mut_copy(with->doc, value));
        replace(with, field, SCHEMA_CHANGED_ONE_ITEM, array);
    }
}

void tolerate_choice(struct tolerating *with, const char *field, const struct choices *choices,
                     yyjson_val *value) {
    struct budget budget = {.steps = SCHEMA_STEPS_MAX};
    yyjson_val *meant = NULL;
    if (with->tolerance != SCHEMA_LAX || !yyjson_is_str(value)) {
        return;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *number = read_text(TAGS_OF_TYPE(YYJSON_TYPE_NUM), value);
    for (uint32_t i = 0; i < choices->count; i++) {
        yyjson_val *choice = choices->values[i];
        bool is_it =
                yyjson_is_str(choice)
                        ? yyjson_get_len(choice) == yyjson_get_len(value) &&
                                  strcasecmp(yyjson_get_str(choice), yyjson_get_str(value)) == 0
                        : number != NULL &&
                                  json_equal(choice, yyjson_doc_get_root(number), &budget);
        if (is_it && meant != NULL) { /* which of the two? */
            return;
        }
        meant = is_it ? choice : meant;
    }
    if (meant != NULL) {
        replace(with, field, yyjson_is_str(meant) ? SCHEMA_CHANGED_CHOICE : SCHEMA_CHANGED_NUMBER,
                yyjson_val_mut_copy(with->doc, meant));
    }
}

bool schema_tolerate(const struct schema *schema, yyjson_val *instance,
                     enum schema_tolerance tolerance, const yyjson_alc *alc, yyjson_val **ret,
                     struct schema_changes *changes) {
    bool valid = false;
    *ret = instance;
    changes->count = 0;
    for (unsigned round = 0; !valid && tolerance != SCHEMA_EXACT && round < ROUNDS_MAX; round++) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *root = yyjson_val_mut_copy(doc, *ret);
        struct tolerating with = {.tolerance = tolerance, .doc = doc, .changes = changes};
        struct schema_mistakes mistakes;
        if (root == NULL) {
            return false;
        }
        yyjson_mut_doc_set_root(doc, root);
        schema_explain_to(schema, *ret, &with, &mistakes);
        yyjson_doc *changed = with.changed ? yyjson_mut_doc_imut_copy(doc, alc) : NULL;
        if (changed == NULL) {
            return false;
        }
        *ret = yyjson_doc_get_root(changed);
        valid = schema_validate(schema, *ret, NULL);
    }
    return valid;
}
