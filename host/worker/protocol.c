#include "worker/protocol.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "toolrack/toolrack.h"

/* Each kind of payload is told twice, in the same order: by put_x(), which runs once to count the
 * bytes and once to write them, and by read_x(). Of a payload that is accepted, writing what was
 * read gives the same bytes: a number has one form, and there is nothing between or behind.
 *
 * A text is its length, its bytes and a zero; one that is not there is LENGTH_NONE alone. */
#define LENGTH_NONE UINT32_MAX

/* ------------------------------------------------------------------ writing */

struct out {
    char *at; /* NULL: count only */
    size_t size;
    bool is_refused; /* a text is longer than its reader takes */
};

static void put(struct out *out, const void *bytes, size_t size) {
    if (out->at != NULL && size > 0) {
        memcpy(out->at + out->size, bytes, size);
    }
    out->size += size;
}

static void put_u32(struct out *out, uint32_t number) {
    put(out, &number, sizeof number);
}

static void put_u64(struct out *out, uint64_t number) {
    put(out, &number, sizeof number);
}

static void put_i32(struct out *out, int32_t number) {
    put(out, &number, sizeof number);
}

static void put_i64(struct out *out, int64_t number) {
    put(out, &number, sizeof number);
}

static void put_double(struct out *out, double number) {
    put(out, &number, sizeof number);
}

static void put_bool(struct out *out, bool is) {
    put_u32(out, is);
}

static void put_bytes(struct out *out, const void *bytes, size_t length, size_t length_max) {
    if (bytes == NULL) {
        put_u32(out, LENGTH_NONE);
        return;
    }
    if (length > length_max) {
        out->is_refused = true;
        return;
    }
    put_u32(out, (uint32_t)length);
    put(out, bytes, length);
    put(out, "", 1);
}

/* What a program reads: all of it, or the frame is not sent. */
static void put_text(struct out *out, const char *text, size_t length_max) {
    put_bytes(out, text, text != NULL ? strlen(text) : 0, length_max);
}

/* What a person reads: as much of it as goes, and as text. */
static void put_message(struct out *out, const char *text) {
    size_t length = text != NULL ? strlen(text) : 0;
    if (length > PROTOCOL_TEXT_MAX) {
        length = utf8_cut(text, PROTOCOL_TEXT_MAX);
    }
    put_bytes(out, text, length, PROTOCOL_TEXT_MAX);
    if (out->at != NULL && text != NULL && !utf8_valid(text, length)) {
        utf8_make_line(out->at + out->size - length - 1);
    }
}

typedef void put_frame(struct out *out, const void *frame);

static bool send_frame(struct channel *channel, enum frame_type type, put_frame *put_it,
                       const void *frame) {
    struct out count = {0};
    put_it(&count, frame);
    char *room = count.is_refused ? NULL : channel_room(channel, count.size);
    if (room == NULL) {
        return false;
    }
    struct out out = {.at = room};
    put_it(&out, frame);
    channel_send(channel, type, out.size);
    return true;
}

/* ------------------------------------------------------------------ reading */

struct in {
    const char *at;
    size_t left;
    bool is_bad; /* something was not as it must be; what is read from then on is 0 */
};

static struct in in_of(const struct frame_in *frame) {
    return (struct in){.at = frame->payload, .left = frame->size};
}

/* All is read, and all was right. */
static bool is_all(const struct in *in) {
    return !in->is_bad && in->left == 0;
}

static const char *get(struct in *in, size_t size) {
    if (in->is_bad || size > in->left) {
        in->is_bad = true;
        return NULL;
    }
    const char *at = in->at;
    in->at += size;
    in->left -= size;
    return at;
}

static void get_number(struct in *in, void *ret, size_t size) {
    const char *at = get(in, size);
    if (at != NULL) {
        memcpy(ret, at, size);
    }
}

static uint32_t get_u32(struct in *in) {
    uint32_t number = 0;
    get_number(in, &number, sizeof number);
    return number;
}

static uint64_t get_u64(struct in *in) {
    uint64_t number = 0;
    get_number(in, &number, sizeof number);
    return number;
}

