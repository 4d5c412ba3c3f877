/* finder.h - find all matches of a regular expression in a text, one after the other, within
 * limits.
 *
 * A bad pattern can take exponential time. Each attempt at one place is limited by FINDER_STEPS_MAX
 * and FINDER_HEAP_KIB_MAX, and after every FINDER_PLACES_MAX places the finder checks whether the
 * call was cancelled. */
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
    pcre2_match_data *match; /**< the match, after finder_next() returned true */
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

/** Prepare to search `text`, which is borrowed. On failure it fails the call and returns false.
 * `flags` is enum finder_flags. finder_finish() must be called in any case.
 * [call-thread] */
bool finder_init(struct finder *finder, struct tr_call *call, const char *text, const char *pattern,
                 unsigned flags);

/** Go to the next match. False when there is none, or when `failed` is set. [call-thread] */
bool finder_next(struct finder *finder);

/** Release everything that it holds. [call-thread] */
void finder_finish(struct finder *finder);
