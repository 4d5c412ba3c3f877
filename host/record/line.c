#include "record/line.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/rendering.h"
#include "base/utf8.h"
#include "record/mask.h"
#include "schema/own-secrets.h"
#include "schema/secret.h"
#include "store/health-rules.h"
#include "toolrack/records.h"

/* The length of a missing string. */
#define NO_STRING UINT32_MAX

/* ------------------------------------------------------- on the path of calls */

static void put(struct line_strings *strings, enum line_string which, const char *string,
                size_t length, size_t length_max) {
    if (length > length_max) {
        length = utf8_cut(string, length_max);
    }
    strings->strings[which] = string;
    strings->lengths[which] = (uint32_t)length;
    strings->size += length + 1;
}

static void put_short(struct line_strings *strings, enum line_string which, const char *string) {
    strings->lengths[which] = NO_STRING;
    if (string != NULL) {
        put(strings, which, string, strnlen(string, LINE_STRING_MAX + 1), LINE_STRING_MAX);
    }
}

/* Secrets are found only by parsing the whole string: a string that is too long for that is masked
 * as a whole. */
static void put_long(struct line_strings *strings, enum line_string which, const char *string,
                     size_t length, bool secretive, size_t length_max) {
    if (secretive && length > LINE_SECRETIVE_MAX) {
        put(strings, which, SECRET_MASK, strlen(SECRET_MASK), length_max);
    } else {
        put(strings, which, string, length, secretive ? LINE_SECRETIVE_MAX : length_max);
    }
}

void line_collect(const struct subject *subject, const struct call_ending *ending,
                  struct line_strings *ret) {
    const struct toolrack_call_options *options = ending->options;
    ret->size = 0;
    ret->count = ending->result != NULL ? LINE_FIELD : LINE_STRINGS;
    put_short(ret, LINE_CALLER, options->caller);
    put_short(ret, LINE_CHANNEL, options->channel);
    put_short(ret, LINE_CONVERSATION, options->conversation);
    put_short(ret, LINE_TRACE, options->trace);
    put_short(ret, LINE_RUN, options->run);
    put_long(ret, LINE_ARGUMENTS, ending->arguments, ending->length, subject->schema != NULL,
             TOOLRACK_LOG_ARGUMENTS_MAX);
    ret->lengths[LINE_CHANGED] = NO_STRING;
    ret->lengths[LINE_SECRETS] = NO_STRING;
    if (options->secrets != NULL) {
        put(ret, LINE_SECRETS, options->secrets, options->secrets_length, SECRETS_SIZE_MAX);
    }
    if (ending->result != NULL) {
        put_long(ret, LINE_RESULT, ending->result->json, ending->result->json_length,
                 subject->result_schema != NULL, TOOLRACK_LOG_RESULT_MAX);
        size_t length = 0;
        const char *changed = toolrack_result_changed(ending->result, &length);
        if (changed != NULL) {
            put(ret, LINE_CHANGED, changed, length, TOOLRACK_LOG_ARGUMENTS_MAX);
        }
        return;
    }
    const struct toolrack_error *err = ending->err;
    ret->lengths[LINE_RESULT] = NO_STRING;
    if (err->mistake_count > 0) { /* begins with the field */
        put(ret, LINE_FIELD, err->mistakes, err->mistakes_length - 1, sizeof err->mistakes);
    } else {
        put(ret, LINE_FIELD, err->field, strlen(err->field), sizeof err->field);
    }
    put(ret, LINE_MESSAGE, err->message, strlen(err->message), sizeof err->message);
    put(ret, LINE_BACKTRACE, err->trace, strlen(err->trace), sizeof err->trace);
}

void line_measure(const struct call_ending *ending, struct figures *ret) {
    bool failed = ending->result == NULL;
    *ret = (struct figures){
            .started_ns = ending->started_ns,
            .duration_ns = ending->duration_ns,
            .cost = ending->cost,
            .bytes_in = ending->length,
            .bytes_out = failed ? 0 : ending->result->json_length,
            .code = failed ? (int32_t)ending->err->code : 0,
            .signal = failed ? ending->err->signal : 0,
            .hindered = failed && !ending->ran && health_is_failure(ending->err->code),
            .is_uncounted = offer_is(ending->tool->reg->spec->index) ||
                            (failed && ending->err->code == TOOLRACK_E_INPUT_REQUIRED)};
}

