/* A function of a library as JSON: in a definition, and as sent to a worker.
 *
 * Reading and writing use one table, so that written text reads back the same. The first error of a
 * definition is reported with its place. Inconsistencies, such as a default that does not fit its
 * type, are found by the descriptor reader, as in plugins. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/name.h"
#include "plugin/capability.h"
#include "plugin/foreign.h"
#include "plugin/reader.h"
#include "toolrack/toolrack.h"

/* Format number of the text; a build that writes another format uses another number. */
#define TEXT_FORMAT 1u

/* Longest JSON Pointer made here: "/arguments/127/fields/255/...", to the deepest type. */
#define POINTER_MAX 320u

/* Deepest type, as for the descriptor reader, which does not see how deep the text is. */
#define TYPES_MAX DESCRIPTOR_TYPE_DEPTH_MAX

/* ------------------------------------------------------------------- types */

enum place {
    PLACE_ARGUMENT = 1 << 0,
    PLACE_ITEM = 1 << 1,
    PLACE_RESULT = 1 << 2,
    PLACE_FIELD = 1 << 3
};
#define PLACE_NAMED (PLACE_ARGUMENT | PLACE_FIELD)
#define PLACE_ANY   (PLACE_NAMED | PLACE_ITEM | PLACE_RESULT)

/* The first name of a kind is used for writing. */
static const struct type_name {
    const char *name;
    uint32_t kind;
    unsigned places;
} type_names[] = {
        {"bool", TR_KIND_BOOL, PLACE_ANY},
        {"int8", TR_KIND_I8, PLACE_ANY},
        {"int16", TR_KIND_I16, PLACE_ANY},
        {"int32", TR_KIND_I32, PLACE_ANY},
        {"int64", TR_KIND_I64, PLACE_ANY},
        {"uint8", TR_KIND_U8, PLACE_ANY},
        {"uint16", TR_KIND_U16, PLACE_ANY},
        {"uint32", TR_KIND_U32, PLACE_ANY},
        {"uint64", TR_KIND_U64, PLACE_ANY},
        {"float32", TR_KIND_F32, PLACE_ANY},
        {"float64", TR_KIND_F64, PLACE_ANY},
        {"string", TR_KIND_STRING, PLACE_ANY},
        {"json", TR_KIND_JSON, PLACE_ANY},
        {"bytes", TR_KIND_BYTES, PLACE_ARGUMENT | PLACE_RESULT},
        {"array", TR_KIND_ARRAY, PLACE_ARGUMENT | PLACE_RESULT},
        {"none", TR_KIND_NONE, PLACE_RESULT},
        {"struct", TR_KIND_STRUCT, PLACE_ANY},
        {"enum", TR_KIND_ENUM, PLACE_ANY},
        {"int", TR_KIND_I32, PLACE_ANY},
        {"unsigned int", TR_KIND_U32, PLACE_ANY},
        {"long", TR_KIND_I64, PLACE_ANY},
        {"unsigned long", TR_KIND_U64, PLACE_ANY},
        {"size_t", TR_KIND_U64, PLACE_ANY},
        {"float", TR_KIND_F32, PLACE_ANY},
        {"double", TR_KIND_F64, PLACE_ANY},
        {"void", TR_KIND_NONE, PLACE_RESULT},
        {"pointer", TR_KIND_U64, PLACE_ARGUMENT}, /* only with the value null */
};

static const struct type_name *find_type_name(yyjson_val *name) {
    for (size_t i = 0; i < ARRAY_LENGTH(type_names); i++) {
        if (yyjson_equals_str(name, type_names[i].name)) {
            return &type_names[i];
        }
    }
    return NULL;
}

/* ----------------------------------------------------------------- members */

enum form {
    FORM_TEXT,   /* `at` in struct foreign_argument: const char *, a string */
    FORM_JSON,   /* ... the JSON text of any value */
    FORM_COUNT,  /* ... uint64_t */
    FORM_BOOL,   /* ... bool */
    FORM_UNIQUE, /* TR_PARAM_UNIQUE_ITEMS */
    FORM_FLAG,   /* `at` of enum tr_type_flags */
    FORM_WIDTH,  /* the size of a struct or enum */
    FORM_OWN     /* not one field */
};

