/* stream-parts.h - shared by the files that build a message from a provider's stream.
 *
 *   stream.c             lines and events, for all providers; the embedding API
 *   stream-parts.c       the growing message, for all providers
 *   stream-<provider>.c  what the provider's events add to the message */
#pragma once

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "format/turn-parts.h"

/* Most bytes of one stream, and of one event. */
#define STREAM_BYTES_MAX   (256u * 1024 * 1024)
#define STREAM_EVENT_MAX   FORMAT_MESSAGE_MAX
/* Most blocks, items or calls of one message. */
#define STREAM_ITEMS_MAX   4096u
/* Most levels of arrays and objects in one event, and in arguments that come as text: the message
 * has a few more around them, and may have JSON_DEEPER_MAX. */
#define STREAM_DEPTH_MAX   (JSON_DEEPER_MAX - 8u)
/* Most members of one of them: a look-up reads them one after the other. */
#define STREAM_MEMBERS_MAX 1024u

/** A string of the message that arrives in pieces. */
struct stream_text {
    yyjson_mut_val *object; /**< the object that has it as a member */
    const char *key;        /**< static, or in the document */
    bool is_json;           /**< at the end it is parsed as JSON and replaced by the value */
    struct buf text;
};

/** A block, item or call of the message, found by the provider's number. */
struct stream_item {
    uint64_t index;
    yyjson_mut_val *object;
    bool is_plain;   /**< a part of Gemini's with text only, and perhaps a thought flag */
    bool is_thought; /**< that has the flag set */
    uint64_t shown;  /**< the parts of an item of Responses whose text was shown, a bit each */
};

/* What precedes the provider's own message. */
#define STREAM_FAILED "the provider ended the response with an error: "

struct stream_format {
    /** Read one event or line, which reports no failure in its `error`.
     * @return 0, or a code with err set. */
    int (*event)(struct toolrack_stream *stream, yyjson_val *event, struct toolrack_error *err);
    /** Read a response that was not streamed, although a stream was asked for.
     * @return as above */
    int (*whole)(struct toolrack_stream *stream, yyjson_val *root, struct toolrack_error *err);
    /** Complete the message, after its growing strings were set; NULL: nothing to complete. */
    void (*end)(struct toolrack_stream *stream);
    const char *role; /**< of the message; NULL: the root is an array */
    bool lines;       /**< the stream is lines of JSON, not events */
    bool looks;      /**< it calls stream_look() itself, of the events that have something for it */
    bool sees_twice; /**< it tells which events have a member twice, as far as it reads them */
};

extern const struct stream_format stream_openai;
extern const struct stream_format stream_responses;
extern const struct stream_format stream_anthropic;
extern const struct stream_format stream_gemini;
extern const struct stream_format stream_ollama;

/** The numbers of tokens that providers tell of a message. */
enum stream_count {
    STREAM_INPUT,
    STREAM_CACHED,  /**< read from a cache */
    STREAM_WRITTEN, /**< written to a cache */
    STREAM_TOOLS,   /**< of results of the provider's own tools */
    STREAM_OUTPUT,
    STREAM_REASONING,
    STREAM_TOTAL, /**< tells whether the reasoning is a part of the output */
    STREAM_COUNTS
};

struct toolrack_stream {
    const struct stream_format *format;
    enum toolrack_format kind; /* its number */
    void (*text)(void *user, const char *text, size_t length);
    void *user;

    /* Lines and events. */
    size_t bytes;      /* fed so far */
    struct buf line;   /* the incomplete line */
    struct buf data;   /* of the incomplete event, or of a response that is not streamed */
    bool has_data;     /* a data field was seen; it may be empty */
    bool after_return; /* the last byte was CR: a LF that follows belongs to it */
    bool begun;        /* the first line was seen */
    bool has_fields;   /* a line with a field was seen: it is an event stream */
    bool is_whole;     /* the response is one JSON text */
    bool is_failure;   /* the incomplete event is called "error" */
    bool has_twice;    /* the event has a member twice that is read, in a format that sees it */
    bool decides; /* the event has a part of a call, an ending, or values that are kept whole */

