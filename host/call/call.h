/* call.h - one call, from arguments to result.
 *
 * parse, check against the schema, fill defaults, run, check the result. What comes before (is it
 * enabled, may it run) and after (the record) is here too; the thread and the deadline are in
 * pool.h.
 *
 * A call has one deadline, from its beginning: the copy of its plugin's file, the queue, the load
 * and the tool all count. Only the time in which somebody is asked whether it may run, or for an
 * input of its tool, does not count, since a person may have to decide it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/lock.h"
#include "registry/tool.h"
#include "run/run.h"
#include "schema/schema.h"
#include "worker/crew.h"

/* The resources that a call used; CALL_UNMEASURED where they were not measured. */
#define CALL_UNMEASURED UINT64_MAX
struct call_cost {
    uint64_t cpu_ns;
    uint64_t memory; /* bytes: peak of its worker, or about what the call allocated here */
};

/* A call that has ended. All is borrowed. */
struct call_ending {
    struct toolrack_tool *tool;
    const struct toolrack_call_options *options;
    const char *arguments;
    size_t length;
    const struct toolrack_result *result; /* NULL: it failed */
    const struct toolrack_error *err;     /* valid only if it failed */
    uint64_t started_ns;
    uint64_t duration_ns;
    struct call_cost cost;
    bool ran;      /* the tool itself ran: else a failure is not its own */
    unsigned here; /* as of shard_here(), for what is counted */
};

/* When a call began, and how long it may take. */
struct call_time {
    uint64_t started_ns; /* of the monotonic clock; moved by the time in which somebody was asked */
    uint32_t deadline_ms; /* 0: none */
};

/** Its deadline by the monotonic clock; 0: none. */
static inline uint64_t call_time_deadline_ns(const struct call_time *time) {
    return time->deadline_ms != 0 ? time->started_ns + (uint64_t)time->deadline_ms * CLOCK_NS_PER_MS
                                  : 0;
}

/* How often a file may be replaced between reading and copying before its call fails. */
#define CALL_RENEWED_MAX 8u

/* Calls inside call_run(), for each thread that has a slot (base/thread.h), and for each CPU
 * (base/shard.h) those of other threads. What a place has is right at any time, since the same
 * thread adds and takes away. A locked operation takes 5 ns, and a call would need four. */
struct call_place {
    _Alignas(SHARD_ALIGN) atomic_uint calls;
    atomic_uint uses; /* threads inside functions of the host: call_host_enter() */
    bool is_own;      /* one thread has it */
};
#define CALL_PLACES (THREAD_SLOTS + SHARD_COUNT)

static inline void call_place_add(const struct call_place *place, atomic_uint *count, int more) {
    if (place->is_own) {
        unsigned now = atomic_load_explicit(count, memory_order_relaxed);
        atomic_store_explicit(count, now + (unsigned)more, memory_order_release);
    } else {
        (void)atomic_fetch_add_explicit(count, (unsigned)more, memory_order_release);
    }
}

/** The places of a host, to be freed; NULL when out of memory. */
struct call_place *call_places_create(void);

/* What calls need from their host. Outlives all calls, except those given up when the host is
 * closed. */
struct call_host {
    const struct log *log;
    uint32_t deadline_ms; /* for calls and tools that state no deadline */
    /* May an enabled tool that is not free run? May ask a person and take any time.
     * @param options    never NULL, of the full size
     * @param cancelled  set when nobody wants the call any more; may be NULL
     * @return 0, or the code of the refusal with err set */
    int (*permit)(void *user, struct toolrack_tool *tool,
                  const struct toolrack_call_options *options, const char *arguments, size_t length,
                  const atomic_bool *cancelled, struct toolrack_error *err);
    void (*event)(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                  const char *message);
    /* What is done with arguments of a tool that nearly fit. Asked only if they do not fit. NULL:
     * nothing. */
    enum toolrack_tolerance (*tolerance)(void *user, const struct toolrack_tool *tool,
                                         const struct toolrack_call_options *options);
    /* The tool that has a name now, with a reference; or the code and error of a call of it. */
    int (*find)(void *user, const char *name, struct toolrack_tool **ret,
                struct toolrack_error *err);
    /* The same for what a plugin offers beside tools (plugin/offer.h), after its file was
     * exchanged: what its plugin offers now in its place. TOOLRACK_E_NOT_FOUND: nothing. */
    int (*find_offer)(void *user, const struct toolrack_tool *old, struct toolrack_tool **ret,
                      struct toolrack_error *err);
    /* A call has ended: called once for each call that found its tool, also if it was refused; on
     * the thread that ends the call, perhaps with locks of the pool held: it must not wait. */
    void (*record)(void *user, const struct call_ending *ending);
    struct call_place *places; /* CALL_PLACES of them; NULL: running calls are not counted */
    /* Set once, when the host begins to close: a call on its caller's thread is cancelled by it. */
    atomic_bool closing;
    void *user;
};

