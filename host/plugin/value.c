/* Options of a parameter: do they fit its type, and each other?
 *
 * Bounds and defaults come as JSON texts. What is wrong with them would show at
 * the first call at the latest; here it shows before there is one. Numbers are
 * compared as long double, which holds every 64-bit integer and every double
 * exactly on the machines there are. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/name.h"
#include "base/utf8.h"
#include "plugin/reader.h"

_Static_assert(LDBL_MANT_DIG >= 64, "a long double must hold any 64-bit integer");

/* Values with the same hash that are compared; real ones have two at most. */
#define SAME_HASH_MAX    16u
/* Objects with more members are the same when their hashes are: looking each member up in a crafted
 * pair of them would take minutes. */
#define SAME_MEMBERS_MAX 256u

bool kind_range(uint32_t kind, long double *ret_min, long double *ret_max) {
    if (!kind_is_integer(kind)) {
        return false;
    }
    bool is_signed = kind <= TR_KIND_I64;
    unsigned bits = 8u << (kind - (is_signed ? TR_KIND_I8 : TR_KIND_U8));
    /* Without ldexpl(): for that alone each worker would load the mathematics library. */
    uint64_t max = UINT64_MAX >> (is_signed ? 65 - bits : 64 - bits);
    *ret_min = is_signed ? -(long double)max - 1 : 0;
    *ret_max = (long double)max;
    return true;
}

/* --------------------------------------------------------------- numbers */

static long double number_of(yyjson_val *value) {
    return yyjson_is_uint(value)   ? (long double)yyjson_get_uint(value)
           : yyjson_is_sint(value) ? (long double)yyjson_get_sint(value)
                                   : (long double)yyjson_get_real(value);
}

static const char *number_misfit(uint32_t kind, long double number) {
    long double min;
    long double max;
    if (kind_range(kind, &min, &max)) {
        return number != floorl(number)       ? "it is not an integer"
               : number < min || number > max ? "it is beyond the range of the C type"
                                              : NULL;
    }
    return kind == TR_KIND_F32 && fabsl(number) > FLT_MAX ? "it is beyond the range of float"
                                                          : NULL;
}

/* A text that is one JSON number; needs no memory. */
static bool parse_number(const char *text, long double *ret) {
    yyjson_val value;
    text += strspn(text, " \t\r\n");
    const char *end = yyjson_read_number(text, &value, YYJSON_READ_NOFLAG, NULL, NULL);
    if (end == NULL || end[strspn(end, " \t\r\n")] != '\0') {
        return false;
    }
    *ret = number_of(&value);
    return true;
}

/* What the five options say, whichever are stated. */
struct bounds {
    long double low, high;
    bool has_low, has_high;
    bool low_open, high_open;
};

static void tighten_low(struct bounds *bounds, long double value, bool open) {
    if (!bounds->has_low || value > bounds->low || (value == bounds->low && open)) {
        bounds->low = value;
        bounds->low_open = open;
        bounds->has_low = true;
    }
}

static void tighten_high(struct bounds *bounds, long double value, bool open) {
    if (!bounds->has_high || value < bounds->high || (value == bounds->high && open)) {
        bounds->high = value;
        bounds->high_open = open;
        bounds->has_high = true;
    }
}

/* Of texts that were checked before. */
static struct bounds bounds_of(const struct tr_param *param) {
    struct bounds bounds = {0};
    long double value;
    if (param->minimum_json != NULL && parse_number(param->minimum_json, &value)) {
        tighten_low(&bounds, value, false);
    }
    if (param->exclusive_minimum_json != NULL &&
        parse_number(param->exclusive_minimum_json, &value)) {
        tighten_low(&bounds, value, true);
    }
    if (param->maximum_json != NULL && parse_number(param->maximum_json, &value)) {
        tighten_high(&bounds, value, false);
    }
    if (param->exclusive_maximum_json != NULL &&
        parse_number(param->exclusive_maximum_json, &value)) {
        tighten_high(&bounds, value, true);
    }
    return bounds;
}

static bool bounds_empty(const struct bounds *bounds) {
    return bounds->has_low && bounds->has_high &&
           (bounds->low > bounds->high ||
            (bounds->low == bounds->high && (bounds->low_open || bounds->high_open)));
}

