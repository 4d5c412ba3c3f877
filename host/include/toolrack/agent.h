/* toolrack/agent.h - let a provider's model work on a task with the tools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"
#include "toolrack/format.h"
#include "toolrack/toolrack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How many requests are sent to the model by default, and at most. */
#define TOOLRACK_AGENT_STEPS_DEFAULT 20
#define TOOLRACK_AGENT_STEPS_MAX     1000

/** How many calls the outcome lists. */
#define TOOLRACK_AGENT_CALLED_MAX 4096

/** How long a provider that is busy may ask to wait by default. */
#define TOOLRACK_AGENT_WAIT_MS_DEFAULT 120000

/** Longest result that a model is given whole by default, and at most. */
#define TOOLRACK_AGENT_RESULT_BYTES_DEFAULT 65536
#define TOOLRACK_AGENT_RESULT_BYTES_MAX     67108864

/** Room for the id of a conversation that toolrack_conversation_id() makes, with its final zero. */
#define TOOLRACK_CONVERSATION_ID_SIZE 40

/** What happens in a conversation. New ones may come. */
enum toolrack_agent_event_kind {
    TOOLRACK_AGENT_REQUEST, /**< a request is about to be sent, also where one is repeated */
    TOOLRACK_AGENT_ANSWER,  /**< the first byte of its response has come */
    TOOLRACK_AGENT_MESSAGE, /**< the model's message is complete */
    /** A call of the message begins. All of one message are told before the first of them runs. */
    TOOLRACK_AGENT_CALL_BEGAN,
    /** It tells how far it is; what comes faster than the app takes it is told by the last. */
    TOOLRACK_AGENT_CALL_PROGRESS,
    TOOLRACK_AGENT_CALL_ENDED /**< once for each that began, in the order in which they end */
};

/** Texts are lent until the callback returns; the key is masked in them. Those of calls are one
 * line each, cut where they are long, without control characters. */
struct toolrack_agent_event {
    size_t size; /**< of this struct as the library knows it */
    enum toolrack_agent_event_kind kind;
    uint32_t step;         /**< which request of the conversation, from 1 */
    uint32_t tries;        /**< which attempt of it, from 1 */
    uint32_t call;         /**< CALL_*: which call of the message, from 0, */
    uint32_t calls;        /**< of how many; else 0 */
    const char *tool;      /**< CALL_*: as the model named it; else NULL */
    const char *arguments; /**< CALL_*: as the model wrote them; else NULL */
    /** ANSWER, MESSAGE: since the request was sent; CALL_ENDED: since the call began. */
    uint64_t duration_ns;
    double done;                        /**< CALL_PROGRESS */
    double total;                       /**< CALL_PROGRESS: 0 is not known */
    const char *message;                /**< CALL_PROGRESS: the tool's own words, or NULL */
    const char *state;                  /**< CALL_ENDED: "succeeded", "failed" or "cancelled" */
    const char *result;                 /**< CALL_ENDED: the result, or why it failed */
    const struct toolrack_usage *usage; /**< MESSAGE: NULL if the provider does not say */
    int code;                           /**< CALL_ENDED: 0, or enum toolrack_code */
};

