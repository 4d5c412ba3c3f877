/* Parameters and types of a typed tool.
 *
 * The host calls a C function by these types, and a wrong call is undefined behaviour that nothing
 * detects. So everything that could make libffi pass other values than the compiler would is
 * refused, including unknown flags. */
#include <string.h>

#include "base/name.h"
#include "plugin/reader.h"

#define W(field) RECORD_WORD(struct tr_param, field)
static const struct record_shape param_shape = {
        .what = "parameter",
        .size_min = RECORD_SIZE_MIN(struct tr_param, reserved),
        .size = sizeof(struct tr_param),
        .pointers = W(name) | W(description) | W(type) | W(default_json) | W(choices_json) |
                    W(minimum_json) | W(maximum_json) | W(exclusive_minimum_json) |
                    W(exclusive_maximum_json) | W(multiple_of_json) | W(pattern) | W(format)};
#undef W
#define W(field) RECORD_WORD(struct tr_type, field)
static const struct record_shape type_shape = {.what = "type",
                                               .size_min =
                                                       RECORD_SIZE_MIN(struct tr_type, choice_size),
                                               .size = sizeof(struct tr_type),
                                               .pointers = W(item) | W(fields) | W(choices)};
#undef W
static const struct record_shape choice_shape = {.what = "choice",
                                                 .size_min =
                                                         RECORD_SIZE_MIN(struct tr_choice, value),
                                                 .size = sizeof(struct tr_choice),
                                                 .pointers = RECORD_WORD(struct tr_choice, name)};

/* The name is first: findings are named after it. */
static const struct text_field param_name = TEXT_FIELD(struct tr_param, name, TEXT_LINE);
static const struct text_field param_texts[] = {
        TEXT_FIELD(struct tr_param, description, TEXT_FREE),
        TEXT_FIELD(struct tr_param, default_json, TEXT_FREE),
        TEXT_FIELD(struct tr_param, choices_json, TEXT_FREE),
        TEXT_FIELD(struct tr_param, minimum_json, TEXT_FREE),
        TEXT_FIELD(struct tr_param, maximum_json, TEXT_FREE),
        TEXT_FIELD(struct tr_param, exclusive_minimum_json, TEXT_FREE),
        TEXT_FIELD(struct tr_param, exclusive_maximum_json, TEXT_FREE),
        TEXT_FIELD(struct tr_param, multiple_of_json, TEXT_FREE),
        TEXT_FIELD(struct tr_param, pattern, TEXT_FREE),
        TEXT_FIELD(struct tr_param, format, TEXT_LINE),
};
static const struct text_field choice_name = TEXT_FIELD(struct tr_choice, name, TEXT_LINE);

#define TYPE_FLAGS_KNOWN  (TR_TYPE_NULLABLE | TR_TYPE_OPTIONAL | TR_TYPE_BY_POINTER)
#define PARAM_FLAGS_KNOWN TR_PARAM_UNIQUE_ITEMS

/* Where a type is used, which decides what it may be. */
enum place { PLACE_PARAM_FIRST, PLACE_PARAM, PLACE_FIELD, PLACE_ITEM, PLACE_RESULT };

static const struct tr_type *read_type(struct reader *reader, uint64_t address, enum place place,
                                       uint32_t depth);

bool kind_is_integer(uint32_t kind) {
    return kind >= TR_KIND_I8 && kind <= TR_KIND_U64;
}

bool kind_is_number(uint32_t kind) {
    return kind_is_integer(kind) || kind == TR_KIND_F32 || kind == TR_KIND_F64;
}

bool type_takes_null(const struct tr_type *type) {
    return (type->flags & (TR_TYPE_NULLABLE | TR_TYPE_OPTIONAL)) != 0;
}

/* --------------------------------------------------------------- layout */

struct layout {
    uint64_t size;
    uint64_t align;
};

static struct layout layout_of(const struct tr_type *type);

static uint64_t struct_align(const struct tr_type *type) {
    uint64_t align = 1;
    for (uint32_t i = 0; i < type->field_count; i++) {
        uint64_t one = layout_of(type->fields[i].type).align;
        align = one > align ? one : align;
    }
    return align;
}

