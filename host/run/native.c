#include "run/native.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"

/* What a function to release or to explain is. */
typedef void (*release_function)(void *pointer);
typedef const char *(*explain_function)(int code);

struct native {
    const struct foreign *foreign;
    const struct tr_tool *tool;
    void (*function)(void);
    struct signature *outer;    /* of the tool */
    struct signature *inner;    /* of the function: a parameter for each C argument */
    uint32_t *places;           /* of each argument, the index of its first parameter of `inner` */
    release_function *releases; /* of each argument and, last, of the result; or NULL */
    explain_function explain;   /* or NULL */
    struct arena arena;         /* for all of these */
};

CLEANUP_DEFINE(struct native, native_destroy)

/* ------------------------------------------------------------------- create */

static const struct tr_type word_type = {.size = sizeof word_type, .kind = TR_KIND_U64};

static bool is_pair(const struct tr_type *type) {
    return type->kind == TR_KIND_BYTES || type->kind == TR_KIND_ARRAY;
}

/* Whether the C value is a pointer, which is passed as the word that it is. */
static bool is_pointer(const struct tr_type *type) {
    return type->flags != 0 || type->kind == TR_KIND_STRING || type->kind == TR_KIND_JSON ||
           is_pair(type);
}

/* Whether bytes or an array are two C arguments, one after the other. */
static bool passes_length(const struct foreign_argument *argument) {
    return is_pair(argument->about.type) && argument->direction == FOREIGN_IN &&
           !argument->is_alone && argument->length_at == FOREIGN_NONE;
}

/* The parameters of the C function. Those that are not constant are set by hand, so they need
 * neither default nor limits; they have numbers for names. */
static int create_inner(struct native *native, struct toolrack_error *err) {
    const struct foreign *foreign = native->foreign;
    struct tr_param *params =
            arena_zalloc(&native->arena, (2 * foreign->argument_count + 1) * sizeof *params);
    native->places =
            arena_zalloc(&native->arena, (foreign->argument_count + 1) * sizeof *native->places);
    if (params == NULL || native->places == NULL) {
        return error_oom(err);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < foreign->argument_count; i++) {
        const struct foreign_argument *argument = &foreign->arguments[i];
        bool is_word = argument->direction != FOREIGN_IN || is_pointer(argument->about.type);
        native->places[i] = count;
        params[count].name = argument->about.name;
        params[count].type = is_word ? &word_type : argument->about.type;
        params[count++].default_json = argument->value_json;
        if (passes_length(argument)) {
            params[count].name = argument->about.name;
            params[count++].type = &word_type;
        }
    }
    if (count > SIGNATURE_PARAMS_MAX) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s has more than %u C arguments",
                         foreign->symbol, SIGNATURE_PARAMS_MAX);
    }
    const struct tr_type *returns = foreign->returns;
    const struct tr_tool tool = {.size = sizeof tool,
                                 .params = params,
                                 .param_count = count,
                                 .param_size = sizeof *params,
                                 .result = returns != NULL && is_pointer(returns) ? &word_type
                                                                                  : returns};
    return signature_create(&tool, &native->inner, err);
}

static int find(const struct native *native, const char *symbol, void *ret,
                struct toolrack_error *err) {
    void (*found)(void) = NULL;
    int code = symbol != NULL ? foreign_find(native->foreign, symbol, &found, err) : 0;
    memcpy(ret, &found, sizeof found);
    return code;
}

static int create(struct native *native, struct toolrack_error *err) {
    const struct foreign *foreign = native->foreign;
    int code = signature_create(native->tool, &native->outer, err);
    if (code == 0) {
        code = create_inner(native, err);
    }
    native->releases =
            arena_zalloc(&native->arena, (foreign->argument_count + 1) * sizeof *native->releases);
    if (code == 0 && native->releases == NULL) {
        code = error_oom(err);
    }
    for (uint32_t i = 0; i < foreign->argument_count && code == 0; i++) {
        code = find(native, foreign->arguments[i].release, &native->releases[i], err);
    }
    if (code == 0) {
        code = find(native, foreign->release, &native->releases[foreign->argument_count], err);
    }
    return code < 0 ? code : find(native, foreign->error.explain, &native->explain, err);
}

int native_create(const struct foreign *foreign, const struct tr_tool *tool, void (*function)(void),
                  struct native **ret, struct toolrack_error *err) {
    CLEANUP(native_destroyp) struct native *native = calloc(1, sizeof *native);
    if (native == NULL) {
        return error_oom(err);
    }
    native->foreign = foreign;
    native->tool = tool;
    native->function = function;
    arena_init(&native->arena, NULL, 0);
    int code = create(native, err);
    if (code == 0) {
        *ret = STEAL(native);
    }
    return code;
}

