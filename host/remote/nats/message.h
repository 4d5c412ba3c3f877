/* message.h - what two hosts say to each other about a call: one JSON object a message.
 *
 * Every message has "v": SUBJECT_VERSION. A reader ignores members that it does not know and
 * refuses messages of another version.
 *
 *     a call     {"v":1, "tool", "version", "digest", "deadline_ms", "caller", "channel",
 *                 "conversation", "trace", "confirmed", "confirmed_by", "arguments": {...}}
 *     an event   {"v":1, "kind": "progress", "done", "total", "message"}
 *                {"v":1, "kind": "log", "level", "line"}
 *                {"v":1, "kind": "ask", "id", "message", "schema"}
 *     the last   {"v":1, "kind": "result", "form": "json"|"text"|"content", "result": ...}
 *                {"v":1, "kind": "error", "code", "message", "field", "trace", "signal", "begun",
 *                 "death", "from_tool", "lasting"}
 *     instead    {"v":1, "kind": "object", "name", "size", "digest"}: a call, or the last message,
 * that is larger than the server takes in one message, is an object in its store (large.c) control
 * {"v":1, "call": "INBOX", "cancel": true}
 *                {"v":1, "call": "INBOX", "ask": 1, "answer": 1, "content": {...}}
 *
 * These come from whoever may publish to the subjects: each is checked as what any peer may send.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "remote/nats/object-info.h"
#include "toolrack/toolrack.h"

/* Where a message is that is too large to be sent; `name` NULL: it is not elsewhere. */
struct message_object {
    const char *name;
    uint64_t size;
    unsigned char hash[OBJECT_HASH_SIZE];
};

void message_write_object(struct buf *out, const struct message_object *object);

/* A call as one host asks another for it. Texts may be NULL where the options of a call allow it.
 */
struct message_call {
    const char *tool;
    const char *version;
    const char *digest; /* of its description (announce.h) */
    uint32_t deadline_ms;
    const char *caller;
    const char *channel;
    const char *conversation;
    const char *trace;
    bool confirmed;
    const char *confirmed_by;
    const char *arguments; /* the text of a JSON object */
    size_t length;
    struct message_object object; /* has a name: the call is there, and nothing else is set */
};

void message_write_call(struct buf *out, const struct message_call *call);
/** Read one; all in the arena, which must outlive `ret`.
 * @return 0; TOOLRACK_E_INVALID: what is wrong; TOOLRACK_E_NO_MEMORY. [any-thread] */
int message_read_call(const char *text, size_t length, struct arena *arena,
                      struct message_call *ret, struct toolrack_error *err);

enum message_kind {
    MESSAGE_PROGRESS,
    MESSAGE_LOG,
    MESSAGE_ASK,
    MESSAGE_RESULT,
    MESSAGE_ERROR,
    MESSAGE_OBJECT
};

enum message_form { MESSAGE_JSON, MESSAGE_TEXT, MESSAGE_CONTENT };

struct message_event {
    enum message_kind kind;
    double done; /* PROGRESS */
    double total;
    const char *text;             /* PROGRESS (or NULL) and ASK: the message; LOG: the line */
    const char *schema;           /* ASK */
    uint64_t id;                  /* ASK */
    int level;                    /* LOG: enum toolrack_log_level */
    enum message_form form;       /* RESULT */
    yyjson_val *result;           /* RESULT, read; numbers that no type holds are raw */
    struct message_object object; /* OBJECT: the last message is there */
};

void message_write_progress(struct buf *out, double done, double total, const char *text);
void message_write_log(struct buf *out, int level, const char *line);
void message_write_ask(struct buf *out, uint64_t id, const char *text, const char *schema);
void message_write_result(struct buf *out, const struct toolrack_result *result);
void message_write_error(struct buf *out, const struct toolrack_error *err);

/** Read an event or the last message of a call.
 * @param ret_error  set where kind is MESSAGE_ERROR
 * @return as message_read_call() [any-thread] */
int message_read_event(const char *text, size_t length, struct arena *arena,
                       struct message_event *ret, struct toolrack_error *ret_error,
                       struct toolrack_error *err);

/* What one host has another do with packages (order.c, api/obey.c). Texts that do not belong to an
 * order are NULL. */
struct message_order {
    const char *what; /* "install", "check", "back" or "list" */
    const char *id;   /* of the package, and its version; not of "list" */
    const char *version;
    const char *package;   /* INSTALL: the SHA-256 of its file, which is the name of the object */
    uint64_t size;         /* INSTALL: of the file */
    const char *signature; /* INSTALL: the text of its signature */
    const char *file;      /* INSTALL: the name of its file, for people */
    const char *who;       /* the person who ordered it */
    const char *from;      /* BACK: the version before; NULL: there was none */
    bool tests;            /* CHECK: safe tools are called as their examples say */
};

/* Characters of a SHA-256 as hexadecimal digits. */
#define MESSAGE_HASH_LENGTH 64u

void message_write_order(struct buf *out, const struct message_order *order);
/** Read one: what an order needs is there. As message_read_call(). */
int message_read_order(const char *text, size_t length, struct arena *arena,
                       struct message_order *ret, struct toolrack_error *err);

/** @param report  the text of a JSON value */
void message_write_done(struct buf *out, const char *report, size_t length);
/** Read the end of an order.
 * @return 0 with the report; or the code of the error that came; TOOLRACK_E_INVALID. */
int message_read_done(const char *text, size_t length, struct arena *arena, yyjson_val **ret,
                      struct toolrack_error *err);

struct message_control {
    const char *call; /* the subject that its events go to */
    bool cancel;
    uint64_t ask;        /* 0: none */
    int answer;          /* enum toolrack_answer */
    const char *content; /* the text of a JSON object, or NULL */
};

void message_write_control(struct buf *out, const struct message_control *control);
int message_read_control(const char *text, size_t length, struct arena *arena,
                         struct message_control *ret, struct toolrack_error *err);

/** Read a JSON object of this version.
 * @param what  for the error: "a call" @return NULL: err is set. [any-thread] */
yyjson_val *message_read(const char *text, size_t length, struct arena *arena, const char *what,
                         struct toolrack_error *err);
