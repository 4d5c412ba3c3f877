#include "finder.h"

#include <string.h>

static bool fail_memory(struct finder *finder) {
    finder->failed = true;
    (void)tr_fail(finder->call, TR_FAILED, NULL, "out of memory");
    return false;
}

/* Fail with pcre2's message and the place, in characters from 1. */
static bool fail_pattern(struct finder *finder, const char *pattern, int code, size_t offset) {
    PCRE2_UCHAR message[256];
    if (pcre2_get_error_message(code, message, sizeof message) < 0) {
        message[0] = '\0';
    }
    size_t place = 1;
    for (size_t i = 0; i < offset; i++) {
        place += ((unsigned char)pattern[i] & 0xc0) != 0x80;
    }
    finder->failed = true;
    (void)tr_fail(finder->call, TR_INVALID_ARGUMENTS, "pattern",
                  "is no valid regular expression: %s, at position %zu", (const char *)message,
                  place);
    return false;
}

static bool fail_match(struct finder *finder, int code) {
    finder->failed = true;
    switch (code) {
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
        (void)tr_fail(finder->call, TR_LIMIT_EXCEEDED, "pattern",
                      "takes too long on this text (%d steps at one place); avoid nested "
                      "repetitions such as (a+)+",
                      FINDER_STEPS_MAX);
        break;
    case PCRE2_ERROR_NOMEMORY: return fail_memory(finder);
    default: {
        PCRE2_UCHAR message[200];
        if (pcre2_get_error_message(code, message, sizeof message) < 0) {
            message[0] = '\0';
        }
        (void)tr_fail(finder->call, TR_FAILED, "pattern", "cannot be matched: %s (pcre2 error %d)",
                      (const char *)message, code);
        break;
    }
    }
    return false;
}

bool finder_init(struct finder *finder, struct tr_call *call, const char *text, const char *pattern,
                 unsigned flags) {
    *finder = (struct finder){.call = call, .text = text, .length = strlen(text)};
    uint32_t options = PCRE2_UTF | PCRE2_USE_OFFSET_LIMIT;
    options |= (flags & FINDER_IGNORE_CASE) != 0 ? PCRE2_CASELESS : 0;
    options |= (flags & FINDER_LITERAL) != 0
                       ? PCRE2_LITERAL
                       : PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    int code;
    PCRE2_SIZE offset;
    finder->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code,
                                 &offset, NULL);
    if (finder->code == NULL) {
        return fail_pattern(finder, pattern, code, offset);
    }
    finder->match = pcre2_match_data_create_from_pattern(finder->code, NULL);
    finder->context = pcre2_match_context_create(NULL);
    if (finder->match == NULL || finder->context == NULL) {
        return fail_memory(finder);
    }
    (void)pcre2_set_match_limit(finder->context, FINDER_STEPS_MAX);
    (void)pcre2_set_heap_limit(finder->context, FINDER_HEAP_KIB_MAX);
    return true;
}

/* The start of the next character, also from the middle of one. */
static size_t after_character(const struct finder *finder, size_t at) {
    do {
        at++;
    } while (at < finder->length && ((unsigned char)finder->text[at] & 0xc0) == 0x80);
    return at;
}

/* Take the match and set where the next one may begin. After an empty match, the same place is
 * tried once more for a match that is not empty. */
static bool accept(struct finder *finder) {
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(finder->match);
    if (range[0] > range[1]) { /* \K in a lookahead, which pcre2 allows in some settings */
        return fail_match(finder, PCRE2_ERROR_INTERNAL);
    }
    bool empty = range[0] == range[1];
    finder->start = range[1];
    finder->options =
            PCRE2_NO_UTF_CHECK | (empty ? (uint32_t)(PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED) : 0U);
    return true;
}

bool finder_next(struct finder *finder) {
    while (!finder->failed && finder->start <= finder->length) {
        if (tr_cancelled(finder->call)) {
            finder->failed = true;
            (void)tr_fail(finder->call, TR_CANCELLED, NULL, "cancelled");
            return false;
        }
        size_t last = finder->length - finder->start < FINDER_PLACES_MAX
                              ? finder->length
                              : finder->start + FINDER_PLACES_MAX;
        (void)pcre2_set_offset_limit(finder->context, last);
        int found = pcre2_match(finder->code, (PCRE2_SPTR)finder->text, finder->length,
                                finder->start, finder->options, finder->match, finder->context);
        if (found > 0) {
            return accept(finder);
        }
        if (found != PCRE2_ERROR_NOMATCH) {
            return fail_match(finder, found);
        }
        bool only_here = (finder->options & PCRE2_ANCHORED) != 0;
        finder->start = after_character(finder, only_here ? finder->start : last);
        finder->options = PCRE2_NO_UTF_CHECK;
    }
    return false;
}

void finder_finish(struct finder *finder) {
    pcre2_match_context_free(finder->context);
    pcre2_match_data_free(finder->match);
    pcre2_code_free(finder->code);
    *finder = (struct finder){0};
}
