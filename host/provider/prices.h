/* prices.h - what a conversation costs. */
#pragma once

#include "toolrack/format.h"

/** What a million tokens cost, in one currency. */
struct prices {
    double input;
    double cached;  /**< of those of the input that the provider had in its cache */
    double written; /**< of those that it wrote there */
    double output;
    const char *currency; /**< borrowed; NULL: the prices are not known */
};

/** What tokens cost; those of which the provider says no number, nothing. [any-thread] */
double prices_cost(const struct prices *prices, const struct toolrack_usage *usage);
