/* Matching with bounded work.
 *
 * A pattern with nested repeats can take exponential time. pcre2 counts its backtracks and stops at
 * a limit, but does not tell how many a match took. So a match starts with a small limit; each time
 * the limit is too small, it is charged to the budget and the match is repeated with REGEX_GROWTH
 * times the limit: the charge is within that factor of the actual work, and simple matches cost
 * almost nothing. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "schema/regex.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "schema/schema.h"

#define REGEX_FIRST_LIMIT  1000u
#define REGEX_GROWTH       10u
#define REGEX_HEAP_KIB_MAX 16384u

struct regex {
    pcre2_code *code; /* in the arena */
    const char *source;
};

struct matcher {
    pcre2_general_context *general;
    pcre2_match_context *context;
    pcre2_match_data *data;
};

static void *arena_malloc(size_t size, void *arena) {
    return arena_alloc(arena, size);
}

static void arena_no_free(void *memory, void *arena) {
    (void)memory;
    (void)arena;
}

static void *plain_malloc(size_t size, void *unused) {
    (void)unused;
    return malloc(size);
}

static void plain_free(void *memory, void *unused) {
    (void)unused;
    free(memory);
}

int regex_compile(struct arena *arena, const char *pattern, size_t length, struct regex **ret,
                  char *reason, size_t reason_room) {
    CLEANUP(freep) char *text = NULL;
    size_t text_length = 0;
    const char *why = NULL;
    if (length > SCHEMA_PATTERN_MAX) {
        (void)snprintf(reason, reason_room, "it is longer than %d bytes", SCHEMA_PATTERN_MAX);
        return TOOLRACK_E_INVALID;
    }
    switch (ecma_translate(pattern, length, &text, &text_length, &why)) {
    case ECMA_OK: break;
    case ECMA_NO_MEMORY: return TOOLRACK_E_NO_MEMORY;
    case ECMA_REWRITTEN:
    case ECMA_NO_STANDARD:
    case ECMA_INVALID: (void)snprintf(reason, reason_room, "%s", why); return TOOLRACK_E_INVALID;
    }
    struct regex *regex = arena_alloc(arena, sizeof *regex);
    const char *source = arena_copy(arena, pattern, length);
    if (regex == NULL || source == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    *regex = (struct regex){.source = source};
    pcre2_general_context *general =
            pcre2_general_context_create(arena_malloc, arena_no_free, arena);
    pcre2_compile_context *context = general == NULL ? NULL : pcre2_compile_context_create(general);
    if (context == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF); /* lines of Python's flag m */
    int code = 0;
    PCRE2_SIZE at = 0;
    uint32_t flags = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
                     PCRE2_NEVER_BACKSLASH_C | PCRE2_ALLOW_EMPTY_CLASS;
    regex->code = pcre2_compile((PCRE2_SPTR)text, text_length, flags, &code, &at, context);
    if (regex->code != NULL) {
        *ret = regex;
        return 0;
    }
    if (code == PCRE2_ERROR_HEAP_FAILED) {
        return TOOLRACK_E_NO_MEMORY;
    }
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, reason_room) < 0) {
        (void)snprintf(reason, reason_room, "it is not supported");
    }
    return TOOLRACK_E_INVALID;
}

const char *regex_source(const struct regex *regex) {
    return regex->source;
}

struct matcher *matcher_create(void) {
    struct matcher *matcher = calloc(1, sizeof *matcher);
    if (matcher == NULL) {
        return NULL;
    }
    matcher->general = pcre2_general_context_create(plain_malloc, plain_free, NULL);
    if (matcher->general != NULL) {
        matcher->context = pcre2_match_context_create(matcher->general);
        /* One pair is enough: only the existence of a match matters. */
        matcher->data = pcre2_match_data_create(1, matcher->general);
    }
    if (matcher->context == NULL || matcher->data == NULL) {
        matcher_destroy(matcher);
        return NULL;
    }
    (void)pcre2_set_heap_limit(matcher->context, REGEX_HEAP_KIB_MAX);
    return matcher;
}

void matcher_destroy(struct matcher *matcher) {
    if (matcher != NULL) {
        pcre2_match_data_free(matcher->data);
        pcre2_match_context_free(matcher->context);
        pcre2_general_context_free(matcher->general);
        free(matcher);
    }
}

enum regex_result regex_search(const struct regex *regex, struct matcher *matcher, const char *text,
                               size_t length, struct budget *budget) {
    /* Each position in the text takes at least one attempt. */
    if (!budget_spend(budget, 1 + length / 16)) {
        return REGEX_LIMIT;
    }
    for (uint32_t limit = REGEX_FIRST_LIMIT; limit <= SCHEMA_MATCH_MAX; limit *= REGEX_GROWTH) {
        (void)pcre2_set_match_limit(matcher->context, limit);
        int result = pcre2_match(regex->code, (PCRE2_SPTR)text, length, 0, 0, matcher->data,
                                 matcher->context);
        if (result >= 0) {
            return REGEX_MATCH;
        }
        if (result == PCRE2_ERROR_NOMEMORY) {
            return REGEX_NO_MEMORY;
        }
        if (result == PCRE2_ERROR_HEAPLIMIT || result == PCRE2_ERROR_DEPTHLIMIT) {
            return REGEX_LIMIT;
        }
        if (result != PCRE2_ERROR_MATCHLIMIT) {
            return REGEX_NO_MATCH; /* also if the text is not UTF-8 */
        }
        if (!budget_spend(budget, limit)) {
            return REGEX_LIMIT;
        }
    }
    return REGEX_LIMIT;
}
