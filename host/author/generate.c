#include "author/generate.h"

#include <math.h>
#include <string.h>

#include "author/pattern.h"
#include "base/cleanup.h"
#include "base/json.h"

/* Larger lengths and counts of a schema are not reached: no such arguments are made. */
#define LIMIT_MAX   1000000u
/* Values that are made at most, in one call. */
#define VALUES_MAX  20000u
/* Deepest nesting of schemas that is followed, and most references one after the other. */
#define DEPTH_MAX   8u
#define REF_MAX     16u
/* Typical numbers are from 1 to this, or near the bound that is stated. */
#define NUMBER_MAX  100
/* Longest string, and most items, that are made where the schema has no bound, or a larger one. */
#define TEXT_MAX    10000u
#define ITEMS_MAX   200u
#define ITEMS_FEW   3u
/* Most values at the bounds of one part of the arguments. */
#define PART_MAX    60u
#define CHOICES_MAX 20u

/* ------------------------------------------------------------------- schemas */

static yyjson_val *member(yyjson_val *schema, const char *key) {
    return yyjson_obj_get(schema, key);
}

/* Follow references, and take the first of "allOf". */
static yyjson_val *resolve(const struct generator *generator, yyjson_val *schema) {
    for (unsigned i = 0; i < REF_MAX; i++) {
        const char *ref = yyjson_get_str(member(schema, "$ref"));
        yyjson_val *all = member(schema, "allOf");
        if (ref != NULL && ref[0] == '#') {
            schema =
                    ref[1] == '\0' ? generator->schema : yyjson_ptr_get(generator->schema, ref + 1);
        } else if (yyjson_arr_size(all) > 0 && member(schema, "type") == NULL) {
            schema = yyjson_arr_get_first(all);
        } else {
            break;
        }
    }
    return schema;
}

static yyjson_val *branches(yyjson_val *schema) {
    yyjson_val *any = member(schema, "anyOf");
    return any != NULL ? any : member(schema, "oneOf");
}

/* The types that a schema allows: the n-th, or NULL. */
static const char *type_at(yyjson_val *schema, size_t index) {
    yyjson_val *type = member(schema, "type");
    if (yyjson_is_arr(type)) {
        return yyjson_get_str(yyjson_arr_get(type, index));
    }
    if (index > 0) {
        return NULL;
    }
    const char *name = yyjson_get_str(type);
    return name != NULL                           ? name
           : member(schema, "properties") != NULL ? "object"
           : member(schema, "items") != NULL      ? "array"
           : member(schema, "minimum") != NULL    ? "number"
           : branches(schema) != NULL             ? NULL
                                                  : "string";
}

static size_t limit_of(yyjson_val *schema, const char *key, size_t otherwise) {
    yyjson_val *value = member(schema, key);
    uint64_t limit = yyjson_is_uint(value) ? yyjson_get_uint(value) : otherwise;
    return limit < LIMIT_MAX ? (size_t)limit : LIMIT_MAX;
}

static bool has_number(yyjson_val *schema, const char *key, double *ret) {
    yyjson_val *value = member(schema, key);
    *ret = yyjson_is_num(value) ? yyjson_get_num(value) : 0;
    return yyjson_is_num(value);
}

struct bounds {
    bool has_low;
    bool has_high;
    double low;
    double high;
    double step; /* "multipleOf", or 0 */
};

static struct bounds bounds_of(yyjson_val *schema, bool is_integer) {
    struct bounds bounds = {0};
    double value;
    double inside = is_integer ? 1 : 1e-6;
    bounds.has_low = has_number(schema, "minimum", &bounds.low);
    if (has_number(schema, "exclusiveMinimum", &value)) {
        bounds.has_low = true;
        bounds.low = value + inside;
    }
    bounds.has_high = has_number(schema, "maximum", &bounds.high);
    if (has_number(schema, "exclusiveMaximum", &value)) {
        bounds.has_high = true;
        bounds.high = value - inside;
    }
    (void)has_number(schema, "multipleOf", &bounds.step);
    return bounds;
}

