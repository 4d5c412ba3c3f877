/* regex.h - regular expressions of ECMA-262 on top of pcre2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json-equal.h"

struct matcher;
struct regex;

/** Result of reading a pattern. */
enum ecma_result { ECMA_OK, ECMA_REWRITTEN, ECMA_NO_STANDARD, ECMA_NO_MEMORY, ECMA_INVALID };

/** Whether a pattern is one of ECMA-262. `reason` receives a static string on ECMA_INVALID. */
enum ecma_result ecma_check(const char *pattern, size_t length, const char **reason);

/** Translate a pattern of ECMA-262, or with what ecma.c understands of Python's, for pcre2; release
 * *ret with free(). `reason` receives a static string on ECMA_INVALID. */
enum ecma_result ecma_translate(const char *pattern, size_t length, char **ret, size_t *ret_length,
                                const char **reason);

/** The same pattern as ECMA-262 has it, for others.
 * @return ECMA_OK: it is that already; ECMA_REWRITTEN: `*ret` is, release it with free();
 *         ECMA_NO_STANDARD: nothing exact is known, `reason` says for what; ECMA_NO_MEMORY;
 *         ECMA_INVALID with a reason. Reasons are static. */
enum ecma_result ecma_standard(const char *pattern, size_t length, char **ret, const char **reason);

/** Compile into the arena. 0, TOOLRACK_E_INVALID with a reason, or TOOLRACK_E_NO_MEMORY. */
int regex_compile(struct arena *arena, const char *pattern, size_t length, struct regex **ret,
                  char *reason, size_t reason_room);

/** The pattern as written in the schema. */
const char *regex_source(const struct regex *regex);

/** Memory for matching; used by one thread at a time. */
struct matcher *matcher_create(void);
void matcher_destroy(struct matcher *matcher);

enum regex_result { REGEX_MATCH, REGEX_NO_MATCH, REGEX_LIMIT, REGEX_NO_MEMORY };

/** Search for the expression anywhere in `text`. The work is taken from the budget. */
enum regex_result regex_search(const struct regex *regex, struct matcher *matcher, const char *text,
                               size_t length, struct budget *budget);
