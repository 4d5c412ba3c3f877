/* locale.h - what is usual where the user is, by lexicon/locales.txt. */
#pragma once

#include <stdbool.h>

#include "choose/lexeme.h"

/** Zero is a place of which nothing is known: dates and numbers are read as in American English. */
struct locale {
    bool day_first;                /**< 03/04/2026 is in April */
    bool decimal_comma;            /**< 3,5 is three and a half, and 1.000 a thousand */
    bool imperial;                 /**< temperatures in Fahrenheit, distances in miles */
    const struct lexeme *currency; /**< NULL: not known */
    const struct lexeme *language; /**< NULL: not known */
};

/** Whether a text has the form of a locale: "zh-CN", "en_GB.UTF-8". [any-thread] */
bool locale_is(const char *text);

/** Read a locale; what is not known of it stays zero.
 * @param text  NULL: not known. [any-thread] */
void locale_read(const char *text, struct locale *ret);