void native_destroy(struct native *native) {
    if (native != NULL) {
        signature_destroy(native->outer);
        signature_destroy(native->inner);
        arena_finish(&native->arena);
        free(native);
    }
}

/* --------------------------------------------------------------------- room */

/* Room for what the function writes, at the end of its pages. */
struct room {
    void *pages;
    size_t pages_size;
    char *data;
    uint64_t capacity; /* bytes, or items of an array */
};

/* One call. */
struct native_call {
    const struct native *native;
    struct run *run;
    struct toolrack_error *err;
    struct frame outer;
    struct frame inner;
    struct room *rooms; /* of each argument */
    int error_number;   /* errno, after the function returned */
};

static void rooms_finish(const struct native_call *call) {
    for (uint32_t i = 0; i < call->native->foreign->argument_count; i++) {
        if (call->rooms[i].pages != NULL) {
            (void)munmap(call->rooms[i].pages, call->rooms[i].pages_size);
        }
    }
}

static int room_init(const struct native_call *call, struct room *room, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (size + page - 1) / page + 1;
    void *memory =
            mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return error_oom(call->err);
    }
    room->pages = memory;
    room->pages_size = pages * page;
    char *end = (char *)memory + (pages - 1) * page;
    room->data = end - size; /* a multiple of the type's own alignment before a page */
    return mprotect(end, page, PROT_NONE) == 0 ? 0 : error_oom(call->err);
}

static size_t value_size(const struct tr_type *type) {
    switch (type->kind) {
    case TR_KIND_BOOL:
    case TR_KIND_I8:
    case TR_KIND_U8: return 1;
    case TR_KIND_I16:
    case TR_KIND_U16: return 2;
    case TR_KIND_I32:
    case TR_KIND_U32:
    case TR_KIND_F32: return 4;
    case TR_KIND_ENUM:
    case TR_KIND_STRUCT: return type->width;
    default: return 8; /* also a pointer that the function sets */
    }
}

/* Bytes of one of what a capacity counts. */
static size_t unit_size(const struct tr_type *type) {
    return type->kind == TR_KIND_ARRAY ? value_size(type->item) : 1;
}

/* -------------------------------------------------------------------- before */

static const struct foreign_argument *argument_at(const struct native_call *call, uint32_t index) {
    return &call->native->foreign->arguments[index];
}

/* What the caller gave for an argument, as it is stored. */
static const void *given(const struct native_call *call, uint32_t input) {
    return signature_value(call->native->outer, &call->outer, input);
}

static uint64_t given_count(const struct native_call *call,
                            const struct foreign_argument *argument) {
    if (argument->about.type->kind == TR_KIND_STRING) {
        const char *text = *(const char *const *)given(call, argument->input);
        return text != NULL ? strlen(text) : 0;
    }
    return ((const struct tr_array *)given(call, argument->input))->count;
}

/* The function may write as much as the caller allows, and at least what it reads. */
static int make_buffer(const struct native_call *call, uint32_t index) {
    const struct foreign_argument *argument = argument_at(call, index);
    struct room *room = &call->rooms[index];
    size_t unit = unit_size(argument->about.type);
    room->capacity = argument->room_input != FOREIGN_NONE
                             ? *(const uint64_t *)given(call, argument->room_input)
                             : argument->capacity;
    uint64_t count = argument->input != FOREIGN_NONE ? given_count(call, argument) : 0;
    uint64_t ends = argument->about.type->kind == TR_KIND_STRING ? 1 : 0; /* the zero */
    if (argument->input != FOREIGN_NONE && count + ends > room->capacity) {
        return error_set_field(call->err, TOOLRACK_E_INVALID_ARGUMENTS, argument->about.name,
                               "is longer than the room of %" PRIu64 " for it", room->capacity);
    }
    if (room->capacity > FOREIGN_ROOM_MAX / unit) {
        return error_set(call->err, TOOLRACK_E_LIMIT_EXCEEDED, "room for %" PRIu64 " is too much",
                         room->capacity);
    }
    int code = room_init(call, room, room->capacity * unit);
    if (code == 0 && count > 0) {
        const void *from = *(const void *const *)given(call, argument->input);
        memcpy(room->data, from, count * unit);
    }
    return code;
}

