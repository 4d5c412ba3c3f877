#include "ffi/prototype.h"

/* Structs inside structs that are shown; a descriptor has no more. */
#define DEPTH_MAX 16u

/* A name as an identifier of C. */
static void add_name(struct buf *out, const char *name) {
    for (; *name != '\0'; name++) {
        buf_add_char(out, *name == '-' ? '_' : *name);
    }
}

static void add_integer(struct buf *out, uint32_t width) {
    buf_printf(out, "int%u_t", width * 8);
}

static void add_stored(struct buf *out, const struct tr_type *type, unsigned depth);

static void add_struct(struct buf *out, const struct tr_type *type, unsigned depth) {
    const char *field = (const char *)type->fields;
    buf_add_text(out, "struct {");
    for (uint32_t i = 0; i < type->field_count && depth < DEPTH_MAX; i++) {
        const struct tr_param *param = (const void *)(field + (size_t)i * type->field_size);
        buf_add_text(out, i > 0 ? " " : "");
        add_stored(out, param->type, depth + 1);
        buf_add_text(out, out->length > 0 && out->data[out->length - 1] == '*' ? "" : " ");
        add_name(out, param->name);
        buf_add_char(out, ';');
    }
    buf_add_char(out, '}');
}

/* The C type of a value, without what makes it nullable. */
static void add_value(struct buf *out, const struct tr_type *type, unsigned depth) {
    static const char *const names[] = {[TR_KIND_NONE] = "void",
                                        [TR_KIND_BOOL] = "bool",
                                        [TR_KIND_I8] = "int8_t",
                                        [TR_KIND_I16] = "int16_t",
                                        [TR_KIND_I32] = "int32_t",
                                        [TR_KIND_I64] = "int64_t",
                                        [TR_KIND_U8] = "uint8_t",
                                        [TR_KIND_U16] = "uint16_t",
                                        [TR_KIND_U32] = "uint32_t",
                                        [TR_KIND_U64] = "uint64_t",
                                        [TR_KIND_F32] = "float",
                                        [TR_KIND_F64] = "double",
                                        [TR_KIND_STRING] = "const char *",
                                        [TR_KIND_BYTES] = "struct tr_bytes",
                                        [TR_KIND_JSON] = "const char *",
                                        [TR_KIND_ARRAY] = "struct tr_array",
                                        [TR_KIND_CALL] = "struct tr_call *"};
    if (type->kind == TR_KIND_STRUCT) {
        add_struct(out, type, depth);
    } else if (type->kind == TR_KIND_ENUM) {
        add_integer(out, type->width);
    } else {
        buf_add_text(out, type->kind <= TR_KIND_CALL ? names[type->kind] : "void");
    }
}

static bool is_text(const struct tr_type *type) {
    return type->kind == TR_KIND_STRING || type->kind == TR_KIND_JSON;
}

/* Whether a value is passed as a pointer to const, since it may be absent or is large. */
static bool is_pointer(const struct tr_type *type) {
    return !is_text(type) && type->kind != TR_KIND_BYTES && type->kind != TR_KIND_ARRAY &&
           (type->flags & (TR_TYPE_NULLABLE | TR_TYPE_OPTIONAL | TR_TYPE_BY_POINTER)) != 0;
}

/* The type of a field, of an item and of a result. */
static void add_stored(struct buf *out, const struct tr_type *type, unsigned depth) {
    buf_add_text(out, is_pointer(type) ? "const " : "");
    add_value(out, type, depth);
    buf_add_text(out, is_pointer(type) ? " *" : "");
}

static void add_param(struct buf *out, const struct tr_param *param) {
    const struct tr_type *type = param->type;
    if (type->kind == TR_KIND_ARRAY || type->kind == TR_KIND_BYTES) {
        bool is_array = type->kind == TR_KIND_ARRAY && type->item != NULL;
        buf_add_text(out, "const ");
        if (!is_array) {
            buf_add_text(out, "void *");
        } else if (is_text(type->item)) {
            buf_add_text(out, "char *const *");
        } else {
            add_stored(out, type->item, 0);
            buf_add_text(out, " *");
        }
        add_name(out, param->name);
        buf_add_text(out, ", size_t ");
        add_name(out, param->name);
        buf_add_text(out, is_array ? "_count" : "_size");
        return;
    }
    add_stored(out, type, 0);
    buf_add_text(out, out->length > 0 && out->data[out->length - 1] == '*' ? "" : " ");
    add_name(out, type->kind == TR_KIND_CALL ? "call" : param->name);
}

void prototype_add(struct buf *out, const struct tr_tool *tool) {
    static const struct tr_type none = {.kind = TR_KIND_NONE};
    const char *params = (const char *)tool->params;
    add_stored(out, tool->result != NULL ? tool->result : &none, 0);
    buf_add_text(out, out->length > 0 && out->data[out->length - 1] == '*' ? "" : " ");
    add_name(out, tool->name);
    buf_add_char(out, '(');
    for (uint32_t i = 0; i < tool->param_count; i++) {
        buf_add_text(out, i > 0 ? ", " : "");
        add_param(out, (const void *)(params + (size_t)i * tool->param_size));
    }
    buf_add_text(out, tool->param_count == 0 ? "void)" : ")");
}