static bool bounds_hold(const struct bounds *bounds, long double number) {
    bool above = !bounds->has_low || number > bounds->low ||
                 (number == bounds->low && !bounds->low_open);
    bool below = !bounds->has_high || number < bounds->high ||
                 (number == bounds->high && !bounds->high_open);
    return above && below;
}

/* -------------------------------------------------- a value and a type */

static bool is_base64(const char *text, size_t length) {
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - padding - 1] == '=') {
        padding++;
    }
    for (size_t i = 0; i < length - padding; i++) {
        char c = text[i];
        if (!ascii_is_alnum(c) && c != '+' && c != '/') {
            return false;
        }
    }
    return length % 4 == 0;
}

static uint64_t base64_size(const char *text, size_t length) {
    return length / 4 * 3 - (length > 0 && text[length - 1] == '=') -
           (length > 1 && text[length - 2] == '=');
}

static bool is_choice(const struct tr_type *type, yyjson_val *value) {
    for (uint32_t i = 0; i < type->choice_count; i++) {
        if (yyjson_equals_str(value, type->choices[i].name)) {
            return true;
        }
    }
    return false;
}

static const char *param_misfit(struct reader *reader, const struct tr_param *param,
                                yyjson_val *value);
static const char *misfit(struct reader *reader, const struct tr_type *type, yyjson_val *value);

