/* Each frame there and back over a channel; each of its beginnings, and each wrong byte that can be
 * told, refused. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "run/run.h"
#include "toolrack/toolrack.h"
#include "worker/protocol-fd.h"
#include "worker/protocol.h"

/* ------------------------------------------------------------------ both ends */

static struct channel *host;
static struct channel *worker;
static struct arena arena; /* of what read_start() gives */

static int begin(void **state) {
    (void)state;
    host = channel_create(NULL);
    worker = host != NULL ? channel_join(fcntl(channel_fd(host), F_DUPFD_CLOEXEC, 0), NULL) : NULL;
    arena_init(&arena, NULL, 0);
    return worker != NULL ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    channel_destroy(worker);
    channel_destroy(host);
    arena_finish(&arena);
    return 0;
}

/* What was sent, at the other end. */
static struct frame_in arrive(struct channel *at, enum frame_type type) {
    struct frame_in frame;
    assert_int_equal(channel_receive(at, 0, &frame), CHANNEL_FRAME);
    assert_int_equal(frame.type, type);
    return frame;
}

/* The turn is the worker's. */
static void give_turn(void) {
    send_plain(host, FRAME_GO_ON);
    struct frame_in frame = arrive(worker, FRAME_GO_ON);
    assert_int_equal(frame.size, 0);
}

static bool read_any(const struct frame_in *frame) {
    union {
        struct frame_start start;
        struct frame_call call;
        struct frame_result result;
        struct frame_failure failure;
        struct frame_log log;
        struct frame_progress progress;
        struct frame_question question;
        struct frame_answer answer;
    } ret;
    switch (frame->type) {
    case FRAME_START: return read_start(frame, &arena, &ret.start);
    case FRAME_CALL: return read_call(frame, &ret.call);
    case FRAME_RESULT: return read_result(frame, &ret.result);
    case FRAME_REFUSED:
    case FRAME_FAILURE: return read_failure(frame, &ret.failure);
    case FRAME_LOG: return read_log(frame, &ret.log);
    case FRAME_PROGRESS: return read_progress(frame, &ret.progress);
    case FRAME_QUESTION: return read_question(frame, &ret.question);
    case FRAME_ANSWER: return read_answer(frame, &ret.answer);
    default: return frame->size == 0;
    }
}

/* A copy of just that size, so that a sanitizer sees one byte too many, with `byte` at `at` unless
 * that is outside. */
static bool is_read(const struct frame_in *frame, size_t size, size_t at, char byte) {
    char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, frame->payload, size < frame->size ? size : frame->size);
    memset(copy + (size < frame->size ? size : frame->size), 0,
           size > frame->size ? size - frame->size : 0);
    if (at < size) {
        copy[at] = byte;
    }
    bool is = read_any(&(struct frame_in){frame->type, copy, size});
    free(copy);
    return is;
}

static void check_every_size(const struct frame_in *frame) {
    assert_true(is_read(frame, frame->size, SIZE_MAX, 0));
    for (size_t size = 0; size < frame->size; size++) {
        assert_false(is_read(frame, size, SIZE_MAX, 0));
    }
    assert_false(is_read(frame, frame->size + 1, SIZE_MAX, 0));
}

/* Where `text` stands in the payload. */
static size_t find(const struct frame_in *frame, const char *text) {
    const char *at = memmem(frame->payload, frame->size, text, strlen(text));
    assert_non_null(at);
    return (size_t)(at - frame->payload);
}

/* A text must end in a zero, have none before that, and be what its length says. */
static void check_text(const struct frame_in *frame, const char *text) {
    size_t at = find(frame, text);
    assert_false(is_read(frame, frame->size, at + strlen(text), 'x'));
    assert_false(is_read(frame, frame->size, at, '\0'));
    assert_false(is_read(frame, frame->size, at - sizeof(uint32_t), '\x7f'));
    assert_false(is_read(frame, frame->size, at - 1, '\x7f')); /* of the length */
}

static void check_utf8(const struct frame_in *frame, const char *text) {
    assert_false(is_read(frame, frame->size, find(frame, text), '\xff'));
}

/* ---------------------------------------------------------------------- frames */

