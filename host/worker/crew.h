/* crew.h - the processes that run one generation of one plugin, seen from the host.
 *
 * A crew starts its first worker at its first call and more of them while calls wait, up to a
 * maximum; it ends workers that have been idle. A worker serves one call at a time on each of its
 * lanes: one lane, or up to CREW_LANES_MAX if the plugin is thread safe. A call takes a lane,
 * exchanges frames with it on the caller's own thread, and gives the lane back. Calls that find no
 * idle lane wait in line, first come, first served.
 *
 * The supervisor (supervisor.h) makes all other changes to a worker. The states of workers and
 * lanes are drawn in crew-parts.h.
 *
 * A call that goes on after its cancellation or its deadline does not end the calls beside it: its
 * worker gets no other calls, and is killed when those have ended (crew-parts.h).
 *
 * When a worker dies each call running in it fails with the cause of death; other workers continue.
 * After a quick death the next start waits 1 s; the wait doubles up to 60 s; three crashes within
 * 60 s put the crew in quarantine: every call is refused with the reason until crew_release(). */
#pragma once

#include "base/cleanup.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"
#include "worker/crew-types.h"
#include "worker/sandbox.h"
#include "worker/supervisor.h"

struct crew_options {
    const struct descriptor *desc; /* borrowed for the crew's life */
    const char *path;              /* of the image; copied, like the fields below */
    const char *file;              /* what messages call it; NULL: its path */
    const char *foreign; /* the function in it, in the form of foreign_write(); NULL: the image is a
                          * plugin */
    struct file_identity identity;
    const char *settings; /* JSON object */
    struct sandbox_policy policy;
    const char *const *environment; /* "NAME=value", NULL-terminated; granted ones only */
    bool sandbox_required;          /* refuse to run without a wanted layer */
    struct crew_limits limits;
    bool measures_all;       /* the cost of every call */
    const char *quarantined; /* reason, if the crew starts in quarantine; else NULL */
    /* Ages of the plugin's crashes in other host processes, oldest first; they count like the
     * crew's own. */
    const uint64_t *crashes_ago_ms;
    size_t crashes_ago_count; /* at most CREW_CRASHES_KEPT */
    void *user;
};

/** Create a crew; no worker is started yet. @return 0 with a reference; TOOLRACK_E_NO_MEMORY;
 * TOOLRACK_E_IO (the system call filter). [any-thread] */
int crew_create(struct supervisor *supervisor, const struct crew_options *options,
                struct crew **ret, struct toolrack_error *err);
struct crew *crew_ref(struct crew *crew);
/** When the last reference is released, the workers close the plugin and end; this call does not
 * wait for them. NULL is ignored. No call may be running then. [any-thread] */
void crew_unref(struct crew *crew);
CLEANUP_DEFINE(struct crew, crew_unref)

/** Run a call in a worker and wait for its end, until the deadline at most.
 *
 * @param ret  reply->out to be finished by the caller
 * @return 0; the tool's error; the error with which its worker refused to start or could not be
 *         started; TOOLRACK_E_EXECUTION_FAILED when its worker died (with err->signal), or the crew
 *         is in quarantine; TOOLRACK_E_TIMEOUT; TOOLRACK_E_CANCELLED; TOOLRACK_E_LIMIT_EXCEEDED
 *         when too many wait; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int crew_run(struct crew *crew, struct crew_call *call, struct crew_reply *ret,
             struct toolrack_error *err);

/** Make sure that a worker has started its plugin, without running a call.
 *
 * @param call  only its deadline is used; crew_interrupt() ends the wait
 * @return 0; otherwise as crew_run(). [any-thread] */
int crew_start(struct crew *crew, struct crew_call *call, struct toolrack_error *err);

/** End a call early. A waiting call leaves the line. The tool of a running call is asked to end,
 * and its worker is killed after CREW_GRACE_MS, or later, when the other calls in it have ended. In
 * both cases crew_run() returns Cancelled at once. The caller makes sure that `call` is still
 * valid. [any-thread] */
void crew_interrupt(struct crew *crew, struct crew_call *call);

/** Begin a quarantine that another process has decided: calls in line are refused, calls that run
 * may end. [any-thread] */
void crew_quarantine(struct crew *crew, const char *reason);

/** End a quarantine: back-off and the count of crashes start again from zero. [any-thread] */
void crew_release(struct crew *crew);

struct crew_status {
    uint32_t workers; /* started or starting */
    uint32_t busy;    /* calls running */
    uint32_t waiting; /* calls in line */
    uint32_t crashes; /* since the crew was created */
    bool started;     /* a worker has been ready, so the plugin can be loaded */
    uint32_t layers;  /* sandbox layers of the worker that started last; 0 before that */
    bool quarantined;
    /* Of the quarantine, or of the last failed start. */
    char reason[ERROR_MESSAGE_MAX];
};
void crew_status(struct crew *crew, struct crew_status *ret);

/** Assert the invariants that crew-parts.c numbers. The crew calls this after each of its steps.
 * Does nothing in a build with NDEBUG. [any-thread] */
void crew_check(struct crew *crew);