/* Whether values of a kind are pointers already, so that the flags change nothing. */
static bool is_pointer_kind(uint32_t kind) {
    return kind == TR_KIND_STRING || kind == TR_KIND_JSON || kind == TR_KIND_BYTES ||
           kind == TR_KIND_ARRAY || kind == TR_KIND_CALL;
}

/* Size and alignment of a value of the type in a struct or an array. */
static struct layout layout_of(const struct tr_type *type) {
    if (type->flags != 0 && !is_pointer_kind(type->kind)) {
        return (struct layout){sizeof(void *), _Alignof(void *)};
    }
    switch (type->kind) {
    case TR_KIND_BOOL:
    case TR_KIND_I8:
    case TR_KIND_U8: return (struct layout){1, 1};
    case TR_KIND_I16:
    case TR_KIND_U16: return (struct layout){2, 2};
    case TR_KIND_I32:
    case TR_KIND_U32:
    case TR_KIND_F32: return (struct layout){4, 4};
    case TR_KIND_BYTES:
    case TR_KIND_ARRAY: return (struct layout){sizeof(struct tr_array), _Alignof(struct tr_array)};
    case TR_KIND_ENUM: return (struct layout){type->width, type->width};
    case TR_KIND_STRUCT: return (struct layout){type->width, struct_align(type)};
    default: return (struct layout){8, 8};
    }
}

static uint64_t align_up(uint64_t offset, uint64_t align) {
    return (offset + align - 1) / align * align;
}

/* Whether the fields are inside the struct, ascending, aligned and without overlap. */
static bool check_fields_layout(struct reader *reader, const struct tr_type *type) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct tr_param *field = &type->fields[i];
        struct layout layout = layout_of(field->type);
        if (field->offset < end || field->offset % layout.align != 0 ||
            field->offset > type->width || layout.size > type->width - field->offset) {
            reader_report(reader, FINDING_TYPE_LAYOUT,
                          "field %s of %llu bytes cannot be at offset %llu of a struct of %u bytes "
                          "after a field that ends at %llu",
                          field->name, (unsigned long long)layout.size,
                          (unsigned long long)field->offset, type->width, (unsigned long long)end);
            return false;
        }
        end = field->offset + layout.size;
    }
    if (type->width % struct_align(type) != 0) {
        reader_report(reader, FINDING_TYPE_LAYOUT,
                      "a struct of %u bytes does not fit its own alignment of %llu", type->width,
                      (unsigned long long)struct_align(type));
        return false;
    }
    return true;
}

/* The members of a struct decide in which registers it is passed by value: no member may be
 * missing, and each must be where the compiler puts it. */
static bool check_by_value(struct reader *reader, const struct tr_type *type) {
    if (type->kind != TR_KIND_STRUCT || type->flags != 0) {
        return true;
    }
    uint64_t end = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct tr_param *field = &type->fields[i];
        struct layout layout = layout_of(field->type);
        if (field->offset != align_up(end, layout.align)) {
            reader_report(reader, FINDING_TYPE_LAYOUT,
                          "the struct is passed by value, but nothing describes the bytes before "
                          "field %s at offset %llu",
                          field->name, (unsigned long long)field->offset);
            return false;
        }
        if (!check_by_value(reader, field->type)) {
            return false;
        }
        end = field->offset + layout.size;
    }
    if (type->width != align_up(end, struct_align(type))) {
        reader_report(reader, FINDING_TYPE_LAYOUT,
                      "the struct is passed by value, but nothing describes its bytes from %llu "
                      "to %u",
                      (unsigned long long)end, type->width);
        return false;
    }
    return true;
}

/* --------------------------------------------------------- parts of types */

static bool choice_fits(int64_t value, uint32_t width) {
    if (width >= sizeof value) {
        return true;
    }
    /* C has signed and unsigned enumerations, and the width does not say which. */
    int64_t end = INT64_C(1) << (8 * width);
    return value >= -(end / 2) && value < end;
}