/** Everything is borrowed until toolrack_agent() returns. */
struct toolrack_agent_options {
    size_t size;                 /**< sizeof(struct toolrack_agent_options) */
    enum toolrack_format format; /**< the provider's: any but MCP */
    int stop_fd; /**< when this descriptor becomes readable, the conversation ends with Cancelled;
                    -1: none */
    const char *endpoint; /**< "https://api.example.com", or with a path: then only the method is
                           * added to it, for ANTHROPIC and OLLAMA also the version that it lacks.
                           * NULL: that of the model of the configuration, as its format */
    const char *model;    /**< as the provider names it; without an endpoint one of "models" of the
                           * configuration, NULL its default */
    const char *system;   /**< the system prompt, or NULL */
    const char *task;
    const char *transcript; /**< the file that keeps the conversation; NULL: one in the state
                             * folder, where there is one */
    /** For the calls; `conversation` must be set. `offered` is which tools the model is offered;
     * what its limits, or those of the provider, leave out is told by notes. */
    const struct toolrack_call_options *call;
    /** A piece of the model's text; with `text` NULL: one of its messages has ended. */
    void (*text)(void *user, const char *text, size_t length);
    /** One line about what happens: calls and their results (not with `event`), tries. */
    void (*note)(void *user, const char *line);
    void *user;
    uint32_t steps_max; /**< 0 is TOOLRACK_AGENT_STEPS_DEFAULT */
    uint32_t verbose;   /**< not 0: also a note for each request */
    /** Not 0: the model is offered one tool, run_plan, in place of all, and writes plans of their
     * calls (toolrack/plan.h). A plan is checked, approved as a whole and run; what is wrong with
     * it goes back to the model. Runs are kept as of toolrack_plan_run(). */
    uint64_t plan;
    /** The request is repeated after `left_ms`: called when the wait begins, about each second of
     * it, and with 0 when it has ended. NULL: a note tells of the wait. */
    void (*wait)(void *user, uint32_t left_ms);
    /** Whether to wait longer than `wait_ms_max`; `why` is one line. NULL: no. */
    bool (*wait_longer)(void *user, const char *why, uint32_t wait_ms);
    /** Longest wait that the provider may ask for, in milliseconds; a longer one ends the
     * conversation. 0 is TOOLRACK_AGENT_WAIT_MS_DEFAULT */
    uint64_t wait_ms_max;
    /* Lists that end with NULL; NULL: empty. */
    const char *const *headers; /**< "NAME: VALUE", sent with each request, in place of ours with
                                 * the same name */
    const char *const *query;   /**< "NAME=VALUE", added to the URL; no keys */
    /** "NAME=VALUE", members of each request's body: temperature, top_p, top_k, max_tokens, seed
     * and stop in all formats, other names as the provider has them, "a.b" for b in a. A value is
     * JSON, or else a string. */
    const char *const *parameters;
    /** What happens, as it does; NULL: calls and their results are told by notes. */
    void (*event)(void *user, const struct toolrack_agent_event *event);
    /** Not 0: the conversation whose id is `conversation` of `call` goes on as it is kept, in
     * `transcript` or the state folder: its messages are sent again as they were, then the task.
     * `format` must be its format. Its own endpoint, model, system prompt, plan, query and
     * parameters are used where these are NULL or 0; headers are not kept. `task` NULL: it goes on
     * without a message of the user, where the last run of it did not come to an answer. Calls that
     * had not ended are told to the model as such, and never repeated. */
    uint64_t resume;
    /** Longest result of a tool that the model is given whole, in bytes, up to
     * TOOLRACK_AGENT_RESULT_BYTES_MAX. Of a longer one it is given the first quarter of so much,
     * and offered a tool of this conversation that reads the rest, read_result. 0: the number of
     * the configuration, or TOOLRACK_AGENT_RESULT_BYTES_DEFAULT */
    uint64_t result_bytes_max;
};
#define TOOLRACK_AGENT_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_agent_options), .stop_fd = -1 }

