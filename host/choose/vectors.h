/* vectors.h - which tools mean what a text means: by vectors of an embeddings model.
 *
 * The configuration names the model; without it nothing is sent anywhere. The model gives a vector
 * for a text, and texts that mean the same have vectors that point the same way, whatever their
 * words and language. What is sent is the text that somebody searches with, and of tools the name,
 * the title and the description.
 *
 * The vector of a tool is asked for once: it is kept in the store by the hash of model, endpoint
 * and text (store/vectors.h), for this host and all others. A search asks for those that are
 * missing, of the tools that it may find, in batches until its time is over; one search at a time,
 * the others take what is there. Calls and readers of the registry know nothing of it.
 *
 * Not all searches wait for the model at once, and after a failure it is left alone for a while
 * (asking.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "choose/embed.h"
#include "registry/registry.h"
#include "store/store.h"

/* Tools that are ranked. */
#define VECTORS_FOUND_MAX 100u

struct indexed;
struct vectors;

/** All pointers are borrowed until vectors_destroy().
 * @return NULL when out of memory. [any-thread] */
struct vectors *vectors_create(const struct embed *embed, struct store *store,
                               struct indexed *indexed, const struct log *log);
/** NULL is ignored. [any-thread] */
void vectors_destroy(struct vectors *vectors);

struct vectors_query {
    const char *text; /**< borrowed; any bytes */
    size_t length;
    const char *principal; /**< who searches: see asking.h */
    /** Whether a tool may be found, and its texts be sent; NULL: each may. */
    bool (*accepts)(void *user, const struct toolrack_tool *tool);
    void *user;
};

/** A tool, and how near its text is. */
struct vectors_hit {
    uint64_t id;  /**< toolrack_tool_uid() */
    float cosine; /**< -1 to 1 */
};

/** What was sent, and what came of it. */
struct embedded {
    bool asked;    /**< the configuration has a model */
    bool query;    /**< the text was sent */
    size_t tools;  /**< how many tools' texts were sent */
    size_t ranked; /**< how many tools were ranked by their vectors; 0: words alone decide */
    bool complete; /**< each tool that may be found has a vector */
    struct toolrack_error problem; /**< with code 0: none */
};

struct vectors_found {
    struct vectors_hit hits[VECTORS_FOUND_MAX]; /**< the nearest first */
    size_t count;                               /**< 0 after a failure */
    struct embedded embedded;
};

/** Find the tools whose texts are nearest to a text. Asks the model for what is missing, and waits
 * for it until its time is over.
 * @return 0, also when the model fails; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int vectors_find(struct vectors *vectors, const struct vectors_query *query,
                 struct vectors_found *ret, struct toolrack_error *err);

/** Whether a tool has no vector yet. [any-thread] */
bool vectors_lacks(struct vectors *vectors, uint64_t id);

/** The sum of the products of two vectors: always in the same order, so that it is the same
 * everywhere. */
float vectors_product(const float *a, const float *b, size_t dimension);
