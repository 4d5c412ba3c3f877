#include "ffi/signature.h"

#include <ffi.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "ffi/bind.h"
#include "ffi/layout.h"
#include "ffi/result.h"
#include "ffi/shape.h"

/* A frame is one block of memory, laid out when the signature is created:
 *
 *     arguments[argument_count]   pointers into the next part, as libffi wants them
 *     slots                       the stored form of each parameter, the call first if there is one
 *     result
 *
 * Bytes and arrays are two C arguments in one slot: a pointer and a size, which struct tr_bytes and
 * struct tr_array contain in the order in which they are passed. */
struct signature {
    struct arena arena; /* for all fields below */
    ffi_cif *cif;       /* never changed; not const, as libffi's prototypes are not */
    const struct shape_member *members; /* the parameters from JSON */
    const struct shape *result;         /* NULL: void */
    const uint32_t *argument_offsets;   /* of each C argument, in the frame */
    uint32_t member_count;
    uint32_t argument_count;
    uint32_t result_offset;
    uint32_t frame_size;
    bool wants_call; /* TR_CALL is the first argument */
};

/* Alignment of slots: the largest of all described types and libffi's result area. */
#define SLOT_ALIGN 8u

CLEANUP_DEFINE(struct signature, signature_destroy)

static uint32_t round_up(uint32_t size) {
    return (size + SLOT_ALIGN - 1) & ~(SLOT_ALIGN - 1);
}

/* ------------------------------------------------------------------ create */

/* A signature under construction; bounded, as each parameter is at most two C arguments. */
struct plan {
    struct arena *arena;
    ffi_type *types[2 * SIGNATURE_PARAMS_MAX];
    uint32_t *offsets;
    uint32_t count;
    uint32_t frame_size;
};

static void add_argument(struct plan *plan, ffi_type *type, uint32_t offset) {
    plan->types[plan->count] = type;
    plan->offsets[plan->count] = offset;
    plan->count++;
}

/* Add a slot, unless the frame becomes too large: structs by value can have any size. */
static int add_slot(struct plan *plan, uint32_t size, uint32_t *ret_offset,
                    struct toolrack_error *err) {
    if (size > SIGNATURE_MEMORY_MAX || plan->frame_size > SIGNATURE_MEMORY_MAX - size) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "its parameters and result take more than %u bytes by value; pass large "
                         "structs by pointer",
                         SIGNATURE_MEMORY_MAX);
    }
    *ret_offset = plan->frame_size;
    plan->frame_size += round_up(size);
    return 0;
}

static int add_member(struct plan *plan, struct shape_member *member, const struct place *place,
                      struct toolrack_error *err) {
    const struct shape *shape = member->shape;
    int code = add_slot(plan, shape_stored_size(shape), &member->offset, err);
    if (code < 0) {
        return code;
    }
    if (shape->kind == TR_KIND_BYTES || shape->kind == TR_KIND_ARRAY) {
        add_argument(plan, &ffi_type_pointer, member->offset);
        add_argument(plan, &ffi_type_uint64,
                     member->offset + (uint32_t)offsetof(struct tr_array, count));
        return 0;
    }
    ffi_type *type = NULL;
    code = layout_create(plan->arena, shape, place, &type, err);
    if (code == 0) {
        add_argument(plan, type, member->offset);
    }
    return code;
}

static_assert(offsetof(struct tr_bytes, size) == offsetof(struct tr_array, count) &&
                      offsetof(struct tr_bytes, data) == 0 && offsetof(struct tr_array, items) == 0,
              "bytes and arrays are passed alike");

static int add_members(struct signature *signature, struct plan *plan, const struct tr_tool *tool,
                       struct toolrack_error *err) {
    static const struct place root = {.key = "parameter"};
    uint32_t first = signature->wants_call ? 1 : 0;
    struct shape_member *members =
            arena_alloc(plan->arena, (tool->param_count - first) * sizeof *members);
    if (members == NULL) {
        return error_oom(err);
    }
    signature->members = members;
    for (uint32_t i = first; i < tool->param_count; i++) {
        struct shape_member *member = &members[signature->member_count];
        struct place place = {.up = &root, .key = tool->params[i].name};
        int code = shape_member_init(plan->arena, &tool->params[i], &place, member, err);
        if (code == 0) {
            code = bind_check_default(member, &place, err);
        }
        if (code == 0) {
            code = add_member(plan, member, &place, err);
        }
        if (code < 0) {
            return code;
        }
        signature->member_count++;
    }
    return 0;
}