/** Give a model a task and the enabled tools, execute its calls and send it the results, until it
 * calls no tool. The key is read from OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, and is
 * overwritten with asterisks in everything that is given or kept.
 *
 * Runs on the calling thread, which waits for the network and the calls; `text`, `note` and
 * `event` are called on it. toolrack_cancel_conversation() cancels the calls that run.
 *
 * @param ret  receives a reference, on failure too unless there is no memory (then NULL): a JSON
 *             object of text (the last message), steps (requests), calls, ending (why that message
 *             ended: a word of toolrack_ending_word()), reason (the provider's own word for it, or
 *             null), transcript (its file, or null), conversation (its id), usage (the tokens of
 *             all messages: an object
 *             with the members of struct toolrack_usage, null where no provider's message says
 *             them, and complete: whether input and output of each request are told; or null),
 *             cost (amount and currency, by the prices of a model of the configuration; or null,
 *             also where usage is not complete), latency (milliseconds: first_byte_ms, to the first byte of
 *             the first response, or null; total_ms; tools_ms, in which calls ran), called (the
 *             first TOOLRACK_AGENT_CALLED_MAX calls: step, tool, state, duration_ms, error: the
 *             name of its code, or null, and changed, as of toolrack_result_changed(), if
 *             anything was)
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED after `steps_max` steps, and for a provider that stays busy;
 *         TOOLRACK_E_PERMISSION_DENIED for a key that is refused; TOOLRACK_E_CANCELLED;
 *         TOOLRACK_E_TIMEOUT; TOOLRACK_E_IO; TOOLRACK_E_INVALID, also for a transcript from which
 *         no conversation can go on; TOOLRACK_E_NOT_FOUND for a conversation that is not kept;
 *         TOOLRACK_E_REFUSED for one that goes on in another process;
 *         TOOLRACK_E_EXECUTION_FAILED for what the provider reports as its error;
 *         TOOLRACK_E_NO_MEMORY. An answer that is none or not whole is a failure too, by its
 *         ending: TOOLRACK_E_LIMIT_EXCEEDED for "length", TOOLRACK_E_REFUSED for "refusal",
 *         "safety" and "content-filter", TOOLRACK_E_EXECUTION_FAILED for "malformed-call",
 *         "stopped" and "empty". [any-thread] */
TOOLRACK_API int toolrack_agent(struct toolrack *host, const struct toolrack_agent_options *options,
                                struct toolrack_text **ret, struct toolrack_error *err);

/** The models that the configuration names: a JSON array of objects of name, endpoint, format,
 * model (the provider's name), key_env (the variable of the environment that has the key, or null),
 * headers (their names: a value may be a key), query, parameters, prices (what a million tokens
 * cost: input, cached, written, output, currency; or null) and is_default (toolrack_agent() takes it without
 * a name).
 * @param ret  receives a reference
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_models(struct toolrack *host, struct toolrack_text **ret,
                                 struct toolrack_error *err);

/** Make an id for a new conversation: the date and time, and a random number.
 * [any-thread] */
TOOLRACK_API void toolrack_conversation_id(char ret[TOOLRACK_CONVERSATION_ID_SIZE]);

/** The conversations that are kept in the state folder, the one that was written to last first, as
 * a JSON array of objects: id, format, endpoint, model, task (at most 200 characters of the first),
 * began (a text), last_ms (since 1970), steps (requests to the model), bytes, in_use (it goes on in
 * a process now).
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_conversations(struct toolrack *host, struct toolrack_text **ret,
                                        struct toolrack_error *err);

/** Take back the last message of the user and all that followed it. What calls did stays done.
 *
 * @param file  the transcript; NULL: that of the id in the state folder
 * @param ret   receives a JSON object: task (the message), calls (an array of the names of what was
 *              called and answered, of plans also the tools of their nodes), left (how many
 *              messages of the user are left)
 * @return 0; TOOLRACK_E_NOT_FOUND when nothing is left, or no such conversation is kept;
 *         TOOLRACK_E_REFUSED for one that goes on in a process; TOOLRACK_E_INVALID,
 *         TOOLRACK_E_LIMIT_EXCEEDED and TOOLRACK_E_IO for its transcript; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
TOOLRACK_API int toolrack_conversation_undo(struct toolrack *host, const char *file, const char *id,
                                            struct toolrack_text **ret, struct toolrack_error *err);

/** Remove a kept conversation.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_REFUSED for one that goes on in a process;
 *         TOOLRACK_E_INVALID for an id that is none; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
TOOLRACK_API int toolrack_conversation_remove(struct toolrack *host, const char *id,
                                              struct toolrack_error *err);

/** Overwrite, in place, the keys that a conversation of this host could send with asterisks: those
 * of the variables of all formats and of the models of the configuration, and those in headers. For
 * what a person typed, before it is kept.
 * @param headers  of struct toolrack_agent_options; NULL: none
 * @return 0; TOOLRACK_E_INVALID for a variable that has no key, but other text;
 *         TOOLRACK_E_NO_MEMORY: the text may still have keys. [any-thread] */
TOOLRACK_API int toolrack_mask_keys(struct toolrack *host, const char *const *headers, char *text,
                                    struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
