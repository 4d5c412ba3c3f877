#include "run/run.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-exact.h"
#include "base/json-twice.h"
#include "base/json.h"

/* Most characters of a number that are shown. */
#define DIGITS_SHOWN 24

void run_init(struct run *run, const struct run_host *host, void *memory, size_t size) {
    /* Field by field, as the contained error is large and is written only if needed. */
    run->base.api = &run_api;
    run->host = host;
    run->context = (struct run_context){0};
    atomic_init(&run->deadline_ns, 0); /* nobody else has it yet */
    arena_init(&run->arena, memory, size);
    run->arena.size_max = RUN_MEMORY_MAX;
    run->arguments_text = NULL;
    run->arguments_length = 0;
    run->parsed = NULL;
    run->arguments = NULL;
    run->arguments_filled = false;
    run->given_arguments = NULL;
    run->given_length = 0;
    run->first_block = NULL;
    run->last_block = NULL;
    run->block_count = 0;
    run->has_json = false;
    run->structured = NULL;
    run->writer = (struct writer){0};
    run->reply_size = 0;
    run->inputs = 0;
    run->keys = NULL;
    run->is_unanswered = false;
    run->failed = false;
}

void run_finish(struct run *run) {
    buf_finish(&run->writer.text);
    arena_finish(&run->arena);
}

/* ------------------------------------------------------------------- fail */

tr_status run_fail(struct run *run, int error_code, tr_status code, const char *field,
                   const char *format, ...) {
    if (!run->failed) {
        run->failed = true;
        va_list args;
        va_start(args, format);
        (void)error_setv(&run->error, error_code, field, format, args);
        va_end(args);
    }
    return code;
}

int run_memory_error(const struct run *run, struct toolrack_error *err) {
    return run->arena.limited ? error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                          "the call takes more than the %u bytes of memory allowed",
                                          RUN_MEMORY_MAX)
                              : error_oom(err);
}

tr_status run_no_memory(struct run *run) {
    struct toolrack_error err;
    return run_memory_error(run, &err) == TOOLRACK_E_LIMIT_EXCEEDED
                   ? run_fail(run, err.code, TR_LIMIT_EXCEEDED, NULL, "%s", err.message)
                   : run_fail(run, err.code, TR_FAILED, NULL, "%s", err.message);
}

tr_status run_misuse(struct run *run, const char *what) {
    return run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                    "the tool's reply cannot be used: %s", what);
}

tr_status run_too_large(struct run *run) {
    return run_fail(run, TOOLRACK_E_LIMIT_EXCEEDED, TR_LIMIT_EXCEEDED, NULL,
                    "the reply is larger than the %u bytes allowed", TOOLRACK_RESULT_MAX);
}

/* -------------------------------------------------------------- arguments */

static yyjson_doc *read_json(struct run *run, const char *text, size_t length,
                             yyjson_read_flag flags, yyjson_read_err *ret_why) {
    yyjson_alc alc = arena_alc(&run->arena);
    /* Without the in-situ flag yyjson does not change the text, although the parameter is not
     * const. */
    return yyjson_read_opts((char *)(uintptr_t)text, length, flags, &alc, ret_why);
}

yyjson_doc *run_read_json(struct run *run, const char *text, size_t length,
                          yyjson_read_err *ret_why) {
    return read_json(run, text, length, YYJSON_READ_NOFLAG, ret_why);
}

/* A person who is shown the arguments, the schema and the tool could each read another value. */
static int refuse_twice(const struct run *run, struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX];
    switch (json_find_twice(run->arguments, pointer)) {
    case JSON_TWICE_NONE: return 0;
    case JSON_TWICE_NO_MEMORY: return error_oom(err);
    case JSON_TWICE_FOUND: break;
    }
    return error_set_field(err, TOOLRACK_E_INVALID_ARGUMENTS, pointer,
                           "is given twice; give it once");
}

/* What is particular about the numbers of arguments. */
struct numbers {
    bool may_be_rounded;   /* a whole number that was written as a real: see json_add_exact(), which
                            * would take as long as a schema's check of the arguments */
    yyjson_val *too_large; /* one that no double holds; NULL: none */
};

static bool is_too_large(yyjson_val *digits) {
    yyjson_val number = {0};
    return yyjson_read_number(yyjson_get_raw(digits), &number, 0, NULL, NULL) == NULL;
}

static struct numbers look_at_numbers(yyjson_val *root) {
    const yyjson_val *end = unsafe_yyjson_get_next(root);
    struct numbers numbers = {0};
    for (yyjson_val *value = root; value < end; value++) {
        if (unsafe_yyjson_is_real(value)) {
            numbers.may_be_rounded =
                    numbers.may_be_rounded || fabs(unsafe_yyjson_get_real(value)) > JSON_EXACT_MAX;
        } else if (unsafe_yyjson_is_raw(value) && numbers.too_large == NULL) {
            numbers.too_large = is_too_large(value) ? value : NULL;
        }
    }
    return numbers;
}