    /* The message. Failures to add to `doc` are collected in `no_memory`. */
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    struct stream_item *items;
    size_t item_count;
    size_t item_room;
    struct stream_text *texts;
    size_t text_count;
    size_t text_room;
    bool no_memory;
    bool complete;      /* its end was seen; but some providers say so with each piece */
    struct buf reason;  /* why it ended, in the provider's word; empty: it does not say */
    bool refused;       /* the model has written a refusal where others write their answer */
    bool over;          /* nothing that follows belongs to it */
    bool has_halves;    /* strings may have halves of surrogate pairs, see utf8_join_halves() */
    bool has_shown;     /* some text of the model has come */
    bool has_error;     /* an `error` came that says nothing, such as {} or "" */
    struct buf unshown; /* the half at the end of the text so far */
    uint64_t seed;      /* of the ids that are made for calls without one */
    unsigned ids_made;
    yyjson_mut_val *ids; /* an object whose members are the ids of the calls so far; NULL: none */
    int64_t counts[STREAM_COUNTS]; /* TOOLRACK_TOKENS_UNKNOWN: not told */

    char *result; /* returned by toolrack_stream_end() */
    size_t result_length;
    struct toolrack_error error; /* code 0, or the failure; the last member */
};

/* Length of an id that is made for a call: all providers accept nine letters and digits. */
#define STREAM_ID_LENGTH 9u

/** The name of a member, as text; NULL for one with a zero byte, which would be taken for what is
 * before it: who checks the answer has seen another name. */
static inline const char *stream_name(yyjson_val *key) {
    const char *name = yyjson_get_str(key);
    return strlen(name) == yyjson_get_len(key) ? name : NULL;
}

/** Give an id to a call whose id is missing or empty, or that of a call which was given one before:
 * a result is matched to its call by it. */
void stream_give_id(struct toolrack_stream *stream, yyjson_mut_val *call, const char *key);

/** Take a member that may be there once: the first counts, and a second one is told. */
static inline void stream_take_once(struct toolrack_stream *stream, yyjson_val **member,
                                    yyjson_val *value) {
    stream->has_twice = stream->has_twice || *member != NULL;
    *member = *member != NULL ? *member : value;
}

/** Whether a value is a string that is not empty. */
static inline bool stream_is_text(yyjson_val *value) {
    return yyjson_is_str(value) && yyjson_get_len(value) > 0;
}

/** Pass a piece of the model's text to the callback; it is not empty. */
void stream_show_text(struct toolrack_stream *stream, const char *text, size_t length);

/** The same; other values than strings are ignored. */
static inline void stream_show(struct toolrack_stream *stream, yyjson_val *text) {
    if (stream_is_text(text)) {
        stream_show_text(stream, yyjson_get_str(text), yyjson_get_len(text));
    }
}

/** Whether the string at `key` of an object is, as far as it was gathered, this one. */
bool stream_has_text(const struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                     yyjson_val *text);

/** What stream_gather() does with a string. */
void stream_add_piece(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                      yyjson_val *text, bool is_json);

/** Append to the string at `key` of an object of the message. A value that is not a string, as most
 * of those that an event may have, is ignored. */
static inline void stream_gather(struct toolrack_stream *stream, yyjson_mut_val *object,
                                 const char *key, yyjson_val *text, bool is_json) {
    if (yyjson_is_str(text)) {
        stream_add_piece(stream, object, key, text, is_json);
    }
}

/** Whether the arguments at `key` are a complete JSON object. False for very long ones, which are
 * not parsed. */
bool stream_is_whole(const struct toolrack_stream *stream, yyjson_mut_val *object, const char *key);

/** The model was stopped while it wrote the arguments at `key`. If nothing of them has arrived,
 * they would count as empty: they become "{", which is invalid. */
void stream_break_off(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                      bool is_json);

/** The provider says why the message ended, or was not begun. A value that is not a string, or is
 * empty, is ignored, and so is one that stream_takes_back(). */
void stream_set_reason(struct toolrack_stream *stream, yyjson_val *reason);

/** Whether a word for the end would take back what one before it said: that no call is made. A
 * server that ends each piece by "stop" must not let calls run which a filter has stopped. */
bool stream_takes_back(const struct toolrack_stream *stream, const char *reason);

/** Whether the model was stopped, perhaps within its last call, as far as the provider says. */
bool stream_is_cut_off(const struct toolrack_stream *stream);

/** The arguments at `key` of a call were written in one piece, as an object: if it has no members,
 * a model that was stopped may not have written them yet, and they become invalid as those of
 * stream_break_off(). */
