#include "provider/prices.h"

#define TOKENS_OF_A_PRICE 1e6

double prices_cost(const struct prices *prices, uint64_t input, uint64_t cached, uint64_t output) {
    uint64_t known = cached < input ? cached : input;
    return ((double)(input - known) * prices->input + (double)known * prices->cached +
            (double)output * prices->output) /
           TOKENS_OF_A_PRICE;
}
