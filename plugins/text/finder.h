/* finder.h - every match of a regular expression in a text, one after the other, within bounds.
 *
 * A bad pattern can take exponential time. Each attempt at one place is bounded by
 * FINDER_STEPS_MAX and FINDER_HEAP_KIB_MAX, and after every FINDER_PLACES_MAX places the finder
 * asks whether anybody still waits for the result. */
#pragma once

#include <toolrack/plugin.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Enough for .* on a text that is one line of the largest size. */
#define FINDER_STEPS_MAX    2500000
#define FINDER_HEAP_KIB_MAX (256 * 1024)
#define FINDER_PLACES_MAX   256

struct finder {
    struct tr_call *call;
    pcre2_code *code;
    pcre2_match_data *match; /**< after finder_next() gave true: the match */
    pcre2_match_context *context;
    const char *text; /**< borrowed */
    size_t length;
    size_t start;     /**< where the next match may begin */
    uint32_t options; /**< of the next attempt */
    bool failed;      /**< the call has been failed */
};

enum finder_flags {
    FINDER_IGNORE_CASE = 1 << 0,
    FINDER_LITERAL = 1 << 1 /**< the pattern is plain text */
};

/** Prepare to search `text`, which stays the caller's. On failure the call has been failed and
 * false comes back; `flags` is enum finder_flags. finder_finish() is allowed and needed either way.
 * [call-thread] */
bool finder_init(struct finder *finder, struct tr_call *call, const char *text, const char *pattern,
                 unsigned flags);

/** Go to the next match. False when there is none, or when `failed` is set. [call-thread] */
bool finder_next(struct finder *finder);

/** Release all it holds. [call-thread] */
void finder_finish(struct finder *finder);
