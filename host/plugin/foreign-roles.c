/* What the arguments of a C function are for the tool: which of them the caller gives, which are a
 * part of its result, and which the host computes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plugin/foreign.h"
#include "plugin/reader.h"
#include "toolrack/toolrack.h"

/* Room that a caller may state: at least this. */
#define ROOM_MIN "1"

struct resolving {
    struct foreign *foreign;
    struct foreign_argument *arguments; /* those of `foreign` */
    struct arena *arena;
    struct toolrack_error *err;
};

TOOLRACK_PRINTF(4, 5)
static int wrong(const struct resolving *resolving, uint32_t index, const char *member,
                 const char *format, ...) {
    char pointer[64];
    va_list args;
    (void)snprintf(pointer, sizeof pointer, "/arguments/%u/%s", index, member);
    va_start(args, format);
    int code = error_setv(resolving->err, TOOLRACK_E_INVALID, pointer, format, args);
    va_end(args);
    return code;
}

static bool is_pair(const struct tr_type *type) {
    return type->kind == TR_KIND_BYTES || type->kind == TR_KIND_ARRAY;
}

static bool is_one_value(const struct tr_type *type) {
    return kind_is_number(type->kind) || type->kind == TR_KIND_BOOL || type->kind == TR_KIND_ENUM ||
           type->kind == TR_KIND_STRUCT;
}

/* ------------------------------------------------------------------ lengths */

/* Find what an argument is the length of. */
static int link_length(const struct resolving *resolving, uint32_t index) {
    struct foreign *foreign = resolving->foreign;
    struct foreign_argument *length = &resolving->arguments[index];
    if (!kind_is_integer(length->about.type->kind) || length->about.type->flags != 0) {
        return wrong(resolving, index, "type", "a length must be of an integer type");
    }
    if (strcmp(length->length_of, "result") == 0) {
        bool has = foreign->returns != NULL && is_pair(foreign->returns);
        if (!has || length->direction != FOREIGN_OUT || foreign->length_at != FOREIGN_NONE) {
            return wrong(resolving, index, "length_of",
                         "only one argument, of the direction \"out\", can be the length of a "
                         "result that is bytes or an array");
        }
        foreign->length_at = index;
        length->length_from = FOREIGN_NONE;
        return 0;
    }
    for (uint32_t i = 0; i < foreign->argument_count; i++) {
        struct foreign_argument *of = &resolving->arguments[i];
        if (strcmp(of->about.name, length->length_of) != 0) {
            continue;
        }
        if (i == index || of->length_at != FOREIGN_NONE ||
            !(is_pair(of->about.type) || of->about.type->kind == TR_KIND_STRING)) {
            return wrong(resolving, index, "length_of",
                         "\"length_of\" must name an argument that is bytes, an array or a string, "
                         "and no other length does");
        }
        of->length_at = index;
        length->length_from = i;
        return 0;
    }
    return wrong(resolving, index, "length_of", "no argument has the name \"%.*s\"",
                 FINDING_SHOWN_MAX, length->length_of);
}

static int link_lengths(const struct resolving *resolving) {
    int code = 0;
    for (uint32_t i = 0; i < resolving->foreign->argument_count; i++) {
        struct foreign_argument *argument = &resolving->arguments[i];
        argument->input = argument->room_input = FOREIGN_NONE;
        argument->output = argument->length_at = argument->length_from = FOREIGN_NONE;
        argument->counted_by = FOREIGN_NONE;
    }
    for (uint32_t i = 0; i < resolving->foreign->argument_count && code == 0; i++) {
        code = resolving->arguments[i].length_of != NULL ? link_length(resolving, i) : 0;
    }
    return code;
}

/* -------------------------------------------------------------------- rules */

