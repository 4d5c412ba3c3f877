/* replay.h - what a client may have missed: the last events of a session's streams.
 *
 * A stream is that of one request, or (REPLAY_OWN) the one that belongs to no request. The id of an
 * event is "STREAM-NUMBER"; numbers grow over all streams of a session. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"

/* What is kept for one session, at most: the oldest goes first. */
#define REPLAY_EVENTS_MAX 256u
#define REPLAY_BYTES_MAX  (1024u * 1024)
/* Characters of an event's id, with the final zero. */
#define REPLAY_ID_ROOM    48u
#define REPLAY_OWN        0u

struct event {
    struct event *next;
    uint64_t stream;
    uint64_t number;
    bool last; /* of its stream: the answer */
    size_t length;
    char text[];
};

/** A member of a client. Its lock is taken last of all. */
struct replay {
    struct lock lock;
    struct event *first;
    struct event *last;
    size_t count;
    size_t bytes;
    uint64_t streams; /* numbers given */
    uint64_t events;
};

void replay_init(struct replay *replay);
void replay_finish(struct replay *replay);

/** A number for a stream that begins. */
uint64_t replay_begin(struct replay *replay);

/** Keep an event of a stream, and write its id. An event without a text is not kept: it only has an
 * id. */
void replay_add(struct replay *replay, uint64_t stream, const char *text, size_t length, bool last,
                char ret_id[REPLAY_ID_ROOM]);

/** Write the id of an event. */
void replay_write_id(char id[REPLAY_ID_ROOM], uint64_t stream, uint64_t number);
/** Read the id of an event. @return false: it is none */
bool replay_read_id(const char *id, uint64_t *ret_stream, uint64_t *ret_number);

/** Whether there are events of a stream after a number. */
bool replay_has(struct replay *replay, uint64_t stream, uint64_t number);
/** Copies of the events of a stream after a number, the oldest first; released with
 * replay_free(). */
struct event *replay_after(struct replay *replay, uint64_t stream, uint64_t number);
void replay_free(struct event *events);
