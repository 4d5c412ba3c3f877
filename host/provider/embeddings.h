/* embeddings.h - vectors of texts, by a provider of OpenAI's embeddings API.
 *
 * Vectors have length 1: the sum of the products of two is the cosine of the angle between them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Most texts of one request, and most numbers of a vector. */
#define EMBEDDINGS_TEXTS_MAX     64u
#define EMBEDDINGS_DIMENSION_MAX 4096u
/* Most bytes of an answer: so many vectors of so many numbers, each written with 24 characters, and
 * what is around them. */
#define EMBEDDINGS_ANSWER_MAX    (7u * 1024 * 1024)

/** What is asked for, and of whom; all is borrowed. */
struct embeddings_request {
    const char *endpoint; /**< a base URL, with or without "/v1", or the whole URL */
    const char *model;
    uint32_t dimension;       /**< to ask for; 0: what the model gives */
    const char *const *texts; /**< UTF-8 */
    size_t count;             /**< 1 to EMBEDDINGS_TEXTS_MAX */
    uint32_t timeout_ms;      /**< until the whole answer is there */
};

/** Vectors, one after the other. */
struct embeddings {
    float *values;    /**< count * dimension, owned; NULL: there are none */
    size_t dimension; /**< 1 to EMBEDDINGS_DIMENSION_MAX */
    bool has_sent;    /**< any byte of the request was sent */
};

/** Ask for the vectors of texts, and wait.
 * @param ret          to be released with embeddings_finish(), also after a failure
 * @param ret_wait_ms  after a failure, how long the provider wants to be left alone; 0: not said
 * @return 0; TOOLRACK_E_TIMEOUT; TOOLRACK_E_IO; TOOLRACK_E_INVALID for an endpoint or an answer
 * that is none; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_PERMISSION_DENIED and others for what the
 * provider answers instead; TOOLRACK_E_NO_MEMORY. [any-thread] */
int embeddings_ask(const struct embeddings_request *request, struct embeddings *ret,
                   uint32_t *ret_wait_ms, struct toolrack_error *err);

/** Read an answer: one vector for each of `count` texts, all of the same dimension, of numbers that
 * have a direction.
 * @param dimension  that each must have; 0: any
 * @return 0; TOOLRACK_E_INVALID, saying what is wrong; TOOLRACK_E_NO_MEMORY. A pure function. */
int embeddings_read(const char *json, size_t length, size_t count, size_t dimension,
                    struct embeddings *ret, struct toolrack_error *err);

/** An empty one is ignored. */
void embeddings_finish(struct embeddings *embeddings);
