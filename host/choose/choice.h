/* choice.h - choices and truths that a text gives by its wording. */
#pragma once

#include "choose/parameter.h"
#include "choose/values-parts.h"

/** How a text mentions a choice. */
enum choice_level {
    CHOICE_NONE,
    CHOICE_HALF,    /**< half of its words, anywhere */
    CHOICE_SPREAD,  /**< all of its words, anywhere */
    CHOICE_CONCEPT, /**< its words or others for the same, side by side */
    CHOICE_LITERAL, /**< its words side by side */
    CHOICE_LEVELS
};

struct choice_match {
    uint8_t level;
    bool exact;     /**< letter by letter, and by no inflection */
    uint16_t size;  /**< words of the choice */
    uint16_t first; /**< tokens of the text, [first, last) */
    uint16_t last;
};

/** The best mention by the user of each choice of a parameter, which is one of whole words; a
 * mention inside of one of another choice, as of "new" in "new york", is none.
 * @param all  how many choices the tool has, whose work is bounded together
 * @param ret  room for `choice_count`
 * @return how many places of the text were compared. */
size_t choice_find_all(const struct values *values, const struct parameter *parameter, size_t all,
                       struct choice_match *ret);

/** Whether "no", "without" or the like stands before or in the tokens [first, last). */
bool choice_is_denied(const struct values *values, size_t first, size_t last);

/** Whether the tokens [first, last) are what the text leaves out: "all except it", 除了它以外. */
bool choice_is_excluded(const struct values *values, size_t first, size_t last);

/** Whether a word of a name turns its meaning round: ignore, skip, no. */
bool choice_is_negative(const struct parameter *parameter);

/** How a text speaks of what a truth is about. */
struct truth_match {
    uint8_t share;     /**< of the words of its name: 0 none, 1 some, 2 half or more, 3 all */
    uint8_t described; /**< the same of its description */
    bool negated;      /**< "no", "without", "exclude" stands before them */
    uint16_t first;
    uint16_t last;
    bool stated; /**< the text says outright what it is: "off", "recursive: false" */
    bool truth;  /**< what it says then */
};

struct truth_match truth_find(const struct values *values, const struct parameter *parameter);

/** Set what the text says outright, where it does, and the tokens that say so. A part of
 * truth_find(). */
void truth_read_state(const struct values *values, const struct parameter *parameter,
                      struct truth_match *match);
