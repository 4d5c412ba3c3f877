/* candidate.h - what a parameter may take: a value of the text in some form, or a choice. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Most features of one candidate (evidence.h). */
#define EVIDENCE_FEATURES_MAX 56u

/** How a value becomes the value of a parameter. */
enum evidence_form {
    FORM_NONE,      /**< left out */
    FORM_PLAIN,     /**< as it is; a date as the parameter writes dates */
    FORM_NUMBER,    /**< the number without its unit, as a text */
    FORM_CONVERTED, /**< a quantity in the unit of the parameter */
    FORM_SINGLE,    /**< an array of this one value */
    FORM_CHOICE,    /**< `index` of the choices */
    FORM_CHOICES,   /**< all choices that the text mentions */
    FORM_TRUE,
    FORM_FALSE,
    FORM_REGION,  /**< a city with its state */
    FORM_FRACTION /**< a percentage as a part of one */
};

/** Whether the index of a candidate of this form is that of a choice, and of no value. */
static inline bool evidence_is_choice(uint8_t form) {
    return form == FORM_CHOICE || form == FORM_CHOICES || form == FORM_TRUE || form == FORM_FALSE;
}

struct candidate {
    uint8_t form;
    uint16_t index; /**< of the value, or of the choice */
    uint16_t first; /**< tokens of the text, [first, last) */
    uint16_t last;
    int32_t score;
    uint8_t feature_count;
    uint16_t features[EVIDENCE_FEATURES_MAX];
};