/* ------------------------------------------------------------------- strings */

static yyjson_mut_val *make_string(struct generator *generator, const struct buf *text) {
    return text->failed ? NULL
                        : yyjson_mut_strncpy(generator->doc, text->data != NULL ? text->data : "",
                                             text->length);
}

static const char *string_of_format(const char *format) {
    static const char *const known[][2] = {
            {"date", "2024-02-29"},
            {"time", "12:34:56Z"},
            {"date-time", "2024-02-29T12:34:56Z"},
            {"duration", "PT1H30M"},
            {"email", "ada@example.org"},
            {"hostname", "example.org"},
            {"ipv4", "192.0.2.7"},
            {"ipv6", "2001:db8::7"},
            {"uri", "https://example.org/a"},
            {"uri-reference", "a/b"},
            {"uuid", "123e4567-e89b-42d3-a456-426614174000"},
            {"regex", "^a+$"},
            {"json-pointer", "/a/0"},
    };
    for (size_t i = 0; format != NULL && i < ARRAY_LENGTH(known); i++) {
        if (strcmp(known[i][0], format) == 0) {
            return known[i][1];
        }
    }
    return NULL;
}

/* A string of `length` characters, as far as a pattern or format does not say another one. */
static yyjson_mut_val *make_text(struct generator *generator, yyjson_val *schema, size_t length,
                                 bool is_long) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const char *pattern = yyjson_get_str(member(schema, "pattern"));
    const char *format = string_of_format(yyjson_get_str(member(schema, "format")));
    const char *encoding = yyjson_get_str(member(schema, "contentEncoding"));
    if (pattern != NULL) {
        pattern_write(pattern, &generator->random, is_long, &text);
    } else if (format != NULL) {
        buf_add_text(&text, format);
    } else if (encoding != NULL && strcmp(encoding, "base64") == 0) {
        for (size_t i = 0; i < length / 4 + (length > 0) && i < TEXT_MAX; i++) {
            buf_add_text(&text, "AbC9");
        }
    } else {
        for (size_t i = 0; i < length && i <= TEXT_MAX; i++) {
            buf_add_char(&text, (char)('a' + random_below(&generator->random, 26)));
        }
    }
    return make_string(generator, &text);
}

/* ------------------------------------------------------------------- typical */

static yyjson_mut_val *typical(struct generator *generator, yyjson_val *schema, unsigned depth);

/* Inside the bounds, neither at them nor 0. */
/* Doubles below it are within int64_t. */
#define WHOLE_MAX 9.2e18

static yyjson_mut_val *typical_number(struct generator *generator, yyjson_val *schema,
                                      bool is_integer) {
    struct bounds bounds = bounds_of(schema, is_integer);
    double low = bounds.has_low ? bounds.low : bounds.has_high ? bounds.high - NUMBER_MAX : 1;
    double high =
            bounds.has_high && bounds.high - low < NUMBER_MAX ? bounds.high : low + NUMBER_MAX;
    bool has_inside = high - low > 3;
    low = ceil(low) + has_inside;
    high = floor(high) - has_inside;
    double range = high > low ? high - low + 1 : 1;
    double value = low + floor((double)random_below(&generator->random, (uint64_t)range));
    value += value == 0 && value + 1 <= high;
    if (!is_integer && random_below(&generator->random, 2) == 0 && value + 0.5 <= high) {
        value += 0.5;
    }
    if (bounds.step > 0) {
        value = ceil(value / bounds.step) * bounds.step;
    }
    value = isfinite(value) ? value : 0;
    if (!is_integer) {
        return yyjson_mut_real(generator->doc, value);
    }
    bool is_inside = value > -WHOLE_MAX && value < WHOLE_MAX;
    return yyjson_mut_sint(generator->doc, is_inside   ? (int64_t)value
                                           : value < 0 ? INT64_MIN
                                                       : INT64_MAX);
}