static int make_room(const struct native_call *call, uint32_t index) {
    const struct foreign_argument *argument = argument_at(call, index);
    const struct tr_type *type = argument->about.type;
    if (argument->capacity > 0) {
        return make_buffer(call, index);
    }
    struct room *room = &call->rooms[index];
    int code = room_init(call, room, value_size(type));
    if (code == 0 && argument->input != FOREIGN_NONE) {
        const void *stored = given(call, argument->input);
        memcpy(room->data, type->kind == TR_KIND_STRUCT ? *(const void *const *)stored : stored,
               value_size(type));
    }
    return code;
}

/* The number that a length argument has before the call. All integers are little-endian. */
static uint64_t length_before(const struct native_call *call,
                              const struct foreign_argument *argument) {
    if (argument->length_from == FOREIGN_NONE) {
        return 0;
    }
    const struct foreign_argument *of = argument_at(call, argument->length_from);
    return of->direction == FOREIGN_IN ? given_count(call, of)
                                       : call->rooms[argument->length_from].capacity;
}

static uint64_t type_max(const struct tr_type *type) {
    switch (type->kind) {
    case TR_KIND_I8: return INT8_MAX;
    case TR_KIND_U8: return UINT8_MAX;
    case TR_KIND_I16: return INT16_MAX;
    case TR_KIND_U16: return UINT16_MAX;
    case TR_KIND_I32: return INT32_MAX;
    case TR_KIND_U32: return UINT32_MAX;
    default: return INT64_MAX;
    }
}

static int set_length(const struct native_call *call, uint32_t index) {
    const struct foreign_argument *argument = argument_at(call, index);
    const struct tr_type *type = argument->about.type;
    uint64_t length = length_before(call, argument);
    if (length > type_max(type)) {
        return error_set_field(call->err, TOOLRACK_E_INVALID_ARGUMENTS, argument->length_of,
                               "is longer than its length, %s, can say", argument->about.name);
    }
    if (argument->direction == FOREIGN_IN) {
        signature_set(call->native->inner, &call->inner, call->native->places[index], &length);
        return 0;
    }
    memcpy(call->rooms[index].data, &length, value_size(type));
    return 0;
}

static void set_argument(const struct native_call *call, uint32_t index) {
    const struct foreign_argument *argument = argument_at(call, index);
    const struct signature *inner = call->native->inner;
    uint32_t place = call->native->places[index];
    if (argument->direction != FOREIGN_IN) {
        signature_set(inner, &call->inner, place, &call->rooms[index].data);
    } else if (argument->input != FOREIGN_NONE) {
        const void *stored = given(call, argument->input);
        signature_set(inner, &call->inner, place, stored);
        if (passes_length(argument)) {
            signature_set(inner, &call->inner, place + 1,
                          &((const struct tr_array *)stored)->count);
        }
    }
}

static int prepare(const struct native_call *call) {
    uint32_t count = call->native->foreign->argument_count;
    int code = 0;
    for (uint32_t i = 0; i < count && code == 0; i++) {
        code = argument_at(call, i)->direction != FOREIGN_IN ? make_room(call, i) : 0;
    }
    for (uint32_t i = 0; i < count && code == 0; i++) {
        if (argument_at(call, i)->length_of != NULL) {
            code = set_length(call, i);
        }
        if (code == 0) {
            set_argument(call, i);
        }
    }
    return code;
}

/* --------------------------------------------------------------------- after */