static const char *items_misfit(struct reader *reader, const struct tr_type *type,
                                yyjson_val *value) {
    size_t index;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (value, index, count, item) {
        const char *wrong = misfit(reader, type->item, item);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

static const char *fields_misfit(struct reader *reader, const struct tr_type *type,
                                 yyjson_val *value) {
    size_t found = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct tr_param *field = &type->fields[i];
        yyjson_val *member = yyjson_obj_get(value, field->name);
        if (member == NULL) {
            if (field->default_json == NULL && (field->type->flags & TR_TYPE_OPTIONAL) == 0) {
                return "a field of the struct is missing";
            }
            continue;
        }
        found++;
        const char *wrong = param_misfit(reader, field, member);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return found == yyjson_obj_size(value) ? NULL : "it has members that the struct has not";
}

static const char *text_misfit(uint32_t kind, yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    if (text == NULL) {
        return "it is not a string";
    }
    if (kind == TR_KIND_STRING) {
        return memchr(text, '\0', length) == NULL ? NULL : "it has a zero inside";
    }
    return is_base64(text, length) ? NULL : "it is not base64 with padding";
}

/* Why the value is none of the type; NULL when it is. Recurses as deep as the type. */
static const char *misfit(struct reader *reader, const struct tr_type *type, yyjson_val *value) {
    if (yyjson_is_null(value) && type->kind != TR_KIND_JSON) {
        return type_takes_null(type) ? NULL : "null is not allowed";
    }
    switch (type->kind) {
    case TR_KIND_BOOL: return yyjson_is_bool(value) ? NULL : "it is not true or false";
    case TR_KIND_STRING:
    case TR_KIND_BYTES: return text_misfit(type->kind, value);
    case TR_KIND_JSON: return NULL;
    case TR_KIND_ENUM: return is_choice(type, value) ? NULL : "it is no name of the enumeration";
    case TR_KIND_ARRAY:
        return yyjson_is_arr(value) ? items_misfit(reader, type, value) : "it is not an array";
    case TR_KIND_STRUCT:
        return yyjson_is_obj(value) ? fields_misfit(reader, type, value) : "it is not an object";
    default:
        return yyjson_is_num(value) ? number_misfit(type->kind, number_of(value))
                                    : "it is not a number";
    }
}

/* ------------------------------------------------------ equal values */

static bool same_value(yyjson_val *a, yyjson_val *b);

static bool same_items(yyjson_val *a, yyjson_val *b) {
    if (yyjson_arr_size(a) != yyjson_arr_size(b)) {
        return false;
    }
    yyjson_val *other = yyjson_arr_get_first(b);
    size_t index;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (a, index, count, item) {
        if (!same_value(item, other)) {
            return false;
        }
        other = unsafe_yyjson_get_next(other);
    }
    return true;
}

static bool same_members(yyjson_val *a, yyjson_val *b) {
    if (yyjson_obj_size(a) != yyjson_obj_size(b)) {
        return false;
    }
    if (yyjson_obj_size(a) > SAME_MEMBERS_MAX) {
        return true;
    }
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    yyjson_obj_foreach (a, index, count, key, member) {
        yyjson_val *other = yyjson_obj_getn(b, yyjson_get_str(key), yyjson_get_len(key));
        if (other == NULL || !same_value(member, other)) {
            return false;
        }
    }
    return true;
}

/* Of two values with the same hash: are they equal, as JSON Schema has it? Numbers are by value, so
 * that 1 is 1.0. Recurses READER_JSON_DEPTH_MAX deep at most. */
static bool same_value(yyjson_val *a, yyjson_val *b) {
    if (yyjson_get_type(a) != yyjson_get_type(b)) {
        return false;
    }
    switch (yyjson_get_type(a)) {
    case YYJSON_TYPE_NUM: return number_of(a) == number_of(b);
    case YYJSON_TYPE_ARR: return same_items(a, b);
    case YYJSON_TYPE_OBJ: return same_members(a, b);
    default: return yyjson_equals(a, b);
    }
}

/* Equal values have equal hashes. Recurses as deep as same_value(). */
static uint32_t hash_value(yyjson_val *value) {
    uint32_t hash = (uint32_t)yyjson_get_type(value) * 31u;
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *item;
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL: return hash + yyjson_get_bool(value);
    case YYJSON_TYPE_NUM: {
        double number = (double)number_of(value);
        number = number == 0 ? 0 : number; /* there are two zeros */
        return hash + name_hash((const char *)&number, sizeof number);
    }
    case YYJSON_TYPE_STR: return hash + name_hash(yyjson_get_str(value), yyjson_get_len(value));
    case YYJSON_TYPE_ARR:
        yyjson_arr_foreach (value, index, count, item) {
            hash = hash * 16777619u ^ hash_value(item);
        }
        return hash;
    case YYJSON_TYPE_OBJ:
        yyjson_obj_foreach (value, index, count, key, item) {
            hash += hash_value(key) * 31u ^ hash_value(item); /* in any order */
        }
        return hash;
    default: return hash;
    }
}

struct hashed {
    uint32_t hash;
    yyjson_val *value;
};

static int compare_hashes(const void *a, const void *b) {
    uint32_t first = ((const struct hashed *)a)->hash;
    uint32_t second = ((const struct hashed *)b)->hash;
    return (first > second) - (first < second);
}

static bool same_as_before(const struct hashed *values, size_t index) {
    for (size_t back = 1; back <= index && values[index - back].hash == values[index].hash;
         back++) {
        if (back > SAME_HASH_MAX || same_value(values[index - back].value, values[index].value)) {
            return true;
        }
    }
    return false;
}

/* Whether an array holds one value twice. */
static bool has_duplicate(struct reader *reader, yyjson_val *array) {
    size_t length = yyjson_arr_size(array);
    if (length < 2) {
        return false;
    }
    struct hashed *values = malloc(length * sizeof *values);
    if (values == NULL) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
        return false;
    }
    size_t index;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (array, index, count, item) {
        values[index] = (struct hashed){hash_value(item), item};
    }
    qsort(values, length, sizeof *values, compare_hashes);
    bool found = false;
    for (size_t i = 1; i < length && !found; i++) {
        found = same_as_before(values, i);
    }
    free(values);
    return found;
}

/* -------------------------------------------- a value and a parameter */

/* A second text beside the one being checked; its memory is of the caller. */
static yyjson_doc *parse_beside(struct reader *reader, struct arena *arena, const char *text) {
    yyjson_alc alc = arena_alc(arena);
    yyjson_read_err error;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, strlen(text), YYJSON_READ_NOFLAG,
                                       &alc, &error);
    if (doc == NULL) {
        reader->failure = TOOLRACK_E_NO_MEMORY; /* it was JSON when its parameter was checked */
    }
    return doc;
}

static bool is_listed(struct reader *reader, const char *choices_json, yyjson_val *value) {
    char room[1024];
    struct arena arena;
    arena_init(&arena, room, sizeof room);
    yyjson_doc *doc = parse_beside(reader, &arena, choices_json);
    size_t index;
    size_t count;
    yyjson_val *choice;
    bool found = doc == NULL;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), index, count, choice) {
        found = found || same_value(choice, value);
    }
    arena_finish(&arena);
    return found;
}

static bool length_holds(const struct tr_param *param, yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    uint64_t count = param->type->kind == TR_KIND_BYTES ? base64_size(text, length)
                                                        : utf8_count(text, length);
    return count >= param->min_length && (param->max_length == 0 || count <= param->max_length);
}

