#include "choose/deed.h"

#include <string.h>

#include "choose/intent.h"
#include "choose/refused.h"
#include "choose/turns.h"

/* How far behind "turn" its "off" may stand, in words. */
#define PARTICLE_REACH 6u

/* ------------------------------------------------------------------------ the lexicon */

/* What a deed is: the text before the tab. */
static size_t name_length(const char *deed) {
    return strcspn(deed, "\t");
}

static bool is_same(const char *a, const char *b) {
    size_t length = name_length(a);
    return length == name_length(b) && memcmp(a, b, length) == 0;
}

/* Whether a deed is among those that another excludes. */
static bool is_opposite(const char *wanted, const char *done) {
    size_t length = name_length(done);
    const char *list = wanted + name_length(wanted);
    while (*list == '\t' || *list == ' ') {
        list++;
        size_t size = strcspn(list, " \t");
        if (size == length && memcmp(list, done, size) == 0) {
            return true;
        }
        list += size;
        if (*list == '\t') {
            break;
        }
    }
    return false;
}

/* "turn" with an "off" further on in the same part: where that stands. */
static size_t match_apart(const struct words *words, size_t at, const struct lexicon_row **ret,
                          size_t *ret_rows) {
    const struct word *first = &words->items[at];
    for (size_t i = at + 2; i < words->count && i <= at + PARTICLE_REACH; i++) {
        const struct word *second = &words->items[i];
        char key[2 * WORDS_WORD_MAX + 2];
        if (second->part != first->part || second->quoted || second->kind != WORD_LETTERS) {
            return 0;
        }
        memcpy(key, first->stem, first->stem_length);
        key[first->stem_length] = ' ';
        memcpy(key + first->stem_length + 1, second->stem, second->stem_length);
        size_t length = (size_t)first->stem_length + 1 + second->stem_length;
        *ret_rows = lexicon_find(&lexicon_opposites, key, length, ret);
        if (*ret_rows > 0) {
            return i;
        }
    }
    return 0;
}

static void add(struct deeds *deeds, const struct lexicon_row *row, size_t rows) {
    for (size_t i = 0; i < rows && deeds->count < DEEDS_MAX; i++) {
        deeds->items[deeds->count++] = lexicon_value(&lexicon_opposites, &row[i]);
    }
}

/* What a deed is besides: the text behind the last tab; "": nothing. */
static const char *flags_of(const char *deed) {
    const char *excluded = strchr(deed, '\t');
    const char *flags = excluded != NULL ? strchr(excluded + 1, '\t') : NULL;
    return flags != NULL ? flags + 1 : "";
}

/* Whether a word that may be a thing is one: it stands behind another thing. */
static bool is_thing(const struct words *words, size_t at, const struct lexicon_row *row) {
    const struct word *word = &words->items[at];
    return at > 0 && word[-1].part == word->part && !word[-1].stop &&
           strstr(flags_of(lexicon_value(&lexicon_opposites, row)), "thing") != NULL;
}

/* The deeds at a word. */
struct reading {
    const struct lexicon_row *row;
    size_t rows;   /* 0: there are none */
    size_t length; /* how many words are read: 1 at least */
    size_t last;   /* the last word that says so */
};

static struct reading read_deeds(const struct words *words, size_t at) {
    struct reading reading = {.last = at};
    reading.length = words_match(words, at, &lexicon_opposites, &reading.row, &reading.rows);
    reading.rows = reading.length > 0 ? reading.rows : 0;
    if (reading.length > 1) {
        reading.last = at + reading.length - 1;
        return reading;
    }
    const struct lexicon_row *row;
    size_t rows;
    size_t last = words->items[at].kind == WORD_LETTERS ? match_apart(words, at, &row, &rows) : 0;
    if (last > 0) {
        reading = (struct reading){.row = row, .rows = rows, .last = last};
    } else if (reading.rows > 0 && is_thing(words, at, reading.row)) {
        reading.rows = 0;
    }
    reading.length = 1;
    return reading;
}

size_t deeds_at(const struct words *words, size_t at, struct deeds *deeds) {
    struct reading reading = read_deeds(words, at);
    add(deeds, reading.row, reading.rows);
    return reading.rows > 0 ? reading.length : 0;
}

bool deed_is_harmless(const char *deed) {
    return strstr(flags_of(deed), "harmless") != NULL;
}

/* ----------------------------------------------------------------------------- a text */

/* Whether a word may say what is to be done: it stands in a wish that is open, as a verb. */
static bool is_wanted(const struct words *words, const struct turns *turns,
                      const struct refused *refused, size_t at) {
    const struct word *word = &words->items[at];
    return !word->quoted && !word->literal && turns_weight(turns, word->start) == TURNS_ONE &&
           !refused_is_said(refused, words, at) && intent_is_wanted(words, at);
}

void deeds_of_text(const struct words *words, const struct turns *turns,
                   const struct refused *refused, struct deeds_wanted *ret) {
    bool begun = false; /* a verb was read */
    *ret = (struct deeds_wanted){.at = 0};
    for (size_t at = 0; at < words->count;) {
        struct reading reading = read_deeds(words, at);
        if (is_wanted(words, turns, refused, at) &&
            (reading.rows > 0 || intent_is_verb(words, at))) {
            if (!begun) {
                add(&ret->first, reading.row, reading.rows);
                ret->at = at;
                ret->last = reading.last;
            }
            begun = true;
            add(&ret->all, reading.row, reading.rows);
        }
        at += reading.length;
    }
}

/* ----------------------------------------------------------------------------- a tool */

void deeds_of_tool(const struct tool_words *tool, struct deeds_done *ret) {
    const struct words *words = &tool->words;
    enum tool_field field = TOOL_FIELD_COUNT;
    bool leads = false; /* nothing but deeds stands before it in its text */
    *ret = (struct deeds_done){.first = {.count = 0}};
    for (size_t at = 0; at < words->count;) {
        const struct word *word = &words->items[at];
        struct reading reading = read_deeds(words, at);
        leads = leads || tool_words_field(tool, word) != field;
        field = tool_words_field(tool, word);
        if (!tool_words_is_purpose(tool, word)) {
            break;
        }
        if (reading.rows > 0) {
            bool named = field == TOOL_NAME && ret->first.count == 0;
            if (named || leads) {
                add(&ret->first, reading.row, reading.rows);
            }
            add(&ret->all, reading.row, reading.rows);
        }
        leads = leads && (reading.rows > 0 || word->stop);
        at += reading.length;
    }
}

/* --------------------------------------------------------------------------- together */

bool deeds_exclude(const struct deeds_wanted *wanted, const struct deeds_done *done) {
    bool excludes = false;
    for (size_t i = 0; i < done->all.count; i++) {
        for (size_t k = 0; k < wanted->all.count; k++) {
            if (is_same(done->all.items[i], wanted->all.items[k])) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < done->first.count; i++) {
        for (size_t k = 0; k < wanted->first.count; k++) {
            excludes = excludes || is_opposite(wanted->first.items[k], done->first.items[i]);
        }
    }
    return excludes;
}