static int32_t get_i32(struct in *in) {
    int32_t number = 0;
    get_number(in, &number, sizeof number);
    return number;
}

static int64_t get_i64(struct in *in) {
    int64_t number = 0;
    get_number(in, &number, sizeof number);
    return number;
}

static double get_finite(struct in *in) {
    double number = 0;
    get_number(in, &number, sizeof number);
    in->is_bad = in->is_bad || !isfinite(number);
    return number;
}

static bool get_bool(struct in *in) {
    uint32_t number = get_u32(in);
    in->is_bad = in->is_bad || number > 1;
    return number == 1;
}

/* A number of things, `count_max` at most. */
static size_t get_count(struct in *in, size_t count_max) {
    uint32_t count = get_u32(in);
    in->is_bad = in->is_bad || count > count_max;
    return in->is_bad ? 0 : count;
}

/* Any bytes with a zero behind them; NULL where there are none, or no right ones. */
static const char *get_bytes(struct in *in, size_t length_max, size_t *ret_length) {
    *ret_length = 0;
    uint32_t length = get_u32(in);
    if (in->is_bad || length == LENGTH_NONE) {
        return NULL;
    }
    const char *bytes = length <= length_max ? get(in, (size_t)length + 1) : NULL;
    if (bytes == NULL || bytes[length] != '\0') {
        in->is_bad = true;
        return NULL;
    }
    *ret_length = length;
    return bytes;
}

/* A text by its own length, which may hold zeros. */
static const char *get_long_text(struct in *in, size_t length_max, size_t *ret_length) {
    const char *text = get_bytes(in, length_max, ret_length);
    if (text != NULL && !utf8_valid(text, *ret_length)) {
        in->is_bad = true;
        return NULL;
    }
    return text;
}

/* A text up to its first zero, which is its end: a path, or what a caller ties to its call. */
static const char *get_path(struct in *in) {
    size_t length = 0;
    const char *text = get_bytes(in, PROTOCOL_TEXT_MAX, &length);
    if (text != NULL && memchr(text, '\0', length) != NULL) {
        in->is_bad = true;
        return NULL;
    }
    return text;
}

/* The same of UTF-8. */
static const char *get_text(struct in *in, size_t length_max) {
    size_t length = 0;
    const char *text = get_long_text(in, length_max, &length);
    if (text != NULL && memchr(text, '\0', length) != NULL) {
        in->is_bad = true;
        return NULL;
    }
    return text;
}

/* What must be there. */
static const char *need(struct in *in, const char *text) {
    in->is_bad = in->is_bad || text == NULL;
    return text;
}

/* -------------------------------------------------------------------- start */

static void put_identity(struct out *out, const struct file_identity *identity) {
    put_u64(out, identity->device);
    put_u64(out, identity->inode);
    put_u64(out, identity->size);
    put_i64(out, identity->mtime_ns);
    put_i64(out, identity->ctime_ns);
}

static void get_identity(struct in *in, struct file_identity *ret) {
    ret->device = get_u64(in);
    ret->inode = get_u64(in);
    ret->size = get_u64(in);
    ret->mtime_ns = get_i64(in);
    ret->ctime_ns = get_i64(in);
}

static void put_limits(struct out *out, const struct sandbox_limits *limits) {
    put_u64(out, limits->memory_bytes);
    put_u64(out, limits->file_size_bytes);
    put_u32(out, limits->cpu_s);
    put_u32(out, limits->files);
    put_u32(out, limits->processes);
}

static void get_limits(struct in *in, struct sandbox_limits *ret) {
    ret->memory_bytes = get_u64(in);
    ret->file_size_bytes = get_u64(in);
    ret->cpu_s = get_u32(in);
    ret->files = get_u32(in);
    ret->processes = get_u32(in);
}

static void put_paths(struct out *out, const char *const *paths, size_t count) {
    out->is_refused = out->is_refused || count > SANDBOX_PATHS_MAX;
    put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count && !out->is_refused; i++) {
        put_text(out, paths[i], PROTOCOL_TEXT_MAX);
    }
}

