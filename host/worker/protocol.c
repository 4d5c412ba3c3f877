#include "worker/protocol.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "run/run.h"
#include "toolrack/toolrack.h"

/* Each kind of payload is described once, by a code_x() that processes the frame's struct three
 * times: to count the bytes, to write them, and on the other side to read them. If an accepted
 * payload is read and written again, the bytes are the same: a number has one form, and there are
 * no bytes between or after the fields.
 *
 * A string is its length, its bytes and a zero byte; a NULL string is LENGTH_NONE only. */
#define LENGTH_NONE UINT32_MAX

struct codec {
    bool is_reading;
    bool is_bad;         /* writing: a string is longer than is allowed; reading: the payload is
                          * invalid, and later fields keep their values */
    char *out;           /* writing; NULL: count only */
    const char *in;      /* reading */
    size_t size;         /* bytes written so far, or left to read */
    struct arena *arena; /* reading: for arrays */
};

/* The frame is changed only by reading. */
typedef void code_frame(struct codec *codec, void *frame);

static bool send_frame(struct channel *channel, enum frame_type type, code_frame *code,
                       const void *frame) {
    void *source = (void *)(uintptr_t)frame;
    struct codec codec = {.out = NULL};
    code(&codec, source);
    char *room = codec.is_bad ? NULL : channel_room(channel, codec.size);
    if (room == NULL) {
        return false;
    }
    codec = (struct codec){.out = room};
    code(&codec, source);
    channel_send(channel, type, codec.size);
    return true;
}

static bool read_frame(const struct frame_in *frame, struct arena *arena, code_frame *code,
                       void *ret) {
    struct codec codec = {
            .is_reading = true, .in = frame->payload, .size = frame->size, .arena = arena};
    code(&codec, ret);
    return !codec.is_bad && codec.size == 0;
}

/* ------------------------------------------------------------------- pieces */

/* Reading: the next `size` bytes; NULL: fewer are left. */
static const char *take(struct codec *codec, size_t size) {
    if (codec->is_bad || size > codec->size) {
        codec->is_bad = true;
        return NULL;
    }
    const char *at = codec->in;
    codec->in += size;
    codec->size -= size;
    return at;
}

/* Inline, as each field of a call is processed here three times. */
static inline void code_raw(struct codec *codec, void *bytes, size_t size) {
    if (!codec->is_reading) {
        if (codec->out != NULL) {
            memcpy(codec->out + codec->size, bytes, size);
        }
        codec->size += size;
    } else if (!codec->is_bad && size <= codec->size) {
        memcpy(bytes, codec->in, size);
        codec->in += size;
        codec->size -= size;
    } else {
        codec->is_bad = true;
    }
}

/* An integer of a stated size. */
#define CODE_NUMBER(codec, number) code_raw((codec), &(number), sizeof(number))

static inline void code_bool(struct codec *codec, bool *is) {
    uint32_t number = *is;
    CODE_NUMBER(codec, number);
    if (codec->is_reading) {
        codec->is_bad = codec->is_bad || number > 1;
        *is = number == 1;
    }
}

/* A plugin may compute NaN or infinity, which the host rejects: 0 is sent instead. A total of 0
 * means "not known". */
static void code_finite(struct codec *codec, double *number) {
    double finite = codec->is_reading || isfinite(*number) ? *number : 0;
    CODE_NUMBER(codec, finite);
    if (codec->is_reading) {
        codec->is_bad = codec->is_bad || !isfinite(finite);
        *number = finite;
    }
}

/* A count, `count_max` at most; 0 if it is invalid. */
static size_t code_count(struct codec *codec, size_t count, size_t count_max) {
    uint32_t number = codec->is_reading || count > count_max ? 0 : (uint32_t)count;
    codec->is_bad = codec->is_bad || (!codec->is_reading && count > count_max);
    CODE_NUMBER(codec, number);
    codec->is_bad = codec->is_bad || number > count_max;
    return codec->is_bad ? 0 : number;
}

/* Properties of a string. */
enum {
    STRING_NEEDED = 1 << 0, /* never NULL */
    STRING_UTF8 = 1 << 1,
    STRING_WHOLE = 1 << 2, /* it ends at its first zero; other strings have a length */
};

static void put_string(struct codec *codec, const char *string, size_t length, size_t length_max) {
    uint32_t stated = (uint32_t)length;
    if (length > length_max) {
        codec->is_bad = true;
        return;
    }
    if (codec->out != NULL) {
        char *to = codec->out + codec->size;
        memcpy(to, &stated, sizeof stated);
        memcpy(to + sizeof stated, string, length);
        to[sizeof stated + length] = '\0';
    }
    codec->size += sizeof stated + length + 1;
}