static yyjson_mut_val *typical_array(struct generator *generator, yyjson_val *schema,
                                     unsigned depth) {
    size_t least = limit_of(schema, "minItems", 0);
    size_t most = limit_of(schema, "maxItems", least + ITEMS_FEW);
    size_t few = least + 1 > most ? most : least + 1;
    size_t more = most > few + ITEMS_FEW ? ITEMS_FEW : most - few;
    size_t count = few + random_below(&generator->random, more + 1);
    yyjson_val *first = member(schema, "prefixItems");
    yyjson_mut_val *array = yyjson_mut_arr(generator->doc);
    for (size_t i = 0; i < count && i < ITEMS_MAX; i++) {
        yyjson_val *item =
                i < yyjson_arr_size(first) ? yyjson_arr_get(first, i) : member(schema, "items");
        (void)yyjson_mut_arr_append(array, typical(generator, item, depth + 1));
    }
    return array;
}

static bool is_required(yyjson_val *schema, const char *name) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (member(schema, "required"), at, count, item) {
        if (yyjson_equals_str(item, name)) {
            return true;
        }
    }
    return false;
}

/* A value that an example has under this name, or NULL. */
static yyjson_mut_val *borrow(struct generator *generator, const char *name) {
    if (generator->example_count == 0 || random_below(&generator->random, 2) == 0) {
        return NULL;
    }
    size_t index = random_below(&generator->random, generator->example_count);
    yyjson_val *value = yyjson_obj_get(generator->examples[index], name);
    return value != NULL ? yyjson_val_mut_copy(generator->doc, value) : NULL;
}

static yyjson_mut_val *typical_object(struct generator *generator, yyjson_val *schema,
                                      unsigned depth) {
    yyjson_mut_val *object = yyjson_mut_obj(generator->doc);
    yyjson_val *properties = member(schema, "properties");
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (properties, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        bool wants = is_required(schema, name) || random_below(&generator->random, 2) == 0;
        if (!wants || (depth >= DEPTH_MAX && !is_required(schema, name))) {
            continue;
        }
        yyjson_mut_val *made = depth == 0 ? borrow(generator, name) : NULL;
        made = made != NULL ? made : typical(generator, value, depth + 1);
        (void)yyjson_mut_obj_add(object, yyjson_mut_strcpy(generator->doc, name), made);
    }
    return object;
}

static yyjson_mut_val *typical(struct generator *generator, yyjson_val *schema, unsigned depth) {
    if (generator->left == 0 || depth > DEPTH_MAX * 2) {
        return yyjson_mut_null(generator->doc);
    }
    generator->left--;
    schema = resolve(generator, schema);
    yyjson_val *choices = member(schema, "enum");
    yyjson_val *any = branches(schema);
    if (member(schema, "const") != NULL) {
        return yyjson_val_mut_copy(generator->doc, member(schema, "const"));
    }
    if (yyjson_arr_size(choices) > 0) {
        size_t index = random_below(&generator->random, yyjson_arr_size(choices));
        return yyjson_val_mut_copy(generator->doc, yyjson_arr_get(choices, index));
    }
    if (yyjson_arr_size(any) > 0 && depth < DEPTH_MAX * 2) {
        size_t index = random_below(&generator->random, yyjson_arr_size(any));
        return typical(generator, yyjson_arr_get(any, index), depth + 1);
    }
    const char *type = type_at(schema, 0);
    if (type == NULL || strcmp(type, "null") == 0) {
        return yyjson_mut_null(generator->doc);
    }
    if (strcmp(type, "object") == 0) {
        return typical_object(generator, schema, depth);
    }
    if (strcmp(type, "array") == 0) {
        return typical_array(generator, schema, depth);
    }
    if (strcmp(type, "boolean") == 0) {
        return yyjson_mut_bool(generator->doc, random_below(&generator->random, 2) == 0);
    }
    if (strcmp(type, "string") != 0) {
        return typical_number(generator, schema, strcmp(type, "integer") == 0);
    }
    size_t least = limit_of(schema, "minLength", 0);
    size_t most = limit_of(schema, "maxLength", least + 12);
    size_t length = least + 1 + random_below(&generator->random, 8);
    return make_text(generator, schema, length < most ? length : most, false);
}

