/* crew.h - the processes that run one generation of one plugin, seen from the host.
 *
 * A crew starts its first worker at its first call and more of them while calls wait,
 * up to a maximum; it lets them go when they have been idle. A worker serves one call
 * at a time on each of its lanes: one lane, or up to CREW_LANES_MAX of a plugin that is
 * thread safe. A call takes a lane, exchanges frames with it on the caller's own thread,
 * and gives the lane back. Calls that find none wait in line, first come first served.
 *
 * The supervisor (supervisor.h) does all else that changes a worker. The states of workers and
 * lanes are drawn in crew-parts.h.
 *
 * When a worker dies every call inside it fails with its death; other workers go on. After
 * a quick death the next start waits, 1 s doubling to 60 s; three crashes within 60 s put
 * the crew in quarantine: every call is refused with the reason until crew_release(). */
#pragma once

#include "base/cleanup.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"
#include "worker/crew-types.h"
#include "worker/sandbox.h"
#include "worker/supervisor.h"

struct crew_options {
    const struct descriptor *desc; /* borrowed for the crew's life */
    const char *path;              /* of the image, copied; likewise what follows */
    const char *foreign; /* what is called in it, as foreign_write() has it; NULL: it is a plugin */
    struct file_identity identity;
    const char *settings; /* JSON object */
    struct sandbox_policy policy;
    const char *const *environment; /* "NAME=value", NULL-terminated; granted ones only */
    bool sandbox_required;          /* rather refuse than run without a wanted layer */
    struct crew_limits limits;
    const char *quarantined; /* reason, when it begins in quarantine; else NULL */
    /* How long ago the plugin crashed in other processes of the host, the oldest first: they count
     * like its own. */
    const uint64_t *crashes_ago_ms;
    size_t crashes_ago_count; /* at most CREW_CRASHES_KEPT */
    void *user;
};

/** A crew without workers yet. @return 0 with a reference; TOOLRACK_E_NO_MEMORY; TOOLRACK_E_IO
 * (the system call filter). [any-thread] */
int crew_create(struct supervisor *supervisor, const struct crew_options *options,
                struct crew **ret, struct toolrack_error *err);
struct crew *crew_ref(struct crew *crew);
/** With the last reference its workers close the plugin and end, in their own time. NULL is
 * ignored. No call is running then. [any-thread] */
void crew_unref(struct crew *crew);
CLEANUP_DEFINE(struct crew, crew_unref)

/** Run a call in a worker and wait for its end: at the deadline at the latest.
 *
 * @param ret  reply->out to be finished by the caller
 * @return 0; what the tool failed with; what its worker refused to start with, or could not be
 *         started for; TOOLRACK_E_EXECUTION_FAILED when its worker died (with err->signal), or the
 *         crew is in quarantine; TOOLRACK_E_TIMEOUT; TOOLRACK_E_CANCELLED;
 *         TOOLRACK_E_LIMIT_EXCEEDED when too many wait; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int crew_run(struct crew *crew, struct crew_call *call, struct crew_reply *ret,
             struct toolrack_error *err);

/** See to it that a worker has started its plugin, without calling anything.
 *
 * @param call  its deadline alone is used; crew_interrupt() ends the wait
 * @return 0; otherwise as crew_run(). [any-thread] */
int crew_start(struct crew *crew, struct crew_call *call, struct toolrack_error *err);

/** Make a call end early: waiting it ends at once, running its tool is told, and its worker killed
 * after CREW_GRACE_MS; either way crew_run() returns Cancelled at once. The caller makes sure that
 * `call` is alive. [any-thread] */
void crew_interrupt(struct crew *crew, struct crew_call *call);

/** End a quarantine. Back-off and count of crashes begin anew. [any-thread] */
void crew_release(struct crew *crew);

struct crew_status {
    uint32_t workers; /* started or starting */
    uint32_t busy;    /* calls running */
    uint32_t waiting; /* calls in line */
    uint32_t crashes; /* since it was made */
    bool started;     /* a worker has been ready: the plugin loads */
    uint32_t layers;  /* of the sandbox, of the worker that started last; 0 before that */
    bool quarantined;
    /* Of the quarantine, or of the last start that failed. */
    char reason[ERROR_MESSAGE_MAX];
};
void crew_status(struct crew *crew, struct crew_status *ret);

/** Assert the invariants that crew-parts.c numbers. The crew does so by itself after each of its
 * steps, except in a build with NDEBUG, where this does nothing. [any-thread] */
void crew_check(struct crew *crew);