static const char *const read_paths[] = {"/read/a", "/read/\xff" /* paths are bytes */};
static const char *const write_paths[] = {"/write"};
static const uint16_t ports[] = {80, 443, 0x4142};

static struct frame_start start_of(void) {
    return (struct frame_start){
            .plugin_id = "plugin-id",
            .path = "/path/of/plugin.so",
            .foreign = "{\"symbol\":\"cos\"}",
            .identity = {.device = 1, .inode = 2, .size = 3, .mtime_ns = -4, .ctime_ns = 5},
            .settings = "{\"a\":1}",
            .places = " --state /srv/tools",
            .policy = {.read_paths = read_paths,
                       .read_path_count = 2,
                       .write_paths = write_paths,
                       .write_path_count = 1,
                       .network = true,
                       .udp = true,
                       .programs = read_paths,
                       .program_count = 1,
                       .hidden_paths = read_paths,
                       .hidden_path_count = 2,
                       .frozen_paths = read_paths,
                       .frozen_path_count = 1,
                       .kept_paths = read_paths,
                       .kept_path_count = 2,
                       .ports = ports,
                       .port_count = 3,
                       .spawn = false,
                       .network_namespace = true,
                       .limits = {.memory_bytes = 6,
                                  .file_size_bytes = 7,
                                  .cpu_s = 8,
                                  .files = 9,
                                  .processes = 10}},
            .filter = "\0filter",
            .filter_size = 8,
            .layers_required = 0xff,
            .measures_all = true,
            .notice_mark = 0xfedcba9876543210u,
            .opens_lane = true,
            .log_level_min = -1};
}

static void check_policy(const struct sandbox_policy *policy) {
    assert_int_equal(policy->read_path_count, 2);
    assert_string_equal(policy->read_paths[0], read_paths[0]);
    assert_string_equal(policy->read_paths[1], read_paths[1]);
    assert_int_equal(policy->write_path_count, 1);
    assert_string_equal(policy->write_paths[0], write_paths[0]);
    assert_true(policy->network && policy->udp);
    assert_true(policy->program_count == 1 && policy->frozen_path_count == 1);
    assert_true(policy->hidden_path_count == 2 && policy->kept_path_count == 2);
    assert_string_equal(policy->hidden_paths[1], read_paths[1]);
    assert_string_equal(policy->kept_paths[0], read_paths[0]);
    assert_int_equal(policy->port_count, 3);
    assert_memory_equal(policy->ports, ports, sizeof ports);
    assert_true(policy->network && !policy->spawn && policy->network_namespace);
    assert_int_equal(policy->limits.memory_bytes, 6);
    assert_int_equal(policy->limits.file_size_bytes, 7);
    assert_int_equal(policy->limits.cpu_s, 8);
    assert_int_equal(policy->limits.files, 9);
    assert_int_equal(policy->limits.processes, 10);
}

static void start_there_and_back(void **state) {
    (void)state;
    struct frame_start sent = start_of();
    struct frame_start got;
    assert_true(send_start(host, &sent));
    struct frame_in frame = arrive(worker, FRAME_START);
    assert_true(read_start(&frame, &arena, &got));
    assert_string_equal(got.plugin_id, sent.plugin_id);
    assert_string_equal(got.path, sent.path);
    assert_string_equal(got.foreign, sent.foreign);
    assert_memory_equal(&got.identity, &sent.identity, sizeof sent.identity);
    assert_string_equal(got.settings, sent.settings);
    assert_string_equal(got.places, sent.places);
    check_policy(&got.policy);
    assert_int_equal(got.filter_size, 8);
    assert_int_equal((uintptr_t)got.filter % _Alignof(max_align_t), 0);
    assert_memory_equal(got.filter, sent.filter, 8);
    assert_int_equal(got.layers_required, 0xff);
    assert_true(got.measures_all);
    assert_true(got.notice_mark == 0xfedcba9876543210u && got.opens_lane);
    assert_int_equal(got.log_level_min, -1);
    check_every_size(&frame);
    check_text(&frame, sent.plugin_id);
    check_text(&frame, sent.path);
    check_text(&frame, sent.settings);
    check_text(&frame, sent.foreign);
    check_text(&frame, read_paths[0]);
    check_utf8(&frame, sent.plugin_id);
    check_utf8(&frame, sent.settings);
    check_utf8(&frame, sent.foreign);
    /* The count of the paths stands before the length of the first. */
    size_t count_at = find(&frame, read_paths[0]) - 2 * sizeof(uint32_t);
    assert_false(is_read(&frame, frame.size, count_at, SANDBOX_PATHS_MAX + 1));
    size_t ports_at = frame.size;
    for (size_t i = 0; i + sizeof ports <= frame.size && ports_at == frame.size; i++) {
        ports_at = memcmp(frame.payload + i, ports, sizeof ports) == 0 ? i : ports_at;
    }
    assert_false(is_read(&frame, frame.size, ports_at - sizeof(uint32_t), SANDBOX_PORTS_MAX + 1));
    /* Yes or no, nothing between: the network stands before the count of the ports. */
    assert_false(is_read(&frame, frame.size, ports_at - 2 * sizeof(uint32_t), 2));
}