/* Nothing is taken from the arena for what is not there: a count says nothing yet. */
static const char *const *get_paths(struct in *in, struct arena *arena, size_t *ret_count) {
    const char *paths[SANDBOX_PATHS_MAX];
    size_t count = get_count(in, SANDBOX_PATHS_MAX);
    for (size_t i = 0; i < count; i++) {
        paths[i] = need(in, get_path(in));
    }
    *ret_count = 0;
    if (count == 0 || in->is_bad) {
        return NULL;
    }
    const char **copy = arena_alloc(arena, count * sizeof *copy);
    if (copy == NULL) {
        in->is_bad = true;
        return NULL;
    }
    memcpy(copy, paths, count * sizeof *copy);
    *ret_count = count;
    return copy;
}

static void put_ports(struct out *out, const uint16_t *ports, size_t count) {
    out->is_refused = out->is_refused || count > SANDBOX_PORTS_MAX;
    put_u32(out, (uint32_t)count);
    if (!out->is_refused) {
        put(out, ports, count * sizeof *ports);
    }
}

/* A copy in the arena, for its alignment. NULL: there are no bytes, or no memory. */
static void *get_array(struct in *in, struct arena *arena, const char *from, size_t size) {
    void *copy = from != NULL && size > 0 ? arena_alloc(arena, size) : NULL;
    if (copy != NULL) {
        memcpy(copy, from, size);
    }
    in->is_bad = in->is_bad || (size > 0 && copy == NULL);
    return copy;
}

static const uint16_t *get_ports(struct in *in, struct arena *arena, size_t *ret_count) {
    size_t count = get_count(in, SANDBOX_PORTS_MAX);
    const char *from = get(in, count * sizeof(uint16_t));
    *ret_count = from != NULL ? count : 0;
    return get_array(in, arena, from, *ret_count * sizeof(uint16_t));
}

static void put_policy(struct out *out, const struct sandbox_policy *policy) {
    put_paths(out, policy->read_paths, policy->read_path_count);
    put_paths(out, policy->write_paths, policy->write_path_count);
    put_bool(out, policy->network);
    put_ports(out, policy->ports, policy->port_count);
    put_bool(out, policy->spawn);
    put_bool(out, policy->network_namespace);
    put_limits(out, &policy->limits);
}

static void get_policy(struct in *in, struct arena *arena, struct sandbox_policy *ret) {
    ret->read_paths = get_paths(in, arena, &ret->read_path_count);
    ret->write_paths = get_paths(in, arena, &ret->write_path_count);
    ret->network = get_bool(in);
    ret->ports = get_ports(in, arena, &ret->port_count);
    ret->spawn = get_bool(in);
    ret->network_namespace = get_bool(in);
    get_limits(in, &ret->limits);
}

static void put_start(struct out *out, const void *frame) {
    const struct frame_start *start = frame;
    put_text(out, start->plugin_id, PROTOCOL_TEXT_MAX);
    put_text(out, start->path, PROTOCOL_TEXT_MAX);
    put_text(out, start->foreign, PROTOCOL_FOREIGN_MAX);
    put_identity(out, &start->identity);
    put_text(out, start->settings, PROTOCOL_SETTINGS_MAX);
    put_policy(out, &start->policy);
    put_bytes(out, start->filter_size > 0 ? start->filter : "", start->filter_size,
              PROTOCOL_FILTER_MAX);
    put_u32(out, start->layers_required);
    put_i32(out, start->log_level_min);
}

bool send_start(struct channel *channel, const struct frame_start *start) {
    return send_frame(channel, FRAME_START, put_start, start);
}

bool read_start(const struct frame_in *frame, struct arena *arena, struct frame_start *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_start){0};
    ret->plugin_id = need(&in, get_text(&in, PROTOCOL_TEXT_MAX));
    ret->path = need(&in, get_path(&in));
    ret->foreign = get_text(&in, PROTOCOL_FOREIGN_MAX);
    get_identity(&in, &ret->identity);
    ret->settings = need(&in, get_text(&in, PROTOCOL_SETTINGS_MAX));
    get_policy(&in, arena, &ret->policy);
    const char *filter = need(&in, get_bytes(&in, PROTOCOL_FILTER_MAX, &ret->filter_size));
    ret->filter = get_array(&in, arena, filter, ret->filter_size);
    ret->layers_required = get_u32(&in);
    ret->log_level_min = get_i32(&in);
    return is_all(&in);
}