/* A tool cannot read it, nor reply with it. */
static int refuse_too_large(const struct run *run, yyjson_val *number, struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX];
    const char *digits = yyjson_get_raw(number);
    json_point_at(run->arguments, number, pointer);
    return error_set_field(err, TOOLRACK_E_INVALID_ARGUMENTS, pointer,
                           "must be a number that a 64-bit float can hold, and %.*s%s is too large",
                           DIGITS_SHOWN, digits, strlen(digits) > DIGITS_SHOWN ? "..." : "");
}

/* Read the arguments again, with such numbers as integers. */
static int read_exactly(struct run *run, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf exact = BUF_INIT;
    yyjson_read_err why;
    bool is_rounded = json_add_exact(&exact, run->arguments_text, run->arguments_length);
    if (exact.failed) {
        return run_memory_error(run, err);
    }
    if (is_rounded) {
        yyjson_doc *doc = read_json(run, exact.data, exact.length, YYJSON_READ_BIGNUM_AS_RAW, &why);
        if (doc == NULL) { /* it differs from what was read only in digits */
            return run_memory_error(run, err);
        }
        run->arguments = yyjson_doc_get_root(doc);
    }
    return 0;
}

int run_read(struct run *run, const char *text, size_t length, struct toolrack_error *err) {
    if (length == 0) {
        text = "{}";
        length = 2;
    }
    if (length > TOOLRACK_ARGUMENTS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the arguments have %zu bytes, more than the %u allowed", length,
                         TOOLRACK_ARGUMENTS_MAX);
    }
    run->arguments_text = text;
    run->arguments_length = length;
    if (run->parsed != NULL) {
        run->arguments = run->parsed;
        return 0;
    }
    /* Integers beyond 64 bits keep their digits: as doubles they would be rounded to a bound. */
    yyjson_read_err why;
    yyjson_doc *doc = read_json(run, text, length, YYJSON_READ_BIGNUM_AS_RAW, &why);
    if (doc == NULL) {
        return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? run_memory_error(run, err)
                       : error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                                   "the arguments are not JSON: %s at byte %zu", why.msg, why.pos);
    }
    run->arguments = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(run->arguments)) {
        return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the arguments must be one JSON object, such as {\"key\": \"value\"}, "
                         "not %s %s",
                         yyjson_is_arr(run->arguments) ? "an" : "a",
                         yyjson_get_type_desc(run->arguments));
    }
    return 0;
}

int run_prove(struct run *run, struct toolrack_error *err) {
    const struct numbers numbers = look_at_numbers(run->arguments);
    if (numbers.too_large != NULL) {
        return refuse_too_large(run, numbers.too_large, err);
    }
    int code = numbers.may_be_rounded ? read_exactly(run, err) : 0;
    if (code < 0) {
        return code;
    }
    /* Others read them too, as who approves the call; most readers of JSON take less. */
    if (json_is_deeper(run->arguments, JSON_DEEPER_MAX)) {
        return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the arguments are nested deeper than %u levels", JSON_DEEPER_MAX);
    }
    return refuse_twice(run, err);
}

int run_parse(struct run *run, const char *text, size_t length, struct toolrack_error *err) {
    int code = run_read(run, text, length, err);
    return code < 0 ? code : run_prove(run, err);
}

/* -------------------------------------------------------------------- run */

int run_unanswered_error(const struct run_context *context, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INPUT_REQUIRED,
                     "Tool '%s' asks for something; call it again, with the answers",
                     context->tool);
}

/* The failure that the tool reported by tr_fail(), or by its status only. */
static int outcome(struct run *run, tr_status status, struct toolrack_error *err) {
    if (run->is_unanswered) {
        return run_unanswered_error(&run->context, err);
    }
    if (status != TR_OK) {
        (void)run_fail(run, TOOLRACK_E_EXECUTION_FAILED, status, NULL,
                       "the tool failed with status %d and did not say why", (int)status);
    }
    if (!run->failed && run->writer.begun && !run->writer.finished) {
        (void)run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                       "the tool's JSON reply is not complete: %u objects or arrays are open",
                       run->writer.depth);
    }
    if (!run->failed) {
        return 0;
    }
    *err = run->error;
    return run->error.code;
}

int run_json_tool(struct run *run, tr_status (*entry)(struct tr_call *),
                  struct toolrack_error *err) {
    return outcome(run, entry(&run->base), err);
}

int run_service(struct run *run, const struct run_service *service, struct toolrack_error *err) {
    return outcome(run, service->run(&run->base, service->user), err);
}

int run_typed_tool(struct run *run, const struct signature *signature, void (*function)(void),
                   struct frame *frame, struct buf *out, struct toolrack_error *err) {
    signature_invoke(signature, function, &run->base, frame);
    if (run->block_count > 0 || run->writer.begun) { /* no output of a tool is dropped silently */
        (void)run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                       "the tool replied through its call, but the result of a typed tool is what "
                       "it returns; it must be a JSON tool to do that");
    }
    int code = outcome(run, TR_OK, err);
    if (code < 0) {
        return code;
    }
    result_begin(out);
    return signature_write_result(signature, frame, &run->arena, TOOLRACK_RESULT_MAX, out, err);
}
