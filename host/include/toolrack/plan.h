/* toolrack/plan.h - several calls as one graph: read, checked whole, and run.
 *
 * A plan is JSON, described by the installed toolrack-plan.schema.json: nodes, each a call of a
 * tool, whose arguments may refer to the results of other nodes. It is checked before anything
 * runs; nodes that do not need each other run at the same time. Each node is a call like any other:
 * it is permitted, checked, recorded. See toolrack.h for ownership, errors and threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toolrack;
struct toolrack_tool;
struct toolrack_text;
struct toolrack_findings;
struct toolrack_call_options;
struct toolrack_plan;
struct toolrack_select_options;

/** Most bytes of a plan. */
#define TOOLRACK_PLAN_TEXT_MAX (16u * 1024 * 1024)

/** Read a plan and check it beside the tools that there are now: these are the tools that a run of
 * it calls, whatever has their names later. Nothing runs.
 * @param text          `length` bytes, copied
 * @param ret_findings  receives what was found, all at once, to be released by
 *                      toolrack_findings_free(), also where nothing was; `tool` of a finding is the
 *                      node concerned
 * @param ret           receives the plan, to be released by toolrack_plan_close() before the host
 *                      is closed; NULL if a finding is an error. May be NULL: it is only checked
 * @return 0, whatever was found; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_plan_open(struct toolrack *host, const char *text, size_t length,
                                    struct toolrack_findings **ret_findings,
                                    struct toolrack_plan **ret, struct toolrack_error *err);

/** Which tool a name in a plan means to whom the plan is from, disabled or not: as toolrack_get().
 * @return a reference; NULL: there is none, or it is not for them, which findings say alike */
typedef struct toolrack_tool *toolrack_plan_find(void *user, const char *name);

/** The same of a plan from somebody who executes no commands on this machine, such as a model or a
 * client: findings recommend none. toolrack_plan_open() is for a person at a shell.
 * @param find  is called by this function only, with `user`, where they are shown a part of the
 *              tools; NULL: all of them */
TOOLRACK_API int toolrack_plan_open_for(struct toolrack *host, const char *text, size_t length,
                                        toolrack_plan_find *find, void *user,
                                        struct toolrack_findings **ret_findings,
                                        struct toolrack_plan **ret, struct toolrack_error *err);
/** Not while it runs; NULL is ignored. */
TOOLRACK_API void toolrack_plan_close(struct toolrack_plan *plan);

/** The nodes, in the order of the plan: NULL for an index that is not below their number, also in
 * the functions below. Strings live as long as the plan. [any-thread] */
TOOLRACK_API size_t toolrack_plan_count(const struct toolrack_plan *plan);
TOOLRACK_API const char *toolrack_plan_node(const struct toolrack_plan *plan, size_t index);
/** The name and version of its tool. */
TOOLRACK_API const char *toolrack_plan_tool(const struct toolrack_plan *plan, size_t index);
TOOLRACK_API const char *toolrack_plan_tool_version(const struct toolrack_plan *plan, size_t index);
/** The tool that a node calls, or that is called if it fails: NULL if there is none. Borrowed from
 * the plan. */
TOOLRACK_API struct toolrack_tool *toolrack_plan_called(const struct toolrack_plan *plan,
                                                        size_t index, bool is_fallback);
/** The nodes that must have ended before it, and whether it takes data from them: false for an
 * index, or a place `at` among them, that is not below their number. */
TOOLRACK_API bool toolrack_plan_need(const struct toolrack_plan *plan, size_t index, size_t at,
                                     size_t *ret_node, bool *ret_data);
/** The longest chain of nodes that need each other, and the most nodes at one distance from its
 * beginning. */
TOOLRACK_API void toolrack_plan_size(const struct toolrack_plan *plan, size_t *ret_depth,
                                     size_t *ret_width);

/** The inputs of a run from texts such as "city=Berlin", as a person types them: the plan's schemas
 * give the types, as toolrack_arguments() says it.
 * @return as toolrack_arguments(). [any-thread] */
TOOLRACK_API int toolrack_plan_inputs(const struct toolrack_plan *plan, const char *json,
                                      const char *const *values, size_t count,
                                      struct toolrack_text **ret, struct toolrack_error *err);