yyjson_mut_val *generate_typical(struct generator *generator) {
    generator->left = VALUES_MAX;
    return typical(generator, generator->schema, 0);
}

/* -------------------------------------------------------------------- bounds */

static void add(yyjson_mut_val *list, yyjson_mut_val *value) {
    if (yyjson_mut_arr_size(list) < PART_MAX) {
        (void)yyjson_mut_arr_append(list, value);
    }
}

static void add_numbers(struct generator *generator, yyjson_val *schema, bool is_integer,
                        yyjson_mut_val *list) {
    static const int64_t integers[] = {0,         1,          -1,
                                       INT8_MAX,  INT16_MAX,  INT32_MAX,
                                       INT32_MIN, UINT32_MAX, (int64_t)1 << 53,
                                       INT64_MAX, INT64_MIN};
    static const double reals[] = {
            0.1, -0.0, 1e-300, 5e-324, 1e300, -1e300, 1.7976931348623157e308};
    struct bounds bounds = bounds_of(schema, is_integer);
    yyjson_val *low = member(schema, "minimum");
    yyjson_val *high = member(schema, "maximum");
    if (low != NULL) {
        add(list, yyjson_val_mut_copy(generator->doc, low));
    } else if (bounds.has_low) {
        add(list, yyjson_mut_real(generator->doc, bounds.low));
    }
    if (high != NULL) {
        add(list, yyjson_val_mut_copy(generator->doc, high));
    } else if (bounds.has_high) {
        add(list, yyjson_mut_real(generator->doc, bounds.high));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(integers); i++) {
        double value = (double)integers[i];
        if ((!bounds.has_low || value > bounds.low) && (!bounds.has_high || value < bounds.high)) {
            add(list, yyjson_mut_sint(generator->doc, integers[i]));
        }
    }
    for (size_t i = 0; !is_integer && i < ARRAY_LENGTH(reals); i++) {
        if ((!bounds.has_low || reals[i] > bounds.low) &&
            (!bounds.has_high || reals[i] < bounds.high)) {
            add(list, yyjson_mut_real(generator->doc, reals[i]));
        }
    }
    if (is_integer && !bounds.has_high) {
        add(list, yyjson_mut_uint(generator->doc, UINT64_MAX));
    }
}

/* Strings that programs stumble over. The host refuses those that do not fit. */
static void add_strings(struct generator *generator, yyjson_val *schema, yyjson_mut_val *list) {
    static const char *const odd[] = {"",
                                      " ",
                                      "\t\r\n",
                                      "a b",
                                      "\"\\/",
                                      "%s%n%d",
                                      "../../../etc/passwd",
                                      "/",
                                      "-",
                                      "0",
                                      "null",
                                      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                                      "\xe2\x80\xae"
                                      "abc",
                                      "e\xcc\x81",
                                      "\x01",
                                      "\x7f",
                                      "'; DROP TABLE t; --",
                                      "$(id)",
                                      "{}",
                                      "[",
                                      "\xef\xbb\xbf"
                                      "a"};
    size_t least = limit_of(schema, "minLength", 0);
    size_t most = limit_of(schema, "maxLength", TEXT_MAX);
    most = most > TEXT_MAX ? TEXT_MAX : most;
    add(list, make_text(generator, schema, least, false));
    add(list, make_text(generator, schema, most, true));
    for (size_t i = 0; i < ARRAY_LENGTH(odd); i++) {
        add(list, yyjson_mut_str(generator->doc, odd[i]));
    }
    add(list, yyjson_mut_strn(generator->doc, "a\0b", 3));
}

static void add_bounds(struct generator *generator, yyjson_val *schema, unsigned depth,
                       yyjson_mut_val *list);

