/* output.h - what a worker prints and logs, as lines of the host's log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/log.h"
#include "worker/crew-types.h"

/** One of a worker's two streams, up to where it stands in a line. */
struct stream {
    int fd; /* -1: at its end */
    size_t length;
    bool is_cut; /* the rest of the line is passed over */
    char line[LOG_LINE_MAX];
};
#define STREAM_COUNT 2

/** What a worker prints and logs. The supervisor's but for the last lines, which have a lock. */
struct output {
    const struct log *log;
    const char *source; /* the plugin's id, borrowed */
    struct stream streams[STREAM_COUNT];
    uint64_t window_ns; /* when this second of counting lines began */
    uint32_t passed;    /* lines in it */
    uint32_t dropped;

    struct lock lock;    /* guards what follows */
    uint64_t line_count; /* ever; line n lies in last[n % CREW_LAST_LINES] */
    char last[CREW_LAST_LINES][LOG_LINE_MAX];
};

/** One without streams. `log` may be NULL. */
void output_init(struct output *output, const struct log *log, const char *source);
/** Give it its streams, which never block; they are taken over. */
void output_set_streams(struct output *output, int streams[STREAM_COUNT]);
void output_finish(struct output *output);
/** Read what there is, but not for ever. False: the stream has ended. [supervisor] */
bool output_read(struct output *output, unsigned stream, uint64_t now_ns);
void output_close(struct output *output, unsigned stream);
/** Read the rest, of a process that is dead. [supervisor] */
void output_end(struct output *output, uint64_t now_ns);
/** When output_tell_dropped() is due; 0: never. [supervisor] */
uint64_t output_due(const struct output *output);
void output_tell_dropped(struct output *output, uint64_t now_ns);
/** Pass on a line that the plugin logged while nobody called it. [supervisor] */
void output_log(struct output *output, int level, const char *line, uint64_t now_ns);
/** Keep a line for the last lines, no more. [any-thread] */
void output_note(struct output *output, const char *line);
/** The last lines, oldest first, as long as nothing is added. Returns how many. */
size_t output_last_lines(const struct output *output, const char *ret[CREW_LAST_LINES]);
