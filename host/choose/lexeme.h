/* lexeme.h - the lexicons of arguments, compiled into one table by lexicon/values.py.
 *
 * A lexeme is a word, or several with one space between them, in lower case. One text may have
 * several lexemes, of different files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lexeme_kind {
    LEXEME_CUES,       /**< id: enum cue */
    LEXEME_NUMBERS,    /**< first: how it counts; second: the number */
    LEXEME_UNITS,      /**< first: the unit; second: its size */
    LEXEME_CURRENCIES, /**< first: ISO 4217 code */
    LEXEME_LANGUAGES,  /**< first: ISO 639 code */
    LEXEME_CALENDAR,   /**< first: what it is; second: its value */
    LEXEME_PLACES,     /**< first: IANA time zone; second: country; third: state */
    LEXEME_THINGS,   /**< first: color, state, room, floor or holiday; second: the English word, or
                        "-" */
    LEXEME_HINTS,    /**< id: enum hint */
    LEXEME_ROLES,    /**< id: enum role */
    LEXEME_CONCEPTS, /**< id: number of the group, from 1 */
    LEXEME_REFERENCES, /**< first: what of the context it stands for */
    LEXEME_LOCALES,    /**< first: of a region its currency, of a language the order of dates */
    LEXEME_CLASSES,    /**< first: a regular expression, "?": unknown; second: the one character */
    LEXEME_TRUTHS,     /**< first: how it says so; second: "true" or "false" */
    LEXEME_KINDS
};

/** What a word beside a value says of it. */
enum cue {
    CUE_NONE,
    CUE_IN,
    CUE_AT,
    CUE_ON,
    CUE_FROM,
    CUE_TO,
    CUE_FOR,
    CUE_BY,
    CUE_WITH,
    CUE_WITHOUT,
    CUE_OF,
    CUE_ABOUT,
    CUE_NAMED,
    CUE_BETWEEN,
    CUE_AND,
    CUE_OR,
    CUE_THAN,
    CUE_AS,
    CUE_USING,
    CUE_NEAR,
    CUE_IS,
    CUE_NOT,
    CUE_EVERY,
    CUE_ALL,
    CUE_DETERMINER,
    CUE_PRONOUN,
    CUE_POLITE,
    CUE_VERB,
    CUE_COUNT
};

/** What kind of value a parameter takes, by its name and description. */
enum hint {
    HINT_NONE,
    HINT_DATE,
    HINT_TIME,
    HINT_MOMENT,
    HINT_DURATION,
    HINT_ZONE,
    HINT_CURRENCY,
    HINT_LANGUAGE,
    HINT_PLACE,
    HINT_PERSON,
    HINT_TITLE,
    HINT_ID,
    HINT_URL,
    HINT_EMAIL,
    HINT_PATH,
    HINT_PHONE,
    HINT_TEXT,
    HINT_EXPRESSION,
    HINT_KIND,
    HINT_QUANTITY,
    HINT_YEAR,
    HINT_COUNTRY,
    HINT_COLOR,
    HINT_STATE,
    HINT_FLOOR,
    HINT_COUNT
};

/** At which end of something the value of a parameter is. */
enum role { ROLE_NONE, ROLE_START, ROLE_END, ROLE_COUNT };

/* Most bytes of each column, with a zero; values.py refuses longer ones. */
#define LEXEME_TEXT_ROOM   25
#define LEXEME_FIRST_ROOM  33
#define LEXEME_SECOND_ROOM 14
#define LEXEME_THIRD_ROOM  3

/* The texts are in the row itself: pointers in a constant are changed by the loader at each start
 * of each program, also of one that reads no sentence. 21,000 of them were a third of the
 * instructions of `toolrack version` (954,000; 678,000 without), and 62 pages that every process
 * had for itself. */
struct lexeme {
    double number; /**< of `second`; 0: it is no number */
    uint16_t id;
    uint8_t kind;
    uint8_t length;
    char text[LEXEME_TEXT_ROOM];
    char first[LEXEME_FIRST_ROOM];
    char second[LEXEME_SECOND_ROOM];
    char third[LEXEME_THIRD_ROOM];
};

extern const struct lexeme lexemes[];
extern const size_t lexeme_count;
extern const size_t lexeme_longest;
/** How many lexemes begin with a smaller byte, of each byte and of 256. */
extern const uint16_t lexeme_starts[];
/** The places of the words of each concept, one concept behind the other; and where the words of a
 * concept begin there, of each concept and of one more than the last. */
extern const uint16_t lexeme_concepts[];
extern const uint16_t lexeme_concept_starts[];

/** The lexemes of a text in lower case, which follow one another; NULL: none. */
const struct lexeme *lexeme_find(const char *text, size_t length, size_t *ret_count);

/** Whether a lexeme is the text in lower case or begins with it. */
bool lexeme_begins(const char *text, size_t length);

/** The first lexeme of one kind; NULL: none. */
const struct lexeme *lexeme_of(enum lexeme_kind kind, const char *text, size_t length);
