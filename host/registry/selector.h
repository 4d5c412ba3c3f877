/* selector.h - "name", "name@version" or "name@range": what a command, a setting or a decision
 * applies to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** A selector, split without a copy. */
struct selector {
    const char *name; /* not zero-terminated */
    size_t name_length;
    const char *version; /* or range; NULL when none is given */
};

/** Split a selector; its parts are not checked. They are borrowed from `text`. Inline, since each
 * call begins with it. [any-thread] */
static inline struct selector selector_parse(const char *text) {
    const char *at = strchr(text, '@');
    return (struct selector){.name = text,
                             .name_length = at != NULL ? (size_t)(at - text) : strlen(text),
                             .version = at != NULL ? at + 1 : NULL};
}

/** Whether a selector has a name, with any version. [any-thread] */
bool selector_has_name(const struct selector *selector, const char *name, size_t length);

/** Whether it names a range of versions: neither one version nor all of them. [any-thread] */
bool selector_is_range(const struct selector *selector);

/** Whether a text selects tools by a pattern: a selector whose name may have '*' and '?'.
 * [any-thread] */
bool selector_is_pattern(const char *text);
/** Whether a pattern selects a version of a tool; one that is none selects nothing. [any-thread] */
bool selector_pattern_fits(const char *pattern, const char *name, const char *version);