/* NULL: there is none, or it is invalid. */
static const char *get_string(struct codec *codec, uint32_t stated, size_t length_max,
                              unsigned kind) {
    const char *at = stated <= length_max ? take(codec, (size_t)stated + 1) : NULL;
    if (at == NULL || at[stated] != '\0' ||
        ((kind & STRING_UTF8) != 0 && !utf8_valid(at, stated)) ||
        ((kind & STRING_WHOLE) != 0 && memchr(at, '\0', stated) != NULL)) {
        codec->is_bad = true;
        return NULL;
    }
    return at;
}

/* A string that a program reads: sent in full, or the frame is not sent. `length` is used only
 * without STRING_WHOLE. */
static inline void code_string(struct codec *codec, const char **string, size_t *length,
                               size_t length_max, unsigned kind) {
    uint32_t stated = LENGTH_NONE;
    if (!codec->is_reading && *string != NULL) {
        put_string(codec, *string, (kind & STRING_WHOLE) != 0 ? strlen(*string) : *length,
                   length_max);
        return;
    }
    CODE_NUMBER(codec, stated);
    if (stated != LENGTH_NONE) {
        *string = get_string(codec, stated, length_max, kind);
        if ((kind & STRING_WHOLE) == 0) {
            *length = *string != NULL ? stated : 0;
        }
    } else if (codec->is_reading && (kind & STRING_NEEDED) != 0) {
        codec->is_bad = true;
    }
}

/* A path, or a value that a caller attaches to its call: any bytes. */
static inline void code_path(struct codec *codec, const char **path, unsigned kind) {
    code_string(codec, path, NULL, PROTOCOL_TEXT_MAX, kind | STRING_WHOLE);
}

static inline void code_text(struct codec *codec, const char **text, size_t length_max,
                             unsigned kind) {
    code_string(codec, text, NULL, length_max, kind | STRING_WHOLE | STRING_UTF8);
}

/* A string that a person reads: cut to the largest size and made valid UTF-8. */
static void code_message(struct codec *codec, const char **text, unsigned kind) {
    if (codec->is_reading || *text == NULL) {
        code_text(codec, text, PROTOCOL_TEXT_MAX, kind);
        return;
    }
    size_t length = strlen(*text);
    length = length > PROTOCOL_TEXT_MAX ? utf8_cut(*text, PROTOCOL_TEXT_MAX) : length;
    code_string(codec, text, &length, PROTOCOL_TEXT_MAX, 0);
    if (codec->out != NULL && !utf8_valid(*text, length)) {
        utf8_make_line(codec->out + codec->size - length - 1);
    }
}

/* Reading: a copy in the arena, for alignment. NULL: empty, or no memory. */
static void *copy_array(struct codec *codec, const void *from, size_t size) {
    void *copy = from != NULL && size > 0 ? arena_alloc(codec->arena, size) : NULL;
    if (copy != NULL) {
        memcpy(copy, from, size);
    }
    codec->is_bad = codec->is_bad || (size > 0 && copy == NULL);
    return copy;
}

/* -------------------------------------------------------------------- start */

/* The arena is not used before the paths have been read, as the count alone may be wrong. */
static void code_paths(struct codec *codec, const char *const **paths, size_t *count) {
    const char *read[SANDBOX_PATHS_MAX] = {NULL};
    size_t stated = code_count(codec, *count, SANDBOX_PATHS_MAX);
    for (size_t i = 0; i < stated; i++) {
        const char *path = codec->is_reading ? NULL : (*paths)[i];
        code_path(codec, &path, STRING_NEEDED);
        read[i] = path;
    }
    if (codec->is_reading) {
        size_t size = codec->is_bad ? 0 : stated * sizeof *read;
        *paths = copy_array(codec, read, size);
        *count = *paths != NULL ? stated : 0;
    }
}

static void code_ports(struct codec *codec, const uint16_t **ports, size_t *count) {
    size_t stated = code_count(codec, *count, SANDBOX_PORTS_MAX);
    size_t size = stated * sizeof **ports;
    if (!codec->is_reading) {
        if (codec->out != NULL && size > 0) {
            memcpy(codec->out + codec->size, *ports, size);
        }
        codec->size += size;
        return;
    }
    const char *from = take(codec, size);
    *count = from != NULL ? stated : 0;
    *ports = copy_array(codec, from, *count * sizeof **ports);
}

