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

/* Longest JSON Pointer made here: "/arguments/127/items/exclusiveMinimum". */
#define POINTER_MAX 64u

/* ------------------------------------------------------------------- types */

enum place { PLACE_ARGUMENT = 1 << 0, PLACE_ITEM = 1 << 1, PLACE_RESULT = 1 << 2 };
#define PLACE_ANY (PLACE_ARGUMENT | PLACE_ITEM | PLACE_RESULT)

/* The first name of a kind is used for writing. */
static const struct type_name {
    const char *name;
    uint32_t kind;
    unsigned places;
} type_names[] = {
        {"bool", TR_KIND_BOOL, PLACE_ANY},        {"int8", TR_KIND_I8, PLACE_ANY},
        {"int16", TR_KIND_I16, PLACE_ANY},        {"int32", TR_KIND_I32, PLACE_ANY},
        {"int64", TR_KIND_I64, PLACE_ANY},        {"uint8", TR_KIND_U8, PLACE_ANY},
        {"uint16", TR_KIND_U16, PLACE_ANY},       {"uint32", TR_KIND_U32, PLACE_ANY},
        {"uint64", TR_KIND_U64, PLACE_ANY},       {"float32", TR_KIND_F32, PLACE_ANY},
        {"float64", TR_KIND_F64, PLACE_ANY},      {"string", TR_KIND_STRING, PLACE_ANY},
        {"json", TR_KIND_JSON, PLACE_ANY},        {"bytes", TR_KIND_BYTES, PLACE_ARGUMENT},
        {"array", TR_KIND_ARRAY, PLACE_ARGUMENT}, {"none", TR_KIND_NONE, PLACE_RESULT},
        {"int", TR_KIND_I32, PLACE_ANY},          {"unsigned int", TR_KIND_U32, PLACE_ANY},
        {"long", TR_KIND_I64, PLACE_ANY},         {"unsigned long", TR_KIND_U64, PLACE_ANY},
        {"size_t", TR_KIND_U64, PLACE_ANY},       {"float", TR_KIND_F32, PLACE_ANY},
        {"double", TR_KIND_F64, PLACE_ANY},       {"void", TR_KIND_NONE, PLACE_RESULT},
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
    FORM_TEXT,   /* `at` in struct tr_param: const char *, a string */
    FORM_JSON,   /* ... the JSON text of any value */
    FORM_COUNT,  /* ... uint64_t */
    FORM_UNIQUE, /* TR_PARAM_UNIQUE_ITEMS */
    FORM_FLAG,   /* `at` of enum tr_type_flags */
    FORM_OWN     /* not one field */
};

static const struct member {
    const char *key;
    enum form form;
    size_t at;
    unsigned places;
} members[] = {
        {"name", FORM_TEXT, offsetof(struct tr_param, name), PLACE_ARGUMENT},
        {"type", FORM_OWN, 0, PLACE_ANY},
        {"items", FORM_OWN, 0, PLACE_ARGUMENT},
        {"length_type", FORM_OWN, 0, PLACE_ARGUMENT},
        {"nullable", FORM_FLAG, TR_TYPE_NULLABLE, PLACE_ANY},
        {"optional", FORM_FLAG, TR_TYPE_OPTIONAL, PLACE_ARGUMENT},
        {"pointer", FORM_FLAG, TR_TYPE_BY_POINTER, PLACE_ANY},
        {"description", FORM_TEXT, offsetof(struct tr_param, description),
         PLACE_ARGUMENT | PLACE_RESULT},
        {"default", FORM_JSON, offsetof(struct tr_param, default_json), PLACE_ARGUMENT},
        {"enum", FORM_JSON, offsetof(struct tr_param, choices_json), PLACE_ARGUMENT},
        {"minimum", FORM_JSON, offsetof(struct tr_param, minimum_json), PLACE_ARGUMENT},
        {"maximum", FORM_JSON, offsetof(struct tr_param, maximum_json), PLACE_ARGUMENT},
        {"exclusiveMinimum", FORM_JSON, offsetof(struct tr_param, exclusive_minimum_json),
         PLACE_ARGUMENT},
        {"exclusiveMaximum", FORM_JSON, offsetof(struct tr_param, exclusive_maximum_json),
         PLACE_ARGUMENT},
        {"multipleOf", FORM_JSON, offsetof(struct tr_param, multiple_of_json), PLACE_ARGUMENT},
        {"minLength", FORM_COUNT, offsetof(struct tr_param, min_length), PLACE_ARGUMENT},
        {"maxLength", FORM_COUNT, offsetof(struct tr_param, max_length), PLACE_ARGUMENT},
        {"minItems", FORM_COUNT, offsetof(struct tr_param, min_items), PLACE_ARGUMENT},
        {"maxItems", FORM_COUNT, offsetof(struct tr_param, max_items), PLACE_ARGUMENT},
        {"pattern", FORM_TEXT, offsetof(struct tr_param, pattern), PLACE_ARGUMENT},
        {"format", FORM_TEXT, offsetof(struct tr_param, format), PLACE_ARGUMENT},
        {"uniqueItems", FORM_UNIQUE, 0, PLACE_ARGUMENT},
};