/** What happens to a node. */
enum toolrack_plan_event_kind {
    TOOLRACK_PLAN_BEGAN,   /**< the node */
    TOOLRACK_PLAN_RETRIED, /**< a call of it failed, and is made again later */
    /** The last event of each node: also of one that is skipped or cancelled before it begins. */
    TOOLRACK_PLAN_ENDED
};

struct toolrack_plan_event {
    size_t size; /**< of this struct as the library knows it */
    enum toolrack_plan_event_kind kind;
    size_t node;
    const char *state;    /**< "running", "succeeded", "failed", "skipped" or "cancelled" */
    uint64_t attempts;    /**< calls that were made of it */
    uint64_t delay_ms;    /**< RETRIED: until the next call */
    uint64_t duration_ns; /**< ENDED: since it began; 0: it did not begin in this process */
    const char *result;   /**< ENDED as succeeded: JSON, until the callback returns; else NULL */
    size_t result_length;
    const struct toolrack_error *err; /**< RETRIED, or ENDED as failed; likewise */
    /** ENDED as succeeded, by its fallback: the failure in place of which that gave the result
     * (that of the first such item of for_each); else NULL. Likewise. */
    const struct toolrack_error *replaced;
};

struct toolrack_plan_options {
    size_t size;        /**< sizeof(struct toolrack_plan_options) */
    const char *inputs; /**< a JSON object; NULL is {} */
    /** What each call gets, of which deadline_ms is that of nodes that state none; NULL is all
     * defaults. `trace` NULL: the id of the run. Its calls are logged with that as their `run`,
     * whatever their trace is. */
    const struct toolrack_call_options *call;
    /** On the thread of toolrack_plan_run(); may call back, but not toolrack_close(). NULL: not
     * told. */
    void (*event)(void *user, const struct toolrack_plan_event *event);
    void *user;
    uint64_t seed; /**< of the jitter between attempts; 0: of the clock */
    /** Not 0: the run is not kept; it has no id, and cannot be resumed. */
    uint64_t unkept;
    /** Whose run it is, for toolrack_runs() and the like; NULL: the caller's of `call`. */
    const char *owner;
    /** The run has this id (TOOLRACK_RUN_ID_ROOM) from now on: once, before any node begins, on the
     * thread of the run, with `user`. The id is borrowed until the callback returns. A run that is
     * not kept, or is refused before it begins, has none. NULL: not told. */
    void (*started)(void *user, const char *id);
};
#define TOOLRACK_PLAN_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_plan_options) }

/** Run a plan to its end; each node at most once, so a second run begins anew. One run of a plan at
 * a time.
 *
 * The run is kept, unless the options say no: what has ended is on the disk before anything that
 * depends on it begins, so that it can go on after the process has ended (toolrack_run_reopen()).
 *
 * Before the first node begins, who approves calls (`approve` of `call`, or of the host) is asked
 * once about all nodes that need it: `tool` of the request is "plan" and the plan's name, `version`
 * begins a hash of the plan, its inputs and its tools, and `arguments` lists the nodes as
 * [{"node", "tool", "version", "permission", "arguments", "open"}]; `open` is true where the
 * arguments are not known yet. Further members are there only where they say something: "asks":
 * true, for a call that needs the approval; "fallback": true, for the call in the place of one that
 * failed; "when": true, for a node with a condition; "for_each": true and "max_items", the most
 * calls of it (the number of its items, where the plan or its inputs have them); "attempts", the
 * most calls of it (or of each item), with "force": true if also a tool is called again that is not
 * idempotent; "calls", of a tool that is a plan itself: the tools that it calls, in words.
 * TOOLRACK_APPROVAL_ALLOW_ONCE is for this run and for each node by itself, in which an open node
 * asks again when its arguments are known; ALLOW_ALWAYS and ALLOW_CONVERSATION are for these tools
 * with any arguments, as if each had been asked about. `confirmed` of `call` is a yes to all.
 *
 * @param ret  receives a reference, to be released by toolrack_text_unref(): the result as JSON
 * @return 0; the code of the node that stopped it, with its error, before whose message the id and
 *         the tool of the node stand; TOOLRACK_E_INVALID_ARGUMENTS for
 *         wrong inputs, with the field; TOOLRACK_E_CANCELLED; TOOLRACK_E_TIMEOUT when the deadline
 *         of the plan passed; TOOLRACK_E_CONFIRMATION_REQUIRED and TOOLRACK_E_PERMISSION_DENIED
 *         when it is not approved; TOOLRACK_E_REFUSED when a result that a resumed run needs was
 *         not kept; TOOLRACK_E_IO when it cannot be kept; TOOLRACK_E_NO_MEMORY. No call of it runs
 *         any more then. A run that ended with CONFIRMATION_REQUIRED after it had an id is
 *         "waiting". [call-thread] */