/* Bytes of an item of an array that the function writes. */
static bool has_room_for(const struct tr_type *type, uint64_t capacity) {
    return capacity <= FOREIGN_ROOM_MAX &&
           (type->kind != TR_KIND_ARRAY || type->item == NULL ||
            type->item->kind != TR_KIND_STRUCT || capacity <= FOREIGN_ROOM_MAX / type->item->width);
}

/* What says how much of a buffer was written: the result, or another argument. */
static int check_count(const struct resolving *resolving, uint32_t index) {
    struct foreign_argument *argument = &resolving->arguments[index];
    const struct tr_type *returns = resolving->foreign->returns;
    if (strcmp(argument->length, "result") == 0) {
        return returns != NULL && kind_is_integer(returns->kind) && returns->flags == 0
                       ? 0
                       : wrong(resolving, index, "length", "the result is not an integer");
    }
    for (uint32_t i = 0; i < resolving->foreign->argument_count; i++) {
        const struct foreign_argument *count = &resolving->arguments[i];
        if (strcmp(count->about.name, argument->length) == 0 &&
            kind_is_integer(count->about.type->kind) && count->direction != FOREIGN_IN &&
            count->length_of == NULL) {
            argument->counted_by = i;
            return 0;
        }
    }
    return wrong(
            resolving, index, "length",
            "\"length\" must be \"result\", where the function returns it, or an argument of an "
            "integer type that the function writes; an argument that is the length before the "
            "call has \"length_of\"");
}

static int check_out(const struct resolving *resolving, uint32_t index) {
    const struct foreign_argument *argument = &resolving->arguments[index];
    const struct tr_type *type = argument->about.type;
    bool is_buffer = argument->capacity > 0;
    bool is_both = argument->direction == FOREIGN_INOUT;
    if (!is_one_value(type) && !is_pair(type) && type->kind != TR_KIND_STRING) {
        return wrong(resolving, index, "direction", "JSON text cannot be written by a function");
    }
    if (argument->about.default_json != NULL && !is_both) {
        return wrong(resolving, index, "default", "the caller does not give it");
    }
    if ((type->flags & ~(uint32_t)TR_TYPE_NULLABLE) != 0 ||
        (type->flags != 0 && (is_one_value(type) || is_buffer || is_both))) {
        return wrong(resolving, index, "direction",
                     "what a function writes is passed by a pointer, and has none of \"optional\", "
                     "\"pointer\" and \"nullable\"");
    }
    if (is_one_value(type)) {
        return is_buffer || argument->length != NULL || argument->release != NULL ||
                               argument->capacity_argument != NULL
                       ? wrong(resolving, index, "capacity",
                               "only bytes, arrays and strings have a capacity, a \"length\" or "
                               "something to free")
                       : 0;
    }
    if (!is_buffer && (is_both || type->kind == TR_KIND_ARRAY ||
                       (type->kind == TR_KIND_BYTES && argument->length_at == FOREIGN_NONE))) {
        return wrong(resolving, index, "capacity",
                     "state with \"capacity\" how many bytes or items the function writes at most");
    }
    if (!has_room_for(type, argument->capacity)) {
        return wrong(resolving, index, "capacity", "a capacity is at most %u bytes",
                     FOREIGN_ROOM_MAX);
    }
    if (type->kind == TR_KIND_ARRAY &&
        !(kind_is_number(type->item->kind) || type->item->kind == TR_KIND_STRUCT ||
          type->item->kind == TR_KIND_ENUM)) {
        return wrong(resolving, index, "items",
                     "a function writes arrays of numbers, enums and "
                     "structs only");
    }
    if (type->kind == TR_KIND_ARRAY && type->item->flags != 0) {
        return wrong(resolving, index, "items", "the items of such an array are no pointers");
    }
    if (!is_buffer && (argument->capacity_argument != NULL || argument->length != NULL)) {
        return wrong(resolving, index, "capacity", "the room needs a \"capacity\"");
    }
    if (is_buffer && argument->release != NULL) {
        return wrong(resolving, index, "free", "what has a \"capacity\" is not freed");
    }
    return argument->length != NULL ? check_count(resolving, index) : 0;
}