void stream_break_off_object(struct toolrack_stream *stream, yyjson_mut_val *call, const char *key);

/** Look at what an event, or a whole response, has beside its piece of the message, in one walk
 * over its members: read the numbers of tokens that it tells.
 * @return whether it may report a failure, which stream_tell_error() knows */
bool stream_look(struct toolrack_stream *stream, yyjson_val *event);

/** The item with a number, or NULL. */
struct stream_item *stream_find_item(struct toolrack_stream *stream, uint64_t index);

/** Add an item. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int stream_add_item(struct toolrack_stream *stream, uint64_t index, yyjson_mut_val *object,
                    struct toolrack_error *err);

/** Give the elements of an array to a function, with their places, until it fails; of another value
 * there are none. @return its code */
int stream_take_each(struct toolrack_stream *stream, yyjson_val *array,
                     int (*take)(struct toolrack_stream *stream, uint64_t index,
                                 yyjson_val *element, struct toolrack_error *err),
                     struct toolrack_error *err);

/** A copy of a value in the message's document; NULL when `value` is NULL, or no memory. */
yyjson_mut_val *stream_copy(struct toolrack_stream *stream, yyjson_val *value);

/** Set a member of an object of the message. */
void stream_put(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                yyjson_mut_val *value);

/** The same with a copy of a value; NULL changes nothing. */
void stream_set(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                yyjson_val *value);

/** Append to an array of the message. */
void stream_append(struct toolrack_stream *stream, yyjson_mut_val *array, yyjson_mut_val *value);

/** Leave out the elements of an array of the message that are without content. */
void stream_filter(struct toolrack_stream *stream, yyjson_mut_val *array,
                   bool (*is_empty)(yyjson_mut_val *element));

/** The object at `key` of an object of the message; created if it is missing. */
yyjson_mut_val *stream_object(struct toolrack_stream *stream, yyjson_mut_val *object,
                              const char *key);

/** The same for an array. */
yyjson_mut_val *stream_array(struct toolrack_stream *stream, yyjson_mut_val *object,
                             const char *key);

/** Append the elements of an array to the one at `key` of an object of the message. An element that
 * continues one of the message (the same `index`; without, the last one, if all other members are
 * the same) makes its texts longer. A string that is there already becomes a part of type "text".
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED. */
int stream_extend(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                  yyjson_val *array, struct toolrack_error *err);

/** Whether a member is one that an object has which reports a failure. */
static inline bool stream_may_be_error(yyjson_val *key, yyjson_val *value) {
    switch (unsafe_yyjson_get_str(key)[0]) { /* each member of each event is asked */
    case 'e': return turn_is(key, "error") && turn_says_error(value);
    case 'o': return turn_is(key, "object") && turn_is(value, "error");
    default: return false;
    }
}

/** Whether a member is an `error` that says nothing: the provider may have failed if no answer
 * comes. */
static inline bool stream_is_empty_error(yyjson_val *key, yyjson_val *value) {
    return turn_is(key, "error") && !yyjson_is_null(value) && !yyjson_is_false(value);
}

/** The failure of the provider that an object reports, which may report one.
 * @return 0: it reports none; or the code of stream_fail() */
int stream_tell_error(yyjson_val *event, struct toolrack_error *err);

/** The same for any object. Inline, as nearly none does, and each piece of an answer is asked. */
static inline int stream_find_error(yyjson_val *event, struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (event, at, count, key, value) {
        if (stream_may_be_error(key, value)) {
            return stream_tell_error(event, err);
        }
    }
    return 0;
}

/** Set err for a failure that the provider reported: a message, or an object that has one; may be
 * NULL. @return TOOLRACK_E_IO for a server that is busy or down, TOOLRACK_E_LIMIT_EXCEEDED for too
 *         many requests, as for a response with such a status; else TOOLRACK_E_EXECUTION_FAILED. */
int stream_fail(yyjson_val *message, struct toolrack_error *err);

/** Set err for a limit of ours that a stream exceeds: it is lasting, so that nobody asks a provider
 * again for what would be too much again. @return TOOLRACK_E_LIMIT_EXCEEDED */
int stream_exceed(struct toolrack_error *err, const char *format, ...) TOOLRACK_PRINTF(2, 3);
