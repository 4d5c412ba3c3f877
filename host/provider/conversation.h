/* conversation.h - the messages so far, as the body of the next request.
 *
 * Messages are kept as JSON text and sent back unchanged: a model's messages contain signatures and
 * other data that only its provider understands. Only what would have the provider refuse each
 * request that follows is changed: arguments of calls that are no JSON object, ids of calls that
 * repeat, and members that it has refused by their names; and what is no model's is left out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/buf.h"
#include "toolrack/format.h"

/* Most tokens of one answer; Anthropic requires this number. */
#define CONVERSATION_ANSWER_TOKENS_MAX 8192u

/** What requests have beside the conversation, where the format has it: members that a server may
 * not know. */
enum conversation_extra {
    /** Anthropic: what may be cached ends behind the tools, the system prompt, and the last two
     * messages of the user. Two, since from a mark 20 blocks at most are searched for one before
     * it, and a message may have more results. Other providers cache by themselves. */
    CONVERSATION_CACHE_CONTROL = 1u << 0,
    CONVERSATION_STORE = 1u << 1,     /**< OpenAI Responses: false, nothing is kept there */
    CONVERSATION_INCLUDE = 1u << 2,   /**< OpenAI Responses: what the model thought, encrypted */
    CONVERSATION_CACHE_KEY = 1u << 3, /**< OpenAI: which requests belong together */
    CONVERSATION_USAGE = 1u << 4,     /**< OpenAI: how many tokens a message took is told */
    CONVERSATION_EXTRAS = (1u << 5) - 1,
};

/* Most members of the model's messages that a provider may refuse of one conversation. */
#define CONVERSATION_UNSENT_MAX 8u

/** Of all requests of a conversation each has the bytes of the one before up to the end of its
 * messages, but for the marks of CONVERSATION_CACHE_CONTROL: providers cache by that. */
struct conversation {
    enum toolrack_format format;
    struct buf head;     /**< members before the messages, each with a comma after it */
    struct buf system;   /**< Anthropic: the system prompt, a JSON string; else empty */
    struct buf tools;    /**< a JSON array; empty: none */
    struct buf messages; /**< separated by commas */
    size_t count;        /**< number of messages */
    size_t turns[2];     /**< Anthropic: where a mark stands in the last two messages of the user */
    unsigned extras;     /**< of enum conversation_extra */
    char *cache_key;     /**< owned; NULL: none */
    char *unsent[CONVERSATION_UNSENT_MAX]; /**< members of the model's messages, owned */
    size_t unsent_count;
    bool is_lax;      /**< definitions do not say `strict` */
    bool has_renamed; /**< the limit of tokens has its other name */
    size_t foreign;   /**< parts of messages that were no model's, and left out */
};

/** What a provider has refused of a request, by its name. */
struct conversation_refused {
    const char *name;    /**< static, or owned by the conversation */
    const char *instead; /**< what further requests have in its place; NULL: nothing */
};

/** Begin a conversation; release with conversation_finish().
 * @param system  NULL: no system prompt
 * @param tools   a JSON array of definitions in this format
 * @param task    NULL: it has no message yet, but for the system prompt where that is one
 * @return 0; TOOLRACK_E_INVALID for a string that is not UTF-8, or a task without any text;
 *         TOOLRACK_E_NO_MEMORY. On failure there is nothing to release. [any-thread] */
int conversation_init(struct conversation *ret, enum toolrack_format format, const char *model,
                      const char *system, const char *tools, const char *task,
                      struct toolrack_error *err);
/** Offer more tools, behind the others: what a provider has cached begins anew.
 * @param tools  a JSON array of definitions in this format, not empty
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_add_tools(struct conversation *conversation, const char *tools,
                           struct toolrack_error *err);
/** Let requests have those of the extras that the format has.
 * @param cache_key  for CONVERSATION_CACHE_KEY; NULL: not that
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_set_extras(struct conversation *conversation, unsigned extras,
                            const char *cache_key, struct toolrack_error *err);
/** Leave out of all further requests what a provider's refusal names: an extra, `strict` of the
 * definitions, or a member of the model's messages such as `reasoning`, which one provider requires
 * back and another refuses. The limit of tokens gets the other of its two names. Never left out is
 * CONVERSATION_STORE, a promise to the user that is not the provider's to switch off.
 * @param text  of the response, of any content
 * @return false: the refusal names nothing that the requests have, or no memory: nothing changed */
bool conversation_drop_refused(struct conversation *conversation, const char *text,
                               struct conversation_refused *ret);
/** Leave out what was refused of another conversation, by its name, if requests may have it.
 * Without memory they have it. */
void conversation_drop(struct conversation *conversation, const char *name);
/** What to do about a refusal that names CONVERSATION_STORE; NULL: it does not. Static text. */
const char *conversation_refusal_advice(const struct conversation *conversation, const char *text);
/** Set parameters of each request: members of its body, each with a comma after it, as of
 * parameters_write(). They take the place of extras.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_set_parameters(struct conversation *conversation, const struct buf *members,
                                struct toolrack_error *err);
void conversation_finish(struct conversation *conversation);

/** Append a message of the user.
 * @return 0; TOOLRACK_E_INVALID for text that is not UTF-8, or empty; TOOLRACK_E_NO_MEMORY. On
 *         failure nothing changed. */
int conversation_add_task(struct conversation *conversation, const char *task,
                          struct toolrack_error *err);

/** Append the messages of a request's body, without a system prompt.
 * @return 0; TOOLRACK_E_INVALID when it has none of this format; TOOLRACK_E_NO_MEMORY. On failure
 *         nothing changed. */
int conversation_add_body(struct conversation *conversation, yyjson_val *body,
                          struct toolrack_error *err);

/** Append the messages of another one of the same format.
 * @return 0; TOOLRACK_E_NO_MEMORY: nothing changed. */
int conversation_add_all(struct conversation *conversation, const struct conversation *from,
                         struct toolrack_error *err);

/** Take back the messages after the first `length` bytes of `messages`, which are `count`. */
void conversation_truncate(struct conversation *conversation, size_t length, size_t count);

/** Give other ids to the calls of the model's message whose ids calls of earlier messages have:
 * providers refuse a conversation in which an id repeats. Before the calls run, as their results
 * have their ids.
 * @param message  as of toolrack_stream_end(); unchanged on failure
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_renew_ids(const struct conversation *conversation, struct buf *message,
                           struct toolrack_error *err);

/** Append the model's message, or the response that contains it, without what a user or a host says
 * in it: results of calls, messages of another role. One without any content is left out.
 * @return 0; TOOLRACK_E_INVALID when it is no such message; TOOLRACK_E_NO_MEMORY. On failure
 *         nothing changed. */
int conversation_add_message(struct conversation *conversation, const char *message, size_t length,
                             struct toolrack_error *err);

/** Append the results from toolrack_answer().
 * @return as above */
int conversation_add_results(struct conversation *conversation, const char *results, size_t length,
                             struct toolrack_error *err);

/** Append the body of the next request: all messages, with a request for a streamed answer.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_body(const struct conversation *conversation, struct buf *out,
                      struct toolrack_error *err);
