/* toolrack/records.h - the log of calls, statistics, feedback and recommendations. Each call is
 * counted and logged after it ended, in batches: a host that is killed loses at most the last
 * TOOLRACK_LOG_WINDOW_MS of log lines and counts, and never a setting or a grant. See toolrack.h
 * for ownership, errors and threads. */
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

/** Log lines and counts younger than this may be lost when the host is killed, in milliseconds. */
#define TOOLRACK_LOG_WINDOW_MS     1000u
/** Most bytes of arguments, and of a result, that the log keeps. */
#define TOOLRACK_LOG_ARGUMENTS_MAX 2048u
#define TOOLRACK_LOG_RESULT_MAX    2048u

/* --------------------------------------------------------------------- log */

struct toolrack_log_filter {
    size_t size;       /**< sizeof(struct toolrack_log_filter) */
    const char *tool;  /**< "name" or "name@version"; NULL is all */
    int64_t since_ms;  /**< not older than this, in milliseconds since 1970 */
    uint64_t after_id; /**< only those that were logged after this call, in that order */
    uint32_t limit;    /**< at most so many, the newest; 0 is 1000 */
    uint32_t errors;   /**< not 0: only calls that failed */
    const char *caller;
    const char *conversation;
    /** How they ended: "ok" or type names of codes, separated by commas: "Timeout,Cancelled". */
    const char *outcomes;
    /** One call, by the digits of its id; where there is no such call, those whose ids begin with
     * these digits. */
    const char *id;
    /** Not 0: only those that were logged before this call, in the order of their ids: the page of
     * the log before another one. */
    uint64_t before_id;
    const char *trace; /**< of this trace, or of the run of a plan that has this id */
};
#define TOOLRACK_LOG_FILTER_INIT \
    { .size = sizeof(struct toolrack_log_filter) }

/** The calls that were logged, the oldest first by the time of their start (ids count in the order
 * in which processes have written their lines), as a JSON array of objects: id; tool, version;
 * plugin and origin (together they say whose tool it was; origin is null in rows of an earlier
 * toolrack); caller, channel, conversation, trace, run (of a plan); time_ms (of the start, since
 * 1970), duration_ns; ok; arguments and result (texts, cut at the sizes above; values that the
 * schema marks `"writeOnly": true` or `"format": "password"` are "***"); changed (in the arguments
 * of a call that succeeded, because they fit nearly: as toolrack_result_changed()) or null;
 * bytes_in, bytes_out; error (an object as everywhere) or null; cpu_ns, memory (bytes at the peak
 * in a worker, an estimate of what was allocated in process) where they were measured, else null;
 * attributes (an object: what holds of it by the names of OpenTelemetry's semantic conventions:
 * gen_ai.operation.name, gen_ai.tool.name, gen_ai.conversation.id, mcp.method.name, mcp.session.id,
 * error.type). If trace is a traceparent of W3C Trace Context, also trace_id, span_id and
 * trace_flags.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_INVALID for a
 *         range of versions, or an id that is not digits; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_log(struct toolrack *host, const struct toolrack_log_filter *filter,
                              struct toolrack_text **ret, struct toolrack_error *err);

/** Statistics of all calls that the state folder knows of, of this host and of others, as a JSON
 * array with an object for each tool and version, by name, then version downwards: tool, version,
 * plugin, origin, calls, failures, success_rate, mean_ns, p50_ns, p95_ns, p99_ns, max_ns, cpu_ns
 * and memory (means of the calls in which they were measured, or null), cpu_calls and memory_calls
 * (how many calls that were), bytes_in, bytes_out, first_ms, last_ms, last_error (an object with
 * time_ms, or null), feedback_good, feedback_bad. They are those of the plugin that provides the
 * tool now: another one that had the name, from another folder, has its own. Of a name that nobody
 * provides, those of all that did.
 * @param name  "name", "name@version" or NULL for all
 * @return as above; TOOLRACK_E_NOT_FOUND for a name that is neither registered nor known from
 *         before. */
TOOLRACK_API int toolrack_statistics(struct toolrack *host, const char *name,
                                     struct toolrack_text **ret, struct toolrack_error *err);

/** Write everything that waits to be written now. @return 0; TOOLRACK_E_IO. */
TOOLRACK_API int toolrack_flush(struct toolrack *host, struct toolrack_error *err);

