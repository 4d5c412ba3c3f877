/* Options of a parameter: do they fit its type, and each other?
 *
 * Bounds and defaults are JSON texts. Their errors are found here, before the first call. Numbers
 * are compared as long double, which holds every 64-bit integer and every double exactly on the
 * supported machines. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/json-equal.h"
#include "base/utf8.h"
#include "plugin/reader.h"

_Static_assert(LDBL_MANT_DIG >= 64, "a long double must hold any 64-bit integer");

/* Most steps to compare the values of one option; crafted values would take minutes. */
#define COMPARE_STEPS_MAX 1000000

bool kind_range(uint32_t kind, long double *ret_min, long double *ret_max) {
    if (!kind_is_integer(kind)) {
        return false;
    }
    bool is_signed = kind <= TR_KIND_I64;
    unsigned bits = 8u << (kind - (is_signed ? TR_KIND_I8 : TR_KIND_U8));
    /* Without ldexpl(), for which each worker would have to load libm. */
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

/* Parse a text that is one JSON number; needs no memory. */
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

/* The range that the stated options give. */
struct bounds {
    long double low, high;
    bool has_low, has_high;
    bool low_open, high_open;
};

/* Apply one option; a string that is no number was refused before. */
static void tighten(struct bounds *bounds, const char *json, bool is_low, bool open) {
    long double value;
    if (json == NULL || !parse_number(json, &value)) {
        return;
    }
    if (is_low && (!bounds->has_low || value > bounds->low || (value == bounds->low && open))) {
        bounds->low = value;
        bounds->low_open = open;
        bounds->has_low = true;
    }
    if (!is_low && (!bounds->has_high || value < bounds->high || (value == bounds->high && open))) {
        bounds->high = value;
        bounds->high_open = open;
        bounds->has_high = true;
    }
}

static struct bounds bounds_of(const struct tr_param *param) {
    struct bounds bounds = {0};
    tighten(&bounds, param->minimum_json, true, false);
    tighten(&bounds, param->exclusive_minimum_json, true, true);
    tighten(&bounds, param->maximum_json, false, false);
    tighten(&bounds, param->exclusive_maximum_json, false, true);
    return bounds;
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

static const char *param_misfit(struct reader *reader, const struct tr_param *param,
                                yyjson_val *value);
static const char *misfit(struct reader *reader, const struct tr_type *type, yyjson_val *value);

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
    return found == yyjson_obj_size(value) ? NULL : "it has members that the struct does not have";
}

/* Why the value is not one of the type; NULL when it is. Recurses as deep as the type. */
static const char *misfit(struct reader *reader, const struct tr_type *type, yyjson_val *value) {
    const char *string = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    const char *wrong = NULL;
    size_t index;
    size_t count;
    yyjson_val *item;
    if (yyjson_is_null(value) && type->kind != TR_KIND_JSON) {
        return type_takes_null(type) ? NULL : "null is not allowed";
    }
    switch (type->kind) {
    case TR_KIND_BOOL: return yyjson_is_bool(value) ? NULL : "it is not true or false";
    case TR_KIND_STRING:
        return string == NULL                         ? "it is not a string"
               : memchr(string, '\0', length) == NULL ? NULL
                                                      : "it has a zero byte inside";
    case TR_KIND_BYTES:
        return string == NULL              ? "it is not a string"
               : is_base64(string, length) ? NULL
                                           : "it is not base64 with padding";
    case TR_KIND_JSON: return NULL;
    case TR_KIND_ENUM:
        for (uint32_t i = 0; i < type->choice_count; i++) {
            if (yyjson_equals_str(value, type->choices[i].name)) {
                return NULL;
            }
        }
        return "it is not a name of the enumeration";
    case TR_KIND_ARRAY:
        if (!yyjson_is_arr(value)) {
            return "it is not an array";
        }
        yyjson_arr_foreach (value, index, count, item) {
            wrong = wrong != NULL ? wrong : misfit(reader, type->item, item);
        }
        return wrong;
    case TR_KIND_STRUCT:
        return yyjson_is_obj(value) ? fields_misfit(reader, type, value) : "it is not an object";
    default:
        return yyjson_is_num(value) ? number_misfit(type->kind, number_of(value))
                                    : "it is not a number";
    }
}

/* -------------------------------------------- a value and a parameter */

/* Whether an array holds one value twice, or takes too long to compare. */
static bool has_duplicate(struct reader *reader, yyjson_val *array) {
    struct budget budget = {.steps = COMPARE_STEPS_MAX};
    size_t first;
    size_t second;
    enum json_unique unique = json_check_unique(array, &budget, &first, &second);
    if (unique == JSON_UNIQUE_NO_MEMORY) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
    }
    return unique == JSON_REPEATED || unique == JSON_UNIQUE_ENDED;
}