static int check_in(const struct resolving *resolving, uint32_t index) {
    const struct foreign_argument *argument = &resolving->arguments[index];
    const struct tr_type *type = argument->about.type;
    if (argument->capacity > 0 || argument->capacity_argument != NULL || argument->length != NULL ||
        argument->release != NULL) {
        return wrong(resolving, index, "direction",
                     "\"capacity\", \"capacity_argument\", \"length\" and \"free\" are for what a "
                     "function writes: \"direction\": \"out\"");
    }
    if (argument->value_json != NULL &&
        (type->flags != 0 || (!kind_is_number(type->kind) && type->kind != TR_KIND_BOOL &&
                              type->kind != TR_KIND_ENUM))) {
        return wrong(
                resolving, index, "value",
                "only numbers, bool and enums have a \"value\", and the type \"pointer\" null");
    }
    return argument->is_alone && !is_pair(type)
                   ? wrong(resolving, index, "alone", "only bytes and arrays can be \"alone\"")
                   : 0;
}

static int check_argument(const struct resolving *resolving, uint32_t index) {
    const struct foreign_argument *argument = &resolving->arguments[index];
    const struct foreign_argument *of = argument->length_from != FOREIGN_NONE
                                                ? &resolving->arguments[argument->length_from]
                                                : NULL;
    if (argument->value_json != NULL &&
        (argument->direction != FOREIGN_IN || argument->length_of != NULL)) {
        return wrong(resolving, index, "value", "an argument that is always the same is only read");
    }
    if (of != NULL && of->direction == FOREIGN_IN && argument->direction == FOREIGN_OUT) {
        return wrong(resolving, index, "direction", "the length of what is read is not written");
    }
    if (of != NULL && of->direction != FOREIGN_IN && of->capacity == 0 &&
        argument->direction != FOREIGN_OUT) {
        return wrong(resolving, index, "direction",
                     "the length of what the function makes is \"out\"");
    }
    return argument->direction == FOREIGN_IN ? check_in(resolving, index)
                                             : check_out(resolving, index);
}

static int check_result(const struct resolving *resolving) {
    const struct foreign *foreign = resolving->foreign;
    const struct tr_type *type = foreign->returns;
    const struct foreign_error *error = &foreign->error;
    if (type != NULL && is_pair(type) && foreign->length_at == FOREIGN_NONE) {
        return error_set_field(resolving->err, TOOLRACK_E_INVALID, "/result/type",
                               "a result that is bytes or an array needs an argument of the "
                               "direction \"out\" with \"length_of\": \"result\"");
    }
    if (foreign->release != NULL &&
        (type == NULL || (type->kind != TR_KIND_STRING && !is_pair(type) && type->flags == 0))) {
        return error_set_field(resolving->err, TOOLRACK_E_INVALID, "/result/free",
                               "only a pointer is freed");
    }
    if (error->when == FOREIGN_NEVER || error->when == FOREIGN_ERRNO) {
        return 0;
    }
    bool is_pointer = type != NULL && (type->kind == TR_KIND_STRING || is_pair(type) ||
                                       type->flags != 0 || type->kind == TR_KIND_JSON);
    bool is_number = type != NULL && type->flags == 0 &&
                     (kind_is_integer(type->kind) || type->kind == TR_KIND_BOOL ||
                      type->kind == TR_KIND_ENUM);
    return is_number || (is_pointer && error->when == FOREIGN_ZERO)
                   ? 0
                   : error_set_field(resolving->err, TOOLRACK_E_INVALID, "/error/when",
                                     "this is about a result that is an integer, or \"zero\" about "
                                     "a pointer");
}

/* ----------------------------------------------------------------- the tool */

