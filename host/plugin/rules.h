/* rules.h - what each rule of `check` is about, in words for an author.
 *
 * Id, severity and fix of a rule of finding.h are in its table; here is why it matters, and an
 * example. Rules of other rooms (configurations, the places of files) are here as a whole: they
 * have no table. */
#pragma once

#include <stddef.h>

#include "plugin/finding.h"

struct rule_words {
    const char *rule;
    int severity;
    const char *fix;
    const char *about;   /* sentences; the first one is a summary */
    const char *example; /* lines; NULL: none */
};

/** How many rules there are. */
size_t rules_count(void);
/** One of them, `index` below that: those of finding.h in their order, then the others. Static
 * texts. [any-thread] */
struct rule_words rules_get(size_t index);