/* --------------------------------------------------------------------- call */

static void put_call(struct out *out, const void *frame) {
    const struct frame_call *call = frame;
    put_u32(out, call->tool);
    put_u64(out, call->deadline_ns);
    put_bytes(out, call->arguments, call->arguments_length, TOOLRACK_ARGUMENTS_MAX);
    put_text(out, call->tool_name, PROTOCOL_TEXT_MAX);
    put_text(out, call->caller, PROTOCOL_TEXT_MAX);
    put_text(out, call->channel, PROTOCOL_TEXT_MAX);
    put_text(out, call->conversation, PROTOCOL_TEXT_MAX);
    put_text(out, call->trace, PROTOCOL_TEXT_MAX);
}

bool send_call(struct channel *channel, const struct frame_call *call) {
    return send_frame(channel, FRAME_CALL, put_call, call);
}

/* The arguments are not looked at for UTF-8: who parses them does that. */
bool read_call(const struct frame_in *frame, struct frame_call *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_call){0};
    ret->tool = get_u32(&in);
    ret->deadline_ns = get_u64(&in);
    ret->arguments = need(&in, get_bytes(&in, TOOLRACK_ARGUMENTS_MAX, &ret->arguments_length));
    ret->tool_name = need(&in, get_text(&in, PROTOCOL_TEXT_MAX));
    ret->caller = get_path(&in);
    ret->channel = get_path(&in);
    ret->conversation = get_path(&in);
    ret->trace = get_path(&in);
    return is_all(&in);
}

/* ------------------------------------------------------------ result and failure */

static void put_result(struct out *out, const void *frame) {
    const struct frame_result *result = frame;
    put_bytes(out, result->json, result->json_length, TOOLRACK_RESULT_MAX);
    put_bytes(out, result->text, result->text_length, TOOLRACK_RESULT_MAX);
    put_bool(out, result->is_content);
    put_bool(out, result->is_structured);
    put_u64(out, result->structured_at);
    put_u64(out, result->structured_length);
    put_u64(out, result->cpu_ns);
    put_u64(out, result->memory);
}

bool send_result(struct channel *channel, const struct frame_result *result) {
    return send_frame(channel, FRAME_RESULT, put_result, result);
}

static bool is_part(const struct frame_result *result) {
    if (!result->is_structured) {
        return result->structured_at == 0 && result->structured_length == 0;
    }
    return result->structured_at <= result->json_length &&
           result->structured_length <= result->json_length - result->structured_at;
}

bool read_result(const struct frame_in *frame, struct frame_result *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_result){0};
    ret->json = need(&in, get_long_text(&in, TOOLRACK_RESULT_MAX, &ret->json_length));
    ret->text = get_long_text(&in, TOOLRACK_RESULT_MAX, &ret->text_length);
    ret->is_content = get_bool(&in);
    ret->is_structured = get_bool(&in);
    ret->structured_at = get_u64(&in);
    ret->structured_length = get_u64(&in);
    ret->cpu_ns = get_u64(&in);
    ret->memory = get_u64(&in);
    return is_all(&in) && is_part(ret);
}

static void put_failure(struct out *out, const void *frame) {
    const struct frame_failure *failure = frame;
    put_i32(out, failure->code);
    put_message(out, failure->field != NULL ? failure->field : "");
    put_message(out, failure->message != NULL ? failure->message : "");
    put_u64(out, failure->cpu_ns);
    put_u64(out, failure->memory);
}

bool send_failure(struct channel *channel, enum frame_type type,
                  const struct frame_failure *failure) {
    return send_frame(channel, type, put_failure, failure);
}

static bool is_code(int32_t code) {
    switch (code) {
#define TOOLRACK_CODE(constant, value, name, recoverable) case value:
        TOOLRACK_CODES(TOOLRACK_CODE)
#undef TOOLRACK_CODE
        return true;
    default: return false;
    }
}