/** What this host has counted since it was opened, and what it does now, for programs that watch
 * it, as a JSON object:
 *
 * - tools, an array with an object for each name that was called: tool, calls, errors (an object:
 * of each type of error how many), total_ns, times (how many calls took at most as long as
 * bounds_ns says, each counted once; the last number is of those that took longer); bounds_ns, an
 * array. The first 1,000 names have an object each, the others one together, whose tool is null. A
 * name keeps its numbers when its tool is reloaded or goes. What a tool asks for ends no call: it
 * goes on in another one;
 * - unlogged: calls without a line in the log, an object: limit ("per_second" of the
 * configuration), full (they came faster than lines are written), unwritten (the store refused the
 * lines);
 * - workers, an object: there (now), started, replaced (started in place of one that died or was
 *   killed);
 * - events, an object of what TOOLRACK_EVENT_... told: crashed, stopped, stuck, quarantined,
 *   reloaded, refused, failed;
 * - calls, an object: running, for_thread and for_worker (that wait for one);
 * - registered, an object: enabled, disabled; plugins, an object of those that have registered
 * tools: listed, loaded, failed, stuck, quarantined, left-out;
 * - plans, an object: running (runs of plans now), runs (an object of those that are over:
 *   succeeded, failed, cancelled, waiting) and nodes (likewise: succeeded, failed, skipped,
 *   cancelled);
 * - hosts, an object, if this host has joined a group: known, trusted, slow, silent, running and
 *   tools of the others, ejected (how often one was found to be slow), and calls, an object of those
 *   that were sent to them and have ended: answered, late, cancelled, lost.
 *
 * A call is counted before its caller has the result, and numbers of what has happened never fall.
 * Does not wait for the store, for a plugin or for a call.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
TOOLRACK_API int toolrack_metrics(struct toolrack *host, struct toolrack_text **ret,
                                  struct toolrack_error *err);

/* ---------------------------------------------------------- recommendation */

/** Say how good a tool was, in general or in one call of the log. Durable on return.
 * @param call  an id of the log; 0: no call in particular
 * @param who   for the log; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND for a tool or call that is not known; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_feedback(struct toolrack *host, const char *name, bool good,
                                   uint64_t call, const char *who, struct toolrack_error *err);

enum toolrack_mark {
    TOOLRACK_MARK_BLACKLIST, /**< never recommended */
    TOOLRACK_MARK_WHITELIST  /**< recommended before all others */
};

/** Put a tool on a list, or take it off. The blacklist holds for the name, whoever provides it; the
 * whitelist for the plugin that provides it now, not for one from another folder that has the name
 * later. What is set here stays until it is changed here. Being put
 * on one list takes the tool off the other. Taking a tool off the blacklist, or putting it on the
 * whitelist, clears its failures. Durable on return.
 * @param name  "name" (all versions, those to come too) or "name@version"
 * @param why   one line, or NULL
 * @return 0, also for one that is on that list already; TOOLRACK_E_NOT_FOUND for a tool that is not
 *         known, or to be taken off a list it is not on; TOOLRACK_E_INVALID for a range of
 * versions; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_mark(struct toolrack *host, enum toolrack_mark mark, const char *name,
                               bool on, const char *why, const char *who,
                               struct toolrack_error *err);

/** The tools on a list, as a JSON array of objects: tool ("name" or "name@version"), since_ms, who
 * ("automatic" for what failures put there), why, retry_ms (when it is recommended once more;
 * null for a mark that was set by hand), plugin and origin (null for a mark that holds for the
 * name).
 * @return as for the log. */
TOOLRACK_API int toolrack_marked(struct toolrack *host, enum toolrack_mark mark,
                                 struct toolrack_text **ret, struct toolrack_error *err);

struct toolrack_recommend_options {
    size_t size;      /**< sizeof(struct toolrack_recommend_options) */
    const char *task; /**< what is to be done, in words; NULL is anything */
    uint64_t limit;   /**< at most so many; 0 is 10 */
};
#define TOOLRACK_RECOMMEND_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_recommend_options) }

/** The tools with the best score, the best first, as a JSON array of objects: tool, version, score
 * (0 to 1), whitelisted, retry (it had failed too often and is recommended once more: not again
 * until it is called, or its time on the blacklist has passed once more), factors (an object:
 * success, efficiency, feedback, recency, task; each with value and weight) and description.
 * Enabled tools only that their permission does not keep from running; the same records give the
 * same answer. With a task, tools that share no word with it are left out, except those on the
 * whitelist.
 * @return as for the log. */
TOOLRACK_API int toolrack_recommend(struct toolrack *host,
                                    const struct toolrack_recommend_options *options,
                                    struct toolrack_text **ret, struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