static const struct member {
    const char *key;
    enum form form;
    size_t at;
    unsigned places;
} members[] = {
#define ABOUT(field) offsetof(struct foreign_argument, about.field)
#define ROLE(field)  offsetof(struct foreign_argument, field)
        {"name", FORM_TEXT, ABOUT(name), PLACE_NAMED},
        {"type", FORM_OWN, 0, PLACE_ANY},
        {"items", FORM_OWN, 0, PLACE_ARGUMENT | PLACE_RESULT},
        {"size", FORM_WIDTH, 0, PLACE_ANY},
        {"fields", FORM_OWN, 0, PLACE_ANY},
        {"choices", FORM_OWN, 0, PLACE_ANY},
        {"offset", FORM_COUNT, ABOUT(offset), PLACE_FIELD},
        {"length_type", FORM_OWN, 0, PLACE_ARGUMENT},
        {"nullable", FORM_FLAG, TR_TYPE_NULLABLE, PLACE_ANY},
        {"optional", FORM_FLAG, TR_TYPE_OPTIONAL, PLACE_NAMED},
        {"pointer", FORM_FLAG, TR_TYPE_BY_POINTER, PLACE_ANY},
        {"description", FORM_TEXT, ABOUT(description), PLACE_NAMED | PLACE_RESULT},
        {"default", FORM_JSON, ABOUT(default_json), PLACE_NAMED},
        {"enum", FORM_JSON, ABOUT(choices_json), PLACE_NAMED},
        {"minimum", FORM_JSON, ABOUT(minimum_json), PLACE_NAMED},
        {"maximum", FORM_JSON, ABOUT(maximum_json), PLACE_NAMED},
        {"exclusiveMinimum", FORM_JSON, ABOUT(exclusive_minimum_json), PLACE_NAMED},
        {"exclusiveMaximum", FORM_JSON, ABOUT(exclusive_maximum_json), PLACE_NAMED},
        {"multipleOf", FORM_JSON, ABOUT(multiple_of_json), PLACE_NAMED},
        {"minLength", FORM_COUNT, ABOUT(min_length), PLACE_NAMED},
        {"maxLength", FORM_COUNT, ABOUT(max_length), PLACE_NAMED},
        {"minItems", FORM_COUNT, ABOUT(min_items), PLACE_ARGUMENT},
        {"maxItems", FORM_COUNT, ABOUT(max_items), PLACE_ARGUMENT},
        {"pattern", FORM_TEXT, ABOUT(pattern), PLACE_NAMED},
        {"format", FORM_TEXT, ABOUT(format), PLACE_NAMED},
        {"uniqueItems", FORM_UNIQUE, 0, PLACE_ARGUMENT},
        {"direction", FORM_OWN, 0, PLACE_ARGUMENT},
        {"alone", FORM_BOOL, ROLE(is_alone), PLACE_ARGUMENT},
        {"length_of", FORM_TEXT, ROLE(length_of), PLACE_ARGUMENT},
        {"value", FORM_JSON, ROLE(value_json), PLACE_ARGUMENT},
        {"capacity", FORM_COUNT, ROLE(capacity), PLACE_ARGUMENT},
        {"capacity_argument", FORM_TEXT, ROLE(capacity_argument), PLACE_ARGUMENT},
        {"length", FORM_TEXT, ROLE(length), PLACE_ARGUMENT},
        {"free", FORM_TEXT, ROLE(release), PLACE_ARGUMENT | PLACE_RESULT},
        {"hidden", FORM_BOOL, ROLE(hides), PLACE_RESULT},
#undef ABOUT
#undef ROLE
};

static const char *const top_members[] = {"format", "type",         "library",
                                          "symbol", "arguments",    "result",
                                          "error",  "capabilities", "thread_safe"};

/* ----------------------------------------------------------------- reading */

struct parsing {
    struct arena *arena;
    struct toolrack_error *err;
    char at[POINTER_MAX]; /* of the object that is being read */
    uint32_t depth;       /* of its type */
};

/* Set the error for a member of the object, or for the object itself. */
TOOLRACK_PRINTF(3, 4)
static int wrong(const struct parsing *parsing, const char *member, const char *format, ...) {
    char pointer[2 * POINTER_MAX];
    va_list args;
    (void)snprintf(pointer, sizeof pointer, "%s%s%s", parsing->at, member != NULL ? "/" : "",
                   member != NULL ? member : "");
    va_start(args, format);
    int code = error_setv(parsing->err, TOOLRACK_E_INVALID, pointer, format, args);
    va_end(args);
    return code;
}

static int unknown_member(const struct parsing *parsing, const struct nearest *nearest) {
    const char *meant = nearest->name;
    return wrong(parsing, NULL, "unknown member \"%.*s\"%s%s%s", FINDING_SHOWN_MAX, nearest->typed,
                 meant != NULL ? "; did you mean \"" : "", meant != NULL ? meant : "",
                 meant != NULL ? "\"?" : "");
}

/* Copy a string. A zero inside is an error: it would cut the copy. */
static int read_text(const struct parsing *parsing, const char *member, yyjson_val *value,
                     const char **ret) {
    size_t length = yyjson_get_len(value);
    if (!yyjson_is_str(value) || strlen(yyjson_get_str(value)) != length) {
        return wrong(parsing, member, "\"%s\" must be a string without zeros", member);
    }
    *ret = arena_copy(parsing->arena, yyjson_get_str(value), length);
    return *ret != NULL ? 0 : error_oom(parsing->err);
}

