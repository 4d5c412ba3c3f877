#include "ffi/signature.h"

#include <ffi.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "ffi/bind.h"
#include "ffi/direct.h"
#include "ffi/layout.h"
#include "ffi/result.h"
#include "ffi/shape.h"
#include "ffi/split.h"

/* A frame is one block of memory, laid out when the signature is created:
 *
 *     slots    the stored form of each parameter, and the call
 *     result
 *
 * Of a function that is called directly (ffi/direct.h) the slots are struct direct_registers, else
 * the parameters one after the other, the call first if there is one. Bytes and arrays are two C
 * arguments in one slot: a pointer and a size, which struct tr_bytes and struct tr_array contain in
 * the order in which they are passed. */
struct signature {
    struct arena arena; /* for all fields below */
    enum direct_result direct;
    ffi_cif *cif; /* if not direct; never changed, and not const, as libffi's prototypes are not */
    const struct shape_member *members; /* the parameters from JSON */
    const struct shape *result;         /* NULL: void */
    const uint32_t *argument_offsets;   /* of each C argument, in the slots; for libffi */
    uint32_t member_count;
    uint32_t argument_count;
    uint32_t call_offset;
    uint32_t result_offset;
    uint32_t frame_size;
    bool wants_call;     /* TR_CALL is the first argument */
    bool extends_signed; /* a signed parameter is narrower than its register */
};

/* Alignment of slots: the largest of all described types and libffi's result area. */
#define SLOT_ALIGN 8u

/* Each parameter is at most two C arguments; the call is one of the parameters. */
#define ARGUMENTS_MAX (2 * SIGNATURE_PARAMS_MAX)

CLEANUP_DEFINE(struct signature, signature_destroy)

static const struct place parameters = {.key = "parameter"};

/* ------------------------------------------------------------------ create */

static int create_members(struct signature *signature, const struct tr_tool *tool,
                          struct shape_member **ret, struct toolrack_error *err) {
    uint32_t first = signature->wants_call ? 1 : 0;
    struct shape_member *members =
            arena_alloc(&signature->arena, (tool->param_count - first) * sizeof *members);
    if (members == NULL) {
        return error_oom(err);
    }
    for (uint32_t i = first; i < tool->param_count; i++) {
        struct shape_member *member = &members[signature->member_count];
        struct place place = {.up = &parameters, .key = tool->params[i].name};
        int code = shape_member_init(&signature->arena, &tool->params[i], &place, member, err);
        if (code == 0) {
            code = bind_check_default(member, &place, err);
        }
        if (code < 0) {
            return code;
        }
        signature->member_count++;
    }
    signature->members = *ret = members;
    return 0;
}

static int create_result(struct signature *signature, const struct tr_tool *tool,
                         const struct place *place, struct toolrack_error *err) {
    if (tool->result == NULL || tool->result->kind == TR_KIND_NONE) {
        return 0;
    }
    int code = shape_create(&signature->arena, tool->result, place, &signature->result, err);
    return code < 0 ? code : bind_check_defaults(signature->result, place, err);
}

/* Add memory to the frame, unless it becomes too large: structs by value can have any size. */
static int add_to_frame(struct signature *signature, uint32_t size, uint32_t *ret_offset,
                        struct toolrack_error *err) {
    if (size > SIGNATURE_MEMORY_MAX || signature->frame_size > SIGNATURE_MEMORY_MAX - size) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "its parameters and result take more than %u bytes by value; pass large "
                         "structs by pointer",
                         SIGNATURE_MEMORY_MAX);
    }
    *ret_offset = signature->frame_size;
    signature->frame_size += (size + SLOT_ALIGN - 1) & ~(SLOT_ALIGN - 1);
    return 0;
}

/* ------------------------------------------------------------------ libffi */

/* The C arguments under construction. */
struct arguments {
    ffi_type *types[ARGUMENTS_MAX];
    uint32_t offsets[ARGUMENTS_MAX];
    uint32_t count;
};

static void add_argument(struct arguments *arguments, ffi_type *type, uint32_t offset) {
    arguments->types[arguments->count] = type;
    arguments->offsets[arguments->count] = offset;
    arguments->count++;
}

static_assert(offsetof(struct tr_bytes, size) == offsetof(struct tr_array, count) &&
                      offsetof(struct tr_bytes, data) == 0 && offsetof(struct tr_array, items) == 0,
              "bytes and arrays are passed alike");

/* Give a parameter its slot. */
static int add_member(struct signature *signature, struct arguments *arguments,
                      struct shape_member *members, uint32_t index, struct toolrack_error *err) {
    struct shape_member *member = &members[index];
    struct place place = {.up = &parameters, .key = member->param->name};
    int code = add_to_frame(signature, shape_stored_size(member->shape), &member->offset, err);
    if (code < 0) {
        return code;
    }
    if (shape_is_pair(member->shape)) {
        add_argument(arguments, &ffi_type_pointer, member->offset);
        add_argument(arguments, &ffi_type_uint64,
                     member->offset + (uint32_t)offsetof(struct tr_array, count));
        return 0;
    }
    ffi_type *type = NULL;
    code = layout_create(&signature->arena, member->shape, &place, &type, err);
    if (code < 0) {
        return code;
    }
    if (split_needed(members, index, signature->wants_call, signature->result)) {
        add_argument(arguments, &ffi_type_uint64, member->offset);
        add_argument(arguments, &ffi_type_double, member->offset + (uint32_t)sizeof(uint64_t));
    } else {
        add_argument(arguments, type, member->offset);
    }
    return 0;
}

