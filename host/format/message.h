/* message.h - a provider's message and the calls in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/error.h"
#include "toolrack/format.h"

/* Most calls in one message, and most bytes of a message. */
#define FORMAT_CALLS_MAX   1024u
#define FORMAT_MESSAGE_MAX (64u * 1024 * 1024)

/** One call that a model made. Its strings are in the message. */
struct format_call {
    const char *id;   /**< NULL if the provider gave no id, or an id that is not a string */
    const char *name; /**< as the model wrote it; "" without a name */
    const char *arguments;
    size_t arguments_length; /**< JSON, zero-terminated; "{}" without arguments */
    /** The same, read with YYJSON_READ_BIGNUM_AS_RAW; NULL: they are to be read. */
    yyjson_val *parsed;
    /** NULL, or why the call cannot be made: InvalidArguments when the arguments are not a JSON
     * object. */
    const struct toolrack_error *problem;
    bool is_odd; /**< the arguments may be wrapped, or have properties by the names of a definition:
                  * see format_is_wrapped() and format_looks_made() */
    bool was_encoded; /**< the arguments were JSON text within a JSON string */
    bool is_lone;     /**< the message has this call in `function_call`, as before `tool_calls` */
    yyjson_val *raw;  /**< the call itself, for members that the result must repeat */
};

struct format_message {
    enum toolrack_format format;
    yyjson_doc *doc;
    struct arena arena;
    struct format_call *calls;
    size_t count;
    size_t room;       /**< capacity of `calls`; used by turn.c */
    const char *model; /**< that wrote it, and gets the results; NULL: not known */
};

/** The value in which a model wrapped its arguments, {"arguments": VALUE} or with one of the other
 * usual words; NULL: there is none. `ret_word` receives the word. [any-thread] */
yyjson_val *format_is_wrapped(yyjson_val *arguments, const char **ret_word);
