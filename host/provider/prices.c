#include "provider/prices.h"

#define TOKENS_OF_A_PRICE 1e6

/* A number of tokens that is known, of at most so many. */
static int64_t known(int64_t count, int64_t most) {
    return count < 0 ? 0 : count < most ? count : most;
}

double prices_cost(const struct prices *prices, const struct toolrack_usage *usage) {
    int64_t input = known(usage->input, INT64_MAX);
    int64_t cached = known(usage->cached, input);
    int64_t written = known(usage->written, input - cached);
    return ((double)(input - cached - written) * prices->input + (double)cached * prices->cached +
            (double)written * prices->written +
            (double)known(usage->output, INT64_MAX) * prices->output) /
           TOKENS_OF_A_PRICE;
}