static int read_flag(const struct parsing *parsing, const char *member, yyjson_val *value,
                     uint32_t flag, uint32_t *flags) {
    if (!yyjson_is_bool(value)) {
        return wrong(parsing, member, "\"%s\" must be true or false", member);
    }
    *flags |= yyjson_get_bool(value) ? flag : 0;
    return 0;
}

static int read_field(const struct parsing *parsing, const struct member *member, yyjson_val *value,
                      struct foreign_argument *to, struct tr_type *type) {
    yyjson_alc alc = arena_alc(parsing->arena);
    const char *text = NULL;
    uint64_t number = yyjson_get_uint(value);
    bool is_set = yyjson_get_bool(value);
    int code = 0;
    switch (member->form) {
    case FORM_TEXT:
        code = read_text(parsing, member->key, value, &text);
        memcpy((char *)to + member->at, &text, sizeof text);
        return code;
    case FORM_JSON:
        text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
        memcpy((char *)to + member->at, &text, sizeof text);
        return text != NULL ? 0 : error_oom(parsing->err);
    case FORM_COUNT:
        memcpy((char *)to + member->at, &number, sizeof number);
        return yyjson_is_uint(value)
                       ? 0
                       : wrong(parsing, member->key, "\"%s\" must be a whole number, 0 or more",
                               member->key);
    case FORM_WIDTH:
        type->width = (uint32_t)number;
        return yyjson_is_uint(value) && number > 0 && number <= DESCRIPTOR_RECORD_SIZE_MAX
                       ? 0
                       : wrong(parsing, member->key,
                               "\"size\" must be the bytes that C gives the "
                               "struct or enum, from 1 to %u",
                               DESCRIPTOR_RECORD_SIZE_MAX);
    case FORM_BOOL:
        memcpy((char *)to + member->at, &is_set, sizeof is_set);
        return yyjson_is_bool(value)
                       ? 0
                       : wrong(parsing, member->key, "\"%s\" must be true or false", member->key);
    case FORM_UNIQUE:
        return read_flag(parsing, member->key, value, TR_PARAM_UNIQUE_ITEMS, &to->about.flags);
    case FORM_FLAG:
        return read_flag(parsing, member->key, value, (uint32_t)member->at, &type->flags);
    case FORM_OWN: break;
    }
    return 0;
}

/* What a person must decide: the question, and the names of the answers. */
static int undecided(const struct parsing *parsing, yyjson_val *decide) {
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    const char *question = yyjson_get_str(yyjson_obj_get(decide, "question"));
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *choice;
    json_obj_foreach (yyjson_obj_get(decide, "choices"), index, count, key, choice) {
        buf_printf(&known, "%s%.*s", index > 0 ? ", " : "", FINDING_SHOWN_MAX, yyjson_get_str(key));
    }
    return known.failed ? error_oom(parsing->err)
                        : wrong(parsing, "decide",
                                "a person must decide: %.*s; write the members of the right one of "
                                "its choices (%s) in place of \"decide\"",
                                4 * FINDING_SHOWN_MAX,
                                question != NULL ? question : "what the function does with it",
                                known.length > 0 ? known.data : "there are none: remove the tool");
}

static int read_member(const struct parsing *parsing, yyjson_val *key, yyjson_val *value,
                       enum place place, struct foreign_argument *to, struct tr_type *type) {
    struct nearest nearest = nearest_to(yyjson_get_str(key));
    if (yyjson_equals_str(key, "decide")) {
        return undecided(parsing, value);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if ((members[i].places & place) == 0) {
            continue;
        }
        if (yyjson_equals_str(key, members[i].key)) {
            return read_field(parsing, &members[i], value, to, type);
        }
        (void)nearest_try(&nearest, members[i].key);
    }
    return unknown_member(parsing, &nearest);
}

static int wrong_type_name(const struct parsing *parsing, yyjson_val *name, enum place place) {
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LENGTH(type_names); i++) {
        if ((type_names[i].places & place) != 0) {
            buf_printf(&known, "%s%s", known.length > 0 ? ", " : "", type_names[i].name);
        }
    }
    if (known.failed) {
        return error_oom(parsing->err);
    }
    const char *said = yyjson_get_str(name);
    return said == NULL ? wrong(parsing, "type", "a type must be stated, one of %s", known.data)
                        : wrong(parsing, "type", "\"%.*s\" cannot be a type here, but %s",
                                FINDING_SHOWN_MAX, said, known.data);
}

/* The maximum of a length type; 0: not limited by the type. A length is passed as 64 bits, which
 * uses the same register or stack slot as a narrower integer. */
static uint64_t length_max(uint32_t kind) {
    switch (kind) {
    case TR_KIND_I8: return INT8_MAX;
    case TR_KIND_U8: return UINT8_MAX;
    case TR_KIND_I16: return INT16_MAX;
    case TR_KIND_U16: return UINT16_MAX;
    default: return 0;
    }
}
_Static_assert(TOOLRACK_ARGUMENTS_MAX <= INT32_MAX, "no call has more than an int counts");

