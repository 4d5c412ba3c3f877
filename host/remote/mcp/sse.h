/* sse.h - server-sent events, as their bytes come. What is no message is passed over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Longest id of an event: it goes into a header. */
#define SSE_ID_MAX 1024u

struct sse {
    struct buf line; /* the incomplete one */
    struct buf data; /* of the incomplete event */
    bool has_data;
    bool is_other;     /* the incomplete event is no message */
    bool after_return; /* the last byte was CR: a LF that follows belongs to it */
    bool has_begun;
    char id[SSE_ID_MAX + 1]; /* of the last event that had one; it can stand in a header */
    char next_id[SSE_ID_MAX + 1];
    uint32_t retry_ms; /* what the server asks to wait before it is asked again */
    bool has_retry;
};

struct sse_taker {
    /** Take the data of a message, which are not empty. @return 0, or a code that ends the feeding
     */
    int (*take)(void *user, const char *data, size_t length, struct toolrack_error *err);
    void *user;
};

/** Feed bytes.
 * @param size_max  of the data of one event, and of one line
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; the taker's code; TOOLRACK_E_NO_MEMORY */
int sse_feed(struct sse *sse, const char *bytes, size_t length, size_t size_max,
             const struct sse_taker *taker, struct toolrack_error *err);
/** Another stream follows: what is incomplete is dropped, id and wait are kept. */
void sse_restart(struct sse *sse);
void sse_finish(struct sse *sse);