static void a_bare_start_has_nothing(void **state) {
    (void)state;
    struct frame_start got;
    assert_true(
            send_start(host, &(struct frame_start){.plugin_id = "", .path = "", .settings = "{}"}));
    struct frame_in frame = arrive(worker, FRAME_START);
    assert_true(read_start(&frame, &arena, &got));
    assert_null(got.foreign);
    assert_null(got.filter);
    assert_null(got.policy.read_paths);
    assert_null(got.policy.ports);
    check_every_size(&frame);
}

static void call_there_and_back(void **state) {
    (void)state;
    const struct frame_call sent = {.tool = 3,
                                    .deadline_ns = 1234567890123,
                                    .arguments = "{\"n\":1}",
                                    .arguments_length = 7,
                                    .tool_name = "tool",
                                    .caller = "caller\xff",
                                    .trace = ""};
    struct frame_call got;
    assert_true(send_call(host, &sent));
    struct frame_in frame = arrive(worker, FRAME_CALL);
    assert_true(read_call(&frame, &got));
    assert_int_equal(got.tool, 3);
    assert_int_equal(got.deadline_ns, 1234567890123);
    assert_int_equal(got.arguments_length, 7);
    assert_string_equal(got.arguments, sent.arguments);
    assert_string_equal(got.tool_name, "tool");
    assert_string_equal(got.caller, sent.caller);
    assert_null(got.channel);
    assert_null(got.conversation);
    assert_string_equal(got.trace, "");
    check_every_size(&frame);
    check_text(&frame, "tool");
    check_utf8(&frame, "tool");
    check_text(&frame, sent.caller);
}

/* Strings with and without zeros, digits that are no number of a machine, and what contains them.
 */
