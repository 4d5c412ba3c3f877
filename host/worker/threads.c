#include "worker/threads.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "worker/events.h"
#include "worker/tasks.h"

/* Newer than some headers. */
#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE (1UL << 0)
#endif

/* After the threads were counted and are as many as may be, all that ask are refused for so long:
 * to count costs more than to ask. */
#define RECOUNT_NS (10u * (uint64_t)CLOCK_NS_PER_MS)

bool threads_watch(struct worker *worker, int listener) {
    struct supervisor *supervisor = worker->crew->supervisor;
    if (!events_add_fd(supervisor, listener, (uintptr_t)worker | EVENT_CLONE)) {
        int error_number = errno;
        closep(&listener);
        errno = error_number;
        return false;
    }
    worker->listener = listener;
    worker->threads = 1;
    return true;
}

/* Threads end without telling. So the number that were started since the last count is only an
 * upper bound, and they are counted when it reaches the limit. Threads that were allowed and do not
 * exist yet are missing in the count: each belongs to a thread that waits in clone(), so at worst
 * there are twice as many as allowed. */
static bool may_start(struct worker *worker, uint64_t now_ns) {
    const struct sandbox_policy *policy = &worker->crew->policy;
    uint32_t max = policy->limits.threads + (policy->spawn ? policy->limits.processes : 0);
    uint32_t threads;
    if (worker->threads >= max && now_ns >= worker->recount_ns &&
        tasks_count(worker->process.pid, policy->spawn, &threads)) {
        worker->threads = threads;
        worker->recount_ns = threads >= max ? now_ns + RECOUNT_NS : 0;
    }
    if (worker->threads >= max) {
        return false;
    }
    worker->threads++;
    return true;
}

/* Not a thread. */
static bool is_process(const struct seccomp_data *call) {
#ifdef SYS_fork
    if (call->nr == SYS_fork || call->nr == SYS_vfork) {
        return true;
    }
#endif
    return (call->args[0] & CLONE_THREAD) == 0;
}

static void tell_refused(struct worker *worker) {
    const struct sandbox_policy *policy = &worker->crew->policy;
    if (worker->was_refused_threads) {
        return;
    }
    worker->was_refused_threads = true;
    if (policy->spawn) {
        log_line(worker->output.log, LOG_WARNING, worker->crew->id,
                 "worker %d has %u threads and processes, the most that \"threads\" and "
                 "\"processes\" of its policy allow together; further ones are refused (EAGAIN)",
                 (int)worker->process.pid, worker->threads);
    } else {
        log_line(
                worker->output.log, LOG_WARNING, worker->crew->id,
                "worker %d has %u threads, the most that \"threads\" of its policy allows; further "
                "ones are refused (EAGAIN)",
                (int)worker->process.pid, worker->threads);
    }
}

void threads_answer(struct worker *worker, bool is_over, uint64_t now_ns) {
    if (is_over) { /* to ask for a question would block */
        events_remove_fd(worker->crew->supervisor, worker->listener);
        return;
    }
    /* A newer kernel may have larger structs. */
    union {
        struct seccomp_notif question;
        char room[256];
    } in;
    union {
        struct seccomp_notif_resp answer;
        char room[256];
    } out;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    if (ioctl(worker->listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0) {
        return; /* the thread that asked was killed meanwhile */
    }
    out.answer.id = in.question.id;
    if (may_start(worker, now_ns)) {
        out.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        if (is_process(&in.question.data)) {
            worker->processes++;
            (void)crew_note_attention(worker->crew); /* cpu_look() */
        }
    } else {
        out.answer.error = -EAGAIN;
        tell_refused(worker);
    }
    (void)ioctl(worker->listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
}