static const char *items_option_misfit(struct reader *reader, const struct tr_param *param,
                                       yyjson_val *value) {
    size_t count = yyjson_arr_size(value);
    if (count < param->min_items || (param->max_items != 0 && count > param->max_items)) {
        return "it has too few or too many items";
    }
    if ((param->flags & TR_PARAM_UNIQUE_ITEMS) != 0 && has_duplicate(reader, value)) {
        return "it has an item twice";
    }
    return NULL;
}

/* Type and options but for the list of choices. */
static const char *option_misfit(struct reader *reader, const struct tr_param *param,
                                 yyjson_val *value) {
    const char *wrong = misfit(reader, param->type, value);
    if (wrong != NULL || yyjson_is_null(value)) {
        return wrong;
    }
    uint32_t kind = param->type->kind;
    if (kind_is_number(kind)) {
        struct bounds bounds = bounds_of(param);
        return bounds_hold(&bounds, number_of(value)) ? NULL : "it is beyond the bounds";
    }
    if (kind == TR_KIND_STRING || kind == TR_KIND_BYTES) {
        return length_holds(param, value) ? NULL : "it is too short or too long";
    }
    return kind == TR_KIND_ARRAY ? items_option_misfit(reader, param, value) : NULL;
}

static const char *param_misfit(struct reader *reader, const struct tr_param *param,
                                yyjson_val *value) {
    const char *wrong = option_misfit(reader, param, value);
    if (wrong == NULL && param->choices_json != NULL &&
        !(yyjson_is_null(value) && type_takes_null(param->type)) &&
        !is_listed(reader, param->choices_json, value)) {
        wrong = "it is not one of the choices";
    }
    return wrong;
}

/* ------------------------------------------------------------ the options */

/* The name of an option that says nothing about values of this kind; NULL when there is none. */
static const char *foreign_option(const struct tr_param *param) {
    uint32_t kind = param->type->kind;
    bool number = kind_is_number(kind);
    bool text = kind == TR_KIND_STRING || kind == TR_KIND_BYTES;
    bool array = kind == TR_KIND_ARRAY;
    bool call = kind == TR_KIND_CALL;
    const struct {
        bool foreign;
        const char *name;
    } options[] = {
            {!number && param->minimum_json != NULL, "minimum"},
            {!number && param->maximum_json != NULL, "maximum"},
            {!number && param->exclusive_minimum_json != NULL, "exclusive_minimum"},
            {!number && param->exclusive_maximum_json != NULL, "exclusive_maximum"},
            {!number && param->multiple_of_json != NULL, "multiple_of"},
            {!text && param->min_length != 0, "min_length"},
            {!text && param->max_length != 0, "max_length"},
            {!array && param->min_items != 0, "min_items"},
            {!array && param->max_items != 0, "max_items"},
            {!array && (param->flags & TR_PARAM_UNIQUE_ITEMS) != 0, "TR_PARAM_UNIQUE_ITEMS"},
            {kind != TR_KIND_STRING && param->pattern != NULL, "pattern"},
            {kind != TR_KIND_STRING && param->format != NULL, "format"},
            {call && param->default_json != NULL, "default"},
            {call && param->choices_json != NULL, "choices"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].foreign) {
            return options[i].name;
        }
    }
    return NULL;
}

static bool check_bound(struct reader *reader, const struct tr_param *param, const char *text,
                        const char *name) {
    long double value;
    if (text == NULL) {
        return true;
    }
    const char *wrong = parse_number(text, &value) ? number_misfit(param->type->kind, value)
                                                   : "it is not a JSON number";
    if (wrong != NULL) {
        reader_report(reader, FINDING_PARAM_BOUND, "%s is %.*s: %s", name, FINDING_SHOWN_MAX, text,
                      wrong);
    }
    return wrong == NULL;
}

static bool check_multiple_of(struct reader *reader, const struct tr_param *param) {
    long double value;
    const char *text = param->multiple_of_json;
    if (text == NULL || !parse_number(text, &value) || value > 0) {
        return check_bound(reader, param, text, "multiple_of");
    }
    reader_report(reader, FINDING_PARAM_BOUND, "multiple_of is %.*s, not above 0",
                  FINDING_SHOWN_MAX, text);
    return false;
}