static int prepare_cif(struct signature *signature, const struct arguments *arguments,
                       ffi_type *result, struct toolrack_error *err) {
    struct arena *arena = &signature->arena;
    uint32_t *offsets = arena_alloc(arena, arguments->count * sizeof *offsets);
    ffi_type **types = arena_alloc(arena, arguments->count * sizeof *types);
    signature->cif = arena_alloc(arena, sizeof *signature->cif);
    if (offsets == NULL || types == NULL || signature->cif == NULL) {
        return error_oom(err);
    }
    memcpy(offsets, arguments->offsets, arguments->count * sizeof *offsets);
    memcpy(types, arguments->types, arguments->count * sizeof *types);
    if (ffi_prep_cif(signature->cif, FFI_DEFAULT_ABI, arguments->count, result, types) != FFI_OK) {
        return error_set(err, TOOLRACK_E_REFUSED, "libffi cannot make this call");
    }
    signature->argument_offsets = offsets;
    signature->argument_count = arguments->count;
    return 0;
}

static int add_arguments(struct signature *signature, struct arguments *arguments,
                         struct shape_member *members, struct toolrack_error *err) {
    if (signature->wants_call) {
        int code = add_to_frame(signature, sizeof(struct tr_call *), &signature->call_offset, err);
        if (code < 0) {
            return code;
        }
        add_argument(arguments, &ffi_type_pointer, signature->call_offset);
    }
    for (uint32_t i = 0; i < signature->member_count; i++) {
        int code = add_member(signature, arguments, members, i, err);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ direct */

/* A signed integer whose C type is narrower than a register; an enumeration may be one. */
static bool is_signed_narrow(const struct shape *shape) {
    return !shape->pointed &&
           (shape->kind == TR_KIND_I8 || shape->kind == TR_KIND_I16 || shape->kind == TR_KIND_I32 ||
            (shape->kind == TR_KIND_ENUM && shape->is_signed && shape->size < 8));
}

static void plan_direct(struct signature *signature) {
    signature->frame_size = sizeof(struct direct_registers);
    for (uint32_t i = 0; i < signature->member_count; i++) {
        signature->extends_signed |= is_signed_narrow(signature->members[i].shape);
    }
}

static int prepare(struct signature *signature, const struct tr_tool *tool,
                   struct toolrack_error *err) {
    static const struct place result_place = {.key = "result"};
    struct shape_member *members = NULL;
    struct arguments arguments = {.count = 0};
    signature->wants_call = tool->param_count > 0 && tool->params[0].type->kind == TR_KIND_CALL;
    int code = create_members(signature, tool, &members, err);
    if (code == 0) {
        code = create_result(signature, tool, &result_place, err);
    }
    if (code < 0) {
        return code;
    }
    signature->direct = direct_plan(members, signature->member_count, signature->wants_call,
                                    signature->result, &signature->call_offset);
    if (signature->direct != DIRECT_NOT) {
        plan_direct(signature);
    } else {
        code = add_arguments(signature, &arguments, members, err);
    }
    ffi_type *result = &ffi_type_void;
    uint32_t result_size = 0;
    if (code == 0 && signature->result != NULL) {
        code = layout_create(&signature->arena, signature->result, &result_place, &result, err);
        result_size = shape_stored_size(signature->result);
    }
    if (code == 0) {
        /* Both ways of calling store a narrower result as a word. */
        code = add_to_frame(signature,
                            result_size < sizeof(ffi_arg) ? (uint32_t)sizeof(ffi_arg) : result_size,
                            &signature->result_offset, err);
    }
    return code < 0 || signature->direct != DIRECT_NOT
                   ? code
                   : prepare_cif(signature, &arguments, result, err);
}

int signature_create(const struct tr_tool *tool, struct signature **ret,
                     struct toolrack_error *err) {
    assert(tool->size == sizeof *tool && tool->param_count <= SIGNATURE_PARAMS_MAX);
    assert(tool->param_count == 0 || tool->param_size == sizeof(struct tr_param));
    CLEANUP(signature_destroyp) struct signature *signature = calloc(1, sizeof *signature);
    if (signature == NULL) {
        return error_oom(err);
    }
    arena_init(&signature->arena, NULL, 0);
    signature->arena.size_max = SIGNATURE_MEMORY_MAX;
    int code = prepare(signature, tool, err);
    if (code == TOOLRACK_E_NO_MEMORY && signature->arena.limited) {
        return error_set(err, TOOLRACK_E_REFUSED, "its types unfold to more than %u bytes",
                         SIGNATURE_MEMORY_MAX);
    }
    if (code == 0) {
        *ret = STEAL(signature);
    }
    return code;
}

void signature_destroy(struct signature *signature) {
    if (signature != NULL) {
        arena_finish(&signature->arena);
        free(signature);
    }
}

size_t signature_value_count(const struct signature *signature) {
    return signature->member_count;
}

/* -------------------------------------------------------------------- call */

/* Fill the register of a signed integer that is narrower. */
static void extend_one(const struct shape_member *member, char *slots) {
    direct_word *word = (direct_word *)(void *)(slots + member->offset);
    unsigned unused = 64 - 8 * member->shape->size;
    *word = (uint64_t)((int64_t)(*word << unused) >> unused);
}

static void extend_signed(const struct signature *signature, char *slots) {
    for (uint32_t i = 0; i < signature->member_count; i++) {
        if (is_signed_narrow(signature->members[i].shape)) {
            extend_one(&signature->members[i], slots);
        }
    }
}

int signature_bind(const struct signature *signature, yyjson_val *const *values,
                   struct arena *arena, struct frame *ret, struct toolrack_error *err) {
    const struct binder binder = {.arena = arena, .err = err};
    char *slots = arena_alloc(arena, signature->frame_size);
    if (slots == NULL) {
        return bind_no_memory(&binder);
    }
    *ret = (struct frame){.slots = slots, .result = slots + signature->result_offset};
    /* Registers without a parameter have any value; to clear those too takes as long as to bind
     * one. */
    int code = bind_params(&binder, signature->members, signature->member_count, values, slots);
    if (code == 0 && signature->extends_signed) {
        extend_signed(signature, slots);
    }
    return code;
}

int signature_frame(const struct signature *signature, struct arena *arena, struct frame *ret,
                    struct toolrack_error *err) {
    const struct binder binder = {.arena = arena, .err = err};
    char *slots = arena_zalloc(arena, signature->frame_size);
    if (slots == NULL) {
        return bind_no_memory(&binder);
    }
    *ret = (struct frame){.slots = slots, .result = slots + signature->result_offset};
    for (uint32_t i = 0; i < signature->member_count; i++) {
        const struct shape_member *member = &signature->members[i];
        int code = member->default_value != NULL
                           ? bind_member(&binder, member, NULL, slots + member->offset, NULL)
                           : 0;
        if (code < 0) {
            return code;
        }
    }
    if (signature->extends_signed) {
        extend_signed(signature, slots);
    }
    return 0;
}

void signature_set(const struct signature *signature, const struct frame *frame, uint32_t index,
                   const void *stored) {
    assert(index < signature->member_count);
    const struct shape_member *member = &signature->members[index];
    memcpy(frame->slots + member->offset, stored, shape_stored_size(member->shape));
    if (signature->extends_signed && is_signed_narrow(member->shape)) {
        extend_one(member, frame->slots);
    }
}

const void *signature_value(const struct signature *signature, const struct frame *frame,
                            uint32_t index) {
    assert(index < signature->member_count);
    return frame->slots + signature->members[index].offset;
}

static void invoke_by_libffi(const struct signature *signature, void (*function)(void),
                             const struct frame *frame) {
    void *arguments[ARGUMENTS_MAX];
    for (uint32_t i = 0; i < signature->argument_count; i++) {
        arguments[i] = frame->slots + signature->argument_offsets[i];
    }
    ffi_call(signature->cif, function, frame->result, arguments);
}

void signature_invoke(const struct signature *signature, void (*function)(void),
                      struct tr_call *call, const struct frame *frame) {
    assert(function != NULL);
    if (signature->wants_call) {
        *(struct tr_call **)(void *)(frame->slots + signature->call_offset) = call;
    }
    if (signature->direct == DIRECT_NOT) {
        invoke_by_libffi(signature, function, frame);
        return;
    }
    struct direct_registers *registers = (struct direct_registers *)(void *)frame->slots;
    if (signature->direct == DIRECT_MEMORY) {
        registers->words[0] = (uintptr_t)frame->result;
    }
    direct_call(signature->direct, function, registers, frame->result);
}

int signature_write_result(const struct signature *signature, const struct frame *frame,
                           struct arena *arena, size_t size_max, struct buf *out,
                           struct toolrack_error *err) {
    const struct writer writer = {
            .out = out,
            .start = out->length,
            .size_max = size_max != 0 ? size_max : SIGNATURE_RESULT_SIZE_MAX,
            .arena = arena,
            .err = err,
    };
    if (signature->result == NULL) {
        buf_add(out, "null", 4);
        return out->failed ? error_oom(err) : 0;
    }
    /* A narrower result is widened to a word, whose first bytes are the value. */
    int code = result_write(&writer, signature->result, frame->result, NULL);
    if (code < 0) {
        buf_truncate(out, writer.start);
    }
    return code;
}
