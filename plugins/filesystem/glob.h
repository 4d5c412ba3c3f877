/* glob.h - patterns of paths, as the npm package `minimatch` has them with its option `dot`, which
 * the MCP reference server uses: * ? [a-z] [[:alpha:]] ** {a,b} {1..3} +(a|b) !(a) \x, a "!" before
 * the whole negates it, and a "#" there makes it match nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Most patterns that braces expand to, longest pattern, and longest message. */
#define GLOB_BRANCHES_MAX 1000u
#define GLOB_SIZE_MAX     4096u
#define GLOB_MESSAGE_MAX  160u

struct glob {
    struct glob_branch *branches; /* owned */
    size_t count;
    struct pcre2_real_match_data_8 *match;      /* owned */
    struct pcre2_real_match_context_8 *context; /* owned */
    bool negates;
    bool is_empty; /* matches the empty path only */
};

/** Compile a pattern, valid UTF-8. False, with the reason: it is too large, or there is no memory.
 * In both cases glob_finish() releases it. */
bool glob_compile(const char *pattern, struct glob *ret, char message[GLOB_MESSAGE_MAX]);
void glob_finish(struct glob *glob);

/** Whether it matches a relative path, valid UTF-8, without empty parts. */
bool glob_matches(const struct glob *glob, const char *path);
