#include "choose/stem.h"

#include <stdbool.h>
#include <string.h>

/* Words that are shorter have no endings. */
#define LENGTH_MIN 3u

/* The word that is shortened: text[0..length). */
struct stem {
    char *text;
    size_t length;
};

/* An ending, and what takes its place if what is left of it has a vowel and a consonant. Its last
 * letter is compared first: few words have one of them, and the comparisons were 9 % of the
 * instructions of a selection. */
struct ending {
    const char *from;
    const char *to;
    unsigned char length; /* of `from` */
    char last;            /* letter of `from` */
};
#define ENDING(from, to) \
    { from, to, sizeof from - 1, from[sizeof from - 2] }

/* ----------------------------------------------------------------- letters */

static bool is_vowel(const struct stem *stem, size_t at) {
    switch (stem->text[at]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u': return true;
    case 'y': return at > 0 && !is_vowel(stem, at - 1);
    default: return false;
    }
}

/* Porter's measure of text[0..length): how often a consonant follows a vowel. */
static size_t measure(const struct stem *stem, size_t length) {
    size_t count = 0;
    bool vowel = false;
    for (size_t i = 0; i < length; i++) {
        bool now = stem->text[i] == 'y' ? i > 0 && !vowel : is_vowel(stem, i);
        count += vowel && !now;
        vowel = now;
    }
    return count;
}

static bool has_vowel(const struct stem *stem, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (is_vowel(stem, i)) {
            return true;
        }
    }
    return false;
}

static bool ends_double(const struct stem *stem) {
    size_t n = stem->length;
    return n >= 2 && stem->text[n - 1] == stem->text[n - 2] && !is_vowel(stem, n - 1);
}

/* text[0..length) ends as "hop" does: its "e" was needed to make "hope". */
static bool ends_short(const struct stem *stem, size_t length) {
    return length >= 3 && !is_vowel(stem, length - 1) && is_vowel(stem, length - 2) &&
           !is_vowel(stem, length - 3) && strchr("wxy", stem->text[length - 1]) == NULL;
}

/* ----------------------------------------------------------------- endings */

static bool ends(const struct stem *stem, const char *ending) {
    size_t length = strlen(ending);
    return stem->length > length && memcmp(stem->text + stem->length - length, ending, length) == 0;
}

static void replace(struct stem *stem, const struct ending *ending) {
    size_t length = strlen(ending->to);
    stem->length -= ending->length;
    memcpy(stem->text + stem->length, ending->to, length);
    stem->length += length;
}

/* Replace the one ending of a table that the word has, if what is before it measures more than
 * `least`. */
static void replace_one(struct stem *stem, const struct ending *endings, size_t least) {
    char last = stem->text[stem->length - 1];
    for (const struct ending *ending = endings; ending->from != NULL; ending++) {
        if (ending->last == last && ends(stem, ending->from)) {
            if (measure(stem, stem->length - ending->length) > least) {
                replace(stem, ending);
            }
            return;
        }
    }
}

static void drop_plural(struct stem *stem) {
    if (ends(stem, "sses") || ends(stem, "ies")) {
        stem->length -= 2;
    } else if (ends(stem, "s") && !ends(stem, "ss") && !ends(stem, "us")) {
        stem->length--;
    }
}

/* "agreed", "planned", "making". */
static void drop_past(struct stem *stem) {
    if (ends(stem, "eed")) {
        stem->length -= measure(stem, stem->length - 3) > 0;
        return;
    }
    size_t dropped = ends(stem, "ed") ? 2 : ends(stem, "ing") ? 3 : 0;
    if (dropped == 0 || !has_vowel(stem, stem->length - dropped)) {
        return;
    }
    stem->length -= dropped;
    if (ends(stem, "at") || ends(stem, "bl") || ends(stem, "iz")) {
        stem->text[stem->length++] = 'e';
    } else if (ends_double(stem) && strchr("lsz", stem->text[stem->length - 1]) == NULL) {
        stem->length--;
    } else if (measure(stem, stem->length) == 1 && ends_short(stem, stem->length)) {
        stem->text[stem->length++] = 'e';
    }
}

/* The endings of steps 2 to 4; of two that a word has, the longer is first. */
static const struct ending of_nouns[] = {
        ENDING("ational", "ate"), ENDING("ization", "ize"), ENDING("iveness", "ive"),
        ENDING("fulness", "ful"), ENDING("ousness", "ous"), ENDING("tional", "tion"),
        ENDING("biliti", "ble"),  ENDING("entli", "ent"),   ENDING("ousli", "ous"),
        ENDING("ation", "ate"),   ENDING("alism", "al"),    ENDING("aliti", "al"),
        ENDING("iviti", "ive"),   ENDING("enci", "ence"),   ENDING("anci", "ance"),
        ENDING("izer", "ize"),    ENDING("abli", "able"),   ENDING("alli", "al"),
        ENDING("ator", "ate"),    ENDING("logi", "log"),    ENDING("eli", "e"),
        {.from = NULL},
};
static const struct ending of_adjectives[] = {
        ENDING("icate", "ic"), ENDING("ative", ""), ENDING("alize", "al"), ENDING("iciti", "ic"),
        ENDING("ical", "ic"),  ENDING("ness", ""),  ENDING("ful", ""),     {.from = NULL},
};
static const struct ending of_all[] = {
        ENDING("ement", ""), ENDING("ance", ""), ENDING("ence", ""),  ENDING("able", ""),
        ENDING("ible", ""),  ENDING("ment", ""), ENDING("ant", ""),   ENDING("ent", ""),
        ENDING("ism", ""),   ENDING("ate", ""),  ENDING("iti", ""),   ENDING("ous", ""),
        ENDING("ive", ""),   ENDING("ize", ""),  ENDING("sion", "s"), ENDING("tion", "t"),
        ENDING("al", ""),    ENDING("er", ""),   ENDING("ic", ""),    ENDING("ou", ""),
        {.from = NULL},
};

static void drop_last_letter(struct stem *stem) {
    size_t n = stem->length;
    if (n > 1 && stem->text[n - 1] == 'e') {
        size_t before = measure(stem, n - 1);
        if (before > 1 || (before == 1 && !ends_short(stem, n - 1))) {
            stem->length--;
        }
    }
    if (stem->text[stem->length - 1] == 'l' && ends_double(stem) &&
        measure(stem, stem->length) > 1) {
        stem->length--;
    }
}

size_t stem_english(const char *word, size_t length, char *ret) {
    bool letters = length >= LENGTH_MIN;
    for (size_t i = 0; letters && i < length; i++) {
        letters = word[i] >= 'a' && word[i] <= 'z';
    }
    if (ret != word) {
        memcpy(ret, word, length);
    }
    if (!letters) {
        return length;
    }
    struct stem stem = {.text = ret, .length = length};
    drop_plural(&stem);
    drop_past(&stem);
    if (ends(&stem, "y") && has_vowel(&stem, stem.length - 1)) {
        stem.text[stem.length - 1] = 'i';
    }
    replace_one(&stem, of_nouns, 0);
    replace_one(&stem, of_adjectives, 0);
    replace_one(&stem, of_all, 1);
    drop_last_letter(&stem);
    return stem.length;
}