TOOLRACK_API int toolrack_plan_run(struct toolrack_plan *plan,
                                   const struct toolrack_plan_options *options,
                                   struct toolrack_text **ret, struct toolrack_error *err);

/** Have a run end: no node begins any more, and its calls are cancelled. Nothing happens without a
 * run. [any-thread] */
TOOLRACK_API void toolrack_plan_cancel(struct toolrack_plan *plan);

/* -------------------------------------------------------------------- runs that are kept
 *
 * A run is "running"; "interrupted" when the process that ran it ended before the run did;
 * "waiting" for a person; and at last "succeeded", "failed" or "cancelled". One that is interrupted
 * or waits can be resumed. Of those that have ended TOOLRACK_RUNS_KEPT are kept, beyond which the
 * oldest go of the party that has most of them. Of those that have not, beyond
 * TOOLRACK_RUNS_OPEN_MAX, or beyond TOOLRACK_RUNS_OPEN_PARTY_MAX of one party, those that are
 * interrupted go, the oldest first; when there are none, no further one is begun. One that runs or
 * waits never goes. The party is `party` of the calls, else the owner; runs of which neither is
 * said count among all only.
 *
 * The owner in all these functions: NULL is whoever it is; else the run of another is not found. */

/** Room for the id of a run: 128 random bits as hexadecimal digits, and a zero. */
#define TOOLRACK_RUN_ID_ROOM          33u
#define TOOLRACK_RUNS_KEPT            1000u
#define TOOLRACK_RUNS_OPEN_MAX        1000u
#define TOOLRACK_RUNS_OPEN_PARTY_MAX  100u
/** Most bytes of the texts of runs (plans, inputs, results, errors), of all and of one party. Where
 * more are to be kept, runs that have ended go, the oldest first: those of the party, or of all
 * those of who has most; then, likewise, those that are interrupted. When that is not enough, a run
 * goes on and its result is not kept; none begins. */
#define TOOLRACK_RUNS_BYTES_MAX       (1024u * 1024 * 1024)
#define TOOLRACK_RUNS_BYTES_PARTY_MAX (256u * 1024 * 1024)
/** A longer result of a node is not kept: a run whose other nodes need it cannot be resumed, unless
 * the node is repeated. */
#define TOOLRACK_RUN_RESULT_MAX       (1024u * 1024)

/** The runs, the newest first, as a JSON array of objects: id, name (of the plan; of one
 * without a name the tools that it calls), state,
 * owner, caller, channel, created_ms and updated_ms (since 1970), ended_ms (or null), nodes (their
 * number), succeeded, failed, skipped, cancelled, running, waiting (numbers of nodes), error (of
 * one that failed: a text, or null).
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_runs(struct toolrack *host, const char *owner, struct toolrack_text **ret,
                               struct toolrack_error *err);

/** A run: such an object with `result`, `resume` (the commands that would resume it, with words
 * for the nodes that need one: an array, empty if it cannot be), `plan` (as it was given, without
 * secrets), `inputs`, and as `nodes` an array of objects: id, tool, version, state ("waiting",
 * "running", "succeeded", "failed", "skipped" or "cancelled"), attempts, began_ms, ended_ms (or
 * null), idempotent, word ("needed": it had begun and is not known to have ended, and is repeated
 * or skipped only on a person's word; or null), result or `unkept` (why the result was not kept: a
 * text), error (code and message), or fallback (likewise: its fallback gave the result in place of
 * this failure).
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_run_get(struct toolrack *host, const char *owner, const char *id,
                                  struct toolrack_text **ret, struct toolrack_error *err);

/** Have a run of this host end, as toolrack_plan_cancel() does; one that can be resumed is
 * "cancelled" on return.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_REFUSED when it has ended, or another process runs
 *         it; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_run_cancel(struct toolrack *host, const char *owner, const char *id,
                                     struct toolrack_error *err);

/** Remove a run that does not run.
 * @return as toolrack_run_cancel(). [any-thread] */
