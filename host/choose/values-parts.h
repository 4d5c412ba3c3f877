/* values-parts.h - what values_read() finds, for the files that find it.
 *
 * Values may overlap: "5 km" is a quantity and a number; which one a parameter takes is decided by
 * evidence.h. Each finder appends to the list, and one that finds no room drops the value. */
#pragma once

#include "base/buf.h"
#include "choose/arguments.h"
#include "choose/locale.h"
#include "choose/mention.h"
#include "choose/token.h"

/** X(constant, what a value of the kind is, for people). */
#define VALUE_KIND_LIST(X)                                             \
    X(VALUE_NUMBER, "a number")                                        \
    X(VALUE_QUANTITY, "a number with a unit")                          \
    X(VALUE_PERCENT, "a percentage")                                   \
    X(VALUE_MONEY, "an amount of money") /**< number with a currency*/ \
    X(VALUE_ORDINAL, "a position")                                     \
    X(VALUE_DATE, "a date")                                            \
    X(VALUE_TIME, "a time")                                            \
    X(VALUE_MOMENT, "a date and time")                                 \
    X(VALUE_DURATION, "a span of time") /**< "last week", "3 months"*/ \
    X(VALUE_QUOTED, "a text in quotes")                                \
    X(VALUE_URL, "a URL")                                              \
    X(VALUE_EMAIL, "an e-mail address")                                \
    X(VALUE_PATH, "a path")                                            \
    X(VALUE_IP, "an IP address")                                       \
    X(VALUE_PHONE, "a phone number")                                   \
    X(VALUE_CODE, "an identifier")      /**< digits, version, UUID */  \
    X(VALUE_NAME, "a name")             /**< words with capitals */    \
    X(VALUE_CHUNK, "words of the text") /**< between cues */           \
    X(VALUE_PART, "words of the text")  /**< of a chunk or name */     \
    X(VALUE_EXPRESSION, "an arithmetic expression")                    \
    X(VALUE_JSON, "JSON in the text") /**< array or object */          \
    X(VALUE_PLACE, "a place")                                          \
    X(VALUE_CURRENCY, "a currency")                                    \
    X(VALUE_LANGUAGE, "a language")                                    \
    X(VALUE_ZONE, "a time zone") /**< IANA name as such */             \
    X(VALUE_COUNTRY, "a country")                                      \
    X(VALUE_COLOR, "a color")                                          \
    X(VALUE_STATE, "a state")                                          \
    X(VALUE_ROOM, "a room")                                            \
    X(VALUE_FLOOR, "a floor")                                          \
    X(VALUE_LIST, "a list") /**< several values of one kind */

enum value_kind {
#define VALUE_KIND_CONSTANT(constant, name) constant,
    VALUE_KIND_LIST(VALUE_KIND_CONSTANT)
#undef VALUE_KIND_CONSTANT
            VALUE_KINDS
};

/** What a piece of something that is written as one is. */
enum value_piece {
    PIECE_NONE = 0,
    PIECE_OWNER = 1 << 0,
    PIECE_REPOSITORY = 1 << 1,
    PIECE_SLUG = 1 << 2,   /**< both: octocat/hello-world */
    PIECE_NUMBER = 1 << 3, /**< of an issue or a pull request */
    PIECE_REVISION = 1 << 4,
    PIECE_CHANNEL = 1 << 5,
    PIECE_CHANNEL_SIGN = 1 << 6, /**< with the sign */
    PIECE_USER = 1 << 7,
    PIECE_USER_SIGN = 1 << 8,
    PIECE_HOST = 1 << 9,
    PIECE_PORT = 1 << 10,
    PIECE_VERSION = 1 << 11,
    PIECE_PACKAGE = 1 << 12,
    PIECE_COLOR = 1 << 13,
    PIECE_EMAIL = 1 << 14,
    PIECE_ENTITY = 1 << 15,   /**< light.kitchen */
    PIECE_UNWANTED = 1 << 16, /**< no parameter takes it */
    PIECE_SECRET = 1 << 17    /**< what the text calls a password or a key */
};

/** Why a date is none that an argument can be. */
enum value_doubt {
    DOUBT_NONE,
    DOUBT_IMPOSSIBLE, /**< no month has the day: 31 November */
    DOUBT_NARROWED    /**< more is said of it than is understood: the Monday after Easter */
};