static bool read_choice(struct reader *reader, uint64_t address, const struct tr_type *type,
                        struct tr_choice *to) {
    struct record record;
    if (!reader_record(reader, &choice_shape, address, type->choice_size, FINDING_TYPE_ENUM, to,
                       &record) ||
        reader_texts(reader, &record, &choice_name, 1) > 0) {
        return false;
    }
    if (to->name == NULL || to->name[0] == '\0') {
        reader_report(reader, FINDING_TYPE_ENUM, "a name of the enumeration is missing");
        return false;
    }
    if (!choice_fits(to->value, type->width)) {
        reader_report(reader, FINDING_TYPE_ENUM, "%.*s is %lld, too much for %u bytes",
                      FINDING_SHOWN_MAX, to->name, (long long)to->value, type->width);
        return false;
    }
    return true;
}

static bool read_choices(struct reader *reader, struct tr_type *type, uint64_t address) {
    if (type->width != 1 && type->width != 2 && type->width != 4 && type->width != 8) {
        reader_report(reader, FINDING_TYPE_ENUM, "the enumeration has %u bytes, not 1, 2, 4 or 8",
                      type->width);
        return false;
    }
    if (address == 0 || type->choice_count == 0 || type->choice_count > DESCRIPTOR_CHOICES_MAX ||
        !record_size_valid(&choice_shape, type->choice_size)) {
        reader_report(reader, FINDING_TYPE_ENUM,
                      "the enumeration has %u names, each of %u bytes: not 1 to %u of at least %u",
                      address == 0 ? 0 : type->choice_count, type->choice_size,
                      DESCRIPTOR_CHOICES_MAX, choice_shape.size_min);
        return false;
    }
    struct tr_choice *choices = reader_alloc(reader, type->choice_count * sizeof *choices);
    if (choices == NULL) {
        return false;
    }
    const char *names[DESCRIPTOR_CHOICES_MAX];
    for (uint32_t i = 0; i < type->choice_count; i++) {
        uint64_t at = address + (uint64_t)i * type->choice_size;
        if (!read_choice(reader, at, type, &choices[i])) {
            return false;
        }
        names[i] = choices[i].name;
    }
    type->choices = choices;
    type->choice_size = sizeof *choices;
    const char *twice = reader_duplicate(reader, names, type->choice_count);
    if (twice != NULL) {
        reader_report(reader, FINDING_TYPE_ENUM, "the enumeration has the name %.*s twice",
                      FINDING_SHOWN_MAX, twice);
    }
    return twice == NULL && reader->failure == 0;
}

static bool read_param(struct reader *reader, uint64_t address, uint32_t stride, enum place place,
                       uint32_t depth, struct tr_param *to);

/* Whether the names of parameters or fields are distinct, except those of TR_KIND_CALL. */
static bool check_param_names(struct reader *reader, const struct tr_param *params,
                              uint32_t count) {
    const char *names[DESCRIPTOR_FIELDS_MAX];
    uint32_t named = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (params[i].type->kind != TR_KIND_CALL) {
            names[named++] = params[i].name;
        }
    }
    const char *twice = reader_duplicate(reader, names, named);
    if (twice != NULL) {
        reader_report(reader, FINDING_PARAM_NAME, "the name %s is used twice", twice);
    }
    return twice == NULL && reader->failure == 0;
}

static bool read_fields(struct reader *reader, struct tr_type *type, uint64_t address,
                        uint32_t depth) {
    if (address == 0 || type->field_count == 0 || type->field_count > DESCRIPTOR_FIELDS_MAX ||
        !record_size_valid(&param_shape, type->field_size)) {
        reader_report(reader, FINDING_PARAM_TABLE,
                      "the struct has %u fields, each of %u bytes: not 1 to %u of at least %u",
                      address == 0 ? 0 : type->field_count, type->field_size, DESCRIPTOR_FIELDS_MAX,
                      param_shape.size_min);
        return false;
    }
    if (type->width == 0 || type->width > DESCRIPTOR_RECORD_SIZE_MAX) {
        reader_report(reader, FINDING_TYPE_LAYOUT, "the struct has %u bytes, not 1 to %u",
                      type->width, DESCRIPTOR_RECORD_SIZE_MAX);
        return false;
    }
    struct tr_param *fields = reader_alloc(reader, type->field_count * sizeof *fields);
    if (fields == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        uint64_t at = address + (uint64_t)i * type->field_size;
        if (!read_param(reader, at, type->field_size, PLACE_FIELD, depth + 1, &fields[i])) {
            return false; /* at the first error: nested types would repeat it */
        }
    }
    type->fields = fields;
    type->field_size = sizeof *fields;
    return check_param_names(reader, fields, type->field_count) &&
           check_fields_layout(reader, type);
}