static int read_length_type(const struct parsing *parsing, yyjson_val *name, struct tr_param *param,
                            const struct tr_type *type) {
    const struct type_name *found = find_type_name(name);
    bool counts = type->kind == TR_KIND_BYTES || type->kind == TR_KIND_ARRAY;
    if (name == NULL) {
        return 0;
    }
    if (!counts || found == NULL || !kind_is_integer(found->kind)) {
        return wrong(parsing, "length_type",
                     "\"length_type\" is for bytes and arrays, the name of an integer type");
    }
    uint64_t most = length_max(found->kind);
    uint64_t *stated = type->kind == TR_KIND_BYTES ? &param->max_length : &param->max_items;
    if (most != 0 && (*stated == 0 || *stated > most)) {
        *stated = most;
    }
    return 0;
}

static const char *const directions[] = {
        [FOREIGN_IN] = "in", [FOREIGN_OUT] = "out", [FOREIGN_INOUT] = "inout"};

static int read_direction(const struct parsing *parsing, yyjson_val *value, uint32_t *ret) {
    for (uint32_t i = 0; i < ARRAY_LENGTH(directions); i++) {
        if (value == NULL || yyjson_equals_str(value, directions[i])) {
            *ret = i;
            return 0;
        }
    }
    return wrong(parsing, "direction", "\"direction\" must be \"in\", \"out\" or \"inout\"");
}

static int read_typed(struct parsing *parsing, yyjson_val *value, enum place place,
                      struct foreign_argument *to, const struct tr_type **ret);

/* Read what a type is made of, one step deeper. */
static int read_part(struct parsing *parsing, const char *key, size_t index, yyjson_val *value,
                     enum place place, struct foreign_argument *to, const struct tr_type **ret) {
    size_t length = strlen(parsing->at);
    if (parsing->depth == TYPES_MAX) {
        return wrong(parsing, NULL, "a type is nested deeper than %u levels", TYPES_MAX);
    }
    if (place == PLACE_ITEM) {
        (void)snprintf(parsing->at + length, sizeof parsing->at - length, "/%s", key);
    } else {
        (void)snprintf(parsing->at + length, sizeof parsing->at - length, "/%s/%zu", key, index);
    }
    parsing->depth++;
    int code = read_typed(parsing, value, place, to, ret);
    if (code == 0 && place == PLACE_FIELD && to->about.name == NULL) {
        code = wrong(parsing, "name", "the field has no \"name\"");
    }
    parsing->depth--;
    parsing->at[length] = '\0';
    return code;
}

static int read_fields(struct parsing *parsing, yyjson_val *list, struct tr_type *type) {
    size_t count = yyjson_arr_size(list);
    if (count == 0 || count > DESCRIPTOR_FIELDS_MAX || type->width == 0) {
        return wrong(parsing, "fields",
                     "a struct needs its \"size\" and \"fields\", an array of 1 to %u objects",
                     DESCRIPTOR_FIELDS_MAX);
    }
    struct tr_param *fields = arena_zalloc(parsing->arena, count * sizeof *fields);
    if (fields == NULL) {
        return error_oom(parsing->err);
    }
    int code = 0;
    size_t index;
    size_t size;
    yyjson_val *value;
    yyjson_arr_foreach (list, index, size, value) {
        struct foreign_argument field = {0};
        code = code < 0 ? code
                        : read_part(parsing, "fields", index, value, PLACE_FIELD, &field,
                                    &field.about.type);
        fields[index] = field.about;
    }
    type->fields = fields;
    type->field_count = (uint32_t)count;
    type->field_size = sizeof *fields;
    return code;
}

static int read_choices(const struct parsing *parsing, yyjson_val *names, struct tr_type *type) {
    size_t count = yyjson_obj_size(names);
    if (count == 0 || count > DESCRIPTOR_CHOICES_MAX || type->width == 0) {
        return wrong(parsing, "choices",
                     "an enum needs its \"size\" and \"choices\", an object of 1 to %u names with "
                     "their numbers",
                     DESCRIPTOR_CHOICES_MAX);
    }
    struct tr_choice *choices = arena_zalloc(parsing->arena, count * sizeof *choices);
    if (choices == NULL) {
        return error_oom(parsing->err);
    }
    size_t index;
    size_t size;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (names, index, size, key, value) {
        if (!yyjson_is_int(value) ||
            (yyjson_is_uint(value) && yyjson_get_uint(value) > (uint64_t)INT64_MAX)) {
            return wrong(parsing, "choices", "each of \"choices\" must be a whole number");
        }
        int code = read_text(parsing, "choices", key, &choices[index].name);
        if (code < 0) {
            return code;
        }
        choices[index].value = yyjson_get_sint(value);
    }
    type->choices = choices;
    type->choice_count = (uint32_t)count;
    type->choice_size = sizeof *choices;
    return 0;
}

