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
struct toolrack_text;
struct toolrack_findings;
struct toolrack_call_options;
struct toolrack_plan;

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
/** Not while it runs; NULL is ignored. */
TOOLRACK_API void toolrack_plan_close(struct toolrack_plan *plan);

/** The nodes, in the order of the plan. Strings live as long as the plan. [any-thread] */
TOOLRACK_API size_t toolrack_plan_count(const struct toolrack_plan *plan);
TOOLRACK_API const char *toolrack_plan_node(const struct toolrack_plan *plan, size_t index);
/** The name and version of its tool. */
TOOLRACK_API const char *toolrack_plan_tool(const struct toolrack_plan *plan, size_t index);
TOOLRACK_API const char *toolrack_plan_tool_version(const struct toolrack_plan *plan, size_t index);
/** The nodes that must have ended before it, and whether it takes data from them: false for an
 * index that is not below their number. */
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
    TOOLRACK_PLAN_ENDED
};

struct toolrack_plan_event {
    size_t size; /**< of this struct as the library knows it */
    enum toolrack_plan_event_kind kind;
    size_t node;
    const char *state;    /**< "running", "succeeded", "failed", "skipped" or "cancelled" */
    uint64_t attempts;    /**< calls that were made of it */
    uint64_t delay_ms;    /**< RETRIED: until the next call */
    uint64_t duration_ns; /**< ENDED: since it began */
    const char *result;   /**< ENDED as succeeded: JSON, until the callback returns; else NULL */
    size_t result_length;
    const struct toolrack_error *err; /**< RETRIED, or ENDED as failed; likewise */
};

struct toolrack_plan_options {
    size_t size;        /**< sizeof(struct toolrack_plan_options) */
    const char *inputs; /**< a JSON object; NULL is {} */
    /** What each call gets, of which deadline_ms is that of nodes that state none; NULL is all
     * defaults. `trace` NULL: one of the run, the same for all its calls. */
    const struct toolrack_call_options *call;
    /** On the thread of toolrack_plan_run(); may call back, but not toolrack_close(). NULL: not
     * told. */
    void (*event)(void *user, const struct toolrack_plan_event *event);
    void *user;
    uint64_t seed; /**< of the jitter between attempts; 0: of the clock */
};
#define TOOLRACK_PLAN_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_plan_options) }

/** Run a plan to its end; each node at most once, so a second run begins anew. One run of a plan at
 * a time.
 * @param ret  receives a reference, to be released by toolrack_text_unref(): the result as JSON
 * @return 0; the code of the node that stopped it, with its error; TOOLRACK_E_INVALID_ARGUMENTS for
 *         wrong inputs, with the field; TOOLRACK_E_CANCELLED; TOOLRACK_E_TIMEOUT when the deadline
 *         of the plan passed; TOOLRACK_E_NO_MEMORY. No call of it runs any more then.
 *         [call-thread] */
TOOLRACK_API int toolrack_plan_run(struct toolrack_plan *plan,
                                   const struct toolrack_plan_options *options,
                                   struct toolrack_text **ret, struct toolrack_error *err);

/** Have a run end: no node begins any more, and its calls are cancelled. Nothing happens without a
 * run. [any-thread] */
TOOLRACK_API void toolrack_plan_cancel(struct toolrack_plan *plan);

#ifdef __cplusplus
}
#endif