static const char *const top_members[] = {"format",    "type",   "library",      "symbol",
                                          "arguments", "result", "capabilities", "thread_safe"};

/* ----------------------------------------------------------------- reading */

struct parsing {
    struct arena *arena;
    struct toolrack_error *err;
    char at[POINTER_MAX]; /* of the object that is being read */
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
                      struct tr_param *param, struct tr_type *type) {
    yyjson_alc alc = arena_alc(parsing->arena);
    const char *text = NULL;
    uint64_t number = yyjson_get_uint(value);
    int code = 0;
    switch (member->form) {
    case FORM_TEXT:
        code = read_text(parsing, member->key, value, &text);
        memcpy((char *)param + member->at, &text, sizeof text);
        return code;
    case FORM_JSON:
        text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
        memcpy((char *)param + member->at, &text, sizeof text);
        return text != NULL ? 0 : error_oom(parsing->err);
    case FORM_COUNT:
        memcpy((char *)param + member->at, &number, sizeof number);
        return yyjson_is_uint(value)
                       ? 0
                       : wrong(parsing, member->key, "\"%s\" must be a whole number, 0 or more",
                               member->key);
    case FORM_UNIQUE:
        return read_flag(parsing, member->key, value, TR_PARAM_UNIQUE_ITEMS, &param->flags);
    case FORM_FLAG:
        return read_flag(parsing, member->key, value, (uint32_t)member->at, &type->flags);
    case FORM_OWN: break;
    }
    return 0;
}

