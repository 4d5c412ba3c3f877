/* vectors.h - what an embeddings model said of texts of tools: a vector for the hash of each.
 *
 * The hash is the caller's; it covers all that the vector depends on, so a row is never out of
 * date. Vectors can be asked for again: they survive the end of the process, but may be lost by a
 * power cut. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Most numbers of a vector. */
#define STORE_VECTOR_DIMENSION_MAX 4096u
/* Most vectors that are kept, as many as there can be tools, and their bytes, counted as if each
 * was as long as the last; beyond, those kept longest are removed. */
#define STORE_VECTORS_MAX          65536
#define STORE_VECTORS_BYTES_MAX    (INT64_C(256) * 1024 * 1024)

/** One of them. */
struct store_vector {
    const unsigned char *sha256; /**< STORE_SHA256_SIZE bytes */
    const float *values;
    size_t dimension; /**< 1 to STORE_VECTOR_DIMENSION_MAX */
};

/** Keep vectors; one of the same hash is replaced.
 * @return see store.h; TOOLRACK_E_LIMIT_EXCEEDED for a dimension beyond the limit. [any-thread] */
int store_vectors_put(struct store *store, const struct store_vector *vectors, size_t count,
                      struct toolrack_error *err);

/** Visit the vectors of these hashes, in any order; those that are not kept are left out. A row
 * that holds no vector, as in a damaged file, counts as none.
 * @param hashes  `count` times STORE_SHA256_SIZE bytes
 * @return see store.h. [any-thread] */
int store_vectors_find(struct store *store, const unsigned char *hashes, size_t count,
                       void (*visit)(void *user, const struct store_vector *vector), void *user,
                       struct toolrack_error *err);
