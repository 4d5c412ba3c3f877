/* model.h - how a model is asked, where the configuration names one; see assist.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Steps that a model may be asked for. */
#define ASSIST_SCENE     1u
#define ASSIST_INTENT    2u
#define ASSIST_EVALUATE  4u
#define ASSIST_ARGUMENTS 8u
#define ASSIST_ALL       15u

/* Candidates that it is sent, and bytes of the text, of a description and of a schema. */
#define ASSIST_CANDIDATES_MAX  8u
#define ASSIST_TEXT_MAX        8192u
#define ASSIST_DESCRIPTION_MAX 1024u
#define ASSIST_SCHEMA_MAX      8192u

/* Failures in a row before it is left alone. */
#define ASSIST_PATIENCE 3u

/** How a model is asked. */
struct assist {
    /** Ask it, and wait for the end of its answer.
     * @param ret           receives the text of the answer
     * @param ret_has_sent  whether anything was sent, also after a failure
     * @param ret_wait_ms   after a failure, how long not to ask again; 0: not said
     * @return 0, or why there is none: TOOLRACK_E_TIMEOUT, TOOLRACK_E_IO ... [any-thread] */
    int (*ask)(void *user, const char *system, const char *task, struct buf *ret,
               bool *ret_has_sent, uint32_t *ret_wait_ms, struct toolrack_error *err);
    void *user;
    const char *endpoint; /**< for the explanation; NULL: no model is asked */
    const char *model;
    unsigned steps; /**< ASSIST_... */
};