static void values_there_and_back(void **state) {
    (void)state;
    static const char json[] =
            "{\"text\":\"a\\u0000b\",\"\":\"\",\"list\":[1,-2,3.5,true,null,{\"deep\":[\"x\"]}],"
            "\"digits\":123456789012345678901234567890}";
    yyjson_doc *doc = yyjson_read(json, sizeof json - 1, YYJSON_READ_BIGNUM_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const struct frame_call sent = {.tool = 3,
                                    .values = root,
                                    .value_count = yyjson_doc_get_val_count(doc),
                                    .tool_name = "tool"};
    struct frame_call got;
    struct frame_call both = sent;
    both.arguments = "{}";
    both.arguments_length = 2;
    assert_false(send_call(host, &both));
    assert_true(send_call(host, &sent));
    struct frame_in frame = arrive(worker, FRAME_CALL);
    size_t values_size = sent.value_count * sizeof *root;
    check_every_size(&frame);
    assert_false(is_read(&frame, frame.size, 0, 1));      /* fewer values */
    assert_false(is_read(&frame, frame.size, 7, 1));      /* far more than there are bytes */
    assert_false(is_read(&frame, frame.size, 24 + 8, 1)); /* a string that is elsewhere */
    assert_false(is_read(&frame, frame.size, 24 + 2, 1)); /* that is longer */
    assert_false(is_read(&frame, frame.size, 8 + values_size + 4, 'x')); /* that does not end */
    assert_true(read_call(&frame, &got));
    assert_null(got.arguments);
    assert_int_equal(got.value_count, sent.value_count);
    assert_string_equal(got.tool_name, "tool");
    yyjson_doc_free(doc); /* nothing of it is needed */
    char *text = yyjson_val_write(got.values, 0, NULL);
    assert_string_equal(text, json);
    free(text);
}

static void result_there_and_back(void **state) {
    (void)state;
    const struct frame_result sent = {.value = "{\"x\":[1,2]}",
                                      .length = 11,
                                      .is_content = true,
                                      .is_structured = true,
                                      .cpu_ns = 1234,
                                      .memory = PROTOCOL_UNMEASURED};
    struct frame_result got;
    give_turn();
    assert_true(send_result(worker, &sent));
    struct frame_in frame = arrive(host, FRAME_RESULT);
    assert_true(read_result(&frame, &got));
    assert_string_equal(got.value, sent.value);
    assert_int_equal(got.length, 11);
    assert_false(got.is_text);
    assert_true(got.is_content);
    assert_true(got.is_structured);
    assert_int_equal(got.cpu_ns, 1234);
    assert_true(got.memory == PROTOCOL_UNMEASURED);
    check_every_size(&frame);
    assert_false(is_read(&frame, frame.size, 0, 1));  /* a text is no content */
    assert_false(is_read(&frame, frame.size, 4, 2));  /* a bool */
    assert_false(is_read(&frame, frame.size, 40, 1)); /* nothing there */
}

/* The memory of the frame is that of the result, and the channel has none of it any more. */
static void a_result_is_where_a_result_has_it(void **state) {
    (void)state;
    struct frame_result got;
    for (size_t size = 1; size <= 2 * (size_t)CHANNEL_BULK_KEPT_MAX; size *= 2) {
        size_t room = 0;
        char *text = calloc(size, 1);
        assert_non_null(text);
        memset(text, 'x', size);
        give_turn();
        assert_true(send_result(worker, &(struct frame_result){.value = text, .length = size}));
        struct frame_in frame = arrive(host, FRAME_RESULT);
        assert_true(read_result(&frame, &got));
        char *kept = channel_keep(host, &room);
        assert_ptr_equal(kept, frame.payload);
        assert_ptr_equal(got.value, kept + sizeof(struct toolrack_result));
        assert_int_equal(room, frame.size + 1);
        give_turn();
        send_plain(worker, FRAME_READY);
        (void)arrive(host, FRAME_READY);
        assert_memory_equal(got.value, text, size);
        free(kept);
        free(text);
    }
}

static void a_text_is_a_result(void **state) {
    (void)state;
    struct frame_result got;
    give_turn();
    assert_true(send_result(worker,
                            &(struct frame_result){.value = "a\0b", .length = 3, .is_text = true}));
    struct frame_in frame = arrive(host, FRAME_RESULT);
    assert_true(read_result(&frame, &got));
    assert_int_equal(got.length, 3);
    assert_memory_equal(got.value, "a\0b", 4);
    assert_true(got.is_text);
    assert_false(got.is_content);
    assert_false(got.is_structured);
    check_every_size(&frame);
    assert_false(is_read(&frame, frame.size, 8, 1)); /* nor is it structured */
}

static void failure_there_and_back(void **state) {
    (void)state;
    struct frame_failure got;
    give_turn();
    assert_true(send_failure(worker, FRAME_FAILURE,
                             &(struct frame_failure){.code = TOOLRACK_E_INVALID_ARGUMENTS,
                                                     .field = "/field",
                                                     .message = "message",
                                                     .cpu_ns = 7,
                                                     .memory = PROTOCOL_UNMEASURED}));
    struct frame_in frame = arrive(host, FRAME_FAILURE);
    assert_true(read_failure(&frame, &got));
    assert_int_equal(got.code, TOOLRACK_E_INVALID_ARGUMENTS);
    assert_string_equal(got.field, "/field");
    assert_string_equal(got.message, "message");
    assert_int_equal(got.cpu_ns, 7);
    assert_true(got.memory == PROTOCOL_UNMEASURED);
    check_every_size(&frame);
    check_text(&frame, "/field");
    check_text(&frame, "message");
    check_utf8(&frame, "message");
    for (int code = INT8_MIN; code <= INT8_MAX; code++) {
        const int32_t wide = code;
        char *copy = malloc(frame.size);
        memcpy(copy, frame.payload, frame.size);
        memcpy(copy, &wide, sizeof wide);
        bool is = read_failure(&(struct frame_in){FRAME_FAILURE, copy, frame.size}, &got);
        assert_int_equal(is, code < 0 && strcmp(toolrack_code_name(code), "Unknown") != 0);
        free(copy);
    }
}

static void a_failure_without_texts_has_empty_ones(void **state) {
    (void)state;
    struct frame_failure got;
    give_turn();
    assert_true(send_failure(worker, FRAME_REFUSED,
                             &(struct frame_failure){.code = TOOLRACK_E_REFUSED}));
    struct frame_in frame = arrive(host, FRAME_REFUSED);
    assert_true(read_failure(&frame, &got));
    assert_string_equal(got.field, "");
    assert_string_equal(got.message, "");
}

static void log_there_and_back(void **state) {
    (void)state;
    struct frame_log got;
    give_turn();
    assert_true(send_log(worker, &(struct frame_log){.level = LOG_WARNING, .message = "line"}));
    struct frame_in frame = arrive(host, FRAME_LOG);
    assert_true(read_log(&frame, &got));
    assert_int_equal(got.level, LOG_WARNING);
    assert_string_equal(got.message, "line");
    check_every_size(&frame);
    check_text(&frame, "line");
    check_utf8(&frame, "line");
    assert_false(is_read(&frame, frame.size, 0, LOG_ERROR + 1));
    assert_false(is_read(&frame, frame.size, 3, '\xff')); /* below 0 */
}

static void long_and_wrong_messages_become_right_ones(void **state) {
    (void)state;
    struct frame_log got;
    char *text = malloc(PROTOCOL_TEXT_MAX + 3);
    memset(text, 'x', PROTOCOL_TEXT_MAX + 2);
    memcpy(text + PROTOCOL_TEXT_MAX - 1, "\xc3\xa9", 2); /* straddles the end */
    text[PROTOCOL_TEXT_MAX + 2] = '\0';
    give_turn();
    assert_true(send_log(worker, &(struct frame_log){.message = text}));
    struct frame_in frame = arrive(host, FRAME_LOG);
    assert_true(read_log(&frame, &got));
    assert_int_equal(strlen(got.message), PROTOCOL_TEXT_MAX - 1);
    give_turn();
    assert_true(send_log(worker, &(struct frame_log){.message = "not \xff text"}));
    frame = arrive(host, FRAME_LOG);
    assert_true(read_log(&frame, &got));
    assert_string_equal(got.message, "not ? text");
    /* What a program reads is not cut. */
    give_turn();
    assert_false(send_question(
            worker,
            &(struct frame_question){.count = 1, .inputs[0] = {.key = "a", .schema = text}}));
    assert_true(channel_is_held(worker));
    free(text);
}

static void progress_there_and_back(void **state) {
    (void)state;
    struct frame_progress got;
    give_turn();
    assert_true(send_progress(
            worker, &(struct frame_progress){.done = 0.5, .total = 2, .message = "half"}));
    struct frame_in frame = arrive(host, FRAME_PROGRESS);
    assert_true(read_progress(&frame, &got));
    assert_true(got.done == 0.5 && got.total == 2);
    assert_string_equal(got.message, "half");
    check_every_size(&frame);
    check_text(&frame, "half");
    check_utf8(&frame, "half");
    for (size_t at = 0; at < 2 * sizeof(double); at += sizeof(double)) {
        const double wrong[] = {INFINITY, -INFINITY, NAN};
        for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
            char *copy = malloc(frame.size);
            memcpy(copy, frame.payload, frame.size);
            memcpy(copy + at, &wrong[i], sizeof wrong[i]);
            assert_false(read_progress(&(struct frame_in){FRAME_PROGRESS, copy, frame.size}, &got));
            free(copy);
        }
    }
    give_turn();
    assert_true(send_progress(worker, &(struct frame_progress){.done = NAN, .total = INFINITY}));
    frame = arrive(host, FRAME_PROGRESS);
    assert_true(read_progress(&frame, &got));
    assert_true(got.done == 0 && got.total == 0);
    assert_null(got.message);
}

