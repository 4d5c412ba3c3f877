/* rates.h - a table of exchange rates, all against one base currency. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ECB publishes about 30. */
#define RATES_COUNT_MAX 64

#define RATES_CODE_SIZE 4  /**< ISO 4217: three capitals and the zero */
#define RATES_DATE_SIZE 11 /**< YYYY-MM-DD */

/** How much of a currency one unit of the base currency is. */
struct rate {
    const char *currency; /**< in `codes` of its table, so a table must not be copied */
    double rate;
};

struct rates {
    char date[RATES_DATE_SIZE]; /**< the day of the rates; "": unknown */
    const char *base;           /**< a constant string */
    uint64_t count;
    struct rate rates[RATES_COUNT_MAX];
    char codes[RATES_COUNT_MAX][RATES_CODE_SIZE];
};

/** Whether the text is three capital letters. */
bool rates_is_code(const char *text);

/** Whether the text looks like YYYY-MM-DD. */
bool rates_is_date(const char *text);

/** Initialise a table with a base currency (a constant string), which is its first rate. */
void rates_init(struct rates *rates, const char *base);

/** Add a rate. Returns NULL, or what is wrong with it; then the table is not changed. */
const char *rates_add(struct rates *rates, const char *currency, double rate);

/** The rate of a currency, or NULL. Borrowed from the table. */
const struct rate *rates_find(const struct rates *rates, const char *currency);

/** All codes, "EUR, GBP, USD", cut at the size. Returns `text`. */
const char *rates_list(const struct rates *rates, char *text, size_t size);
