#include "bind/write.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/name.h"

/* Most items of an array in a struct, which become fields of their own. */
#define FLAT_MAX 32u

static const char *number_name(const struct model_type *type) {
    static const char *const names[2][4] = {{"uint8", "uint16", "uint32", "uint64"},
                                            {"int8", "int16", "int32", "int64"}};
    unsigned width = type->size == 1 ? 0 : type->size == 2 ? 1 : type->size == 4 ? 2 : 3;
    return names[type->is_signed ? 1 : 0][width];
}

static bool is_plain(const struct model_type *type) {
    return type->kind == MODEL_BOOL || type->kind == MODEL_INTEGER || type->kind == MODEL_FLOAT ||
           type->kind == MODEL_ENUM;
}

static bool is_text(const struct model_type *type) {
    return type->kind == MODEL_POINTER && type->target != NULL && type->target->is_character &&
           type->target->is_const;
}

static bool add_choices(yyjson_mut_doc *doc, yyjson_mut_val *object,
                        const struct model_type *type) {
    yyjson_mut_val *choices = yyjson_mut_obj(doc);
    for (uint32_t i = 0; i < type->choice_count; i++) {
        if (yyjson_mut_obj_get(choices, type->choices[i].name) == NULL &&
            !yyjson_mut_obj_add_int(doc, choices, type->choices[i].name, type->choices[i].value)) {
            return false;
        }
    }
    return yyjson_mut_obj_add_str(doc, object, "type", "enum") &&
           yyjson_mut_obj_add_uint(doc, object, "size", type->size) &&
           yyjson_mut_obj_add_val(doc, object, "choices", choices);
}

static bool add_field(yyjson_mut_doc *doc, yyjson_mut_val *fields, const char *name,
                      const struct model_type *type, uint64_t offset) {
    yyjson_mut_val *field = yyjson_mut_obj(doc);
    bool is_said = name_valid(name) && yyjson_mut_obj_add_strcpy(doc, field, "name", name);
    if (is_said && is_text(type)) {
        is_said = yyjson_mut_obj_add_str(doc, field, "type", "string") &&
                  yyjson_mut_obj_add_bool(doc, field, "nullable", true) &&
                  yyjson_mut_obj_add_bool(doc, field, "optional", true);
    } else if (is_said) {
        is_said = (is_plain(type) || type->kind == MODEL_STRUCT) &&
                  write_value_type(doc, field, type);
    }
    return is_said && yyjson_mut_obj_add_uint(doc, field, "offset", offset) &&
           yyjson_mut_arr_append(fields, field);
}

/* An array of numbers becomes a field for each. */
static void add_flat(yyjson_mut_doc *doc, yyjson_mut_val *fields, const struct model_field *field) {
    const struct model_type *item = field->type->target;
    char name[128];
    for (uint64_t i = 0; i < field->type->count; i++) {
        (void)snprintf(name, sizeof name, "%s_%u", field->name, (unsigned)i);
        (void)add_field(doc, fields, name, item, field->offset + i * item->size);
    }
}

static bool is_flat(const struct model_type *type) {
    return type->kind == MODEL_ARRAY && type->count > 0 && type->count <= FLAT_MAX &&
           type->target != NULL && is_plain(type->target) && type->target->size > 0;
}

static bool add_fields(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct model_type *type) {
    yyjson_mut_val *fields = yyjson_mut_arr(doc);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct model_field *field = &type->fields[i];
        if (field->type != NULL && is_flat(field->type)) {
            add_flat(doc, fields, field);
        } else if (field->type != NULL) {
            (void)add_field(doc, fields, field->name, field->type, field->offset);
        }
    }
    return yyjson_mut_arr_size(fields) > 0 &&
           yyjson_mut_obj_add_str(doc, object, "type", "struct") &&
           yyjson_mut_obj_add_uint(doc, object, "size", type->size) &&
           yyjson_mut_obj_add_val(doc, object, "fields", fields);
}

bool write_value_type(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct model_type *type) {
    switch (type->kind) {
    case MODEL_BOOL: return yyjson_mut_obj_add_str(doc, object, "type", "bool");
    case MODEL_INTEGER: return yyjson_mut_obj_add_str(doc, object, "type", number_name(type));
    case MODEL_FLOAT:
        return yyjson_mut_obj_add_str(doc, object, "type", type->size == 4 ? "float32" : "float64");
    case MODEL_ENUM: return add_choices(doc, object, type);
    case MODEL_STRUCT: return add_fields(doc, object, type);
    case MODEL_VOID:
    case MODEL_POINTER:
    case MODEL_ARRAY:
    case MODEL_OTHER: break;
    }
    return false;
}

/* Whether each field is where C puts it, next to that before it: so does libffi, which passes it.
 */
static bool is_laid_out(const struct model_type *type, uint64_t *ret_alignment) {
    uint64_t end = 0;
    *ret_alignment = 1;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct model_type *field = type->fields[i].type;
        bool is_array = field->kind == MODEL_ARRAY;
        uint64_t alignment = is_array ? field->target->size : field->size;
        uint64_t size = alignment * (is_array ? field->count : 1);
        if ((field->kind == MODEL_STRUCT && !is_laid_out(field, &alignment)) || alignment == 0 ||
            type->fields[i].offset != (end + alignment - 1) / alignment * alignment) {
            return false;
        }
        end = type->fields[i].offset + size;
        *ret_alignment = alignment > *ret_alignment ? alignment : *ret_alignment;
    }
    return type->size == (end + *ret_alignment - 1) / *ret_alignment * *ret_alignment;
}

bool write_is_whole(const struct model_type *type) {
    bool whole = !type->is_packed;
    for (uint32_t i = 0; i < type->field_count && whole; i++) {
        const struct model_type *field = type->fields[i].type;
        whole = field != NULL && name_valid(type->fields[i].name) &&
                (is_plain(field) || is_text(field) || is_flat(field) ||
                 (field->kind == MODEL_STRUCT && write_is_whole(field)));
    }
    uint64_t alignment;
    return whole && is_laid_out(type, &alignment);
}

bool write_is_handle(const struct model_type *type) {
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct model_type *field = type->fields[i].type;
        if (field != NULL && ((field->kind == MODEL_POINTER && !is_text(field)) ||
                              (field->kind == MODEL_STRUCT && write_is_handle(field)))) {
            return true;
        }
    }
    return false;
}

void write_prototype(struct buf *out, const struct model_function *function) {
    const char *result = function->result != NULL ? function->result->spelling : "void";
    size_t length = strlen(result);
    buf_printf(out, "%s%s%s(", result, length > 0 && result[length - 1] == '*' ? "" : " ",
               function->name);
    for (uint32_t i = 0; i < function->param_count; i++) {
        const char *type = function->params[i].type->spelling;
        const char *name = function->params[i].name;
        bool is_close = name == NULL || (type[0] != '\0' && type[strlen(type) - 1] == '*');
        buf_printf(out, "%s%s%s%s", i > 0 ? ", " : "", type, is_close ? "" : " ",
                   name != NULL ? name : "");
    }
    buf_add_text(out, function->param_count == 0 ? "void)" : ")");
}