/** Enter and leave a function of the host: what it uses of the host is not freed in between, see
 * toolrack_close(). A thread may be inside several at once. [any-thread] */
struct call_place *call_host_enter(const struct call_host *host);
static inline void call_host_leave(struct call_place **place) {
    if (*place != NULL) {
        call_place_add(*place, &(*place)->uses, -1);
    }
}
#define CALL_HOST_SCOPE(host)                                                               \
    __attribute__((cleanup(call_host_leave), unused)) struct call_place *call_host_place_ = \
            call_host_enter(host)

/** How many threads are inside functions of the host. [any-thread] */
uint32_t call_host_uses(const struct call_host *host);

/** How many calls run now, those that were given up and have not returned among them. [any-thread]
 */
uint32_t call_running(const struct call_host *host);

/* Whether a call on a thread of the host is still wanted. The call is inside the gate while it uses
 * data of the host or its caller; it does not hold the lock then, since that may call back. The
 * thread that gives the call up closes the gate and waits until no thread is inside. */
struct call_gate {
    struct lock lock;
    pthread_cond_t left; /* no thread is inside any more */
    unsigned inside;
    bool closed; /* given up: log, progress and result are dropped */
    bool asks;   /* its tool waits for an input: that time does not count */
};

/* What a call does next. CALL_LOADS and CALL_RUNS run code of the plugin, which may not return. */
enum call_step {
    CALL_LOADS,    /* load the plugin, open() included */
    CALL_PREPARES, /* parse and check, and wait for its turn */
    CALL_RUNS,     /* run the tool */
    CALL_WAITS     /* wait for a worker or a server, which ends by the deadline by itself */
};

struct call {
    struct run run; /* must be first: what the tool sees of the call */
    const struct call_host *host;
    struct toolrack_tool *tool; /* borrowed from the code that runs the call */
    struct toolrack_call_options options;
    uint64_t started_ns;   /* of the monotonic clock. This and run.deadline_ns move while it runs,
                            * under the gate's lock and by its own thread */
    atomic_bool cancelled; /* of a job; see call_cancelled() */
    atomic_bool ran;       /* it reached the tool; set by the thread that runs it */
    bool is_systems;       /* the system failed it, not the plugin: set likewise */
    struct call_cost cost; /* set by the thread that runs it, at its end */
    atomic_uint_fast64_t cpu_from_ns; /* of a job: the clock of its thread when it began, set after
                                       * `thread`; 0: it has not begun */
    unsigned here; /* as of shard_here() when it began to run, on its own thread */
    pthread_t thread;
    struct call_gate *gate; /* NULL: runs on its caller's thread */
    /* Called before each step; false: do not take it, the call is not wanted any more. NULL: always
     * true. */
    bool (*step)(void *user, enum call_step step);
    void *step_user;
    /* Its tool begins to wait for an input, or has ended that: its deadline has moved. Called
     * inside the gate without its lock; NULL: nobody needs to know. */
    void (*asks)(void *user, bool begins);
    pthread_mutex_t *crew_lock;  /* guards crew_call if another thread may cancel; else NULL */
    struct crew_call *crew_call; /* while a crew runs it */
};

/** Begin a call of `tool`. `memory` is used first. All pointers are borrowed until call_finish().
 */
void call_init(struct call *call, const struct call_host *host, struct toolrack_tool *tool,
               const struct toolrack_call_options *options, void *memory, size_t size);
void call_finish(struct call *call);

/** What says that the call is cancelled: of one on its caller's thread, only that its host closes.
 */
static inline const atomic_bool *call_cancelled(const struct call *call) {
    return call->gate != NULL ? &call->cancelled : &call->host->closing;
}

/** Set what the tool sees of the options, after their strings were moved. */
void call_take_context(struct call *call);

/** Whether the tool may run without call_permit(): it is enabled and free. [any-thread] */
static inline bool call_is_free(const struct toolrack_tool *tool) {
    return tool->enabled && registration_is_free(tool->reg);
}

/** Whether a call that is not free may run. No lock is held: it may ask a person.
 * @param options    as the caller gave them
 * @param cancelled  as that of call_host.permit
 * @param err        never NULL here; names the tool
 * @return 0; TOOLRACK_E_DISABLED; the code of call_host.permit. [call-thread] */
int call_permit(const struct call_host *host, struct toolrack_tool *tool,
                const struct toolrack_call_options *options, const char *arguments, size_t length,
                const atomic_bool *cancelled, struct toolrack_error *err);