static int read_parts(struct parsing *parsing, yyjson_val *value, struct tr_type *type) {
    static const struct {
        const char *key;
        const char *whose;
        uint32_t kind;
    } parts[] = {{"items", "only an array has items", TR_KIND_ARRAY},
                 {"fields", "only a struct has fields", TR_KIND_STRUCT},
                 {"choices", "only an enum has choices", TR_KIND_ENUM}};
    struct foreign_argument unused = {0};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (type->kind != parts[i].kind && yyjson_obj_get(value, parts[i].key) != NULL) {
            return wrong(parsing, parts[i].key, "%s", parts[i].whose);
        }
    }
    switch (type->kind) {
    case TR_KIND_ARRAY:
        return read_part(parsing, "items", 0, yyjson_obj_get(value, "items"), PLACE_ITEM, &unused,
                         &type->item);
    case TR_KIND_STRUCT: return read_fields(parsing, yyjson_obj_get(value, "fields"), type);
    case TR_KIND_ENUM: return read_choices(parsing, yyjson_obj_get(value, "choices"), type);
    default:
        return type->width == 0 ? 0 : wrong(parsing, "size", "only a struct or an enum has a size");
    }
}

static int read_typed(struct parsing *parsing, yyjson_val *value, enum place place,
                      struct foreign_argument *to, const struct tr_type **ret) {
    struct tr_type *type = arena_zalloc(parsing->arena, sizeof *type);
    if (type == NULL) {
        return error_oom(parsing->err);
    }
    if (!yyjson_is_obj(value)) {
        return wrong(parsing, NULL, "must be a JSON object with a \"type\"");
    }
    type->size = sizeof *type;
    yyjson_val *decide = yyjson_obj_get(value, "decide");
    yyjson_val *name = yyjson_obj_get(value, "type");
    const struct type_name *found = find_type_name(name);
    if (decide != NULL) { /* first, as what is undecided may be the type */
        return undecided(parsing, decide);
    }
    if (found == NULL || (found->places & place) == 0) {
        return wrong_type_name(parsing, name, place);
    }
    type->kind = found->kind;
    int code = 0;
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    json_obj_foreach (value, index, count, key, member) {
        code = code < 0 ? code : read_member(parsing, key, member, place, to, type);
    }
    if (code == 0 && yyjson_equals_str(name, "pointer")) {
        if (to->value_json == NULL || strcmp(to->value_json, "null") != 0) {
            return wrong(parsing, "value", "a \"pointer\" can only have the \"value\" null");
        }
        to->value_json = "0";
    }
    if (code == 0) {
        code = read_parts(parsing, value, type);
    }
    if (code == 0 && place == PLACE_ARGUMENT) {
        code = read_direction(parsing, yyjson_obj_get(value, "direction"), &to->direction);
    }
    *ret = type;
    return code < 0 ? code
                    : read_length_type(parsing, yyjson_obj_get(value, "length_type"), &to->about,
                                       type);
}

static int read_arguments(struct parsing *parsing, yyjson_val *list, struct foreign *ret,
                          struct foreign_argument **ret_arguments) {
    size_t count = yyjson_arr_size(list);
    if ((list != NULL && !yyjson_is_arr(list)) || count > DESCRIPTOR_PARAMS_MAX) {
        return wrong(parsing, "arguments", "\"arguments\" must be an array of %u objects at most",
                     DESCRIPTOR_PARAMS_MAX);
    }
    struct foreign_argument *arguments =
            arena_zalloc(parsing->arena, (count + 1) * sizeof *arguments);
    if (arguments == NULL) {
        return error_oom(parsing->err);
    }
    int code = 0;
    size_t index;
    size_t size;
    yyjson_val *value;
    yyjson_arr_foreach (list, index, size, value) {
        if (code == 0) {
            (void)snprintf(parsing->at, sizeof parsing->at, "/arguments/%zu", index);
            code = read_typed(parsing, value, PLACE_ARGUMENT, &arguments[index],
                              &arguments[index].about.type);
        }
        if (code == 0 && arguments[index].about.name == NULL) {
            code = wrong(parsing, "name", "the argument has no \"name\"");
        }
    }
    parsing->at[0] = '\0';
    ret->arguments = *ret_arguments = arguments;
    ret->argument_count = (uint32_t)count;
    return code;
}

static int read_result(struct parsing *parsing, yyjson_val *value, struct foreign *ret) {
    struct foreign_argument about = {0};
    int code = 0;
    ret->returns = NULL;
    if (value != NULL) {
        (void)snprintf(parsing->at, sizeof parsing->at, "/result");
        code = read_typed(parsing, value, PLACE_RESULT, &about, &ret->returns);
        parsing->at[0] = '\0';
    }
    ret->hides_result = about.hides;
    ret->release = about.release;
    ret->result_description = about.about.description;
    return code;
}