static struct tr_param room_param(const struct resolving *resolving,
                                  const struct foreign_argument *argument) {
    static const struct tr_type size = {.size = sizeof size, .kind = TR_KIND_U64};
    struct tr_param param = {.name = argument->capacity_argument,
                             .type = &size,
                             .minimum_json = ROOM_MIN,
                             .maximum_json = "67108864"};
    _Static_assert(FOREIGN_ROOM_MAX == 67108864, "the maximum above");
    param.description = arena_printf(
            resolving->arena, "Most %s that %s may have; ask for more if it is not enough",
            argument->about.type->kind == TR_KIND_ARRAY ? "items" : "bytes", argument->about.name);
    param.default_json =
            arena_printf(resolving->arena, "%llu", (unsigned long long)argument->capacity);
    return param;
}

static bool is_input(const struct foreign_argument *argument) {
    return argument->direction != FOREIGN_OUT && argument->value_json == NULL &&
           argument->length_of == NULL;
}

/* The type of what is passed by a pointer: a struct may have bytes that nothing describes. */
static const struct tr_type *shown_type(const struct resolving *resolving,
                                        const struct tr_type *type) {
    if (type->kind != TR_KIND_STRUCT || type->flags != 0) {
        return type;
    }
    struct tr_type *copy = arena_zalloc(resolving->arena, sizeof *copy);
    if (copy != NULL) {
        *copy = *type;
        copy->flags = TR_TYPE_BY_POINTER;
    }
    return copy;
}

static int make_params(const struct resolving *resolving) {
    struct foreign *foreign = resolving->foreign;
    struct tr_param *params =
            arena_zalloc(resolving->arena, (2 * foreign->argument_count + 1) * sizeof *params);
    uint32_t count = 0;
    for (uint32_t i = 0; i < foreign->argument_count && params != NULL; i++) {
        struct foreign_argument *argument = &resolving->arguments[i];
        if (is_input(argument)) {
            argument->input = count;
            params[count] = argument->about;
            if (argument->direction == FOREIGN_INOUT) {
                params[count].type = shown_type(resolving, argument->about.type);
            }
            if (params[count++].type == NULL) {
                return error_oom(resolving->err);
            }
        }
        if (argument->capacity_argument != NULL) {
            argument->room_input = count;
            params[count] = room_param(resolving, argument);
            if (params[count].description == NULL || params[count++].default_json == NULL) {
                return error_oom(resolving->err);
            }
        }
    }
    foreign->params = params;
    foreign->param_count = count;
    return params == NULL ? error_oom(resolving->err)
           : count > DESCRIPTOR_PARAMS_MAX
                   ? error_set_field(resolving->err, TOOLRACK_E_INVALID, "/arguments",
                                     "the caller would give more than %u arguments",
                                     DESCRIPTOR_PARAMS_MAX)
                   : 0;
}

static uint32_t stored_size(const struct tr_type *type) {
    if (is_pair(type)) {
        return sizeof(struct tr_array);
    }
    if (type->flags != 0 || type->kind == TR_KIND_STRUCT) {
        return sizeof(void *);
    }
    switch (type->kind) {
    case TR_KIND_BOOL:
    case TR_KIND_I8:
    case TR_KIND_U8: return 1;
    case TR_KIND_I16:
    case TR_KIND_U16: return 2;
    case TR_KIND_I32:
    case TR_KIND_U32:
    case TR_KIND_F32: return 4;
    case TR_KIND_ENUM: return type->width;
    default: return 8;
    }
}

static uint32_t align_up(uint32_t offset, uint32_t align) {
    return (offset + align - 1) / align * align;
}