static void code_start(struct codec *codec, void *frame) {
    struct frame_start *start = frame;
    code_text(codec, &start->plugin_id, PROTOCOL_TEXT_MAX, STRING_NEEDED);
    code_path(codec, &start->path, STRING_NEEDED);
    code_path(codec, &start->file, 0);
    code_text(codec, &start->foreign, PROTOCOL_FOREIGN_MAX, 0);

    CODE_NUMBER(codec, start->identity.device);
    CODE_NUMBER(codec, start->identity.inode);
    CODE_NUMBER(codec, start->identity.size);
    CODE_NUMBER(codec, start->identity.mtime_ns);
    CODE_NUMBER(codec, start->identity.ctime_ns);

    code_text(codec, &start->settings, PROTOCOL_SETTINGS_MAX, STRING_NEEDED);
    code_text(codec, &start->places, PROTOCOL_TEXT_MAX, 0);

    struct sandbox_policy *policy = &start->policy;
    code_paths(codec, &policy->read_paths, &policy->read_path_count);
    code_paths(codec, &policy->write_paths, &policy->write_path_count);
    code_path(codec, &policy->own_path, 0);
    code_bool(codec, &policy->network);
    code_bool(codec, &policy->udp);
    code_ports(codec, &policy->ports, &policy->port_count);
    code_ports(codec, &policy->own_ports, &policy->own_port_count);
    code_bool(codec, &policy->spawn);
    code_paths(codec, &policy->programs, &policy->program_count);
    code_paths(codec, &policy->hidden_paths, &policy->hidden_path_count);
    code_paths(codec, &policy->frozen_paths, &policy->frozen_path_count);
    code_paths(codec, &policy->kept_paths, &policy->kept_path_count);
    code_bool(codec, &policy->network_namespace);
    CODE_NUMBER(codec, policy->limits.memory_bytes);
    CODE_NUMBER(codec, policy->limits.file_size_bytes);
    CODE_NUMBER(codec, policy->limits.cpu_s);
    CODE_NUMBER(codec, policy->limits.files);
    CODE_NUMBER(codec, policy->limits.processes);
    CODE_NUMBER(codec, policy->limits.threads);

    const char *filter = start->filter_size > 0 ? start->filter : "";
    code_string(codec, &filter, &start->filter_size, PROTOCOL_FILTER_MAX, STRING_NEEDED);
    if (codec->is_reading) {
        start->filter = copy_array(codec, filter, start->filter_size);
    }
    CODE_NUMBER(codec, start->layers_required);
    CODE_NUMBER(codec, start->log_level_min);
    code_bool(codec, &start->measures_all);
    CODE_NUMBER(codec, start->notice_mark);
    code_bool(codec, &start->opens_lane);
}

bool send_start(struct channel *channel, const struct frame_start *start) {
    return send_frame(channel, FRAME_START, code_start, start);
}

bool read_start(const struct frame_in *frame, struct arena *arena, struct frame_start *ret) {
    *ret = (struct frame_start){0};
    return read_frame(frame, arena, code_start, ret);
}

/* --------------------------------------------------------------------- call */

/* Parsed values are one array, in which only strings (and numbers that are kept as their digits)
 * have pointers: these are sent as places in the bytes that follow the array. The text needs no
 * second parsing, which took as long as the first: 0.4 ms for a string of 1 MiB. */
static void write_values(struct codec *codec, const yyjson_val *values, size_t count) {
    size_t size = count * sizeof *values;
    char *to = codec->out != NULL ? codec->out + codec->size : NULL;
    char *strings = to != NULL ? to + size : NULL;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        yyjson_val value = values[i];
        if (yyjson_is_str(&value) || yyjson_is_raw(&value)) {
            size_t length = unsafe_yyjson_get_len(&value);
            if (to != NULL) {
                memcpy(strings + at, value.uni.str, length);
                strings[at + length] = '\0';
            }
            value.uni.u64 = at;
            at += length + 1;
        }
        if (to != NULL) {
            memcpy(to + i * sizeof value, &value, sizeof value);
        }
    }
    codec->size += size + at;
}