/* ------------------------------------------------------------------- error */

static const char *const failures[] = {
        [FOREIGN_NEVER] = "never", [FOREIGN_NEGATIVE] = "negative", [FOREIGN_NONZERO] = "nonzero",
        [FOREIGN_ZERO] = "zero",   [FOREIGN_EQUALS] = "equals",     [FOREIGN_ERRNO] = "errno"};

static int read_error_member(const struct parsing *parsing, yyjson_val *key, yyjson_val *value,
                             struct foreign_error *ret) {
    struct nearest nearest = nearest_to(yyjson_get_str(key));
    uint32_t flags = 0;
    int code = 0;
    if (yyjson_equals_str(key, "decide")) {
        return undecided(parsing, value);
    }
    if (yyjson_equals_str(key, "when")) {
        for (uint32_t i = 0; i < ARRAY_LENGTH(failures); i++) {
            if (yyjson_equals_str(value, failures[i])) {
                ret->when = i;
                return 0;
            }
        }
        return wrong(parsing, "when",
                     "\"when\" must be \"negative\", \"nonzero\", \"zero\" (also NULL), "
                     "\"equals\", \"errno\" or \"never\"");
    }
    if (yyjson_equals_str(key, "value")) {
        ret->value = yyjson_get_sint(value);
        return yyjson_is_int(value) ? 0
                                    : wrong(parsing, "value", "\"value\" must be a whole number");
    }
    if (yyjson_equals_str(key, "errno")) {
        code = read_flag(parsing, "errno", value, 1, &flags);
        ret->has_errno = flags != 0;
        return code;
    }
    if (yyjson_equals_str(key, "message")) {
        return read_text(parsing, "message", value, &ret->explain);
    }
    (void)nearest_try(&nearest, "when");
    (void)nearest_try(&nearest, "value");
    (void)nearest_try(&nearest, "errno");
    (void)nearest_try(&nearest, "message");
    return unknown_member(parsing, &nearest);
}

static int read_error(struct parsing *parsing, yyjson_val *value, struct foreign_error *ret) {
    int code = 0;
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    *ret = (struct foreign_error){0};
    if (value == NULL) {
        return 0;
    }
    (void)snprintf(parsing->at, sizeof parsing->at, "/error");
    if (!yyjson_is_obj(value)) {
        code = wrong(parsing, NULL, "\"error\" must be an object with \"when\"");
    }
    json_obj_foreach (value, index, count, key, member) {
        code = code < 0 ? code : read_error_member(parsing, key, member, ret);
    }
    parsing->at[0] = '\0';
    return code;
}

/* "env:HOME" */
static int read_capability(const struct parsing *parsing, yyjson_val *value,
                           struct tr_capability *ret) {
    const char *text = NULL;
    int code = read_text(parsing, "capabilities", value, &text);
    if (code < 0) {
        return code;
    }
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    for (uint32_t kind = TR_CAP_READ; kind <= TR_CAP_ENV; kind++) {
        const char *name = capability_kind_name(kind);
        if (length == strlen(name) && memcmp(text, name, length) == 0 && colon[1] != '\0') {
            struct capability_fault fault;
            *ret = (struct tr_capability){.kind = kind, .value = colon + 1};
            return capability_check(ret->kind, ret->value, &fault)
                           ? 0
                           : wrong(parsing, "capabilities", "\"%.*s\" cannot be granted: %s; %s",
                                   FINDING_SHOWN_MAX, text, fault.cause, fault.fix);
        }
    }
    return wrong(parsing, "capabilities",
                 "\"%.*s\" is no capability: write read:PATH, write:PATH, network:*:PORT, "
                 "spawn:PROGRAM or env:NAME",
                 FINDING_SHOWN_MAX, text);
}

static int read_capabilities(const struct parsing *parsing, yyjson_val *list, struct foreign *ret) {
    size_t count = yyjson_arr_size(list);
    if ((list != NULL && !yyjson_is_arr(list)) || count > DESCRIPTOR_CAPABILITIES_MAX) {
        return wrong(parsing, "capabilities",
                     "\"capabilities\" must be an array of %u strings at most",
                     DESCRIPTOR_CAPABILITIES_MAX);
    }
    struct tr_capability *capabilities =
            arena_zalloc(parsing->arena, (count + 1) * sizeof *capabilities);
    if (capabilities == NULL) {
        return error_oom(parsing->err);
    }
    int code = 0;
    size_t index;
    yyjson_val *value;
    yyjson_arr_foreach (list, index, count, value) {
        code = code < 0 ? code : read_capability(parsing, value, &capabilities[index]);
    }
    ret->capabilities = capabilities;
    ret->capability_count = (uint32_t)count;
    return code;
}