/** A date or a time; parts that the text does not give are taken from now. */
struct value_time {
    int32_t year;
    int8_t month;
    int8_t day;
    int8_t hour;
    int8_t minute;
    int8_t second;
    bool has_year; /**< given by the text, or relative to now */
    bool has_day;
    bool has_clock;
    uint8_t doubt; /**< enum value_doubt */
    bool bare;     /**< a time only because "at" is before it: it may be a number as well */
};

/** Which coordinate of a place a number is: N and S say a latitude, E and W a longitude. */
enum value_way { WAY_NONE, WAY_LATITUDE, WAY_LONGITUDE };

struct value {
    uint8_t kind;
    bool whole;   /**< of a number: no fraction is written */
    bool worded;  /**< of a number: written in words; of a part: it is whole chunk */
    bool wrapped; /**< has quotes or brackets around it that are not in the span */
    bool torn; /**< of a number: maybe a part, as in 1 500; of an expression: maybe a size, 3 x 4 */
    bool joined;    /**< of a span of time: made of several, 1 hour 30 minutes */
    uint8_t source; /**< enum arguments_source; of the context: the words stand for it */
    uint32_t piece; /**< enum value_piece */
    uint16_t first; /**< tokens [first, last) */
    uint16_t last;
    uint32_t start; /**< bytes [start, end) */
    uint32_t end;
    uint8_t way; /**< of a number with a direction: enum value_way */
    double number;
    struct value_time time;
    const struct lexeme *lexeme; /**< unit, currency, language or place */
    uint16_t item_first;         /**< of a list: its items in `items` */
    uint16_t item_count;
    uint16_t chunk_first; /**< of a part: the tokens of its chunk */
    uint16_t chunk_last;
};

/* Items of all lists together. */
#define VALUES_ITEMS_MAX 1024u

/** Words that stand for an earlier result: "that file", "it"; tokens [first, last). */
struct value_reference {
    uint16_t first;
    uint16_t last;
};
#define VALUES_REFERENCES_MAX 16u

/** How many are wanted, and from which end: "the first two lines", "at most 5"; tokens
 * [first, last), of which those from `number` are the number. */
struct value_pick {
    uint8_t side; /**< enum value_side */
    uint16_t first;
    uint16_t number;
    uint16_t last;
};
enum value_side { PICK_HEAD, PICK_TAIL, PICK_LIMIT };
#define VALUES_PICKS_MAX 8u

struct values {
    uint32_t magic;   /* VALUES_MAGIC */
    const char *said; /**< as the caller has it */
    const char *text; /**< the same, letters and digits of full width as ASCII: 123 for １２３ */
    char *lower;      /**< ASCII letters in lower case */
    size_t length;
    char *plain;       /**< owned: `text`, where it differs from `said`; else NULL */
    uint32_t *origins; /**< of each byte of `plain` and its end, where it is in `said` */
    struct arguments_context context;
    struct locale locale;
    struct value_time now; /**< local; has_year: known */
    bool chinese;          /**< more Chinese than other letters */
    size_t class_count;    /**< classes of characters, the last of the solid values */
    bool classes_unclear;  /**< and not all of what is said of them is understood */
    bool unclear;          /**< has arithmetic that is not understood whole */
    struct token *tokens;
    size_t token_count;
    struct mentions *mentions; /**< of the tokens */
    struct value *list;
    size_t count;
    size_t solid_count; /**< values before the parts of chunks */
    uint16_t *items;    /**< indexes into `list` */
    size_t item_count;
    struct value_reference references[VALUES_REFERENCES_MAX];
    size_t reference_count;
    struct value_pick picks[VALUES_PICKS_MAX];
    size_t pick_count;
};
#define VALUES_MAGIC 0x736c6176u

/** Append a value over the tokens [first, last); returns it, or NULL if there is no room. */
struct value *value_add(struct values *values, enum value_kind kind, size_t first, size_t last);

/** Whether a solid value of a kind covers token `at`; returns it. */
const struct value *value_covering(const struct values *values, size_t at, uint32_t kinds);
#define VALUE_BIT(kind) (UINT32_C(1) << (kind))

/** Find what the text calls a secret.
 * @return false: out of memory. */
bool value_find_secrets(struct values *values);