bool read_failure(const struct frame_in *frame, struct frame_failure *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_failure){0};
    ret->code = get_i32(&in);
    ret->field = need(&in, get_text(&in, PROTOCOL_TEXT_MAX));
    ret->message = need(&in, get_text(&in, PROTOCOL_TEXT_MAX));
    ret->cpu_ns = get_u64(&in);
    ret->memory = get_u64(&in);
    return is_all(&in) && is_code(ret->code);
}

/* ---------------------------------------------------------- during a call */

static void put_log(struct out *out, const void *frame) {
    const struct frame_log *log = frame;
    put_i32(out, log->level);
    put_message(out, log->message);
}

bool send_log(struct channel *channel, const struct frame_log *log) {
    return send_frame(channel, FRAME_LOG, put_log, log);
}

bool read_log(const struct frame_in *frame, struct frame_log *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_log){0};
    ret->level = get_i32(&in);
    ret->message = need(&in, get_text(&in, PROTOCOL_TEXT_MAX));
    return is_all(&in) && ret->level >= LOG_DEBUG && ret->level <= LOG_ERROR;
}

/* A plugin may compute anything; the reader takes numbers. 0 of a total is "not known". */
static double finite_or_0(double number) {
    return isfinite(number) ? number : 0;
}

static void put_progress(struct out *out, const void *frame) {
    const struct frame_progress *progress = frame;
    put_double(out, finite_or_0(progress->done));
    put_double(out, finite_or_0(progress->total));
    put_message(out, progress->message);
}

bool send_progress(struct channel *channel, const struct frame_progress *progress) {
    return send_frame(channel, FRAME_PROGRESS, put_progress, progress);
}

bool read_progress(const struct frame_in *frame, struct frame_progress *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_progress){0};
    ret->done = get_finite(&in);
    ret->total = get_finite(&in);
    ret->message = get_text(&in, PROTOCOL_TEXT_MAX);
    return is_all(&in);
}

static void put_question(struct out *out, const void *frame) {
    const struct frame_question *question = frame;
    put_message(out, question->message);
    put_text(out, question->schema, PROTOCOL_TEXT_MAX);
}

bool send_question(struct channel *channel, const struct frame_question *question) {
    return send_frame(channel, FRAME_QUESTION, put_question, question);
}

bool read_question(const struct frame_in *frame, struct frame_question *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_question){0};
    ret->message = need(&in, get_text(&in, PROTOCOL_TEXT_MAX));
    ret->schema = get_text(&in, PROTOCOL_TEXT_MAX);
    return is_all(&in);
}

static void put_answer(struct out *out, const void *frame) {
    const struct frame_answer *answer = frame;
    put_i32(out, answer->action);
    put_text(out, answer->content, PROTOCOL_TEXT_MAX);
}

bool send_answer(struct channel *channel, const struct frame_answer *answer) {
    return send_frame(channel, FRAME_ANSWER, put_answer, answer);
}

bool read_answer(const struct frame_in *frame, struct frame_answer *ret) {
    struct in in = in_of(frame);
    *ret = (struct frame_answer){0};
    ret->action = get_i32(&in);
    ret->content = get_text(&in, PROTOCOL_TEXT_MAX);
    return is_all(&in);
}

/* ----------------------------------------------------------- numbers and nothing */

static void put_plain(struct out *out, const void *frame) {
    (void)out;
    (void)frame;
}

bool send_plain(struct channel *channel, enum frame_type type) {
    return send_frame(channel, type, put_plain, NULL);
}

bool read_plain(const struct frame_in *frame) {
    return frame->size == 0;
}

static void put_one_number(struct out *out, const void *frame) {
    put_u64(out, *(const uint64_t *)frame);
}

bool send_number(struct channel *channel, enum frame_type type, uint64_t number) {
    return send_frame(channel, type, put_one_number, &number);
}

bool read_number(const struct frame_in *frame, uint64_t *ret) {
    struct in in = in_of(frame);
    *ret = get_u64(&in);
    return is_all(&in);
}