TOOLRACK_API int toolrack_run_remove(struct toolrack *host, const char *owner, const char *id,
                                     struct toolrack_error *err);

/** What a person says about a node of a run that is resumed. */
enum toolrack_run_word {
    /** Its call is made, whatever it did before; also if it has ended. Then so is that of each node
     * that has ended with its result, if its tool is idempotent; another one needs a word too. */
    TOOLRACK_RUN_REPEAT,
    TOOLRACK_RUN_SKIP /**< it is skipped, and with it what needs its result */
};

/** A word about a node. This struct does not grow. */
struct toolrack_run_said {
    const char *node;
    enum toolrack_run_word word;
};

/** Open a run for being resumed: its plan, with the tools that it had. toolrack_plan_run() or
 * toolrack_run_start() go on with it: nodes that have ended do not run again; nodes that ran when
 * its process ended run again if their tools are idempotent, or on a word. The options say what
 * calls get; `inputs` gives only inputs that were secret, which are not kept. Until
 * toolrack_plan_close() no other host resumes the run. A run that does not go on, as it is refused,
 * is left as it was.
 *
 * @param said  `count` words
 * @param ret   to be released by toolrack_plan_close()
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_REFUSED: it has ended, it runs, a tool is gone or is
 *         not what it was, or a value that it needs was not kept; TOOLRACK_E_INVALID: a word is
 *         about no node;
 *         TOOLRACK_E_INPUT_REQUIRED: a node needs a word, as the message says; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_run_reopen(struct toolrack *host, const char *owner, const char *id,
                                     const struct toolrack_run_said *said, size_t count,
                                     struct toolrack_plan **ret, struct toolrack_error *err);

/** Most runs of toolrack_run_start() at a time, of which a party has as many as it leaves to
 * others.
 */
#define TOOLRACK_RUNS_STARTED_MAX 64u

/** How a run that was started has ended: 0 and its result, which is borrowed; or the code and the
 * error. On the run's thread, exactly once, as the last that is done with `user`; may call back,
 * but not toolrack_close(). */
typedef void toolrack_run_ended(void *user, const char *id, int code, struct toolrack_text *result,
                                const struct toolrack_error *err);

/** Run a plan on a thread of its own. The function returns when the run has its id, or could not
 * begin: its inputs are wrong, it cannot be kept, it is not approved (so this waits for who
 * approves). toolrack_close() cancels what still runs and waits for `ended`; such a run is
 * "interrupted".
 *
 * @param plan     taken if the function succeeds: it is closed when the run has ended, after
 *                 `ended`, and may be used until then
 * @param options  strings are copied, those of `call` too. Callbacks and `user` are used until
 *                 `ended`
 * @param ended    may be NULL
 * @param ret_id   receives the id; "" for a run that is not kept
 * @return 0: `ended` will be called; a code of toolrack_plan_run(); TOOLRACK_E_LIMIT_EXCEEDED when
 *         too many run. [call-thread] */
TOOLRACK_API int toolrack_run_start(struct toolrack_plan *plan,
                                    const struct toolrack_plan_options *options,
                                    toolrack_run_ended *ended, void *user,
                                    char ret_id[TOOLRACK_RUN_ID_ROOM], struct toolrack_error *err);

/** Make a plan of a text, in English or Chinese, by the steps of toolrack_select() and without a
 * model: a node for each thing that the text wants done, with the arguments that it says. What it
 * does not say for a required parameter is an input of the plan; "it", "the result" and a value
 * that a node before gives are references to that. Nothing runs, and nothing is kept of the text.
 * The same text, context and tools give the same bytes.
 * @param options  as toolrack_select() takes them (toolrack/choose.h); `limit` and `explain` are
 *                 ignored
 * @param ret      receives a reference, to be released by toolrack_text_unref(): a JSON object with
 *                 plan (which toolrack_plan_open() takes as it is; null where the text wants
 *                 nothing that a tool does) and unsure (an array of objects: node, its id, or null;
 *                 about, "tool", "argument", "input", "reference" or "text"; pointer, the JSON
 *                 Pointer of what it is about in the plan, or null; reason; question, or null)
 * @return 0; TOOLRACK_E_INVALID as of toolrack_select(); TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_plan_make(struct toolrack *host,
                                    const struct toolrack_select_options *options,
                                    struct toolrack_text **ret, struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