/* The host parsed what it sends: only what leads outside of the payload is refused. */
static yyjson_val *read_values(struct codec *codec, size_t count) {
    size_t size = count * sizeof(yyjson_val);
    yyjson_val *values = (yyjson_val *)(uintptr_t)take(codec, size);
    size_t at = 0;
    for (size_t i = 0; values != NULL && i < count; i++) {
        if (!yyjson_is_str(&values[i]) && !yyjson_is_raw(&values[i])) {
            continue;
        }
        size_t length = unsafe_yyjson_get_len(&values[i]);
        const char *string = values[i].uni.u64 == at ? take(codec, length + 1) : NULL;
        if (string == NULL || string[length] != '\0') {
            codec->is_bad = true;
            return NULL;
        }
        values[i].uni.str = string;
        at += length + 1;
    }
    return values;
}

/* First in the payload, for alignment. */
static void code_values(struct codec *codec, yyjson_val **values, size_t *value_count) {
    uint64_t count = *value_count;
    CODE_NUMBER(codec, count);
    if (!codec->is_reading) {
        write_values(codec, *values, count);
    } else if (count > 0 && !codec->is_bad && count <= codec->size / sizeof(yyjson_val)) {
        *values = read_values(codec, count);
        *value_count = count;
    } else {
        codec->is_bad = codec->is_bad || count > 0;
    }
}

static void code_call(struct codec *codec, void *frame) {
    struct frame_call *call = frame;
    code_values(codec, &call->values, &call->value_count);
    CODE_NUMBER(codec, call->tool);
    CODE_NUMBER(codec, call->deadline_ns);
    /* Not checked for UTF-8: the parser of the arguments does that. */
    code_string(codec, &call->arguments, &call->arguments_length, TOOLRACK_ARGUMENTS_MAX, 0);
    codec->is_bad = codec->is_bad || (call->arguments == NULL) != (call->value_count > 0);
    code_text(codec, &call->tool_name, PROTOCOL_TEXT_MAX, STRING_NEEDED);
    code_path(codec, &call->caller, 0);
    code_path(codec, &call->channel, 0);
    code_path(codec, &call->conversation, 0);
    code_path(codec, &call->trace, 0);
}

bool send_call(struct channel *channel, const struct frame_call *call) {
    return send_frame(channel, FRAME_CALL, code_call, call);
}

bool read_call(const struct frame_in *frame, struct frame_call *ret) {
    *ret = (struct frame_call){0};
    return read_frame(frame, NULL, code_call, ret);
}

/* ------------------------------------------------------------ result and failure */

/* Before the length of its value, so that the value stands where a result has it. */
#define RESULT_UNUSED (sizeof(struct toolrack_result) - 4 * sizeof(uint32_t) - 2 * sizeof(uint64_t))

static void code_result(struct codec *codec, void *frame) {
    struct frame_result *result = frame;
    char unused[RESULT_UNUSED] = {0};
    code_bool(codec, &result->is_text);
    code_bool(codec, &result->is_content);
    code_bool(codec, &result->is_structured);
    CODE_NUMBER(codec, result->cpu_ns);
    CODE_NUMBER(codec, result->memory);
    code_raw(codec, unused, sizeof unused);
    for (size_t i = 0; i < sizeof unused; i++) {
        codec->is_bad = codec->is_bad || unused[i] != 0;
    }
    code_string(codec, &result->value, &result->length, TOOLRACK_RESULT_MAX, STRING_NEEDED);
}

bool send_result(struct channel *channel, const struct frame_result *result) {
    return send_frame(channel, FRAME_RESULT, code_result, result);
}

bool read_result(const struct frame_in *frame, struct frame_result *ret) {
    *ret = (struct frame_result){0};
    return read_frame(frame, NULL, code_result, ret) &&
           !(ret->is_text && (ret->is_content || ret->is_structured));
}

static void code_failure(struct codec *codec, void *frame) {
    struct frame_failure *failure = frame;
    CODE_NUMBER(codec, failure->code);
    code_message(codec, &failure->field, STRING_NEEDED);
    code_message(codec, &failure->message, STRING_NEEDED);
    code_message(codec, &failure->trace, STRING_NEEDED);
    CODE_NUMBER(codec, failure->from_tool);
    CODE_NUMBER(codec, failure->tool_code);
    CODE_NUMBER(codec, failure->cpu_ns);
    CODE_NUMBER(codec, failure->memory);
}

bool send_failure(struct channel *channel, enum frame_type type,
                  const struct frame_failure *failure) {
    struct frame_failure sent = *failure;
    sent.field = sent.field != NULL ? sent.field : "";
    sent.message = sent.message != NULL ? sent.message : "";
    sent.trace = sent.trace != NULL ? sent.trace : "";
    return send_frame(channel, type, code_failure, &sent);
}

