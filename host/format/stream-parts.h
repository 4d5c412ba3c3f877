/* stream-parts.h - what the files share that put together the streamed message of one provider
 * each.
 *
 *   stream.c             lines and events, whatever the provider; the embedding API
 *   stream-parts.c       the message as it grows, likewise
 *   stream-<provider>.c  what its events add to the message */
#pragma once

#include "base/buf.h"
#include "format/turn-parts.h"

/* Most bytes of one stream, and of one event of it. */
#define STREAM_BYTES_MAX   (256u * 1024 * 1024)
#define STREAM_EVENT_MAX   FORMAT_MESSAGE_MAX
/* Most blocks, items or calls of one message. */
#define STREAM_ITEMS_MAX   4096u
/* Most members of one of them: they are looked up one after the other. */
#define STREAM_MEMBERS_MAX 1024u

/** A string of the message that comes in pieces. */
struct stream_text {
    yyjson_mut_val *object; /**< whose member it is */
    const char *key;        /**< static, or the document's */
    bool is_json;           /**< it becomes the value that it is the text of */
    struct buf text;
};

/** A block, item or call of the message, by the number that the provider gives it. */
struct stream_item {
    uint64_t index;
    yyjson_mut_val *object;
};

struct stream_format {
    /** One event, or line.
     * @return 0, or a code with err set. */
    int (*event)(struct toolrack_stream *stream, yyjson_val *event, struct toolrack_error *err);
    /** Complete the message, whose texts were set; NULL: it is complete. */
    void (*end)(struct toolrack_stream *stream);
    const char *role; /**< of the message; NULL: the root is an array */
    bool lines;       /**< of JSON, no events */
};

extern const struct stream_format stream_openai;
extern const struct stream_format stream_responses;
extern const struct stream_format stream_anthropic;
extern const struct stream_format stream_gemini;
extern const struct stream_format stream_ollama;

struct toolrack_stream {
    const struct stream_format *format;
    void (*text)(void *user, const char *text, size_t length);
    void *user;

    /* Lines and events. */
    size_t bytes;      /* fed so far */
    struct buf line;   /* the one that is not yet complete */
    struct buf data;   /* of the event that is not yet complete */
    bool has_data;     /* though it may be empty */
    bool after_return; /* the last byte was CR: a LF belongs to it */
    bool begun;        /* the first line was seen */

    /* The message. What is added to `doc` is not checked piece by piece: `no_memory` is. */
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    struct stream_item *items;
    size_t item_count;
    size_t item_room;
    struct stream_text *texts;
    size_t text_count;
    size_t text_room;
    bool no_memory;
    bool complete; /* its end was seen */

    char *result; /* what toolrack_stream_end() gave */
    size_t result_length;
    struct toolrack_error error; /* code 0, or why it failed */
};

/** Pass a piece of the model's text to the callback; other values than strings are ignored. */
void stream_show(const struct toolrack_stream *stream, yyjson_val *text);

/** Append to the string at `key` of an object of the message. A value that is not a string is
 * ignored. */
void stream_gather(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                   yyjson_val *text, bool is_json);

/** Whether the arguments at `key` are a complete JSON object. False for very long ones, which are
 * not parsed. */
bool stream_is_whole(const struct toolrack_stream *stream, yyjson_mut_val *object, const char *key);

/** The model was stopped while it wrote the arguments at `key`. Arguments of which nothing came
 * would count as empty: they become "{", which is invalid. */
void stream_break_off(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                      bool is_json);

/** The item with a number; NULL: there is none. */
struct stream_item *stream_find_item(struct toolrack_stream *stream, uint64_t index);

/** Add an item. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int stream_add_item(struct toolrack_stream *stream, uint64_t index, yyjson_mut_val *object,
                    struct toolrack_error *err);

/** A copy of a value in the message's document; NULL where there is none, or no memory. */
yyjson_mut_val *stream_copy(struct toolrack_stream *stream, yyjson_val *value);

/** Set a member of an object of the message. */
void stream_put(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                yyjson_mut_val *value);

/** The same with a copy of a value; NULL leaves it as it is. */
void stream_set(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                yyjson_val *value);

/** Append to an array of the message. */
void stream_append(struct toolrack_stream *stream, yyjson_mut_val *array, yyjson_mut_val *value);

/** The object at `key` of an object of the message, made when it is missing. */
yyjson_mut_val *stream_object(struct toolrack_stream *stream, yyjson_mut_val *object,
                              const char *key);

/** The array there. */
yyjson_mut_val *stream_array(struct toolrack_stream *stream, yyjson_mut_val *object,
                             const char *key);

/** Whether an event says that the provider failed, by a member `error`; then err is set. */
bool stream_is_error(yyjson_val *event, struct toolrack_error *err);

/** The provider says that it failed: `message` has its words, or is NULL. Returns the code. */
int stream_fail(yyjson_val *message, struct toolrack_error *err);
