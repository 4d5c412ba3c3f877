/* prices.h - what a conversation costs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** What a million tokens cost, in one currency. */
struct prices {
    double input;
    double cached; /**< of those that the provider had in its cache */
    double output;
    const char *currency; /**< borrowed; NULL: the prices are not known */
};

/** What tokens cost.
 * @param cached  how many of `input` the provider had in its cache; more than `input` count as all
 * [any-thread] */
double prices_cost(const struct prices *prices, uint64_t input, uint64_t cached, uint64_t output);
