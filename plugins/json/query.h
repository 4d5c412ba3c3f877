/* query.h - one jq program over one document, within limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What a program may take. Of memory it is what it has beyond what it began with; jq is asked to
 * stop when it is found to have more, which is looked at every QUERY_LOOK_MS. */
#define QUERY_MEMORY_MAX ((size_t)128 << 20)
#define QUERY_LOOK_MS    10
#define QUERY_OUTPUT_MAX ((size_t)8 << 20)
/* Levels of a value that jq writes; of a deeper one it leaves out the rest. */
#define QUERY_DEPTH_MAX  256

/* jq frees and compares values recursively: this is enough for the deepest one that the limit of
 * memory leaves. Pages that are not touched cost nothing. */
#define QUERY_STACK_SIZE ((size_t)256 << 20)

#define QUERY_MESSAGE_MAX 600u

enum query_end {
    QUERY_OK,
    QUERY_TRUNCATED,    /**< there are more results than were wanted */
    QUERY_BAD_DOCUMENT, /**< jq does not read it */
    QUERY_BAD_PROGRAM,  /**< it does not compile */
    QUERY_FAILED,       /**< it ended by an error */
    QUERY_TOO_LONG,
    QUERY_TOO_LARGE,  /**< memory */
    QUERY_TOO_MUCH,   /**< output */
    QUERY_TOO_DEEP,   /**< a result has more than QUERY_DEPTH_MAX levels */
    QUERY_CANCELLED,  /**< `cancelled` said so */
    QUERY_NO_RESOURCE /**< no memory or thread for the query itself */
};

struct query {
    const char *document; /**< JSON; borrowed, as all of these */
    size_t document_length;
    const char *program;
    const char *variables; /**< a JSON object: $name for each member; or NULL */
    uint64_t results_max;
    uint64_t time_ms_max;
    bool (*cancelled)(void *user); /**< asked on the caller's thread; NULL: never */
    void *user;
};

struct query_result {
    enum query_end end;
    uint64_t count;
    struct buf output; /**< the results as JSON, with commas between; owned */
    char message[QUERY_MESSAGE_MAX];
};

/** Run a query. *ret is to be released with query_result_finish(), however it ended. One at a time
 * in a process: what others allocate meanwhile counts too. [call-thread] */
void query_run(const struct query *query, struct query_result *ret);
void query_result_finish(struct query_result *result);

/** Free the program that is kept for the next query, and everything else. */
void query_forget(void);