static int prepare(struct signature *signature, const struct tr_tool *tool,
                   struct toolrack_error *err) {
    struct plan plan = {.arena = &signature->arena};
    plan.offsets = arena_alloc(plan.arena, 2 * SIGNATURE_PARAMS_MAX * sizeof *plan.offsets);
    if (plan.offsets == NULL) {
        return error_oom(err);
    }
    /* The pointers come first; their number is known only at the end, so room is reserved for the
     * maximum. */
    plan.frame_size = 2 * tool->param_count * (uint32_t)sizeof(void *);
    signature->wants_call = tool->param_count > 0 && tool->params[0].type->kind == TR_KIND_CALL;
    int code = 0;
    if (signature->wants_call) {
        uint32_t offset = 0;
        code = add_slot(&plan, sizeof(struct tr_call *), &offset, err);
        add_argument(&plan, &ffi_type_pointer, offset);
    }
    if (code == 0) {
        code = add_members(signature, &plan, tool, err);
    }
    ffi_type *result = &ffi_type_void;
    uint32_t result_size = 0;
    if (code == 0 && tool->result != NULL && tool->result->kind != TR_KIND_NONE) {
        static const struct place root = {.key = "result"};
        code = shape_create(plan.arena, tool->result, &root, &signature->result, err);
        if (code == 0) {
            code = bind_check_defaults(signature->result, &root, err);
        }
        if (code == 0) {
            code = layout_create(plan.arena, signature->result, &root, &result, err);
            result_size = shape_stored_size(signature->result);
        }
    }
    if (code == 0) {
        /* The end of the frame. libffi needs room for an ffi_arg even for a smaller result. */
        code = add_slot(&plan,
                        result_size < sizeof(ffi_arg) ? (uint32_t)sizeof(ffi_arg) : result_size,
                        &signature->result_offset, err);
    }
    if (code < 0) {
        return code;
    }
    ffi_type **types = arena_alloc(plan.arena, plan.count * sizeof *types);
    signature->cif = arena_alloc(plan.arena, sizeof *signature->cif);
    if (types == NULL || signature->cif == NULL) {
        return error_oom(err);
    }
    memcpy(types, plan.types, plan.count * sizeof *types);
    if (ffi_prep_cif(signature->cif, FFI_DEFAULT_ABI, plan.count, result, types) != FFI_OK) {
        return error_set(err, TOOLRACK_E_REFUSED, "libffi cannot make this call");
    }
    signature->argument_offsets = plan.offsets;
    signature->argument_count = plan.count;
    signature->frame_size = plan.frame_size;
    return 0;
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

int signature_bind(const struct signature *signature, yyjson_val *const *values,
                   struct arena *arena, struct frame *ret, struct toolrack_error *err) {
    const struct binder binder = {.arena = arena, .err = err};
    char *memory = arena_alloc(arena, signature->frame_size);
    if (memory == NULL) {
        return bind_no_memory(&binder);
    }
    for (uint32_t i = 0; i < signature->member_count; i++) {
        const struct shape_member *member = &signature->members[i];
        int code = bind_member(&binder, member, values[i], memory + member->offset, NULL);
        if (code < 0) {
            return code;
        }
    }
    void **arguments = (void **)(void *)memory;
    for (uint32_t i = 0; i < signature->argument_count; i++) {
        arguments[i] = memory + signature->argument_offsets[i];
    }
    *ret = (struct frame){.arguments = arguments, .result = memory + signature->result_offset};
    return 0;
}

void signature_invoke(const struct signature *signature, void (*function)(void),
                      struct tr_call *call, struct frame *frame) {
    assert(function != NULL);
    if (signature->wants_call) {
        *(struct tr_call **)frame->arguments[0] = call;
    }
    ffi_call(signature->cif, function, frame->result, frame->arguments);
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
    /* A result narrower than an ffi_arg is widened to one, whose first bytes are the value. */
    int code = result_write(&writer, signature->result, frame->result, NULL);
    if (code < 0) {
        buf_truncate(out, writer.start);
    }
    return code;
}