static void add_arrays(struct generator *generator, yyjson_val *schema, unsigned depth,
                       yyjson_mut_val *list) {
    size_t least = limit_of(schema, "minItems", 0);
    size_t most = limit_of(schema, "maxItems", ITEMS_MAX);
    size_t counts[] = {least, most > ITEMS_MAX ? ITEMS_MAX : most};
    for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
        yyjson_mut_val *array = yyjson_mut_arr(generator->doc);
        for (size_t k = 0; k < counts[i] && k < ITEMS_MAX; k++) {
            (void)yyjson_mut_arr_append(array,
                                        typical(generator, member(schema, "items"), depth + 1));
        }
        add(list, array);
    }
    yyjson_mut_val *items = yyjson_mut_arr(generator->doc);
    add_bounds(generator, member(schema, "items"), depth + 1, items);
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(items, at, count, item) {
        yyjson_mut_val *array = yyjson_mut_arr(generator->doc);
        for (size_t k = 0; k < (least > 0 ? least : 1) && k < ITEMS_MAX; k++) {
            (void)yyjson_mut_arr_append(array, yyjson_mut_val_mut_copy(generator->doc, item));
        }
        add(list, array);
    }
}

static void set_member(struct generator *generator, yyjson_mut_val *object, const char *name,
                       yyjson_mut_val *value) {
    (void)yyjson_mut_obj_put(object, yyjson_mut_strcpy(generator->doc, name), value);
}

/* What others differ from: arguments of an example for the whole, else typical ones. */
static yyjson_mut_val *base_object(struct generator *generator, yyjson_val *schema,
                                   unsigned depth) {
    return depth == 0 && generator->example_count > 0
                   ? yyjson_val_mut_copy(generator->doc, generator->examples[0])
                   : typical_object(generator, schema, depth);
}

static void add_objects(struct generator *generator, yyjson_val *schema, unsigned depth,
                        yyjson_mut_val *list) {
    yyjson_mut_val *few = yyjson_mut_obj(generator->doc);
    yyjson_mut_val *all = yyjson_mut_obj(generator->doc);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (member(schema, "properties"), at, count, key, value) {
        const char *name = yyjson_get_str(key);
        set_member(generator, all, name, typical(generator, value, depth + 1));
        if (is_required(schema, name)) {
            set_member(generator, few, name, typical(generator, value, depth + 1));
        }
    }
    (void)yyjson_mut_arr_append(list, few);
    (void)yyjson_mut_arr_append(list, all);
    json_obj_foreach (member(schema, "properties"), at, count, key, value) {
        yyjson_mut_val *parts = yyjson_mut_arr(generator->doc);
        add_bounds(generator, value, depth + 1, parts);
        size_t part_at;
        size_t part_count;
        yyjson_mut_val *part;
        yyjson_mut_arr_foreach(parts, part_at, part_count, part) {
            if (yyjson_mut_arr_size(list) == GENERATE_CASES_MAX) {
                return;
            }
            yyjson_mut_val *object = base_object(generator, schema, depth);
            set_member(generator, object, yyjson_get_str(key),
                       yyjson_mut_val_mut_copy(generator->doc, part));
            (void)yyjson_mut_arr_append(list, object);
        }
    }
}

static void add_bounds(struct generator *generator, yyjson_val *schema, unsigned depth,
                       yyjson_mut_val *list) {
    schema = resolve(generator, schema);
    yyjson_val *choices = member(schema, "enum");
    size_t at;
    size_t count;
    yyjson_val *branch;
    if (depth > DEPTH_MAX || generator->left == 0) {
        return;
    }
    generator->left--;
    if (choices != NULL || member(schema, "const") != NULL) {
        for (size_t i = 0; i < yyjson_arr_size(choices) && i < CHOICES_MAX; i++) {
            add(list, yyjson_val_mut_copy(generator->doc, yyjson_arr_get(choices, i)));
        }
        return;
    }
    yyjson_arr_foreach (branches(schema), at, count, branch) {
        add_bounds(generator, branch, depth + 1, list);
    }
    const char *type = type_at(schema, 0);
    for (size_t i = 1; type != NULL; type = type_at(schema, i++)) {
        if (strcmp(type, "object") == 0) {
            add_objects(generator, schema, depth, list);
        } else if (strcmp(type, "array") == 0) {
            add_arrays(generator, schema, depth, list);
        } else if (strcmp(type, "boolean") == 0) {
            add(list, yyjson_mut_true(generator->doc));
            add(list, yyjson_mut_false(generator->doc));
        } else if (strcmp(type, "string") == 0) {
            add_strings(generator, schema, list);
        } else if (strcmp(type, "null") == 0) {
            add(list, yyjson_mut_null(generator->doc));
        } else {
            add_numbers(generator, schema, strcmp(type, "integer") == 0, list);
        }
    }
}