static bool check_bounds(struct reader *reader, const struct tr_param *param) {
    if (!check_bound(reader, param, param->minimum_json, "minimum") ||
        !check_bound(reader, param, param->maximum_json, "maximum") ||
        !check_bound(reader, param, param->exclusive_minimum_json, "exclusive_minimum") ||
        !check_bound(reader, param, param->exclusive_maximum_json, "exclusive_maximum") ||
        !check_multiple_of(reader, param)) {
        return false;
    }
    struct bounds bounds = bounds_of(param);
    if (bounds_empty(&bounds)) {
        reader_report(reader, FINDING_PARAM_BOUND,
                      "no value is at or above the minimum and at or below the maximum");
        return false;
    }
    if (param->max_length != 0 && param->min_length > param->max_length) {
        reader_report(reader, FINDING_PARAM_BOUND, "min_length %llu is above max_length %llu",
                      (unsigned long long)param->min_length, (unsigned long long)param->max_length);
        return false;
    }
    if (param->max_items != 0 && param->min_items > param->max_items) {
        reader_report(reader, FINDING_PARAM_BOUND, "min_items %llu is above max_items %llu",
                      (unsigned long long)param->min_items, (unsigned long long)param->max_items);
        return false;
    }
    return true;
}

static bool bad_option(struct reader *reader, enum finding_rule rule, const char *text,
                       const char *wrong) {
    reader_report(reader, rule, "%s %.*s: %s",
                  rule == FINDING_PARAM_DEFAULT ? "the default" : "the list of choices",
                  FINDING_SHOWN_MAX, text, wrong);
    return false;
}

static bool check_choices(struct reader *reader, const struct tr_param *param) {
    const char *text = param->choices_json;
    char reason[READER_REASON_MAX];
    yyjson_doc *doc = reader_json(reader, text, reason, sizeof reason);
    if (doc == NULL) {
        return bad_option(reader, FINDING_PARAM_CHOICES, text, reason);
    }
    yyjson_val *list = yyjson_doc_get_root(doc);
    if (!yyjson_is_arr(list) || yyjson_arr_size(list) == 0 ||
        yyjson_arr_size(list) > DESCRIPTOR_CHOICES_MAX) {
        reader_report(reader, FINDING_PARAM_CHOICES,
                      "the list of choices %.*s is not a JSON array of 1 to %u values",
                      FINDING_SHOWN_MAX, text, DESCRIPTOR_CHOICES_MAX);
        return false;
    }
    if (has_duplicate(reader, list)) {
        return bad_option(reader, FINDING_PARAM_CHOICES, text, "one value stands there twice");
    }
    size_t index;
    size_t count;
    yyjson_val *choice;
    yyjson_arr_foreach (list, index, count, choice) {
        const char *wrong = option_misfit(reader, param, choice);
        if (wrong != NULL) {
            reader_report(reader, FINDING_PARAM_CHOICES, "choice %zu of %.*s: %s", index + 1,
                          FINDING_SHOWN_MAX, text, wrong);
            return false;
        }
    }
    return true;
}

static bool check_default(struct reader *reader, const struct tr_param *param) {
    const char *text = param->default_json;
    char reason[READER_REASON_MAX];
    yyjson_doc *doc = reader_json(reader, text, reason, sizeof reason);
    if (doc == NULL) {
        return bad_option(reader, FINDING_PARAM_DEFAULT, text, reason);
    }
    const char *wrong = param_misfit(reader, param, yyjson_doc_get_root(doc));
    return wrong == NULL || bad_option(reader, FINDING_PARAM_DEFAULT, text, wrong);
}

bool values_check(struct reader *reader, const struct tr_param *param) {
    const char *foreign = foreign_option(param);
    if (foreign != NULL) {
        reader_report(reader, FINDING_PARAM_OPTION, "%s says nothing about values of this type",
                      foreign);
        return false;
    }
    if (kind_is_number(param->type->kind) || param->max_length != 0 || param->max_items != 0) {
        if (!check_bounds(reader, param)) {
            return false;
        }
    }
    bool sound = param->choices_json == NULL || check_choices(reader, param);
    reader_scratch_reset(reader);
    if (sound && param->default_json != NULL) {
        sound = check_default(reader, param);
        reader_scratch_reset(reader);
    }
    return sound && reader->failure == 0;
}