/* ---------------------------------------------------------------- a type */

static bool check_kind(struct reader *reader, uint32_t kind, enum place place) {
    const char *wrong = kind > TR_KIND_CALL ? "this host does not know it"
                        : kind == TR_KIND_NONE && place != PLACE_RESULT
                                ? "only a result can be nothing (TR_VOID)"
                        : kind == TR_KIND_CALL && place != PLACE_PARAM_FIRST
                                ? "TR_CALL can only be the first parameter"
                                : NULL;
    if (wrong != NULL) {
        reader_report(reader, FINDING_TYPE_KIND, "kind %u of the type is not allowed here: %s",
                      kind, wrong);
    }
    return wrong == NULL;
}

static bool check_type_flags(struct reader *reader, const struct tr_type *type, enum place place) {
    uint32_t flags = type->flags;
    const char *wrong =
            (flags & ~(uint32_t)TYPE_FLAGS_KNOWN) != 0
                    ? "this host does not know them, and they may change how the value is passed"
            : flags != 0 && (type->kind == TR_KIND_NONE || type->kind == TR_KIND_CALL)
                    ? "TR_VOID and TR_CALL take no flags"
            : (flags & TR_TYPE_BY_POINTER) != 0 && type_takes_null(type)
                    ? "what is passed by pointer is never NULL"
            : (flags & TR_TYPE_OPTIONAL) != 0 && (place == PLACE_RESULT || place == PLACE_ITEM)
                    ? "a result or an item cannot be left out; it can be null (TR_NULLABLE)"
                    : NULL;
    if (wrong != NULL) {
        reader_report(reader, FINDING_TYPE_FLAGS, "the flags 0x%x of the type are wrong: %s", flags,
                      wrong);
    }
    return wrong == NULL;
}

static const struct tr_type *read_type(struct reader *reader, uint64_t address, enum place place,
                                       uint32_t depth) {
    if (depth > DESCRIPTOR_TYPE_DEPTH_MAX) {
        reader_report(reader, FINDING_TYPE_DEPTH,
                      "the type is nested deeper than %u, or contains itself",
                      DESCRIPTOR_TYPE_DEPTH_MAX);
        return NULL;
    }
    struct tr_type *type = reader_alloc(reader, sizeof *type);
    struct record record;
    uint64_t item;
    uint64_t fields;
    uint64_t choices;
    if (type == NULL ||
        !reader_sized_record(reader, &type_shape, address, FINDING_TYPE_SIZE, FINDING_TYPE_SIZE,
                             type, &record) ||
        !check_kind(reader, type->kind, place) || !check_type_flags(reader, type, place) ||
        !reader_address(reader, &record, offsetof(struct tr_type, item), "item", &item) ||
        !reader_address(reader, &record, offsetof(struct tr_type, fields), "fields", &fields) ||
        !reader_address(reader, &record, offsetof(struct tr_type, choices), "choices", &choices)) {
        return NULL;
    }
    type->size = sizeof *type;
    type->field_count = type->kind == TR_KIND_STRUCT ? type->field_count : 0;
    type->choice_count = type->kind == TR_KIND_ENUM ? type->choice_count : 0;
    switch (type->kind) {
    case TR_KIND_STRUCT: return read_fields(reader, type, fields, depth) ? type : NULL;
    case TR_KIND_ENUM: return read_choices(reader, type, choices) ? type : NULL;
    case TR_KIND_ARRAY: break;
    default: return type;
    }
    if (item == 0) {
        reader_report(reader, FINDING_TYPE_KIND, "the array does not state the type of its items");
        return NULL;
    }
    reader_enter(reader, NULL);
    type->item = read_type(reader, item, PLACE_ITEM, depth + 1);
    reader_leave(reader);
    return type->item != NULL ? type : NULL;
}