static int check_members(const struct parsing *parsing, yyjson_val *value) {
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *member;
    json_obj_foreach (value, index, count, key, member) {
        struct nearest nearest = nearest_to(yyjson_get_str(key));
        bool known = false;
        for (size_t i = 0; i < ARRAY_LENGTH(top_members); i++) {
            known = known || yyjson_equals_str(key, top_members[i]);
            (void)nearest_try(&nearest, top_members[i]);
        }
        if (!known) {
            return unknown_member(parsing, &nearest);
        }
    }
    yyjson_val *format = yyjson_obj_get(value, "format");
    return format == NULL || yyjson_get_uint(format) == TEXT_FORMAT
                   ? 0
                   : wrong(parsing, "format", "\"format\" must be %u", TEXT_FORMAT);
}

int foreign_parse(yyjson_val *value, struct arena *arena, struct foreign *ret,
                  struct toolrack_error *err) {
    struct parsing parsing = {.arena = arena, .err = err};
    struct foreign_argument *arguments = NULL;
    if (!yyjson_is_obj(value)) {
        return wrong(&parsing, NULL, "must be a JSON object with \"library\" and \"symbol\"");
    }
    yyjson_val *decide = yyjson_obj_get(value, "decide");
    int code = decide != NULL ? undecided(&parsing, decide) : check_members(&parsing, value);
    if (code == 0) {
        code = read_text(&parsing, "library", yyjson_obj_get(value, "library"), &ret->library);
    }
    if (code == 0) {
        code = read_text(&parsing, "symbol", yyjson_obj_get(value, "symbol"), &ret->symbol);
    }
    uint32_t is_safe = 0;
    yyjson_val *safe = yyjson_obj_get(value, "thread_safe");
    if (code == 0 && safe != NULL) {
        code = read_flag(&parsing, "thread_safe", safe, 1, &is_safe);
    }
    ret->thread_safe = is_safe != 0;
    if (code == 0) {
        code = read_arguments(&parsing, yyjson_obj_get(value, "arguments"), ret, &arguments);
    }
    if (code == 0) {
        code = read_result(&parsing, yyjson_obj_get(value, "result"), ret);
    }
    if (code == 0) {
        code = read_error(&parsing, yyjson_obj_get(value, "error"), &ret->error);
    }
    if (code == 0) {
        code = foreign_resolve(ret, arguments, arena, err);
    }
    return code < 0 ? code
                    : read_capabilities(&parsing, yyjson_obj_get(value, "capabilities"), ret);
}

/* ----------------------------------------------------------------- writing */

/* A key follows a comma, except directly after the bracket. */
static void add_key(struct buf *out, const char *key) {
    buf_printf(out, "%s\"%s\":", out->data[out->length - 1] == '{' ? "" : ",", key);
}

static void add_text(struct buf *out, const char *key, const char *text) {
    add_key(out, key);
    buf_add_json_string(out, text, strlen(text));
}

static void add_member(struct buf *out, const struct member *member,
                       const struct foreign_argument *argument, const struct tr_type *type) {
    const char *text;
    uint64_t number;
    bool is_set;
    memcpy(&text, (const char *)argument + (member->form <= FORM_JSON ? member->at : 0),
           sizeof text);
    memcpy(&number, (const char *)argument + (member->form == FORM_COUNT ? member->at : 0),
           sizeof number);
    is_set = member->form == FORM_BOOL && *((const bool *)argument + member->at);
    if (member->form == FORM_TEXT && text != NULL) {
        add_text(out, member->key, text);
    } else if (member->form == FORM_JSON && text != NULL) {
        add_key(out, member->key);
        buf_add_text(out, text);
    } else if ((member->form == FORM_COUNT && number != 0) ||
               (member->form == FORM_WIDTH && type->width != 0)) {
        add_key(out, member->key);
        buf_add_json_uint(out, member->form == FORM_COUNT ? number : type->width);
    } else if (is_set ||
               (member->form == FORM_UNIQUE &&
                (argument->about.flags & TR_PARAM_UNIQUE_ITEMS) != 0) ||
               (member->form == FORM_FLAG && (type->flags & member->at) != 0)) {
        add_key(out, member->key);
        buf_add_text(out, "true");
    }
}

static bool add_typed(struct buf *out, const struct foreign_argument *argument,
                      const struct tr_type *type, enum place place);

static bool add_fields(struct buf *out, const struct tr_type *type) {
    bool known = true;
    add_key(out, "fields");
    for (uint32_t i = 0; i < type->field_count && known; i++) {
        const struct foreign_argument field = {.about = type->fields[i]};
        buf_add_char(out, i == 0 ? '[' : ',');
        known = add_typed(out, &field, type->fields[i].type, PLACE_FIELD);
    }
    buf_add_char(out, ']');
    return known;
}