static void question_and_answer_there_and_back(void **state) {
    (void)state;
    struct frame_question question;
    struct frame_answer answer;
    give_turn();
    assert_true(send_question(
            worker, &(struct frame_question){.count = 2,
                                             .inputs = {{.kind = TOOLRACK_INPUT_FORM,
                                                         .key = "sure",
                                                         .message = "really?",
                                                         .schema = "{\"type\":1}"},
                                                        {.kind = TOOLRACK_INPUT_SAMPLE,
                                                         .key = "b",
                                                         .request = "{\"messages\":[]}"}}}));
    struct frame_in frame = arrive(host, FRAME_QUESTION);
    assert_true(read_question(&frame, &question));
    assert_int_equal(question.count, 2);
    assert_string_equal(question.inputs[0].key, "sure");
    assert_string_equal(question.inputs[0].message, "really?");
    assert_string_equal(question.inputs[0].schema, "{\"type\":1}");
    assert_null(question.inputs[0].request);
    assert_int_equal(question.inputs[1].kind, TOOLRACK_INPUT_SAMPLE);
    assert_null(question.inputs[1].message);
    assert_string_equal(question.inputs[1].request, "{\"messages\":[]}");
    check_every_size(&frame);
    check_text(&frame, "really?");
    check_utf8(&frame, "really?");
    check_text(&frame, "sure");
    check_utf8(&frame, "{\"messages");
    for (uint32_t wrong = 0; wrong < 3; wrong++) { /* no input, an unknown kind, too many */
        static const uint32_t numbers[] = {0, 4, PROTOCOL_INPUTS_MAX + 1};
        char *copy = malloc(frame.size);
        memcpy(copy, frame.payload, frame.size);
        memcpy(copy + (wrong == 1 ? sizeof(uint32_t) : 0), &numbers[wrong], sizeof(uint32_t));
        size_t size = wrong == 0 ? sizeof(uint32_t) : frame.size;
        assert_false(read_question(&(struct frame_in){FRAME_QUESTION, copy, size}, &question));
        free(copy);
    }
    assert_true(
            send_answer(host, &(struct frame_answer){.later = true,
                                                     .deadline_ns = 77,
                                                     .count = 2,
                                                     .answers = {{1, "{\"yes\":1}"}, {2, NULL}}}));
    frame = arrive(worker, FRAME_ANSWER);
    assert_true(read_answer(&frame, &answer));
    assert_true(answer.later);
    assert_int_equal(answer.deadline_ns, 77);
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.answers[0].action, 1);
    assert_string_equal(answer.answers[0].content, "{\"yes\":1}");
    assert_int_equal(answer.answers[1].action, 2);
    assert_null(answer.answers[1].content);
    check_every_size(&frame);
    check_text(&frame, "{\"yes\":1}");
    check_utf8(&frame, "{\"yes\"");
}