/* ------------------------------------------------------------ parameters */

static bool check_param(struct reader *reader, const struct tr_param *param) {
    if ((param->flags & ~(uint32_t)PARAM_FLAGS_KNOWN) != 0) {
        reader_report(reader, FINDING_PARAM_FLAGS, "this host does not know its flags 0x%x",
                      param->flags & ~(uint32_t)PARAM_FLAGS_KNOWN);
    }
    if (param->type->kind == TR_KIND_CALL) {
        return values_check(reader, param);
    }
    if (param->name == NULL || !name_valid(param->name)) {
        reader_report(reader, FINDING_PARAM_NAME, "\"%.*s\" cannot be a name here",
                      FINDING_SHOWN_MAX, param->name == NULL ? "" : param->name);
        return false;
    }
    if (param->description == NULL || param->description[0] == '\0') {
        reader_report(reader, FINDING_PARAM_DESCRIPTION, "there is no description");
    }
    return values_check(reader, param);
}

static bool read_param_parts(struct reader *reader, const struct record *record, enum place place,
                             uint32_t depth, struct tr_param *to) {
    unsigned bad =
            reader_texts(reader, record, param_texts, sizeof param_texts / sizeof param_texts[0]);
    uint64_t type;
    if (!reader_address(reader, record, offsetof(struct tr_param, type), "type", &type) ||
        bad > 0) {
        return false;
    }
    if (type == 0) {
        reader_report(reader, FINDING_TYPE_KIND, "there is no type");
        return false;
    }
    to->type = read_type(reader, type, place, depth);
    return to->type != NULL && check_param(reader, to) &&
           (place == PLACE_FIELD || check_by_value(reader, to->type));
}

static bool read_param(struct reader *reader, uint64_t address, uint32_t stride, enum place place,
                       uint32_t depth, struct tr_param *to) {
    struct record record;
    if (!reader_record(reader, &param_shape, address, stride, FINDING_PARAM_TABLE, to, &record) ||
        reader_texts(reader, &record, &param_name, 1) > 0) {
        return false;
    }
    reader_enter(reader, to->name != NULL ? to->name : "");
    bool sound = read_param_parts(reader, &record, place, depth, to);
    reader_leave(reader);
    return sound;
}

bool params_read(struct reader *reader, uint64_t address, uint32_t count, uint32_t stride,
                 const struct tr_param **ret) {
    if (count == 0) {
        return true;
    }
    if (address == 0 || count > DESCRIPTOR_PARAMS_MAX || !record_size_valid(&param_shape, stride)) {
        reader_report(reader, FINDING_PARAM_TABLE,
                      "the tool has %u parameters, each of %u bytes: not 1 to %u of at least %u",
                      address == 0 ? 0 : count, stride, DESCRIPTOR_PARAMS_MAX,
                      param_shape.size_min);
        return false;
    }
    struct tr_param *params = reader_alloc(reader, count * sizeof *params);
    if (params == NULL) {
        return false;
    }
    bool sound = true;
    for (uint32_t i = 0; i < count && reader->failure == 0; i++) {
        reader->place = "parameter";
        sound = read_param(reader, address + (uint64_t)i * stride, stride,
                           i == 0 ? PLACE_PARAM_FIRST : PLACE_PARAM, 1, &params[i]) &&
                sound;
        reader->place = NULL;
    }
    if (!sound || reader->failure != 0 || !check_param_names(reader, params, count)) {
        return false;
    }
    *ret = params;
    return true;
}

bool result_type_read(struct reader *reader, uint64_t address, const struct tr_type **ret) {
    reader->place = "result";
    const struct tr_type *type = read_type(reader, address, PLACE_RESULT, 1);
    bool sound = type != NULL && check_by_value(reader, type);
    reader->place = NULL;
    *ret = sound ? type : NULL;
    return sound;
}