/** Have the file of the tool's plugin copied, unless that is done or the tool is disabled: before
 * that it cannot be called. Waits until the call's deadline at most.
 * @param name       what the caller called. If the file was exchanged since it was read, the tool
 *                   that was read cannot be called any more, but the tool that has this name in the
 *                   new file can: it replaces *tool. NULL: that tool is wanted, or the one that
 *                   `renewed` of the options gives, or what call_host.find_offer finds
 * @param tool       a reference, in and out, also on failure
 * @param options    as the caller gave them
 * @param cancelled  NULL: the call cannot be cancelled
 * @param err        never NULL here; names the tool
 * @return 0, or the code of the failure. No lock is held. [call-thread] */
int call_stage(const struct call_host *host, const char *name, struct toolrack_tool **tool,
               const struct toolrack_call_options *options, const struct call_time *time,
               const atomic_bool *cancelled, struct toolrack_error *err);

/** Why the deadline of a call passes that waits for the copy of its plugin's file; to be appended
 * to its message. Returns `ret`. [any-thread] */
#define CALL_COPY_WORDS_ROOM 256
const char *call_copy_words(const struct plugin *plugin, char ret[CALL_COPY_WORDS_ROOM]);

/** Read arguments, check them against a schema, and change them as far as a tolerance allows, as
 * for each tool: also for one that is in no registry.
 * @param run  begun; on success its `arguments` are those to be taken
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS, with all mistakes; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int call_take_arguments(struct run *run, const struct schema *schema,
                        enum toolrack_tolerance tolerance, const char *arguments, size_t length,
                        struct toolrack_error *err);

/** Whether a call of `tool` would take these arguments, by the schema alone.
 * @param err  may be NULL; names the tool
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
int call_check_arguments(const struct toolrack_tool *tool, const char *arguments, size_t length,
                         struct toolrack_error *err);

/** Whether a call would take these arguments, as they are or with what the tolerance for it changes
 * in them. False where memory runs out.
 * @param options  as the caller gave them [any-thread] */
bool call_takes_arguments(const struct call_host *host, struct toolrack_tool *tool,
                          const struct toolrack_call_options *options, const char *arguments,
                          size_t length);

/** Of the arguments that were changed, which the error of a call tells: name those that somebody
 * knows otherwise as he knows them. [any-thread] */
void call_rename_changes(const struct schema_naming *naming, struct toolrack_error *err);

/** Tell again what is wrong with the arguments of a call that was refused, to somebody who knows
 * the tool's properties by other names. Where nothing is wrong with them `err` stays as it is;
 * where memory runs out it says so.
 * @param options  as the caller gave them
 * @param err      that of the call; changed in place. [any-thread] */
void call_explain_arguments(const struct call_host *host, struct toolrack_tool *tool,
                            const struct toolrack_call_options *options,
                            const struct schema_naming *naming, const char *arguments,
                            size_t length, struct toolrack_error *err);

/** Run a call on this thread. The caller has checked that it may run, and call_stage() was called.
 * @param arguments  borrowed until call_finish()
 * @param err        never NULL here
 * @return 0 with a result; or the code of the failure. [call-thread] */
int call_run(struct call *call, const char *arguments, size_t length, struct toolrack_result **ret,
             struct toolrack_error *err);

/** What a call has used that runs on another thread, which is inside call_run(). [any-thread] */
struct call_cost call_cost_so_far(struct call *call);

/** Whether its tool runs in a worker: then the call ends by its deadline on any thread.
 * [any-thread] */
static inline bool call_is_isolated(const struct toolrack_tool *tool) {
    return tool->reg->plugin->isolated;
}

/** Make a call that a crew runs end early. Caller holds call->crew_lock. [any-thread] */
void call_interrupt(struct call *call);

/** Count a call that has ended in its tool's statistics, and report it to the host.
 * @param result  NULL: it failed, with `err`
 * @param cost    NULL: it has not run
 * @return how long it took, in nanoseconds. [any-thread] */
uint64_t call_record(const struct call *call, const char *arguments, size_t length,
                     const struct toolrack_result *result, const struct toolrack_error *err,
                     const struct call_cost *cost);

/** The same for a call that ended before it became a struct call.
 * @param started_ns  0: it was refused before its time began. [any-thread] */
void call_record_refused(const struct call_host *host, struct toolrack_tool *tool,
                         const struct toolrack_call_options *options, const char *arguments,
                         size_t length, const struct toolrack_error *err, uint64_t started_ns);

/** The deadline of a call: its own, the tool's or the host's; 0: none. */
uint32_t call_deadline_ms(const struct call_host *host, const struct toolrack_tool *tool,
                          const struct toolrack_call_options *options);

/* Why a call that waits for its plugin is late. */
#define CALL_BEHIND_STUCK "; it had not begun: its plugin is stuck in a call that did not return"

/** Set the error of a call whose deadline has passed; `why` ends the message. Returns its code. */
int call_late(const struct call *call, const char *why, struct toolrack_error *err);
