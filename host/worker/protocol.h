/* protocol.h - the contents of a channel's frames.
 *
 * A payload is a few fixed-size numbers followed by strings, each with its length; all in the
 * machine's byte order, as both sides run on one machine and belong to one build. Each reader
 * function checks every length against the size of the payload, and checks that strings shown to
 * people are UTF-8: no frame of a worker can make the host read outside a payload or yield a value
 * that these structs do not allow. The worker checks the host's frames likewise, but not what the
 * values of arguments contain, which the host parsed. Both are fuzzed.
 *
 * Strings that a reader function returns point into the payload, end with a zero there and are
 * valid as long as the payload (channel.h). Paths are bytes; all other strings are UTF-8. */
#pragma once

#include <yyjson.h>

#include "base/buf.h"
#include "plugin/foreign.h"
#include "plugin/identity.h"
#include "worker/channel.h"
#include "worker/sandbox.h"

/* Longest strings in frames other than arguments and results; the reader function rejects longer
 * ones. The sender cuts strings that people read; a longer string that a program reads is not
 * sent. */
#define PROTOCOL_TEXT_MAX     (64u * 1024)
#define PROTOCOL_SETTINGS_MAX (4u * 1024 * 1024)
#define PROTOCOL_FILTER_MAX   (64u * 1024)
#define PROTOCOL_INPUT_MAX    (4u * 1024 * 1024)
#define PROTOCOL_FOREIGN_MAX  FOREIGN_TEXT_MAX

/* Most inputs of one question. */
#define PROTOCOL_INPUTS_MAX 16u

/* Stands for a value that was not measured. */
#define PROTOCOL_UNMEASURED UINT64_MAX

/** FRAME_START. */
struct frame_start {
    const char *plugin_id;
    const char *path;    /* what is loaded */
    const char *file;    /* what messages call it; or NULL */
    const char *foreign; /* the function in it, in the form of foreign_write(); NULL: `path` is a
                          * plugin */
    struct file_identity identity;
    const char *settings; /* the plugin's, a JSON object; "{}" if there are none */
    const char *places;   /* of the host, for commands that messages recommend; see command.h */
    struct sandbox_policy policy; /* when read: its arrays are in the arena */
    const void *filter; /* the system call filter; when read: in the arena, aligned for any type;
                         * NULL if its size is 0 (no filter) */
    size_t filter_size;
    uint32_t layers_required; /* refuse to start without these */
    int32_t log_level_min;
    bool measures_all;    /* report the cost of every call */
    uint64_t notice_mark; /* notice.h */
    bool opens_lane; /* the memory of another channel follows that of the first: start a thread for
                        it before READY, as after OPEN */
};

/** FRAME_CALL. */
struct frame_call {
    uint32_t tool;        /* index in the plugin's own table: descriptor_tool.index */
    uint64_t deadline_ns; /* of the monotonic clock, the same in both processes; 0: none */
    /* The arguments, checked, defaults filled in: as the host's parsed values, or as text. When
     * read, the values are in the payload, in which this puts their pointers. */
    yyjson_val *values; /* NULL: as text */
    size_t value_count;
    const char *arguments; /* NULL: as values */
    size_t arguments_length;
    const char *tool_name;
    const char *caller; /* this and the next three may be NULL */
    const char *channel;
    const char *conversation;
    const char *trace;
};

/** FRAME_RESULT. Its JSON starts in the payload where it starts in a struct toolrack_result: the
 * memory of a received frame becomes the result (channel_keep()). */
struct frame_result {
    const char *value; /* JSON, or a text; when read: any bytes */
    size_t length;
    bool is_text;       /* the only reply is this text: the host makes the JSON string of it */
    bool is_content;    /* the JSON is content blocks, with structuredContent if there is any */
    bool is_structured; /* a JSON tool gave a JSON reply, to be checked against its result schema */
    uint64_t cpu_ns;    /* of the call's thread while it ran; or PROTOCOL_UNMEASURED */
    uint64_t memory;    /* of the worker, at its peak, in bytes; likewise */
};

/** FRAME_FAILURE and FRAME_REFUSED. */
struct frame_failure {
    int32_t code;        /* enum toolrack_code, negative */
    const char *field;   /* when read: never NULL; when sent: NULL means "" */
    const char *message; /* the same */
    const char *trace;   /* the same */
    int32_t from_tool;   /* 1: the tool failed the call by tr_fail() */
    int32_t tool_code;   /* as in struct toolrack_error */
    uint64_t cpu_ns;     /* as for a result, if a call failed */
    uint64_t memory;
};

/** FRAME_LOG. */
struct frame_log {
    int32_t level; /* enum log_level */
    const char *message;
};

/** FRAME_PROGRESS. */
struct frame_progress {
    double done;
    double total;
    const char *message; /* or NULL */
};

/** FRAME_QUESTION: what a tool asks for at once. Strings as in struct toolrack_input. */
struct frame_question {
    uint32_t count; /* from 1 */
    struct frame_input {
        uint32_t kind; /* enum toolrack_input_kind */
        const char *key;
        const char *message; /* this and the next two may be NULL */
        const char *schema;
        const char *request;
    } inputs[PROTOCOL_INPUTS_MAX];
};

/** FRAME_ANSWER: to each input, in their order. */
struct frame_answer {
    bool later;           /* the answers come with another call: the tool is asked to end */
    uint64_t deadline_ns; /* of the call from now on */
    uint32_t count;
    struct frame_answered {
        int32_t action;      /* enum tr_answer of the SDK: accepted, declined, cancelled */
        const char *content; /* a JSON object when accepted; or NULL */
    } answers[PROTOCOL_INPUTS_MAX];
};

/** Write a frame's payload into the room of the channel and send it. False: it was not sent,
 * because memory is out or a string is longer than the receiver accepts; the channel is still held.
 * [the side that holds the channel] */
bool send_start(struct channel *channel, const struct frame_start *start);
bool send_call(struct channel *channel, const struct frame_call *call);
bool send_result(struct channel *channel, const struct frame_result *result);
bool send_failure(struct channel *channel, enum frame_type type,
                  const struct frame_failure *failure);
bool send_log(struct channel *channel, const struct frame_log *log);
bool send_progress(struct channel *channel, const struct frame_progress *progress);
bool send_question(struct channel *channel, const struct frame_question *question);
bool send_answer(struct channel *channel, const struct frame_answer *answer);
/** GO_ON, OPEN, END and READY have no payload. */
void send_plain(struct channel *channel, enum frame_type type);

/** Read the payload of a frame of the right type. False: the payload is invalid (read_start(): or
 * the arena is out of memory), and `ret` must not be used. */
bool read_start(const struct frame_in *frame, struct arena *arena, struct frame_start *ret);
bool read_call(const struct frame_in *frame, struct frame_call *ret);
bool read_result(const struct frame_in *frame, struct frame_result *ret);
bool read_failure(const struct frame_in *frame, struct frame_failure *ret);
bool read_log(const struct frame_in *frame, struct frame_log *ret);
bool read_progress(const struct frame_in *frame, struct frame_progress *ret);
bool read_question(const struct frame_in *frame, struct frame_question *ret);
bool read_answer(const struct frame_in *frame, struct frame_answer *ret);
