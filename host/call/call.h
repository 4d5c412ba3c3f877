/* call.h - one call, from arguments to result.
 *
 * parse, check against the schema, fill defaults, run, check the result. What
 * comes before (is it enabled, may it run) and after (the record) stands here
 * too; on which thread it all happens, and until when, is pool.h.
 *
 * Whether a call may run is settled before its time begins to count: it may take
 * a person to say so. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "registry/tool.h"
#include "run/run.h"
#include "worker/crew.h"

/* What a call took, where it was measured. */
#define CALL_UNMEASURED UINT64_MAX
struct call_cost {
    uint64_t cpu_ns;
    uint64_t memory; /* bytes: of its worker at the peak, or what the call allocated here, about */
};

/* A call that has ended. All is borrowed. */
struct call_ending {
    struct toolrack_tool *tool;
    const struct toolrack_call_options *options;
    const char *arguments;
    size_t length;
    const struct toolrack_result *result; /* NULL: it failed */
    const struct toolrack_error *err;     /* of one that failed; else not to be looked at */
    uint64_t started_ns;
    uint64_t duration_ns;
    struct call_cost cost;
};

/* What calls need of their host. Outlives them all, but for those given up at its end. */
struct call_host {
    const struct log *log;
    uint32_t deadline_ms; /* for calls and tools that say none */
    /* May an enabled tool run that is not free? It may ask a person and take any time.
     * @param options  never NULL, of the full size
     * @return 0, or the code of the refusal with err set */
    int (*permit)(void *user, struct toolrack_tool *tool,
                  const struct toolrack_call_options *options, const char *arguments, size_t length,
                  struct toolrack_error *err);
    void (*event)(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                  const char *message);
    /* A call has ended: called once for each that found its tool, one that was refused too. On
     * whichever thread ends it, perhaps with locks of the pool held: it may not wait. */
    void (*record)(void *user, const struct call_ending *ending);
    void *user;
};

/* Whether anybody still waits for a call that runs on a thread of the host. The call is inside
 * while it uses what belongs to the host or its caller, without the lock, for that may call back;
 * who gives the call up closes the gate and waits until it is left. */
struct call_gate {
    struct lock lock;
    pthread_cond_t left; /* nobody is inside any more */
    unsigned inside;
    bool closed; /* given up: log, progress and result lead nowhere */
};

/* What a call does next. In two of the steps code of the plugin runs, which may not return. */
enum call_step {
    CALL_LOADS,    /* load the plugin, open() included */
    CALL_PREPARES, /* parse and check, and wait for its turn */
    CALL_RUNS,     /* run the tool */
    CALL_WAITS     /* for a worker, which ends in time by itself */
};

struct call {
    struct run run; /* first: what the tool sees of it */
    const struct call_host *host;
    struct toolrack_tool *tool; /* borrowed from whoever runs the call */
    struct toolrack_call_options options;
    uint64_t started_ns; /* of the monotonic clock */
    atomic_bool cancelled;
    struct call_cost cost;  /* set by the thread that runs it, at its end */
    struct call_gate *gate; /* NULL: runs on its caller's thread */
    /* Asked before each step; false is: do not take it, nobody waits any more. NULL: always. */
    bool (*step)(void *user, enum call_step step);
    void *step_user;
    pthread_mutex_t *crew_lock;  /* guards the next where another thread may cancel; else NULL */
    struct crew_call *crew_call; /* while it is with a crew */
};

/** Begin a call of `tool`. `memory` is its first memory. All pointers are borrowed until
 * call_finish(). */
void call_init(struct call *call, const struct call_host *host, struct toolrack_tool *tool,
               const struct toolrack_call_options *options, void *memory, size_t size);
void call_finish(struct call *call);

/** Tell the tool of its call what the options say, after their texts were moved. */
void call_take_context(struct call *call);

/** Whether it may run as it is: enabled and safe. Others ask call_permit(). [any-thread] */
static inline bool call_is_free(const struct toolrack_tool *tool) {
    return tool->enabled && registration_is_free(tool->reg);
}

/** Whether a call may run that is not free. No lock is held: it may ask a person.
 * @param options  as the caller gave them
 * @param err      never NULL here; names the tool
 * @return 0; TOOLRACK_E_DISABLED; what call_host.permit says. [call-thread] */
int call_permit(const struct call_host *host, struct toolrack_tool *tool,
                const struct toolrack_call_options *options, const char *arguments, size_t length,
                struct toolrack_error *err);

/** Run it on this thread. It may run: that was settled before.
 * @param arguments  borrowed until call_finish()
 * @param err        never NULL here
 * @return 0 with a result; or the code of the failure. [call-thread] */
int call_run(struct call *call, const char *arguments, size_t length, struct toolrack_result **ret,
             struct toolrack_error *err);

/** Whether its tool runs in a worker: then it ends in time on whichever thread. [any-thread] */
static inline bool call_is_isolated(const struct toolrack_tool *tool) {
    return tool->reg->plugin->isolated;
}

/** Make a call that is with a crew end early. Caller holds call->crew_lock. [any-thread] */
void call_interrupt(struct call *call);

/** Count a call that has ended in its tool's statistics, and tell the host of it.
 * @param result  NULL: it failed, and `err` says how
 * @param cost    NULL: not known; of a call that was given up, whose thread goes on
 * @return how long it took, in nanoseconds. [any-thread] */
uint64_t call_record(const struct call *call, const char *arguments, size_t length,
                     const struct toolrack_result *result, const struct toolrack_error *err,
                     const struct call_cost *cost);

/** The same for a call that was refused before its time began. [any-thread] */
void call_record_refused(const struct call_host *host, struct toolrack_tool *tool,
                         const struct toolrack_call_options *options, const char *arguments,
                         size_t length, const struct toolrack_error *err);

/** The deadline that holds for a call: its own, the tool's or the host's; 0 is none. */
uint32_t call_deadline_ms(const struct call_host *host, const struct toolrack_tool *tool,
                          const struct toolrack_call_options *options);

/** The error of a call that its deadline has overtaken; `why` ends the message. Returns its code.
 */
int call_late(const struct call *call, const char *why, struct toolrack_error *err);
