#include "worker/death.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/sanitizer.h"
#include "base/utf8.h"
#include "worker/crash.h"

/* A crash with this much of the allowed memory in use was most likely caused by the memory limit:
 * few programs check whether an allocation succeeded. */
#define MEMORY_FULL_PERCENT 80u

/* Frames named in the reason; the others are in the backtrace. */
#define REASON_FRAMES 3u

#define MIB (1024u * 1024)

/* "#0  null_deref+0x14 (zoo.so)" and so on, without the numbers and without what is folded, up to
 * the first frame of the worker program itself. */
static void add_frames(const char *backtrace, struct buf *out) {
    static const char own[] = "(toolrack-worker)";
    const size_t own_length = sizeof own - 1;
    const char *at = backtrace;
    unsigned i = 0;
    while (i < REASON_FRAMES && *at != '\0') {
        size_t length = strcspn(at, "\n");
        if (length >= own_length && memcmp(at + length - own_length, own, own_length) == 0) {
            return;
        }
        if (*at != '#') {
            at += length + (at[length] == '\n');
            continue;
        }
        size_t skipped = strcspn(at, " ");
        skipped += strspn(at + skipped, " ");
        buf_add_text(out, i == 0 ? ", in " : i == 1 ? ", called from " : ", ");
        buf_add(out, at + skipped, length > skipped ? length - skipped : 0);
        at += length + (at[length] == '\n');
        i++;
    }
}

/* What the C++ library wrote when it ended the process because of an exception, such as
 * "std::runtime_error: no bridge". Returns whether it did. */
static bool add_exception(const struct output *output, struct buf *out) {
    static const char gnu[] = "terminate called after throwing an instance of '";
    static const char what[] = "  what():  ";
    static const char llvm[] = "uncaught exception of type ";
    const char *lines[CREW_LAST_LINES];
    size_t count = output_last_lines(output, lines);
    for (size_t i = count; i-- > 0;) {
        const char *type = strstr(lines[i], gnu);
        if (type != NULL) {
            type += sizeof gnu - 1;
            buf_add(out, type, strcspn(type, "'"));
            if (i + 1 < count && strncmp(lines[i + 1], what, sizeof what - 1) == 0) {
                buf_printf(out, ": %s", lines[i + 1] + sizeof what - 1);
            }
            return true;
        }
        type = strstr(lines[i], llvm);
        if (type != NULL) {
            buf_add_text(out, type + sizeof llvm - 1);
            return true;
        }
    }
    return false;
}

/* Returns how much of it is for whoever calls a tool. */
static size_t add_end(const struct worker *worker, const struct crash_record *record,
                      struct buf *out) {
    const struct death *death = &worker->death;
    const struct sandbox_limits *limits = &worker->crew->policy.limits;
    char room[CRASH_SIGNAL_ROOM];
    size_t brief_length = 0;
    if (!death->is_known) {
        buf_add_text(out, "lost its process; another part of this program took its exit status");
    } else if (death->signal == 0) {
        buf_printf(out, "ended its process with exit status %d", death->exit_status);
    } else if (death->signal == SIGXCPU) {
        buf_printf(out, "used more than the %u s of CPU time allowed (SIGXCPU)", limits->cpu_s);
    } else if (death->signal == SIGXFSZ) {
        buf_printf(out, "wrote a file larger than the %llu MiB allowed (SIGXFSZ)",
                   (unsigned long long)(limits->file_size_bytes / MIB));
    } else if (record != NULL) {
        bool is_limited = limits->memory_bytes != UINT64_MAX && !SANITIZER_ADDRESS &&
                          !SANITIZER_THREAD; /* child.c */
        if (is_limited &&
            record->memory_bytes >= limits->memory_bytes / 100 * MEMORY_FULL_PERCENT) {
            buf_printf(out, "reached its memory limit of %llu MiB and ",
                       (unsigned long long)(limits->memory_bytes / MIB));
        }
        buf_add_text(out, "crashed: ");
        CLEANUP(buf_finish) struct buf exception = BUF_INIT;
        if (record->signal == SIGABRT && add_exception(&worker->output, &exception)) {
            buf_printf(out, "SIGABRT: an exception left the tool: %s",
                       exception.failed ? "" : exception.data);
            brief_length = out->length;
        } else {
            brief_length = crash_explain(record, out);
        }
        add_frames(death->backtrace.length > 0 ? death->backtrace.data : "", out);
        buf_add_text(out, ", as its worker reports");
    } else if (death->signal == SIGSYS) { /* here and below: without a record of the handler */
        buf_add_text(out, "made a system call of another ABI, which the sandbox forbids (SIGSYS)");
    } else if (death->signal == SIGKILL) {
        buf_add_text(out, "was killed by SIGKILL: by a person, for want of memory, or by itself");
    } else {
        buf_printf(out, "was ended by %s", crash_signal_name(death->signal, room));
    }
    return brief_length;
}

int death_set_error(const struct death *death, struct toolrack_error *err) {
    (void)error_set(err, TOOLRACK_E_EXECUTION_FAILED, "%s", death->reason);
    err->signal = death->signal;
    err->cause = TOOLRACK_CAUSE_DEATH;
    err->brief_length = death->brief_length;
    return err->code;
}

void death_describe(struct worker *worker, const siginfo_t *status, enum worker_state state,
                    enum worker_end end) {
    struct death *death = &worker->death;
    struct crash_record record;
    bool has_record = crash_read(channel_crash_area(worker->lanes[0].channel), &record);
    death->is_known = status != NULL;
    death->exit_status = -1;
    if (status != NULL && status->si_code == CLD_EXITED) {
        death->exit_status = status->si_status;
    } else if (status != NULL) {
        death->signal = status->si_status;
    }
    /* A requested end is not a crash, unless a signal came before the exit. */
    death->crashed = end == END_NOT || end == END_NONSENSE ||
                     ((end == END_ASKED || end == END_REFUSED) && death->signal != 0);
    /* A record of another signal than the one that the kernel reports is not the handler's. */
    has_record = has_record && death->signal != 0 && record.signal == death->signal;
    if (has_record) {
        const char *const known[] = {worker->crew->path,
                                     worker->crew->supervisor->options.worker_program, NULL};
        crash_describe(&record, known, &death->backtrace);
        if (death->backtrace.failed) {
            buf_clear(&death->backtrace);
            buf_finish(&death->backtrace);
        }
    }
    if (end >= END_KILLED) {
        utf8_copy(death->reason, sizeof death->reason, worker->end_text);
        utf8_make_line(death->reason);
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "plugin '%s' ", worker->crew->id);
    size_t brief_length = add_end(worker, has_record ? &record : NULL, &text);
    buf_add_text(&text, state == WORKER_STARTING ? " while it was being loaded"
                        : state == WORKER_ENDING ? " while it was being closed"
                                                 : "");
    death->brief_length = text.failed ? 0 : brief_length != 0 ? brief_length : text.length;
    buf_printf(&text, " (worker %d)", (int)worker->process.pid);
    if (worker->crew->foreign != NULL && has_record) { /* nothing can check it */
        buf_printf(&text,
                   "; its definition may state a wrong signature; see what the library says: %s",
                   COMMAND("bind", worker->crew->path));
    }
    const char *lines[CREW_LAST_LINES];
    if (state == WORKER_STARTING && output_last_lines(&worker->output, lines) > 0) {
        buf_printf(&text, "; what it wrote: %s", COMMAND("why", worker->crew->id));
    }
    utf8_copy(death->reason, sizeof death->reason,
              text.failed ? "a worker died, and there is no memory to say why" : text.data);
    utf8_make_line(death->reason);
}