/* The finders, in the order in which values_read() uses them; later ones leave out what earlier
 * ones have covered. */
void value_find_context(struct values *values);     /* words for what the context has */
void value_find_texts(struct values *values);       /* quotes, URLs, paths, codes, JSON */
void value_find_pieces(struct values *values);      /* owner and repository, host and port */
void value_find_times(struct values *values);       /* dates, times, durations */
void value_join_hours(struct values *values);       /* the clocks of a range; of the same step */
void value_find_numbers(struct values *values);     /* numbers, quantities, money */
void value_find_picks(struct values *values);       /* how many, and from which end */
void value_find_expressions(struct values *values); /* arithmetic */
void value_find_terms(struct values *values);       /* places, currencies, languages */
void value_find_names(struct values *values);       /* names, chunks */
void value_drop_replaced(struct values *values);    /* what later turns have others for */
void value_find_lists(struct values *values);
void value_find_classes(struct values *values); /* of characters: "digits"; single signs */
void value_find_parts(struct values *values);   /* parts of names and chunks */

/** Set `text` and `length` from `said`, with letters, digits and the signs between them of full
 * width as ASCII.
 * @return false: out of memory. */
bool value_read_width(struct values *values, size_t length);

/** The tokens of a part of `text`: from *ret_first on, before *ret_last. */
void value_tokens_in(const struct values *values, size_t start, size_t end, size_t *ret_first,
                     size_t *ret_last);

/** The same for a part of what was said. */
void value_tokens_said(const struct values *values, size_t start, size_t end, size_t *ret_first,
                       size_t *ret_last);

/** Where a byte of `text` is in `said`. */
size_t value_origin(const struct values *values, size_t at);

/** Whether a value is the name of a class of characters, or one sign: only a parameter for a
 * regular expression or its replacement takes it. */
bool value_is_class(const struct value *value);

/** Read a number of digits, words or Chinese numerals that begins at a token, with its magnitude:
 * 3,000; 2.5k; twenty-five; a dozen; 三千五; 半.
 * @return the number of its tokens; 0: no number begins here. */
size_t value_read_number(const struct values *values, size_t at, double *ret, bool *ret_whole);

/** How an integer that is written out in digits is carried. */
enum value_integer {
    INTEGER_NONE,  /**< it is no such integer, or `number` has all of it */
    INTEGER_EXACT, /**< by int64_t or uint64_t */
    INTEGER_LARGE  /**< by neither */
};

/** From here on `number` may have lost digits. */
#define VALUE_NUMBER_EXACT 9007199254740992.0

/** The integer of a number that `number` is too narrow for. */
enum value_integer value_read_integer(const struct values *values, const struct value *value,
                                      bool *ret_negative, uint64_t *ret);

/** Digits of a number that say something: without zeros before the first and behind the last. */
size_t value_count_digits(const struct values *values, const struct value *value);

/** The pick whose number shares a token with [first, last); NULL: none. */
const struct value_pick *value_pick_at(const struct values *values, size_t first, size_t last);

/** An arithmetic expression with signs for its words. */
void value_write_expression(const struct values *values, const struct value *value,
                            struct buf *out);

/** The unit that begins at a token; `ret_length` is its number of tokens. NULL: none. */
const struct lexeme *value_unit_at(const struct values *values, size_t at, size_t *ret_length);

/** Whether a unit is one of time, from seconds to years. */
bool value_is_time(const struct lexeme *unit);

/** Read a number with a unit of time: "two and a half hours", "an hour", 两个半小时, 三年半.
 * @return the number of its tokens; 0: there is none. */
size_t value_read_span(const struct values *values, size_t at, double *ret,
                       const struct lexeme **ret_unit);

/** Whether the word of a currency at a token is none of a unit there. */
bool value_is_money(const struct values *values, size_t at, size_t length);

/** Whether token `at` is the sign or the Chinese character `point`. */
static inline bool value_is_sign(const struct values *values, size_t at, uint32_t point) {
    return at < values->token_count && values->tokens[at].kind >= TOKEN_HAN &&
           values->tokens[at].sign == point;
}

/** A date plus days, by the proleptic Gregorian calendar. */
void value_add_days(struct value_time *time, int64_t days);
/** Days since 1970-01-01. */
int64_t value_days(const struct value_time *time);