static void nothing_there_and_back(void **state) {
    (void)state;
    give_turn();
    send_plain(worker, FRAME_READY);
    struct frame_in frame = arrive(host, FRAME_READY);
    check_every_size(&frame);
}

static void the_largest_result_is_sent_and_a_larger_one_is_not(void **state) {
    (void)state;
    size_t size = TOOLRACK_RESULT_MAX;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size + 1);
    struct frame_result result = {.value = text, .length = size + 1};
    struct frame_result got;
    give_turn();
    assert_false(send_result(worker, &result));
    result.length = size;
    assert_true(send_result(worker, &result));
    struct frame_in frame = arrive(host, FRAME_RESULT);
    assert_true(read_result(&frame, &got));
    assert_int_equal(got.length, size);
    free(text);
}

/* ----------------------------------------------------------------- descriptors */

static bool is_same_file(int a, int b) {
    struct stat st_a;
    struct stat st_b;
    return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 && st_a.st_ino == st_b.st_ino &&
           st_a.st_dev == st_b.st_dev;
}

static void descriptors_go_over_the_socket(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_true(protocol_send_fd(ends[0], channel_fd(host)));
    int fd = protocol_receive_fd(ends[1]);
    assert_true(fd >= 0 && is_same_file(fd, channel_fd(host)));
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(close(fd), 0);
    /* A byte alone is none. */
    assert_int_equal(send(ends[0], "", 1, 0), 1);
    assert_int_equal(protocol_receive_fd(ends[1]), -1);
    /* Nor are two: both are closed. */
    int two[2] = {ends[0], ends[1]};
    char byte = 0;
    struct iovec part = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof two)] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof two);
    memcpy(CMSG_DATA(header), two, sizeof two);
    int next = dup(ends[0]);
    assert_int_equal(close(next), 0);
    assert_int_equal(sendmsg(ends[0], &message, 0), 1);
    assert_int_equal(protocol_receive_fd(ends[1]), -1);
    assert_int_equal(fcntl(next, F_GETFD), -1);
    /* Nobody takes them: the sender is told, and does not wait. */
    int sent = 0;
    while (protocol_send_fd(ends[0], channel_fd(host))) {
        assert_true(++sent < 100000);
    }
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(close(ends[1]), 0);
    assert_false(protocol_send_fd(ends[0], channel_fd(host))); /* and no signal */
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(protocol_receive_fd(-1), -1);
}

