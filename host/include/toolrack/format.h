/* toolrack/format.h - tool definitions and calls in the formats of model providers. The host writes
 * definitions and results; it reads the messages in which a model calls tools. See toolrack.h for
 * ownership, errors and threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toolrack;
struct toolrack_text;
struct toolrack_call_options;

/** X(constant, name, whose) */
#define TOOLRACK_FORMATS(X)                                     \
    X(OPENAI, "openai", "OpenAI Chat Completions")              \
    X(OPENAI_RESPONSES, "openai-responses", "OpenAI Responses") \
    X(ANTHROPIC, "anthropic", "Anthropic Messages")             \
    X(GEMINI, "gemini", "Gemini generateContent")               \
    X(OLLAMA, "ollama", "Ollama /api/chat")                     \
    X(MCP, "mcp", "Model Context Protocol, tools/list tools/call")

enum toolrack_format {
#define TOOLRACK_FORMAT(constant, name, whose) TOOLRACK_FORMAT_##constant,
    TOOLRACK_FORMATS(TOOLRACK_FORMAT)
#undef TOOLRACK_FORMAT
            TOOLRACK_FORMAT_COUNT /**< those that this header knows; a newer library may have more
                                   */
};

/** The name of a format; NULL for a number that is no format. Static text. [any-thread] */
TOOLRACK_API const char *toolrack_format_name(enum toolrack_format format);

/** The format of a name.
 * @return 0; TOOLRACK_E_NOT_FOUND: the message lists the formats. [any-thread] */
TOOLRACK_API int toolrack_format_find(const char *name, enum toolrack_format *ret,
                                      struct toolrack_error *err);

/* ------------------------------------------------------------- definitions */

struct toolrack_export_options {
    size_t size; /**< sizeof(struct toolrack_export_options) */
    /** Only these tools, by "name" or "name@range"; NULL-terminated. They keep registry order. NULL
     * is all enabled ones that are not held and have what they need (TOOLRACK_STATE_NEEDS); a name
     * that is not registered is reported. */
    const char *const *allow;
    uint32_t limit;  /**< at most so many, by priority; 0 is as many as the provider allows */
    uint32_t budget; /**< at most so many tokens in all, by priority: an estimate of four bytes each
                      * of the definitions; 0 is no limit */
    uint64_t disabled;   /**< not 0: disabled tools too, where no enabled one has the name, and held
                          * ones: their state is TOOLRACK_STATE_CHANGED, nobody agreed to their texts
                          */
    const char *profile; /**< only tools of this profile of the configuration, or of
                          * TOOLRACK_PROFILE_BASIC; NULL: all. It holds together with `allow` */
};
#define TOOLRACK_EXPORT_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_export_options) }

/** The definitions of the tools in one format, as the text of a JSON array: "[]" of an empty
 * registry. Without options they are made once for each state of the registry. A tool that a format
 * cannot express is left out and reported; the others are exported.
 *
 * @param options     NULL is all defaults
 * @param ret         receives a reference, to be released by toolrack_text_unref()
 * @param ret_report  NULL, or receives a reference: what was changed and why, as a JSON array of
 *                    objects: tool; kind ("renamed", "rewritten", "not-strict", "cut", "refused",
 *                    "disabled", "changed", "needs", "uncallable" or "unknown"); at (JSON Pointer into the
 * schema, or null); what
 * @return 0; TOOLRACK_E_INVALID for a number that is no format, or a profile that the configuration
 *         does not have; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_export(struct toolrack *host, enum toolrack_format format,
                                 const struct toolrack_export_options *options,
                                 struct toolrack_text **ret, struct toolrack_text **ret_report,
                                 struct toolrack_error *err);

/* ------------------------------------------------------------------ a turn */

/** The tolerance (toolrack.h) for calls that a model makes in a format, where nothing is said of
 * the tool: what the configuration says of the format, else of all tools, else
 * TOOLRACK_TOLERANCE_JSON_TEXT. toolrack_answer() uses it for calls whose options say nothing.
 * @return enum toolrack_tolerance. [any-thread] */
TOOLRACK_API int toolrack_format_tolerance(struct toolrack *host, enum toolrack_format format);

/** Answer a model's message: execute its calls, in parallel, and give the messages to append to the
 * conversation after it.
 *
 * A call that cannot be made, or fails, becomes a result that says so; the others go on. Results
 * are in the order of the calls. A call by a name that a definition of this format has, and
 * arguments by its names of properties, are those of the tool; so are a name with a prefix that
 * models invent, if it can mean no other tool ("functions.add", "default_api.add"; "mcp__p__add" of
 * the plugin "p"), and arguments that are wrapped in one object of the name "arguments",
 * "parameters" or "input", if the tool takes what is in it and not these.
 *
 * @param message  text of JSON: the assistant's message, or the whole response that holds it
 * @param options  for each call; NULL is all defaults. Its callbacks may run on several threads at
 *                 once. With `definitions`, calls of tools that these do not have are not found;
 *                 with `offered`, those that such an export does not have now
 * @param ret      receives a reference: the text of a JSON array of messages (of items for
 *                 OPENAI_RESPONSES, of contents for GEMINI, of JSON-RPC responses for MCP);
 *                 "[]" when the message calls nothing
 * @return 0; TOOLRACK_E_INVALID for a message that is not of this format, or has a call that cannot
 *         be read, with the place, an unknown profile in `offered`, or `definitions` that are none
 *         of this format; TOOLRACK_E_REFUSED for a message with calls that the model refused or a
 *         filter of the provider stopped: none of them is executed, nor (TOOLRACK_E_INVALID) where
 *         the provider stopped it for another reason; TOOLRACK_E_LIMIT_EXCEEDED for
 *         more than 1024 calls or 64 MiB; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_answer(struct toolrack *host, enum toolrack_format format,
                                 const char *message, size_t length,
                                 const struct toolrack_call_options *options,
                                 struct toolrack_text **ret, struct toolrack_error *err);

/** A response that comes in pieces. One thread at a time. */
struct toolrack_stream;

