#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/sanitizer.h"
#include "base/utf8.h"
#include "worker/child.h"
#include "worker/crash.h"
#include "worker/crew-parts.h"

/* A crash with so much of the allowed memory in use was one for want of it, most likely: few
 * programs look whether they were given what they asked for. */
#define MEMORY_FULL_PERCENT 80u

/* Frames named in the reason; the others are in the backtrace. */
#define REASON_FRAMES 3u

#define MIB (1024u * 1024)

static uint64_t memory_limit(const struct worker *worker) {
    uint64_t limit = worker->crew->policy.limits.memory_bytes;
    return limit != 0 ? limit : SANDBOX_MEMORY_DEFAULT;
}

static bool is_memory_full(const struct worker *worker, const struct crash_record *record) {
    uint64_t limit = memory_limit(worker);
    bool is_limited = limit != UINT64_MAX && !SANITIZER_ADDRESS && !SANITIZER_THREAD; /* child.c */
    return is_limited && record->memory_bytes >= limit / 100 * MEMORY_FULL_PERCENT;
}

/* Where the worker's own code begins, which is nobody's fault. */
static bool is_own(const char *frame, size_t length) {
    static const char own[] = "(toolrack-worker)";
    size_t size = sizeof own - 1;
    return length >= size && memcmp(frame + length - size, own, size) == 0;
}

/* "#0  null_deref+0x14 (zoo.so)" and so on, without the numbers. */
static void add_frames(const char *backtrace, struct buf *out) {
    const char *at = backtrace;
    for (unsigned i = 0; i < REASON_FRAMES && *at == '#'; i++) {
        size_t length = strcspn(at, "\n");
        if (is_own(at, length)) {
            return;
        }
        size_t skipped = strcspn(at, " ");
        skipped += strspn(at + skipped, " ");
        buf_add_text(out, i == 0 ? ", in " : i == 1 ? ", called from " : ", ");
        buf_add(out, at + skipped, length > skipped ? length - skipped : 0);
        at += length + (at[length] == '\n');
    }
}

static void add_crash(const struct worker *worker, const struct crash_record *record,
                      const struct buf *backtrace, struct buf *out) {
    if (is_memory_full(worker, record)) {
        buf_printf(out, "reached its memory limit of %llu MiB and crashed: ",
                   (unsigned long long)(memory_limit(worker) / MIB));
    } else {
        buf_add_text(out, "crashed: ");
    }
    crash_explain(record, out);
    if (backtrace->length > 0) {
        add_frames(backtrace->data, out);
    }
}

/* A signal of which no handler has left a record. */
static void add_signal(const struct worker *worker, int signal, struct buf *out) {
    const struct sandbox_limits *limits = &worker->crew->policy.limits;
    char room[CRASH_SIGNAL_ROOM];
    const char *name = crash_signal_name(signal, room);
    if (signal == SIGKILL) {
        buf_add_text(out, "was killed by SIGKILL from outside, by a person or for want of memory");
    } else if (signal == SIGXCPU) {
        buf_printf(out, "used more than the %u s of CPU time allowed (SIGXCPU)",
                   limits->cpu_s != 0 ? limits->cpu_s : SANDBOX_CPU_DEFAULT_S);
    } else if (signal == SIGXFSZ) {
        buf_printf(out, "wrote a file larger than the %llu MiB allowed (SIGXFSZ)",
                   (unsigned long long)((limits->file_size_bytes != 0 ? limits->file_size_bytes
                                                                      : SANDBOX_FILE_SIZE_DEFAULT) /
                                        MIB));
    } else {
        buf_printf(out, "was ended by %s", name);
    }
}

static void add_end(struct worker *worker, const struct crash_record *record, struct buf *out) {
    const struct death *death = &worker->death;
    if (!death->is_known) {
        buf_add_text(out, "lost its process; another part of this program took its exit status");
    } else if (death->signal == 0) {
        buf_printf(out, "ended its process with exit status %d", death->exit_status);
    } else if (record != NULL && record->signal == death->signal && death->signal != SIGXCPU &&
               death->signal != SIGXFSZ) {
        add_crash(worker, record, &death->backtrace, out);
    } else {
        add_signal(worker, death->signal, out);
    }
}

static void add_moment(enum worker_state state, struct buf *out) {
    if (state == WORKER_STARTING) {
        buf_add_text(out, " while it was being loaded");
    } else if (state == WORKER_ENDING) {
        buf_add_text(out, " while it was being closed");
    }
}

static void set_reason(struct death *death, const char *text) {
    size_t length = strlen(text);
    if (length >= sizeof death->reason) {
        length = utf8_cut(text, sizeof death->reason - 1);
    }
    memcpy(death->reason, text, length);
    death->reason[length] = '\0';
    utf8_make_line(death->reason);
}

static void set_status(struct death *death, const siginfo_t *status) {
    death->is_known = status != NULL;
    death->exit_status = -1;
    if (status != NULL && status->si_code == CLD_EXITED) {
        death->exit_status = status->si_status;
    } else if (status != NULL) {
        death->signal = status->si_status;
    }
}

/* An end that was asked for is none of its own doing, unless a signal came before the exit. */
static bool is_crash(const struct death *death, enum worker_end end) {
    switch (end) {
    case END_NOT:
    case END_NONSENSE: return true;
    case END_ASKED:
    case END_REFUSED: return death->signal != 0;
    case END_KILLED: break;
    }
    return false;
}

void death_describe(struct worker *worker, const siginfo_t *status, enum worker_state state,
                    enum worker_end end) {
    struct death *death = &worker->death;
    struct crash_record record;
    bool has_record = crash_read(channel_crash_area(worker->lanes[0].channel), &record);
    set_status(death, status);
    death->crashed = is_crash(death, end);
    if (has_record) {
        crash_describe(&record, &death->backtrace);
        if (death->backtrace.failed) {
            buf_clear(&death->backtrace);
            buf_finish(&death->backtrace);
        }
    }
    if (end == END_KILLED || end == END_NONSENSE) {
        set_reason(death, worker->end_text);
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "plugin '%s' ", worker->crew->id);
    add_end(worker, has_record ? &record : NULL, &text);
    add_moment(state, &text);
    buf_printf(&text, " (worker %d)", (int)worker->process.pid);
    set_reason(death,
               text.failed ? "a worker died, and there is no memory to say of what" : text.data);
}