void line_fill(struct line *line, struct subject *subject, const struct call_ending *ending,
               const struct line_strings *strings) {
    line->subject = subject;
    line_measure(ending, &line->figures);
    line->size = (uint32_t)strings->size;
    char *at = (char *)(line + 1);
    for (unsigned i = 0; i < strings->count; i++) {
        uint32_t length = strings->lengths[i];
        line->lengths[i] = length;
        if (length != NO_STRING) {
            if (length != 0) { /* an empty string may be NULL */
                memcpy(at, strings->strings[i], length);
            }
            at[length] = '\0';
            at += length + 1;
        }
    }
}

/* ------------------------------------------------------- on the writer's thread */

static const char *cut(const char *string, size_t length_max) {
    if (string != NULL && strlen(string) > length_max) {
        /* It is a copy in the arena, so it may be changed. */
        ((char *)(uintptr_t)string)[utf8_cut(string, length_max)] = '\0';
    }
    return string;
}

static void copy_into(char *room, size_t size, const char *string) {
    size_t length = string != NULL ? strnlen(string, size - 1) : 0;
    memcpy(room, string != NULL ? string : "", length);
    room[length] = '\0';
}

/* Whether the line is about several mistakes. */
static bool has_mistakes(const struct line *line, const char *fields) {
    return fields != NULL && strlen(fields) < line->lengths[LINE_FIELD];
}

/* The field after one, of `fields`; NULL after the last. */
static const char *next_field(const struct line *line, const char *fields, const char *field) {
    const char *end = fields + line->lengths[LINE_FIELD];
    const char *message = field + strlen(field) + 1;
    const char *next = message < end ? message + strlen(message) + 1 : end;
    return next < end ? next : NULL;
}

/* Whether a message has a value that is masked in the arguments. */
static bool tells_secret(const struct line *line, const char *arguments, const char *fields) {
    bool tells = false;
    for (const char *field = fields; field != NULL && !tells;
         field = next_field(line, fields, field)) {
        tells = mask_hides(arguments, field);
    }
    return tells;
}

/* The error as a JSON object; NULL: out of memory. */
static const char *write_error(const struct line *line, const char *const *strings, bool is_masked,
                               struct arena *arena) {
    struct toolrack_error err = {.code = line->figures.code, .signal = line->figures.signal};
    copy_into(err.tool, sizeof err.tool, line->subject->tool);
    copy_into(err.field, sizeof err.field, strings[LINE_FIELD]);
    copy_into(err.message, sizeof err.message, strings[LINE_MESSAGE]);
    copy_into(err.trace, sizeof err.trace, strings[LINE_BACKTRACE]);
    if (!is_masked && has_mistakes(line, strings[LINE_FIELD])) {
        for (const char *field = strings[LINE_FIELD]; field != NULL;
             field = next_field(line, strings[LINE_FIELD], field)) {
            (void)error_keep_mistake(&err, field, field + strlen(field) + 1);
        }
    }
    yyjson_alc alc = arena_alc(arena);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *object = doc != NULL ? error_object(doc, &err, NULL) : NULL;
    yyjson_mut_doc_set_root(doc, object);
    return object != NULL ? json_write(doc, YYJSON_WRITE_NOFLAG, &alc, NULL) : NULL;
}

/* JSON without secrets, in the arena. */
static const char *hide(const struct buf *secrets, const char *json, struct arena *arena) {
    CLEANUP(buf_finish) struct buf masked = BUF_INIT;
    secrets_mask_json(secrets, json, strlen(json), &masked);
    const char *copied = masked.failed ? NULL
                                       : arena_copy(arena, masked.data != NULL ? masked.data : "",
                                                    masked.length);
    return copied != NULL ? copied : SECRET_MASK;
}