yyjson_mut_val *generate_bounds(struct generator *generator) {
    generator->left = VALUES_MAX;
    yyjson_mut_val *list = yyjson_mut_arr(generator->doc);
    add_bounds(generator, generator->schema, 0, list);
    return list;
}

/* --------------------------------------------------------------------- wrong */

/* A value of each type, for where another type is wanted. */
static yyjson_mut_val *value_of_type(yyjson_mut_doc *doc, unsigned type) {
    switch (type) {
    case 0: return yyjson_mut_null(doc);
    case 1: return yyjson_mut_true(doc);
    case 2: return yyjson_mut_sint(doc, -7);
    case 3: return yyjson_mut_real(doc, 1.5);
    case 4: return yyjson_mut_str(doc, "text");
    case 5: return yyjson_mut_arr(doc);
    default: return yyjson_mut_obj(doc);
    }
}
#define TYPE_COUNT 7u

static void add_beyond(struct generator *generator, yyjson_val *schema, yyjson_mut_val *list) {
    double value;
    yyjson_mut_doc *doc = generator->doc;
    if (has_number(schema, "minimum", &value) && isfinite(value - 1)) {
        add(list, yyjson_mut_real(doc, value - 1));
    }
    if (has_number(schema, "maximum", &value) && isfinite(value + 1)) {
        add(list, yyjson_mut_real(doc, value + 1));
    }
    size_t most = limit_of(schema, "maxLength", TEXT_MAX);
    if (most < TEXT_MAX) {
        add(list, make_text(generator, NULL, most + 1, true));
    }
    if (limit_of(schema, "minLength", 0) > 0) {
        add(list, yyjson_mut_str(doc, ""));
    }
    if (member(schema, "enum") != NULL) {
        add(list, yyjson_mut_str(doc, "no such choice"));
    }
}

yyjson_mut_val *generate_wrong(struct generator *generator) {
    generator->left = VALUES_MAX;
    yyjson_mut_doc *doc = generator->doc;
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_val *properties = member(generator->schema, "properties");
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    for (unsigned type = 0; type < TYPE_COUNT; type++) {
        (void)yyjson_mut_arr_append(list, value_of_type(doc, type));
    }
    json_obj_foreach (properties, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        yyjson_mut_val *parts = yyjson_mut_arr(doc);
        for (unsigned type = 0; type < TYPE_COUNT; type++) {
            add(parts, value_of_type(doc, type));
        }
        add_beyond(generator, resolve(generator, value), parts);
        size_t part_at;
        size_t part_count;
        yyjson_mut_val *part;
        yyjson_mut_arr_foreach(parts, part_at, part_count, part) {
            yyjson_mut_val *object = base_object(generator, generator->schema, 0);
            set_member(generator, object, name, yyjson_mut_val_mut_copy(doc, part));
            (void)yyjson_mut_arr_append(list, object);
        }
        yyjson_mut_val *without = base_object(generator, generator->schema, 0);
        (void)yyjson_mut_obj_remove_key(without, name);
        (void)yyjson_mut_arr_append(list, without);
        if (yyjson_mut_arr_size(list) > GENERATE_CASES_MAX) {
            break;
        }
    }
    yyjson_mut_val *more = base_object(generator, generator->schema, 0);
    set_member(generator, more, "no_such_member", yyjson_mut_true(doc));
    (void)yyjson_mut_arr_append(list, more);
    return list;
}
