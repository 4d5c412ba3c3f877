/* evidence-parts.h - what is known before candidates are compared, for the files that weigh them.
 *
 *   evidence.c        what the text has of a parameter, the candidates, and their features
 *   evidence-prior.c  what is said for a candidate and against it where no weight could be fitted
 */
#pragma once

#include "choose/candidate.h"
#include "choose/choice.h"
#include "choose/parameter.h"
#include "choose/values-parts.h"

/* What the public data has too little of to fit, in hundredths as the weights: a kind that is just
 * what the hint wants, and the words that say from what and to what. */
#define PRIOR_KIND  300
#define PRIOR_ROLE  400
#define PRIOR_NAMED 500

/* A span of time in the unit of its parameter; a truth that the text denies, states, or names
 * against its default; a text that others are looked for in; a name that is a word of another
 * parameter. */
#define PRIOR_UNIT   300
#define PRIOR_DENIED 300
#define PRIOR_STATED 1500
#define PRIOR_SAID   150
#define PRIOR_INSIDE 250
#define PRIOR_OTHER  200

/* The number of "at most 5" where the parameter is how many; and words with it are no text. */
#define PRIOR_COUNT 300

/* The same of one end, head or tail, of which the parameter is. */
#define PRIOR_SIDE 1000

/* A piece of what is written as one, which the parameter is named after: a repository, a port. */
#define PRIOR_PIECE 1500

/* The name of a parameter directly before a value, or in Chinese behind it; of a path or a code,
 * that may look like what another parameter wants. */
#define PRIOR_BESIDE 200
#define PRIOR_BEHIND 500
#define PRIOR_MARKED 900

/* Of 周杰伦的七里香 the artist is the first, and the song is the second. */
#define PRIOR_OWNER 500

/* Where something is done is not what it is done with: 在记忆中搜索. */
#define PRIOR_WHERE 600

/* The name of a class of characters where a pattern is wanted. */
#define PRIOR_CLASS 600

struct evidence {
    const struct values *values;
    const struct parameters *parameters;
    size_t value_count;
    uint8_t *names;     /* [parameters][tokens]: token_alike() with the name, best */
    uint8_t *texts;     /* [parameters][tokens]: with the description */
    bool *spoken;       /* [parameters]: the text has some word of its name or description */
    uint8_t *tool;      /* [tokens]: with the tool's name and description */
    bool fast;          /* parts are left out, and what is only read for them */
    uint16_t *timed;    /* [tokens]: the parameter that wants the time there, from 1 */
    uint8_t *own_names; /* [parameters][tokens]: it is the name of the tool or of the parameter */
    uint8_t *labels; /* [parameters][tokens]: it is the name of the parameter, or translates it */
    uint8_t *strengths;            /* [parameters][values]: of the anchors */
    uint8_t *best;                 /* [values]: the best strength of all parameters */
    uint8_t *second;               /* [values]: the second best */
    uint16_t *orders;              /* [values]: how many of its family come before */
    struct choice_match **choices; /* [parameters]: of each of its choices; NULL: it has none */
    size_t span_count;             /* parameters that are spans of time: hours, minutes */
    bool has_truth;                /* some parameter is a truth */
    bool has_regex;                /* some parameter is a regular expression */
    bool has_count;                /* some parameter says how many */
    bool inside;                   /* some text in quotes is behind "in" */
    uint16_t number_count;
    uint32_t pieces; /* enum value_piece: those that the text has */
};

/** The word before a token that says what is there: "in" of "in the house". */
enum cue evidence_cue_before(const struct values *values, size_t first);

/** How much of the words [first, last) matches: 0 nothing, to 3 all. */
size_t evidence_share(const uint8_t *matches, size_t first, size_t last);

/** Whether a value is in another unit than that of its parameter, which may take it converted. */
bool evidence_is_convertible(const struct parameter *parameter, const struct value *value);

/** The kinds that a hint wants if the text has one of them; 0: any. */
uint32_t evidence_wanted_kinds(const struct parameter *parameter);

/** Whether the text names a class of characters, and not all texts that the tool needs are quoted.
 */
bool evidence_has_class(const struct evidence *evidence);

/** What speaks for a candidate, or against it, beside the weights of its features. */
int32_t evidence_prior(const struct evidence *evidence, size_t p,
                       const struct candidate *candidate);