static bool is_listed(struct reader *reader, const char *choices_json, yyjson_val *value) {
    char room[1024];
    struct arena arena; /* not the arena of the document being checked */
    arena_init(&arena, room, sizeof room);
    yyjson_alc alc = arena_alc(&arena);
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)choices_json, strlen(choices_json),
                                       YYJSON_READ_NOFLAG, &alc, NULL);
    if (doc == NULL) {
        reader->failure = TOOLRACK_E_NO_MEMORY; /* it was checked to be JSON before */
    }
    struct budget budget = {.steps = COMPARE_STEPS_MAX};
    size_t index;
    size_t count;
    yyjson_val *choice;
    bool found = doc == NULL;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), index, count, choice) {
        found = found || json_equal(choice, value, &budget);
    }
    arena_finish(&arena);
    return found;
}

/* Check the type and the options, except the list of choices. */
static const char *option_misfit(struct reader *reader, const struct tr_param *param,
                                 yyjson_val *value) {
    const char *wrong = misfit(reader, param->type, value);
    if (wrong != NULL || yyjson_is_null(value)) {
        return wrong;
    }
    uint32_t kind = param->type->kind;
    if (kind_is_number(kind)) {
        struct bounds bounds = bounds_of(param);
        return bounds_hold(&bounds, number_of(value)) ? NULL : "it is outside the bounds";
    }
    if (kind == TR_KIND_STRING || kind == TR_KIND_BYTES) {
        const char *string = yyjson_get_str(value);
        size_t length = yyjson_get_len(value);
        uint64_t count =
                kind == TR_KIND_BYTES ? base64_size(string, length) : utf8_count(string, length);
        bool holds = count >= param->min_length &&
                     (param->max_length == 0 || count <= param->max_length);
        return holds ? NULL : "it is too short or too long";
    }
    if (kind == TR_KIND_ARRAY) {
        size_t count = yyjson_arr_size(value);
        if (count < param->min_items || (param->max_items != 0 && count > param->max_items)) {
            return "it has too few or too many items";
        }
        if ((param->flags & TR_PARAM_UNIQUE_ITEMS) != 0 && has_duplicate(reader, value)) {
            return "it has an item twice";
        }
    }
    return NULL;
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

/* The name of an option that does not apply to values of this kind; NULL when there is none. */
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

static bool check_bounds(struct reader *reader, const struct tr_param *param) {
    if (!check_bound(reader, param, param->minimum_json, "minimum") ||
        !check_bound(reader, param, param->maximum_json, "maximum") ||
        !check_bound(reader, param, param->exclusive_minimum_json, "exclusive_minimum") ||
        !check_bound(reader, param, param->exclusive_maximum_json, "exclusive_maximum")) {
        return false;
    }
    long double multiple;
    if (param->multiple_of_json != NULL && parse_number(param->multiple_of_json, &multiple) &&
        multiple <= 0) {
        reader_report(reader, FINDING_PARAM_BOUND, "multiple_of is %.*s, not above 0",
                      FINDING_SHOWN_MAX, param->multiple_of_json);
        return false;
    }
    if (!check_bound(reader, param, param->multiple_of_json, "multiple_of")) {
        return false;
    }
    struct bounds bounds = bounds_of(param);
    if (bounds.has_low && bounds.has_high &&
        (bounds.low > bounds.high ||
         (bounds.low == bounds.high && (bounds.low_open || bounds.high_open)))) {
        reader_report(reader, FINDING_PARAM_BOUND,
                      "no value lies within the minimum and the maximum");
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
        return bad_option(reader, FINDING_PARAM_CHOICES, text, "one value is listed twice");
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

bool values_check(struct reader *reader, const struct tr_param *param) {
    const char *foreign = foreign_option(param);
    if (foreign != NULL) {
        reader_report(reader, FINDING_PARAM_OPTION, "%s does not apply to values of this type",
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
        char reason[READER_REASON_MAX];
        yyjson_doc *doc = reader_json(reader, param->default_json, reason, sizeof reason);
        const char *wrong =
                doc == NULL ? reason : param_misfit(reader, param, yyjson_doc_get_root(doc));
        sound = wrong == NULL ||
                bad_option(reader, FINDING_PARAM_DEFAULT, param->default_json, wrong);
        reader_scratch_reset(reader);
    }
    return sound && reader->failure == 0;
}
