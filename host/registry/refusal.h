/* refusal.h - what was not registered, and the reason: rows that own their strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "toolrack/toolrack.h"

/* The rule of a tool whose name and version, or name, another one has. */
#define REFUSAL_TOOL_EXISTS "tool-exists"

struct refusal;

/* In order of arrival. One thread at a time. */
struct toolrack_refusals {
    struct refusal *items;
    size_t count;
    size_t room;
};

/** Append a row; its strings are copied. False: out of memory, and the list is unchanged. */
bool refusals_add(struct toolrack_refusals *list, const struct toolrack_refusal *row);
/** The same; out of memory is logged. */
void refusals_note(struct toolrack_refusals *list, const struct toolrack_refusal *row,
                   const struct log *log);

/** Whether the list has a row with the same file, tool, rule and reason. */
bool refusals_have(const struct toolrack_refusals *list, const struct toolrack_refusal *row);

/** Remove the rows of a file, or of all (NULL); only those of `rule` and those about `tool` where
 * these are not NULL.
 */
void refusals_remove(struct toolrack_refusals *list, const char *file, const char *rule,
                     const char *tool);

/** The same, of one version of a tool: a file may have several, the kept ones too. */
void refusals_remove_version(struct toolrack_refusals *list, const char *file, const char *rule,
                             const char *tool, const char *version);

/** Remove the rows for which a function says so. */
void refusals_remove_if(struct toolrack_refusals *list,
                        bool (*is_gone)(const void *user, const struct toolrack_refusal *row),
                        const void *user);

/** Of a kept version's row that of the version which its file has now; NULL: there is none. Valid
 * until the list changes. */
const struct toolrack_refusal *refusals_find_own(const struct toolrack_refusals *list,
                                                 const struct toolrack_refusal *row);

/** A deep copy on the heap, to be released by toolrack_refusals_free(). NULL: out of memory. */
struct toolrack_refusals *refusals_copy(const struct toolrack_refusals *list);

/** Release the rows. */
void refusals_finish(struct toolrack_refusals *list);