/* The result without the secrets of the arguments, which a tool may repeat in any place. */
static const char *hide_repeated(yyjson_doc *schema, const char *arguments, const char *result,
                                 struct arena *arena) {
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    mask_collect(schema, arguments, &secrets);
    return hide(&secrets, result, arena);
}

struct store_call line_read(const struct line *line, int64_t wall_ns, struct arena *arena,
                            bool *ret_no_memory) {
    const struct subject *subject = line->subject;
    const struct figures *figures = &line->figures;
    const char *strings[LINE_STRINGS];
    bool is_masked = false;
    char *at = arena_copy(arena, (const char *)(line + 1), line->size);
    *ret_no_memory = *ret_no_memory || at == NULL;
    for (unsigned i = 0; i < LINE_STRINGS; i++) {
        bool given = at != NULL && (i < LINE_FIELD || figures->code < 0) &&
                     line->lengths[i] != NO_STRING;
        strings[i] = given ? at : NULL;
        if (given) {
            if (i != LINE_SECRETS && !utf8_valid(at, line->lengths[i])) {
                utf8_make_line(at);
            }
            if (i != LINE_SECRETS) {
                own_secrets_mask(at);
            }
            at += line->lengths[i] + 1;
        }
    }
    const struct buf given = {.data = (char *)(uintptr_t)strings[LINE_SECRETS],
                              .length = line->lengths[LINE_SECRETS]};
    for (unsigned i = LINE_ARGUMENTS; given.data != NULL && i <= LINE_RESULT; i++) {
        strings[i] = strings[i] != NULL ? hide(&given, strings[i], arena) : NULL;
    }
    if (subject->schema != NULL && strings[LINE_ARGUMENTS] != NULL) {
        if (strings[LINE_RESULT] != NULL) {
            strings[LINE_RESULT] = hide_repeated(subject->schema, strings[LINE_ARGUMENTS],
                                                 strings[LINE_RESULT], arena);
        }
        strings[LINE_ARGUMENTS] = mask_arguments(subject->schema, strings[LINE_ARGUMENTS], arena);
        /* The message contains the refused value. */
        if (strings[LINE_MESSAGE] != NULL &&
            tells_secret(line, strings[LINE_ARGUMENTS], strings[LINE_FIELD])) {
            strings[LINE_MESSAGE] = SECRET_MASK;
            is_masked = true;
        }
    }
    if (subject->result_schema != NULL && strings[LINE_RESULT] != NULL) {
        strings[LINE_RESULT] = mask_result(subject->result_schema, strings[LINE_RESULT], arena);
    }
    const char *error = NULL;
    if (figures->code < 0) {
        error = write_error(line, strings, is_masked, arena);
        *ret_no_memory = *ret_no_memory || error == NULL;
    }
    return (struct store_call){
            .time_ms = (wall_ns + (int64_t)figures->started_ns) / CLOCK_NS_PER_MS,
            .tool = subject->tool,
            .version = subject->version,
            .plugin = subject->plugin,
            .caller = strings[LINE_CALLER],
            .channel = strings[LINE_CHANNEL] != NULL ? strings[LINE_CHANNEL] : "api",
            .conversation = strings[LINE_CONVERSATION],
            .trace = strings[LINE_TRACE],
            .run = strings[LINE_RUN],
            .duration_ns = figures->duration_ns,
            .arguments = cut(strings[LINE_ARGUMENTS], TOOLRACK_LOG_ARGUMENTS_MAX),
            .changed = strings[LINE_CHANGED],
            .result = cut(strings[LINE_RESULT], TOOLRACK_LOG_RESULT_MAX),
            .bytes_in = figures->bytes_in,
            .bytes_out = figures->bytes_out,
            .error = error,
            .code = figures->code,
            .has_cpu = figures->cost.cpu_ns != CALL_UNMEASURED,
            .cpu_ns = figures->cost.cpu_ns,
            .has_memory = figures->cost.memory != CALL_UNMEASURED,
            .memory = figures->cost.memory};
}