bool read_failure(const struct frame_in *frame, struct frame_failure *ret) {
    *ret = (struct frame_failure){0};
    if (!read_frame(frame, NULL, code_failure, ret)) {
        return false;
    }
    switch (ret->code) {
#define TOOLRACK_CODE(constant, value, ...) case value:
        TOOLRACK_CODES(TOOLRACK_CODE)
#undef TOOLRACK_CODE
        return true;
    default: return false;
    }
}

/* ---------------------------------------------------------- during a call */

static void code_log(struct codec *codec, void *frame) {
    struct frame_log *log = frame;
    CODE_NUMBER(codec, log->level);
    code_message(codec, &log->message, STRING_NEEDED);
}

bool send_log(struct channel *channel, const struct frame_log *log) {
    return send_frame(channel, FRAME_LOG, code_log, log);
}

bool read_log(const struct frame_in *frame, struct frame_log *ret) {
    *ret = (struct frame_log){0};
    return read_frame(frame, NULL, code_log, ret) && ret->level >= LOG_DEBUG &&
           ret->level <= LOG_ERROR;
}

static void code_progress(struct codec *codec, void *frame) {
    struct frame_progress *progress = frame;
    code_finite(codec, &progress->done);
    code_finite(codec, &progress->total);
    code_message(codec, &progress->message, 0);
}

bool send_progress(struct channel *channel, const struct frame_progress *progress) {
    return send_frame(channel, FRAME_PROGRESS, code_progress, progress);
}

bool read_progress(const struct frame_in *frame, struct frame_progress *ret) {
    *ret = (struct frame_progress){0};
    return read_frame(frame, NULL, code_progress, ret);
}

#define QUESTION_TEXTS_MAX (3 * (size_t)PROTOCOL_TEXT_MAX + PROTOCOL_INPUT_MAX + 64)
_Static_assert(PROTOCOL_INPUTS_MAX *QUESTION_TEXTS_MAX < CHANNEL_PAYLOAD_MAX &&
                       TOOLRACK_ARGUMENTS_MAX + 8 * PROTOCOL_TEXT_MAX < CHANNEL_PAYLOAD_MAX &&
                       TOOLRACK_RESULT_MAX + 1024 < CHANNEL_PAYLOAD_MAX,
               "the largest frames fit into the channel");

static void code_question(struct codec *codec, void *frame) {
    struct frame_question *question = frame;
    question->count = (uint32_t)code_count(codec, question->count, PROTOCOL_INPUTS_MAX);
    for (uint32_t i = 0; i < question->count; i++) {
        struct frame_input *input = &question->inputs[i];
        CODE_NUMBER(codec, input->kind);
        code_text(codec, &input->key, PROTOCOL_TEXT_MAX, STRING_NEEDED);
        code_message(codec, &input->message, 0);
        code_text(codec, &input->schema, PROTOCOL_TEXT_MAX, 0);
        code_text(codec, &input->request, PROTOCOL_INPUT_MAX, 0);
    }
}

bool send_question(struct channel *channel, const struct frame_question *question) {
    return send_frame(channel, FRAME_QUESTION, code_question, question);
}

bool read_question(const struct frame_in *frame, struct frame_question *ret) {
    *ret = (struct frame_question){0};
    if (!read_frame(frame, NULL, code_question, ret) || ret->count == 0) {
        return false;
    }
    for (uint32_t i = 0; i < ret->count; i++) {
        if (ret->inputs[i].kind > TOOLRACK_INPUT_ROOTS) {
            return false;
        }
    }
    return true;
}

static void code_answer(struct codec *codec, void *frame) {
    struct frame_answer *answer = frame;
    code_bool(codec, &answer->later);
    CODE_NUMBER(codec, answer->deadline_ns);
    answer->count = (uint32_t)code_count(codec, answer->count, PROTOCOL_INPUTS_MAX);
    for (uint32_t i = 0; i < answer->count; i++) {
        CODE_NUMBER(codec, answer->answers[i].action);
        code_text(codec, &answer->answers[i].content, PROTOCOL_INPUT_MAX, 0);
    }
}

bool send_answer(struct channel *channel, const struct frame_answer *answer) {
    return send_frame(channel, FRAME_ANSWER, code_answer, answer);
}

bool read_answer(const struct frame_in *frame, struct frame_answer *ret) {
    *ret = (struct frame_answer){0};
    return read_frame(frame, NULL, code_answer, ret);
}

/* ------------------------------------------------------------------- nothing */

void send_plain(struct channel *channel, enum frame_type type) {
    channel_send(channel, type, 0);
}