/* All outputs as the members of an object, which are laid out as C does it. */
static int make_object(const struct resolving *resolving, const struct tr_param *members,
                       struct foreign_output *outputs) {
    struct foreign *foreign = resolving->foreign;
    struct tr_type *type = arena_zalloc(resolving->arena, sizeof *type);
    struct tr_param *fields =
            arena_zalloc(resolving->arena, foreign->output_count * sizeof *fields);
    if (type == NULL || fields == NULL) {
        return error_oom(resolving->err);
    }
    uint32_t end = 0;
    uint32_t most = 1;
    for (uint32_t i = 0; i < foreign->output_count; i++) {
        uint32_t size = stored_size(members[i].type);
        uint32_t align = size > 8 ? 8 : size;
        fields[i] = members[i];
        fields[i].offset = outputs[i].offset = align_up(end, align);
        end = outputs[i].offset + size;
        most = align > most ? align : most;
    }
    *type = (struct tr_type){.size = sizeof *type,
                             .kind = TR_KIND_STRUCT,
                             .width = align_up(end, most),
                             .fields = fields,
                             .field_count = foreign->output_count,
                             .field_size = sizeof *fields};
    foreign->result = type;
    return 0;
}

static int make_result(const struct resolving *resolving) {
    struct foreign *foreign = resolving->foreign;
    struct foreign_output *outputs =
            arena_zalloc(resolving->arena, (foreign->argument_count + 1) * sizeof *outputs);
    struct tr_param *members =
            arena_zalloc(resolving->arena, (foreign->argument_count + 1) * sizeof *members);
    if (outputs == NULL || members == NULL) {
        return error_oom(resolving->err);
    }
    bool is_length = false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < foreign->argument_count; i++) {
        is_length = is_length || resolving->arguments[i].length != NULL;
    }
    if (foreign->returns != NULL && foreign->returns->kind != TR_KIND_NONE && !is_length &&
        !foreign->hides_result && foreign->error.when != FOREIGN_NONZERO) {
        outputs[count].argument = FOREIGN_NONE;
        members[count++] = (struct tr_param){.name = "result",
                                             .description = foreign->result_description,
                                             .type = shown_type(resolving, foreign->returns)};
    }
    for (uint32_t i = 0; i < foreign->argument_count; i++) {
        struct foreign_argument *argument = &resolving->arguments[i];
        if (argument->direction != FOREIGN_IN && argument->length_of == NULL) {
            argument->output = count;
            outputs[count].argument = i;
            members[count++] =
                    (struct tr_param){.name = argument->about.name,
                                      .description = argument->about.description,
                                      .type = shown_type(resolving, argument->about.type)};
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].type == NULL) {
            return error_oom(resolving->err);
        }
    }
    foreign->outputs = outputs;
    foreign->output_count = count;
    foreign->result = count == 1 ? members[0].type : NULL;
    return count <= 1 ? 0 : make_object(resolving, members, outputs);
}

static bool is_plain(const struct foreign *foreign) {
    bool plain = foreign->error.when == FOREIGN_NEVER && foreign->release == NULL &&
                 !foreign->hides_result && (foreign->returns == NULL || !is_pair(foreign->returns));
    for (uint32_t i = 0; i < foreign->argument_count; i++) {
        const struct foreign_argument *argument = &foreign->arguments[i];
        plain = plain && argument->direction == FOREIGN_IN && argument->length_of == NULL &&
                argument->value_json == NULL && !argument->is_alone;
    }
    return plain;
}

int foreign_resolve(struct foreign *foreign, struct foreign_argument *arguments,
                    struct arena *arena, struct toolrack_error *err) {
    const struct resolving resolving = {
            .foreign = foreign, .arguments = arguments, .arena = arena, .err = err};
    foreign->length_at = FOREIGN_NONE;
    int code = link_lengths(&resolving);
    for (uint32_t i = 0; i < foreign->argument_count && code == 0; i++) {
        code = check_argument(&resolving, i);
    }
    if (code == 0) {
        code = check_result(&resolving);
    }
    if (code == 0) {
        code = make_params(&resolving);
    }
    foreign->is_plain = is_plain(foreign);
    if (code == 0 && foreign->is_plain) {
        foreign->result = foreign->returns;
        foreign->outputs = NULL;
        foreign->output_count = 0;
        return 0;
    }
    return code < 0 ? code : make_result(&resolving);
}
