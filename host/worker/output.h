/* output.h - what a worker prints and logs, as lines of the host's log. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/lock.h"
#include "base/log.h"
#include "worker/crew-types.h"
#include "worker/notice.h"

/** An incomplete line. */
struct line {
    size_t length;
    bool is_cut; /* the rest of the line is skipped */
    char text[LOG_LINE_MAX];
};

/** What a worker prints and logs. Used by the supervisor's thread only, except the last lines,
 * which have a lock. */
/** What calls of a worker say in the present second. */
struct said {
    uint64_t window_ns;
    uint32_t passed;
    uint32_t dropped; /* not told yet */
};
enum said_kind { SAID_LOG, SAID_PROGRESS, SAID_KIND_COUNT };

struct output {
    const struct log *log;
    const char *source;  /* the plugin's id, borrowed */
    int fd;              /* the pipe; -1: ended */
    struct line printed; /* what was read of it so far */
    struct line notice;  /* likewise, after the mark */
    struct notice_mark mark;
    size_t marked;      /* bytes of the mark that were the last ones read; all: in a notice */
    uint64_t window_ns; /* start of the second in which lines are counted */
    uint32_t passed;    /* lines passed on in it */
    uint32_t dropped;
    /* Called for each notice, with its line; NULL: too many came within a second, and some were
     * dropped. [supervisor] */
    void (*noticed)(void *user, const char *line);
    void *user;
    uint64_t notice_window_ns; /* likewise for notices */
    uint32_t notices;

    atomic_bool has_dropped; /* of what calls say */

    struct lock lock;   /* guards what follows */
    struct buf secrets; /* of the last calls, to be masked; SECRETS_SIZE_MAX at most */
    struct said said[SAID_KIND_COUNT];
    uint64_t line_count; /* in total; line n is in last[n % CREW_LAST_LINES] */
    char last[CREW_LAST_LINES][LOG_LINE_MAX];
};

/** Initialize without a pipe. `log` may be NULL. */
void output_init(struct output *output, const struct log *log, const char *source);
/** Set the pipe, from which to read never blocks; `output` owns it from now on. `mark`: the number
 * of the mark of the worker's notices. */
void output_open(struct output *output, int fd, uint64_t mark);
void output_finish(struct output *output);
/** Read what is available, up to a limit. False: the pipe has ended. [supervisor] */
bool output_read(struct output *output, uint64_t now_ns);
void output_close(struct output *output);
/** Read the remaining output of a dead process. [supervisor] */
void output_end(struct output *output, uint64_t now_ns);
/** When output_tell_dropped() is due; 0: never. [supervisor] */
uint64_t output_due(const struct output *output);
void output_tell_dropped(struct output *output, uint64_t now_ns);
/** Pass on a line that the plugin logged outside of a call. [supervisor] */
void output_log(struct output *output, int level, const char *line, uint64_t now_ns);
/** Mask these secrets in all lines from now on: what a call prints may be read after its end.
 * [any-thread] */
void output_hide(struct output *output, const struct buf *secrets);
/** A line with secrets masked: itself, or a copy in `room`. [any-thread] */
const char *output_visible(struct output *output, const char *line, char room[LOG_LINE_MAX]);
/** Whether a log line or progress of a call is passed on; lines are added to the last lines in any
 * case. [any-thread] */
bool output_passes_log(struct output *output, const char *line, uint64_t now_ns);
bool output_passes_progress(struct output *output, uint64_t now_ns);
/** Log how much of what calls said was dropped, if any. A call does this when it ends.
 * [any-thread] */
void output_tell_dropped_said(struct output *output);
/** The last lines, oldest first; valid until a line is added. Returns their number. */
size_t output_last_lines(const struct output *output, const char *ret[CREW_LAST_LINES]);