/* A number that the function gave. */
static int64_t number_at(const struct tr_type *type, const void *stored) {
    uint64_t bits = 0;
    size_t size = value_size(type);
    memcpy(&bits, stored, size);
    unsigned unused = (unsigned)(64 - 8 * size);
    bool is_signed =
            (type->kind >= TR_KIND_I8 && type->kind <= TR_KIND_I64) || type->kind == TR_KIND_ENUM;
    return is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

static int64_t returned(const struct native_call *call) {
    const struct tr_type *type = call->native->foreign->returns;
    if (type == NULL || type->kind == TR_KIND_NONE ||
        (!is_pointer(type) && type->kind == TR_KIND_STRUCT)) {
        return 0; /* which is no number */
    }
    return is_pointer(type) ? *(const int64_t *)call->inner.result
                            : number_at(type, call->inner.result);
}

static bool has_failed(const struct native_call *call, int64_t number) {
    const struct foreign_error *error = &call->native->foreign->error;
    switch ((enum foreign_failure)error->when) {
    case FOREIGN_NEVER: return false;
    case FOREIGN_NEGATIVE: return number < 0;
    case FOREIGN_NONZERO: return number != 0;
    case FOREIGN_ZERO: return number == 0;
    case FOREIGN_EQUALS: return number == error->value;
    case FOREIGN_ERRNO: return call->error_number != 0;
    }
    return false;
}

/* The name that an enumeration has for a number; NULL: none. */
static const char *name_of(const struct tr_type *type, int64_t number) {
    for (uint32_t i = 0; type->kind == TR_KIND_ENUM && i < type->choice_count; i++) {
        if (type->choices[i].value == number) {
            return type->choices[i].name;
        }
    }
    return NULL;
}

static void add_returned(struct buf *out, const struct tr_type *type, int64_t number) {
    const char *name = name_of(type, number);
    buf_printf(out, name != NULL ? ": it returned %s (%" PRId64 ")" : ": it returned %s%" PRId64,
               name != NULL ? name : "", number);
}

/* "compress failed: it returned -5, buffer error" */
static int tell_failure(const struct native_call *call, int64_t number) {
    const struct foreign *foreign = call->native->foreign;
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    if (foreign->error.when == FOREIGN_ZERO) {
        buf_add_text(&why, is_pointer(foreign->returns) ? ": it returned NULL" : ": it returned 0");
    } else if (foreign->error.when != FOREIGN_ERRNO) {
        add_returned(&why, foreign->returns, number);
    }
    if (call->native->explain != NULL) {
        const char *text = call->native->explain((int)number);
        buf_printf(&why, ", %s", text != NULL ? text : "which its library does not explain");
    }
    if (foreign->error.when == FOREIGN_ERRNO || foreign->error.has_errno) {
        char room[128];
        buf_printf(&why, "%s %s (errno %d)", foreign->error.when == FOREIGN_ERRNO ? ":" : ",",
                   strerror_r(call->error_number, room, sizeof room), call->error_number);
    }
    (void)run_fail(call->run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL, "%s failed%s",
                   foreign->symbol, why.failed ? "" : why.data);
    *call->err = call->run->error;
    return call->err->code;
}

/* How much of a buffer the function filled; the pointer is that of the buffer, or the one that the
 * function set. */
static int written_count(const struct native_call *call, uint32_t index, uint64_t *ret) {
    const struct foreign *foreign = call->native->foreign;
    const struct foreign_argument *argument = argument_at(call, index);
    const struct room *room = &call->rooms[index];
    int64_t count = (int64_t)room->capacity;
    if (argument->counted_by != FOREIGN_NONE) {
        count = number_at(argument_at(call, argument->counted_by)->about.type,
                          call->rooms[argument->counted_by].data);
    } else if (argument->length != NULL) {
        count = returned(call);
    } else if (argument->length_at != FOREIGN_NONE &&
               argument_at(call, argument->length_at)->direction != FOREIGN_IN) {
        count = number_at(argument_at(call, argument->length_at)->about.type,
                          call->rooms[argument->length_at].data);
    }
    if (count < 0 || (argument->capacity > 0 && (uint64_t)count > room->capacity)) {
        return error_set(
                call->err, TOOLRACK_E_EXECUTION_FAILED,
                "%s says that %s has %" PRId64 " %s, and there is room for %" PRIu64 "; %s%s",
                foreign->symbol, argument->about.name, count,
                argument->about.type->kind == TR_KIND_ARRAY ? "items" : "bytes", room->capacity,
                argument->capacity_argument != NULL ? "ask for more with "
                                                    : "the definition states too few",
                argument->capacity_argument != NULL ? argument->capacity_argument : "");
    }
    *ret = (uint64_t)count;
    return 0;
}

static int take_buffer(const struct native_call *call, uint32_t index, char *to) {
    const struct foreign_argument *argument = argument_at(call, index);
    const struct room *room = &call->rooms[index];
    const char *data = argument->capacity > 0 ? room->data : *(char *const *)(void *)room->data;
    uint64_t count = 0;
    if (argument->about.type->kind != TR_KIND_STRING) {
        int code = written_count(call, index, &count);
        memcpy(to, &(struct tr_array){.items = data, .count = count}, sizeof(struct tr_array));
        return code;
    }
    if (argument->capacity > 0) { /* the text may fill its room, without a zero */
        int code = argument->length != NULL || argument->length_at != FOREIGN_NONE
                           ? written_count(call, index, &count)
                           : 0;
        if (code < 0) {
            return code;
        }
        bool is_counted = argument->length != NULL ||
                          (argument->length_at != FOREIGN_NONE &&
                           argument_at(call, argument->length_at)->direction != FOREIGN_IN);
        uint64_t most = is_counted ? count : room->capacity;
        data = arena_copy(&call->run->arena, data, strnlen(data, most));
        if (data == NULL) {
            return run_memory_error(call->run, call->err);
        }
    }
    memcpy(to, &data, sizeof data);
    return 0;
}

static int take_returned(const struct native_call *call, char *to) {
    const struct foreign *foreign = call->native->foreign;
    const struct tr_type *type = foreign->returns;
    if (is_pair(type)) {
        const char *data = *(char *const *)call->inner.result;
        int64_t count = number_at(argument_at(call, foreign->length_at)->about.type,
                                  call->rooms[foreign->length_at].data);
        memcpy(to, &(struct tr_array){.items = data, .count = data != NULL ? (uint64_t)count : 0},
               sizeof(struct tr_array));
        return count >= 0 ? 0
                          : error_set(call->err, TOOLRACK_E_EXECUTION_FAILED,
                                      "%s says that its result has %" PRId64 " bytes or items",
                                      foreign->symbol, count);
    }
    if (type->kind == TR_KIND_STRUCT && type->flags == 0) { /* shown where it lies */
        memcpy(to, &call->inner.result, sizeof call->inner.result);
        return 0;
    }
    memcpy(to, call->inner.result, is_pointer(type) ? sizeof(void *) : value_size(type));
    return 0;
}

static int take_output(const struct native_call *call, const struct foreign_output *output) {
    char *to = (char *)call->outer.result + output->offset;
    if (output->argument == FOREIGN_NONE) {
        return take_returned(call, to);
    }
    const struct tr_type *type = argument_at(call, output->argument)->about.type;
    const struct room *room = &call->rooms[output->argument];
    if (is_pair(type) || type->kind == TR_KIND_STRING) {
        return take_buffer(call, output->argument, to);
    }
    if (type->kind == TR_KIND_STRUCT) {
        memcpy(to, &room->data, sizeof room->data);
    } else {
        memcpy(to, room->data, value_size(type));
    }
    return 0;
}

/* Release what the function handed over. */
static void release(const struct native_call *call) {
    const struct native *native = call->native;
    uint32_t count = native->foreign->argument_count;
    for (uint32_t i = 0; i < count; i++) {
        void *pointer =
                native->releases[i] != NULL ? *(void *const *)(void *)call->rooms[i].data : NULL;
        if (pointer != NULL) {
            native->releases[i](pointer);
        }
    }
    void *pointer = native->releases[count] != NULL ? *(void *const *)call->inner.result : NULL;
    if (pointer != NULL) {
        native->releases[count](pointer);
    }
}

static int finish(const struct native_call *call, struct buf *out) {
    const struct foreign *foreign = call->native->foreign;
    int64_t number = returned(call);
    if (has_failed(call, number)) {
        return tell_failure(call, number);
    }
    int code = 0;
    for (uint32_t i = 0; i < foreign->output_count && code == 0; i++) {
        code = take_output(call, &foreign->outputs[i]);
    }
    if (code == 0) {
        result_begin(out);
        code = signature_write_result(call->native->outer, &call->outer, &call->run->arena,
                                      TOOLRACK_RESULT_MAX, out, call->err);
    }
    release(call);
    return code;
}

/* ----------------------------------------------------------------------- run */

/* The values by parameter: the host has checked them and filled in the defaults. */
static int bind(struct native_call *call) {
    const struct tr_tool *tool = call->native->tool;
    struct arena *arena = &call->run->arena;
    yyjson_val **values = arena_alloc(arena, (tool->param_count + 1) * sizeof(yyjson_val *));
    call->rooms =
            arena_zalloc(arena, (call->native->foreign->argument_count + 1) * sizeof *call->rooms);
    if (values == NULL || call->rooms == NULL) {
        return run_memory_error(call->run, call->err);
    }
    for (uint32_t i = 0; i < tool->param_count; i++) {
        values[i] = yyjson_obj_get(call->run->arguments, tool->params[i].name);
    }
    int code = signature_bind(call->native->outer, values, arena, &call->outer, call->err);
    return code < 0 ? code : signature_frame(call->native->inner, arena, &call->inner, call->err);
}

int native_run(const struct native *native, struct run *run, struct buf *out,
               struct toolrack_error *err) {
    struct native_call call = {.native = native, .run = run, .err = err};
    int code = bind(&call);
    if (code < 0) {
        return code;
    }
    code = prepare(&call);
    if (code == 0) {
        errno = 0;
        signature_invoke(native->inner, native->function, NULL, &call.inner);
        call.error_number = errno;
        code = finish(&call, out);
    }
    rooms_finish(&call);
    return code;
}
