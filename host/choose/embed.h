/* embed.h - how vectors of texts are asked for, where the configuration names a model for that; see
 * vectors.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Most bytes of a text that is sent, without its prefix: a Chinese character, three bytes, is about
 * one token, so that a model of 512 tokens takes a text of any language. */
#define EMBED_TEXT_MAX  1500u
/* Most texts of one request. */
#define EMBED_TEXTS_MAX 64u

/** How they are asked for. */
struct embed {
    /** Ask for the vectors of texts, and wait.
     * @param texts           UTF-8, 1 to EMBED_TEXTS_MAX
     * @param ret             receives them one after the other, each of length 1, to be freed
     * @param ret_dimension   how many numbers each has
     * @param ret_has_sent    whether anything was sent
     * @param ret_wait_ms     after a failure, how long not to ask again; 0: not said
     * @return 0, or why there are none: TOOLRACK_E_TIMEOUT, TOOLRACK_E_IO ... [any-thread] */
    int (*ask)(void *user, const char *const *texts, size_t count, uint32_t timeout_ms, float **ret,
               size_t *ret_dimension, bool *ret_has_sent, uint32_t *ret_wait_ms,
               struct toolrack_error *err);
    void *user;
    const char *endpoint;     /**< NULL: nothing is asked for */
    const char *model;        /**< not NULL, as the next two, if there is an endpoint */
    const char *query_prefix; /**< what the model wants before a query, and before what is found */
    const char *tool_prefix;
    uint32_t dimension;  /**< that is asked for; 0: what the model gives */
    uint32_t timeout_ms; /**< of all that is asked for in one search */
};