static int read_member(const struct parsing *parsing, yyjson_val *key, yyjson_val *value,
                       enum place place, struct tr_param *param, struct tr_type *type) {
    struct nearest nearest = nearest_to(yyjson_get_str(key));
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        if ((members[i].places & place) == 0) {
            continue;
        }
        if (yyjson_equals_str(key, members[i].key)) {
            return read_field(parsing, &members[i], value, param, type);
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

/* An item has no items: this recurses once. */
static int read_typed(struct parsing *parsing, yyjson_val *value, enum place place,
                      struct tr_param *param, const struct tr_type **ret) {
    struct tr_type *type = arena_zalloc(parsing->arena, sizeof *type);
    if (type == NULL) {
        return error_oom(parsing->err);
    }
    if (!yyjson_is_obj(value)) {
        return wrong(parsing, NULL, "must be a JSON object with a \"type\"");
    }
    type->size = sizeof *type;
    yyjson_val *name = yyjson_obj_get(value, "type");
    const struct type_name *found = find_type_name(name);
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
        code = code < 0 ? code : read_member(parsing, key, member, place, param, type);
    }
    yyjson_val *items = yyjson_obj_get(value, "items");
    if (code == 0 && type->kind == TR_KIND_ARRAY) {
        struct tr_param unused = {0};
        size_t length = strlen(parsing->at);
        (void)snprintf(parsing->at + length, sizeof parsing->at - length, "/items");
        code = read_typed(parsing, items, PLACE_ITEM, &unused, &type->item);
        parsing->at[length] = '\0';
    } else if (code == 0 && items != NULL) {
        code = wrong(parsing, "items", "only an array has items");
    }
    *ret = type;
    return code < 0 ? code
                    : read_length_type(parsing, yyjson_obj_get(value, "length_type"), param, type);
}

static int read_arguments(struct parsing *parsing, yyjson_val *list, struct foreign *ret) {
    size_t count = yyjson_arr_size(list);
    if ((list != NULL && !yyjson_is_arr(list)) || count > DESCRIPTOR_PARAMS_MAX) {
        return wrong(parsing, "arguments", "\"arguments\" must be an array of %u objects at most",
                     DESCRIPTOR_PARAMS_MAX);
    }
    struct tr_param *params = arena_zalloc(parsing->arena, (count + 1) * sizeof *params);
    if (params == NULL) {
        return error_oom(parsing->err);
    }
    int code = 0;
    size_t index;
    yyjson_val *value;
    yyjson_arr_foreach (list, index, count, value) {
        if (code == 0) {
            (void)snprintf(parsing->at, sizeof parsing->at, "/arguments/%zu", index);
            code = read_typed(parsing, value, PLACE_ARGUMENT, &params[index], &params[index].type);
        }
        if (code == 0 && params[index].name == NULL) {
            code = wrong(parsing, "name", "the argument has no \"name\"");
        }
    }
    parsing->at[0] = '\0';
    ret->params = params;
    ret->param_count = (uint32_t)count;
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
    if (!yyjson_is_obj(value)) {
        return wrong(&parsing, NULL, "must be a JSON object with \"library\" and \"symbol\"");
    }
    int code = check_members(&parsing, value);
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
        code = read_arguments(&parsing, yyjson_obj_get(value, "arguments"), ret);
    }
    struct tr_param about = {0};
    yyjson_val *result = yyjson_obj_get(value, "result");
    ret->result = NULL;
    if (code == 0 && result != NULL) {
        (void)snprintf(parsing.at, sizeof parsing.at, "/result");
        code = read_typed(&parsing, result, PLACE_RESULT, &about, &ret->result);
        parsing.at[0] = '\0';
    }
    ret->result_description = about.description;
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

static void add_field(struct buf *out, const struct member *member, const struct tr_param *param,
                      const struct tr_type *type) {
    const char *text;
    uint64_t number;
    memcpy(&text, (const char *)param + (member->form <= FORM_JSON ? member->at : 0), sizeof text);
    memcpy(&number, (const char *)param + (member->form == FORM_COUNT ? member->at : 0),
           sizeof number);
    if (member->form == FORM_TEXT && text != NULL) {
        add_text(out, member->key, text);
    } else if (member->form == FORM_JSON && text != NULL) {
        add_key(out, member->key);
        buf_add_text(out, text);
    } else if (member->form == FORM_COUNT && number != 0) {
        add_key(out, member->key);
        buf_add_json_uint(out, number);
    } else if ((member->form == FORM_UNIQUE && (param->flags & TR_PARAM_UNIQUE_ITEMS) != 0) ||
               (member->form == FORM_FLAG && (type->flags & member->at) != 0)) {
        add_key(out, member->key);
        buf_add_text(out, "true");
    }
}

/* False: a definition has no name for such a type here. An item has no items: the recursion ends.
 */
static bool add_typed(struct buf *out, const struct tr_param *param, const struct tr_type *type,
                      enum place place) {
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
            add_field(out, &members[i], param, type);
        }
    }
    bool known = true;
    if (type->kind == TR_KIND_ARRAY) {
        add_key(out, "items");
        known = add_typed(out, &(struct tr_param){0}, type->item, PLACE_ITEM);
    }
    buf_add_char(out, '}');
    return known;
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
    bool known = true;
    add_key(out, "arguments");
    for (uint32_t i = 0; i < foreign->param_count && known; i++) {
        buf_add_char(out, i == 0 ? '[' : ',');
        known = add_typed(out, &foreign->params[i], foreign->params[i].type, PLACE_ARGUMENT);
    }
    buf_add_text(out, foreign->param_count == 0 ? "[]" : "]");
    if (foreign->result != NULL) {
        const struct tr_param about = {.description = foreign->result_description};
        add_key(out, "result");
        known = known && add_typed(out, &about, foreign->result, PLACE_RESULT);
    }
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
        return error_set(
                err, TOOLRACK_E_REFUSED,
                "%s has a type that functions of installed libraries cannot have here: a "
                "struct, an enumeration or the call, or a result that is bytes or an array",
                foreign->symbol);
    }
    return out->length - start <= FOREIGN_TEXT_MAX
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the definition of %s takes %zu bytes, the limit is %u",
                               foreign->symbol, out->length - start, FOREIGN_TEXT_MAX);
}
