#include "choose/match.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Parameters of BM25: how soon a repeated word adds nothing more, and how much a long text is
 * penalized. */
#define SATURATION       1.2
#define LENGTH_INFLUENCE 0.5

/* The weight of a word in each field. */
static const double field_weights[MATCH_FIELDS] = {
        [MATCH_NAME] = 3,    [MATCH_TITLE] = 2,     [MATCH_TAGS] = 2,        [MATCH_CATEGORY] = 1,
        [MATCH_PURPOSE] = 1, [MATCH_SCENARIOS] = 1, [MATCH_DESCRIPTION] = 1,
};

/* ------------------------------------------------------------------- words */

struct word {
    char text[MATCH_WORD_SIZE_MAX];
    size_t length;
};

/* Bytes of non-ASCII characters are parts of words. */
static bool is_part(char c) {
    return ascii_is_alnum(c) || (c & 0x80) != 0;
}

/* "files" is "file"; "class" and "gas" are not changed. */
static void drop_plural(struct word *word) {
    size_t n = word->length;
    if (n > 3 && word->text[n - 1] == 's' && word->text[n - 2] != 's') {
        word->length--;
    }
}

/* Read the next word and advance the text. False: no more words. */
static bool next_word(const char **text, struct word *ret) {
    const char *at = *text;
    while (*at != '\0' && !is_part(*at)) {
        at++;
    }
    ret->length = 0;
    for (const char *start = at; is_part(*at); at++) {
        if (at > start && ascii_is_upper(*at) && !ascii_is_upper(at[-1])) {
            break;
        }
        if (ret->length < sizeof ret->text) {
            ret->text[ret->length++] = ascii_lower(*at);
        }
    }
    *text = at;
    drop_plural(ret);
    return ret->length > 0;
}

static size_t find_word(const struct word *words, size_t count, const struct word *word) {
    for (size_t i = 0; i < count; i++) {
        if (words[i].length == word->length &&
            memcmp(words[i].text, word->text, word->length) == 0) {
            return i;
        }
    }
    return count;
}

/* Read the words of the task, each once. */
static size_t read_task(const char *task, struct word words[MATCH_WORDS_MAX]) {
    size_t count = 0;
    struct word word;
    while (count < MATCH_WORDS_MAX && next_word(&task, &word)) {
        if (find_word(words, count, &word) == count) {
            words[count++] = word;
        }
    }
    return count;
}

/* ------------------------------------------------------------------ counts */

/* How often one tool has the words of the task. */
struct counts {
    double words[MATCH_WORDS_MAX]; /* weighted by the fields */
    double length;                 /* of all its texts, weighted by the fields */
};

static void count_words(const struct match_tool *tool, const struct word *words, size_t count,
                        struct counts *ret) {
    memset(ret, 0, sizeof *ret);
    for (size_t field = 0; field < MATCH_FIELDS; field++) {
        const char *text = tool->fields[field];
        struct word word;
        while (text != NULL && next_word(&text, &word)) {
            size_t at = find_word(words, count, &word);
            ret->length += field_weights[field];
            if (at < count) {
                ret->words[at] += field_weights[field];
            }
        }
    }
}

struct corpus {
    struct word words[MATCH_WORDS_MAX];
    size_t word_count;
    double rareness[MATCH_WORDS_MAX];
    double mean_length;
};

/* The weight of a word that `having` of `count` tools have; more than 0. */
static double rareness(size_t having, size_t count) {
    return log(1 + ((double)(count - having) + 0.5) / ((double)having + 0.5));
}

static void weigh_words(struct corpus *corpus, const struct counts *counts, size_t count) {
    double length = 0;
    for (size_t i = 0; i < count; i++) {
        length += counts[i].length;
    }
    corpus->mean_length = length > 0 ? length / (double)count : 1;
    for (size_t w = 0; w < corpus->word_count; w++) {
        size_t having = 0;
        for (size_t i = 0; i < count; i++) {
            having += counts[i].words[w] > 0;
        }
        corpus->rareness[w] = rareness(having, count);
    }
}

/* The score as a fraction of the limit for a tool that has every word infinitely often. */
static double score(const struct corpus *corpus, const struct counts *counts) {
    double norm = SATURATION *
                  (1 - LENGTH_INFLUENCE + LENGTH_INFLUENCE * counts->length / corpus->mean_length);
    double sum = 0;
    double most = 0;
    for (size_t w = 0; w < corpus->word_count; w++) {
        sum += corpus->rareness[w] * counts->words[w] / (counts->words[w] + norm);
        most += corpus->rareness[w];
    }
    return most > 0 ? sum / most : 0;
}

int match_task(const char *task, const struct match_tool *tools, size_t count, double *ret,
               struct toolrack_error *err) {
    CLEANUP(freep) struct corpus *corpus = calloc(1, sizeof *corpus);
    CLEANUP(freep) struct counts *counts = calloc(count + 1, sizeof *counts);
    if (corpus == NULL || counts == NULL) {
        return error_oom(err);
    }
    corpus->word_count = read_task(task, corpus->words);
    for (size_t i = 0; i < count; i++) {
        count_words(&tools[i], corpus->words, corpus->word_count, &counts[i]);
    }
    weigh_words(corpus, counts, count);
    for (size_t i = 0; i < count; i++) {
        ret[i] = score(corpus, &counts[i]);
    }
    return 0;
}
