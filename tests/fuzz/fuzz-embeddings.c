/* fuzz-embeddings.c - any bytes as the answer of an embeddings model. The first byte says for how
 * many texts, the second which dimension is wanted. What is taken has length 1; what is not is
 * explained. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "provider/embeddings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_vector(const float *values, size_t dimension) {
    double squares = 0;
    for (size_t i = 0; i < dimension; i++) {
        require(isfinite(values[i]));
        squares += (double)values[i] * (double)values[i];
    }
    require(squares > 0.99 && squares < 1.01);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    struct embeddings found;
    struct toolrack_error err = {0};
    size_t count = data[0];
    /* A copy, so that a byte behind it is found out. */
    char *json = malloc(size - 2 + (size == 2));
    require(json != NULL);
    memcpy(json, data + 2, size - 2);
    int code = embeddings_read(json, size - 2, count, data[1], &found, &err);
    free(json);
    if (code < 0) {
        require(found.values == NULL && err.message[0] != '\0');
        return 0;
    }
    require(count > 0 && count <= EMBEDDINGS_TEXTS_MAX);
    require(found.dimension > 0 && found.dimension <= EMBEDDINGS_DIMENSION_MAX);
    require(data[1] == 0 || found.dimension == data[1]);
    for (size_t i = 0; i < count; i++) {
        check_vector(found.values + i * found.dimension, found.dimension);
    }
    embeddings_finish(&found);
    return 0;
}
