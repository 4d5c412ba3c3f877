/* message.h - a provider's message and the calls in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/error.h"
#include "toolrack/format.h"

/* Most calls in one message, and most bytes of it. */
#define FORMAT_CALLS_MAX   1024u
#define FORMAT_MESSAGE_MAX (64u * 1024 * 1024)

/** One call that a model made. Texts live in the message. */
struct format_call {
    const char *id;   /**< NULL if the provider gave no id, or not a string */
    const char *name; /**< as the model wrote it; "" without a name */
    const char *arguments;
    size_t arguments_length; /**< text of JSON, zero-terminated; "{}" where there are none */
    /** NULL, or why it cannot be called: InvalidArguments for arguments that are not a JSON object.
     */
    const struct toolrack_error *problem;
    yyjson_val *raw; /**< the call itself, for what is to be echoed */
};

struct format_message {
    enum toolrack_format format;
    yyjson_doc *doc;
    struct arena arena;
    struct format_call *calls;
    size_t count;
    size_t room; /**< for turn.c */
};
