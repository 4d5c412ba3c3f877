/* opposite.h - deeds that exclude one another: lexicon/opposites.txt. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/lexicon.h"
#include "choose/words.h"

/* Most deeds that are kept. */
#define DEEDS_MAX 12u

/** Deeds, each as a value of the lexicon. */
struct deeds {
    const char *items[DEEDS_MAX];
    size_t count;
};

/** The deeds at a word. */
struct deeds_reading {
    const struct lexicon_row *row;
    size_t rows;   /* 0: there are none */
    size_t length; /* how many words are read: 1 at least */
    size_t last;   /* the last word that says so: "off" of "turn the light off" */
};

/** Read the deeds at a word. [any-thread] */
struct deeds_reading deeds_read(const struct words *words, size_t at);
void deeds_add(struct deeds *deeds, const struct lexicon_row *row, size_t rows);

/** Add the deeds at a word.
 * @return how many words name them; 0: none does. [any-thread] */
size_t deeds_at(const struct words *words, size_t at, struct deeds *deeds);

/** Whether a deed changes nothing, or nothing that was there. [any-thread] */
bool deed_is_harmless(const char *deed);

/** Whether two are the same. [any-thread] */
bool deed_is_same(const char *a, const char *b);

/** Whether the second is among those that the first excludes. [any-thread] */
bool deed_is_opposite(const char *wanted, const char *done);