/** @param text  called for each piece of the model's text, as it comes; may be NULL
 * @return 0 with a stream, to be released by toolrack_stream_free(); TOOLRACK_E_INVALID for a
 *         format without streams; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_stream_new(enum toolrack_format format,
                                     void (*text)(void *user, const char *text, size_t length),
                                     void *user, struct toolrack_stream **ret,
                                     struct toolrack_error *err);

/** Feed bytes of the response's body (server-sent events, or lines of JSON for OLLAMA) as they come
 * from the network, cut anywhere. After a failure every further call fails.
 * @return 0; TOOLRACK_E_INVALID: no such stream; TOOLRACK_E_NO_MEMORY; for an error that the
 * provider sent in it, with its message: TOOLRACK_E_IO, an overload; TOOLRACK_E_LIMIT_EXCEEDED, too
 * many requests (also: too long a stream); else TOOLRACK_E_EXECUTION_FAILED. */
TOOLRACK_API int toolrack_stream_feed(struct toolrack_stream *stream, const char *bytes,
                                      size_t length, struct toolrack_error *err);

/** The whole message, as a response without streaming would have it: for
 * toolrack_answer(), and to be appended to the conversation.
 * @param ret  receives the text of JSON, borrowed from the stream
 * @return 0; TOOLRACK_E_INVALID when the stream ended too early; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_stream_end(struct toolrack_stream *stream, const char **ret,
                                     size_t *ret_length, struct toolrack_error *err);

/** Why a message ended. X(constant, word, what it means). New ones may come. */
#define TOOLRACK_ENDINGS(X)                                                            \
    X(NONE, "none", "it has not ended")                                                \
    X(DONE, "done", "the model has written all of it")                                 \
    X(LENGTH, "length", "it is cut off at a limit of tokens")                          \
    X(REFUSAL, "refusal", "the model refuses")                                         \
    X(SAFETY, "safety", "the provider stopped it, or the prompt, for its safety")      \
    X(CONTENT_FILTER, "content-filter", "the provider's filter of content stopped it") \
    X(MALFORMED_CALL, "malformed-call", "the model wrote a call that cannot be read")  \
    X(EMPTY, "empty", "it has neither text nor calls")                                 \
    X(OTHER, "other", "the provider's word for it is not known here")                  \
    X(STOPPED, "stopped", "the provider stopped it, for another reason than those above")

enum toolrack_ending {
#define TOOLRACK_ENDING(constant, word, meaning) TOOLRACK_ENDING_##constant,
    TOOLRACK_ENDINGS(TOOLRACK_ENDING)
#undef TOOLRACK_ENDING
            TOOLRACK_ENDING_COUNT /**< those that this header knows */
};

/** The word of an ending; NULL for a number that is no ending. Static text. [any-thread] */
TOOLRACK_API const char *toolrack_ending_word(enum toolrack_ending ending);

/** Why the message ended, as far as the stream says. Of a message that is not TOOLRACK_ENDING_DONE
 * calls may be missing or incomplete; after REFUSAL, SAFETY, CONTENT_FILTER and STOPPED none of
 * them should be executed. TOOLRACK_ENDING_EMPTY is not told here.
 * @param ret_reason  NULL, or receives the provider's own word, "" where it has none, borrowed from
 *                    the stream until it is fed again */
TOOLRACK_API enum toolrack_ending toolrack_stream_ending(const struct toolrack_stream *stream,
                                                         const char **ret_reason);

/** A number of tokens that the provider does not tell. */
#define TOOLRACK_TOKENS_UNKNOWN (-1)

/** How many tokens one message took, as its provider counts them; each may be
 * TOOLRACK_TOKENS_UNKNOWN. All providers' numbers are made to mean the same. */
struct toolrack_usage {
    size_t size;       /**< sizeof(struct toolrack_usage) */
    int64_t input;     /**< of the whole prompt, those of a cache included */
    int64_t cached;    /**< of `input`: read from the provider's cache */
    int64_t written;   /**< of `input`: written to its cache, where that has a price of its own */
    int64_t output;    /**< of the message, the reasoning included */
    int64_t reasoning; /**< of `output` */
};
#define TOOLRACK_USAGE_INIT \
    { .size = sizeof(struct toolrack_usage) }

/** How many tokens the message took, as far as the stream says; most providers say it at its end.
 * OPENAI says it if `stream_options` of the request wants `include_usage`.
 * @param usage  with its size; receives the rest
 * @return whether anything is said of it. */
TOOLRACK_API bool toolrack_stream_usage(const struct toolrack_stream *stream,
                                        struct toolrack_usage *usage);

TOOLRACK_API void toolrack_stream_free(struct toolrack_stream *stream);

#ifdef __cplusplus
}
#endif
