/* label.h - which labels of a table the words of a text speak for; of scene.c and intent.c.
 *
 * A lexicon gives each key a label and a weight: a value of it is "ID TAB WEIGHT", with a weight
 * from 1 (a hint) to 3 (it says nothing else). A label's score grows with the sum of the weights of
 * its keys in the text; a key counts once, however often it is there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose/lexicon.h"
#include "choose/words.h"

/* Most labels of a table, and words that are kept as reasons of one label. */
#define LABELS_MAX        96u
#define LABEL_REASONS_MAX 6u

/** Weight of a word, from a lexicon or elsewhere, at most. */
#define LABEL_WEIGHT_MAX 3u

/** A label has half of the greatest score when its keys have this weight. */
#define LABEL_HALF_WEIGHT 2.0

/** A row of a table; static data, or of a struct scenes. */
struct label_name {
    const char *id;      /**< "file_operations" */
    const char *name_zh; /**< "文件操作" */
};

struct label_names {
    const struct label_name *items;
    size_t count; /**< LABELS_MAX at most */
};

/** A word of the text that speaks for a label. */
struct label_reason {
    uint32_t start; /**< where it stands in the text, in bytes */
    uint32_t end;
    double weight;
};

/** A label that a text has. */
struct label {
    const char *id; /**< borrowed from the table, as name_zh */
    const char *name_zh;
    double score; /**< more than 0, less than 1 */
    size_t reason_count;
    struct label_reason reasons[LABEL_REASONS_MAX]; /**< in the order of the text */
};

/** The weights of all labels of a table, while they are counted. */
struct label_tally {
    const struct label_names *names;
    struct label_sum {
        double weight;
        uint32_t first; /**< where its first word stands */
        uint32_t reason_count;
        struct label_reason reasons[LABEL_REASONS_MAX];
    } sums[LABELS_MAX];
};

/** How much the words [at, at + count), a key of a lexicon, count where they stand; 0: not at all.
 */
typedef double label_weigh(const void *user, const struct words *words, size_t at, size_t count);

/** An empty tally; `names` is borrowed while it is used. [any-thread] */
void label_begin(struct label_tally *tally, const struct label_names *names);

/** Count one word. [any-thread] */
void label_add(struct label_tally *tally, size_t label, const struct label_reason *reason);

/** Count the words that are keys of a lexicon; the longest key counts where several begin.
 * @param weigh  NULL: all count in full; gets `user`. [any-thread] */
void label_count(struct label_tally *tally, const struct lexicon *lexicon,
                 const struct words *words, label_weigh *weigh, const void *user);

/** The labels with a weight, the greatest first; of equal ones that whose words stand first, then
 * the first of the table.
 * @return how many there are: `room` at most. [any-thread] */
size_t label_rank(const struct label_tally *tally, struct label *ret, size_t room);

/** The place of an id in a table; count: it is not there. [any-thread] */
size_t label_place(const struct label_names *names, const char *id, size_t length);

/** How much two lists of labels have in common, from 0 to 1: each is led by its most certain label.
 * One half where one of them is empty, which says nothing. [any-thread] */
double label_agreement(const struct label *a, size_t a_count, const struct label *b,
                       size_t b_count);