/* With a descriptor and without; what is no such message is none, and leaves no descriptor. */
static void a_description_goes_over_the_socket(void **state) {
    (void)state;
    int ends[2];
    int listener;
    uint32_t layers;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_false(protocol_hear(ends[0], &layers, &listener)); /* and does not wait */
    assert_true(protocol_describe(ends[1], UINT32_MAX - 1, -1));
    assert_true(protocol_hear(ends[0], &layers, &listener));
    assert_true(layers == UINT32_MAX - 1 && listener == -1);
    assert_true(protocol_describe(ends[1], 5, channel_fd(host)));
    assert_true(protocol_hear(ends[0], &layers, &listener));
    assert_true(layers == 5 && is_same_file(listener, channel_fd(host)));
    assert_int_equal(close(listener), 0);
    assert_int_equal(send(ends[1], "", 1, 0), 1);
    assert_false(protocol_hear(ends[0], &layers, &listener));
    assert_int_equal(close(ends[1]), 0);
    assert_false(protocol_hear(ends[0], &layers, &listener));
    assert_int_equal(close(ends[0]), 0);
}

static void the_end_of_the_host_is_no_descriptor(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(protocol_receive_fd(ends[1]), -1);
    assert_int_equal(close(ends[1]), 0);
}

/* The largest count is a right one. */
static void a_policy_may_be_full(void **state) {
    (void)state;
    const char *full_paths[SANDBOX_PATHS_MAX];
    uint16_t full_ports[SANDBOX_PORTS_MAX] = {0};
    struct frame_start start = {.plugin_id = "full", .path = "/p.so", .settings = "{}"};
    for (size_t i = 0; i < SANDBOX_PATHS_MAX; i++) {
        full_paths[i] = "/srv";
    }
    start.policy.read_paths = start.policy.write_paths = full_paths;
    start.policy.read_path_count = start.policy.write_path_count = SANDBOX_PATHS_MAX;
    start.policy.ports = full_ports;
    start.policy.port_count = SANDBOX_PORTS_MAX;
    struct frame_start came;
    assert_true(send_start(host, &start));
    struct frame_in frame = arrive(worker, FRAME_START);
    assert_true(read_start(&frame, &arena, &came));
    assert_int_equal(came.policy.read_path_count, SANDBOX_PATHS_MAX);
    assert_int_equal(came.policy.port_count, SANDBOX_PORTS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(start_there_and_back),
            TEST(a_bare_start_has_nothing),
            TEST(call_there_and_back),
            TEST(values_there_and_back),
            TEST(result_there_and_back),
            TEST(a_result_is_where_a_result_has_it),
            TEST(a_text_is_a_result),
            TEST(failure_there_and_back),
            TEST(a_failure_without_texts_has_empty_ones),
            TEST(log_there_and_back),
            TEST(long_and_wrong_messages_become_right_ones),
            TEST(progress_there_and_back),
            TEST(question_and_answer_there_and_back),
            TEST(nothing_there_and_back),
            TEST(the_largest_result_is_sent_and_a_larger_one_is_not),
            TEST(descriptors_go_over_the_socket),
            TEST(a_description_goes_over_the_socket),
            TEST(the_end_of_the_host_is_no_descriptor),
            TEST(a_policy_may_be_full),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