static void add_choices(struct buf *out, const struct tr_type *type) {
    add_key(out, "choices");
    for (uint32_t i = 0; i < type->choice_count; i++) {
        buf_add_char(out, i == 0 ? '{' : ',');
        buf_add_json_string(out, type->choices[i].name, strlen(type->choices[i].name));
        buf_add_char(out, ':');
        buf_add_json_int(out, type->choices[i].value);
    }
    buf_add_char(out, '}');
}

/* False: a definition has no name for such a type here. The types are those of a checked
 * description, or were read here: the recursion ends. */
static bool add_typed(struct buf *out, const struct foreign_argument *argument,
                      const struct tr_type *type, enum place place) {
    const char *name = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(type_names) && name == NULL; i++) {
        bool named = type_names[i].kind == type->kind && (type_names[i].places & place) != 0;
        name = named ? type_names[i].name : NULL;
    }
    if (name == NULL) {
        return false;
    }
    buf_add_char(out, '{');
    add_text(out, "type", name);
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if ((members[i].places & place) != 0) {
            add_member(out, &members[i], argument, type);
        }
    }
    if (argument->direction != FOREIGN_IN) {
        add_text(out, "direction", directions[argument->direction]);
    }
    bool known = true;
    if (type->kind == TR_KIND_ARRAY) {
        add_key(out, "items");
        known = add_typed(out, &(struct foreign_argument){0}, type->item, PLACE_ITEM);
    } else if (type->kind == TR_KIND_STRUCT) {
        known = add_fields(out, type);
    } else if (type->kind == TR_KIND_ENUM) {
        add_choices(out, type);
    }
    buf_add_char(out, '}');
    return known;
}

static bool add_arguments(struct buf *out, const struct foreign *foreign) {
    bool known = true;
    bool has_arguments = foreign->arguments != NULL;
    uint32_t count = has_arguments ? foreign->argument_count : foreign->param_count;
    add_key(out, "arguments");
    for (uint32_t i = 0; i < count && known; i++) {
        const struct foreign_argument argument =
                has_arguments ? foreign->arguments[i]
                              : (struct foreign_argument){.about = foreign->params[i]};
        buf_add_char(out, i == 0 ? '[' : ',');
        known = add_typed(out, &argument, argument.about.type, PLACE_ARGUMENT);
    }
    buf_add_text(out, count == 0 ? "[]" : "]");
    const struct tr_type *result = has_arguments ? foreign->returns : foreign->result;
    if (result != NULL && known) {
        const struct foreign_argument about = {
                .about = {.description = foreign->result_description},
                .hides = foreign->hides_result,
                .release = foreign->release};
        add_key(out, "result");
        known = add_typed(out, &about, result, PLACE_RESULT);
    }
    return known;
}

static void add_error(struct buf *out, const struct foreign_error *error) {
    if (error->when == FOREIGN_NEVER && !error->has_errno && error->explain == NULL) {
        return;
    }
    add_key(out, "error");
    buf_add_char(out, '{');
    add_text(out, "when", failures[error->when]);
    if (error->value != 0) {
        add_key(out, "value");
        buf_add_json_int(out, error->value);
    }
    if (error->has_errno) {
        add_key(out, "errno");
        buf_add_text(out, "true");
    }
    if (error->explain != NULL) {
        add_text(out, "message", error->explain);
    }
    buf_add_char(out, '}');
}

static void add_capabilities(struct buf *out, const struct foreign *foreign) {
    add_key(out, "capabilities");
    buf_add_char(out, '[');
    for (uint32_t i = 0; i < foreign->capability_count; i++) {
        const struct tr_capability *capability = &foreign->capabilities[i];
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        buf_printf(&text, "%s:%s", capability_kind_name(capability->kind), capability->value);
        out->failed = out->failed || text.failed;
        buf_add_text(out, i == 0 ? "" : ",");
        buf_add_json_string(out, text.data != NULL ? text.data : "", text.length);
    }
    buf_add_char(out, ']');
}

int foreign_write(const struct foreign *foreign, struct buf *out, struct toolrack_error *err) {
    size_t start = out->length;
    buf_printf(out, "{\"format\":%u", TEXT_FORMAT);
    if (out->failed) {
        return error_oom(err);
    }
    add_text(out, "library", foreign->library);
    add_text(out, "symbol", foreign->symbol);
    bool known = add_arguments(out, foreign);
    add_error(out, &foreign->error);
    add_capabilities(out, foreign);
    if (foreign->thread_safe) {
        add_key(out, "thread_safe");
        buf_add_text(out, "true");
    }
    buf_add_char(out, '}');
    if (out->failed) {
        return error_oom(err);
    }
    if (!known) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has a type that functions of installed libraries cannot have here: "
                         "the call, or "
                         "bytes or an array in a struct",
                         foreign->symbol);
    }
    return out->length - start <= FOREIGN_TEXT_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the definition of %s takes %zu bytes, the limit is %u",
                               foreign->symbol, out->length - start, FOREIGN_TEXT_MAX);
}
