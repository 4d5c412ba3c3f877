/* protocol.h - what the frames of a channel say.
 *
 * A payload is a few fixed-size numbers followed by texts, each with its length; all
 * in the machine's own byte order, for both ends are one machine and one build. Each
 * reader checks every length against what came and every text for UTF-8 where people
 * will see it: nothing that a worker sends can make the host read outside a payload,
 * and nothing that it sends is believed beyond what this file's structs can say. The
 * worker reads the host's frames as carefully: it costs nothing, and both are fuzzed.
 *
 * Texts that a reader gives back point into the payload and end with a zero there: they live as
 * long as that (channel.h). Paths are bytes; every other text is UTF-8. */
#pragma once

#include "base/buf.h"
#include "plugin/foreign.h"
#include "plugin/identity.h"
#include "worker/channel.h"
#include "worker/sandbox.h"

/* Longest texts in frames other than arguments and results, and refused by the reader above that.
 * The sender cuts what people read; what a program reads and is longer is not sent. */
#define PROTOCOL_TEXT_MAX     (64u * 1024)
#define PROTOCOL_SETTINGS_MAX (4u * 1024 * 1024)
#define PROTOCOL_FILTER_MAX   (64u * 1024)
#define PROTOCOL_FOREIGN_MAX  FOREIGN_TEXT_MAX

/* In place of what was not measured. */
#define PROTOCOL_UNMEASURED UINT64_MAX

/** FRAME_START. */
struct frame_start {
    const char *plugin_id;
    const char *path;    /* what is loaded */
    const char *foreign; /* the function of it, as foreign_write() has it; NULL: it is a plugin */
    struct file_identity identity;
    const char *settings;         /* the plugin's, a JSON object; "{}" where there are none */
    struct sandbox_policy policy; /* read: its arrays are made in the arena */
    const void *filter; /* the system call filter; read: aligned for any type, in the arena, and
                         * NULL where its size is 0: none */
    size_t filter_size;
    uint32_t layers_required; /* refuse to start without these */
    int32_t log_level_min;
};

/** FRAME_CALL. */
struct frame_call {
    uint32_t tool;         /* index in the plugin's own table: descriptor_tool.index */
    uint64_t deadline_ns;  /* of the monotonic clock, the same in both processes; 0 is none */
    const char *arguments; /* checked, defaults filled in */
    size_t arguments_length;
    const char *tool_name;
    const char *caller; /* this and the next three may be NULL */
    const char *channel;
    const char *conversation;
    const char *trace;
};

/** FRAME_RESULT: one JSON value, and where it is a string the same as plain text. */
struct frame_result {
    const char *json;
    size_t json_length;
    const char *text; /* or NULL */
    size_t text_length;
    bool is_content;    /* `json` is content blocks, and structuredContent where it has that */
    bool is_structured; /* a JSON tool gave a JSON reply, for the check of its result schema */
    uint64_t cpu_ns;    /* of the call's thread while it ran; PROTOCOL_UNMEASURED: not known */
    uint64_t memory;    /* of the worker, at its peak, in bytes; likewise */
};

/** FRAME_FAILURE and FRAME_REFUSED. */
struct frame_failure {
    int32_t code;        /* enum toolrack_code, negative */
    const char *field;   /* read: never NULL; sent: NULL is "" */
    const char *message; /* the same */
    uint64_t cpu_ns;     /* as of a result, where a call failed */
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

/** FRAME_QUESTION. */
struct frame_question {
    const char *message;
    const char *schema; /* of the answer, a JSON object; or NULL */
};

/** FRAME_ANSWER. */
struct frame_answer {
    int32_t action;      /* enum tr_answer of the SDK: accepted, declined, cancelled */
    const char *content; /* a JSON object when accepted; or NULL */
};

/** Write a frame's payload into the room of the channel and send it. False: it was not sent, for
 * want of memory or because a text is longer than the reader takes; the channel is still held.
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
/** GO_ON, OPEN, END and READY have no payload; DESCRIBE has a number: the layers. */
void send_plain(struct channel *channel, enum frame_type type);
bool send_number(struct channel *channel, enum frame_type type, uint64_t number);

/** Read a payload, of a frame of the right type. False: it is not one of these, and `ret` is not to
 * be used; of FRAME_START also: the arena is out of memory. */
bool read_start(const struct frame_in *frame, struct arena *arena, struct frame_start *ret);
bool read_call(const struct frame_in *frame, struct frame_call *ret);
bool read_result(const struct frame_in *frame, struct frame_result *ret);
bool read_failure(const struct frame_in *frame, struct frame_failure *ret);
bool read_log(const struct frame_in *frame, struct frame_log *ret);
bool read_progress(const struct frame_in *frame, struct frame_progress *ret);
bool read_question(const struct frame_in *frame, struct frame_question *ret);
bool read_answer(const struct frame_in *frame, struct frame_answer *ret);
bool read_number(const struct frame_in *frame, uint64_t *ret);

/** Host: a descriptor over the inherited socket: the memory of a channel. Never blocks: false when
 * the worker does not take what was sent before, or is gone. [any-thread] */
bool protocol_send_fd(int socket_fd, int fd);
/** Worker: wait for one; -1: none came, as the host is gone or sent something else. It is
 * close-on-exec. [worker] */
int protocol_receive_fd(int socket_fd);
