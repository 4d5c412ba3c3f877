/* What is not sure enough to stand: guesses of choices, and weak words where a question waits
 * anyway. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "choose/fill-parts.h"

/* Words and choices below this are weak: they are left out where the call has to wait for an answer
 * in any case. */
#define DOUBT_MARGIN 600

/* -------------------------------------------------------------------- doubt */

/* Whether a parameter was filled with words that may mean anything, or with a choice that the text
 * does not name. */
static bool is_weak(const struct fill *fill, size_t p) {
    const uint32_t words = VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART) | VALUE_BIT(VALUE_NAME);
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    if (state->source != ARGUMENTS_FROM_TEXT) {
        return false;
    }
    return kept->last <= kept->first ||
           (kept->margin < DOUBT_MARGIN &&
            (evidence_is_choice(kept->form) || kept->form == FORM_NONE ||
             (VALUE_BIT(fill->values->list[kept->index].kind) & words) != 0));
}

static void leave_out(struct fill *fill, size_t p) {
    fill->states[p].filled = false;
    fill->states[p].json = NULL;
}

/* The parameters in the object that a pointer of `length` bytes names: all that are filled are
 * weak. */
static bool is_weak_object(const struct fill *fill, const char *pointer, size_t length) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const char *own = fill->parameters.list[p].pointer;
        if (fill->states[p].filled && strncmp(own, pointer, length) == 0 && own[length] == '/' &&
            !is_weak(fill, p)) {
            return false;
        }
    }
    return true;
}

/* The object that a required parameter is missing in is left out as a whole, if nothing in it is
 * sure: half of a guess helps nobody. So is the object around it. */
static void doubt_objects(struct fill *fill, size_t missing) {
    const char *pointer = fill->parameters.list[missing].pointer;
    for (size_t length = strlen(pointer); length > 0;) {
        do {
            length--;
        } while (length > 0 && pointer[length] != '/');
        if (length == 0 || !is_weak_object(fill, pointer, length)) {
            return;
        }
        for (size_t p = 0; p < fill->parameters.count; p++) {
            const char *own = fill->parameters.list[p].pointer;
            if (strncmp(own, pointer, length) == 0 && own[length] == '/') {
                leave_out(fill, p);
            }
        }
    }
}

/* What a person has to be asked anyway is a call that waits: then what is weak is asked, too. */
void fill_doubt(struct fill *fill) {
    bool asked = false;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        if (parameter->required && !fill->states[p].filled) {
            doubt_objects(fill, p);
            asked = asked || parameter->must;
        }
    }
    for (size_t p = 0; asked && p < fill->parameters.count; p++) {
        if (fill->parameters.list[p].must && fill->states[p].filled && is_weak(fill, p)) {
            leave_out(fill, p);
        }
    }
}

/* ------------------------------------------------------------------ guesses */

/* What the schema says that a required parameter is if nothing is said. */
static void take_standard(struct fill *fill, size_t p) {
    const struct parameter *parameter = &fill->parameters.list[p];
    CLEANUP(freep)
    char *json =
            parameter->standard != NULL ? yyjson_val_write(parameter->standard, 0, NULL) : NULL;
    const char *copy = json != NULL ? arena_copy(&fill->arena, json, strlen(json)) : NULL;
    if (copy != NULL && fill_is_valid(parameter, copy, NULL)) {
        fill_take(&fill->states[p], ARGUMENTS_ASSUMED, copy, NULL, NULL);
    }
}

/* A choice that the text does not name is none: which of them is meant is asked, and a call is not
 * made with a guess. The default of the schema is one that the tool's author chose, and a choice of
 * one leaves nothing to ask. */
void fill_settle_guesses(struct fill *fill) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        bool guessed = state->filled && state->source == ARGUMENTS_FROM_TEXT &&
                       kept->last <= kept->first && parameter->choice_count != 1;
        if (guessed) {
            leave_out(fill, p);
        }
        if (parameter->must && !fill->states[p].filled) {
            take_standard(fill, p);
        }
    }
}
