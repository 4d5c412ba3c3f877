/* index.h - which tools have which words: one inverted index over the texts of all tools.
 *
 * It knows nothing of the registry: whoever changes the registry tells it. A tool is added or
 * removed in well under a millisecond, whatever their number, and takes less than 4 KiB as a rule.
 *
 * Threads: a lock of its own, which only those who search and those who change it take; a call of a
 * tool never does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct index;

/** Most tools, and most words that one field of a tool has; further words are left out. */
#define INDEX_TOOLS_MAX 1000000u
#define INDEX_WORDS_MAX 256u

/** The texts of a tool; each may be NULL. Borrowed until the end of the call. */
struct index_document {
    const char *name;
    const char *title;
    const char *description;
    const char *purpose; /**< read as a part of the description */
    const char *tags;    /**< separated by anything */
    const char *category;
    const char *scenarios;
    const char *examples;    /**< texts that led to the tool, or say what it is for */
    const char *group;       /**< what it comes from, as its plugin: tools of one belong together */
    const char *schema_json; /**< of its parameters: JSON Schema */
};

/** Where a word stands. */
#define INDEX_FIELD_TABLE(X)                   \
    X(NAME, "name")                            \
    X(TITLE, "title")                          \
    X(DESCRIPTION, "description")              \
    X(TAGS, "tags")                            \
    X(CATEGORY, "category")                    \
    X(SCENARIOS, "scenarios")                  \
    X(EXAMPLES, "examples")                    \
    X(PARAMETER, "parameter")                  \
    X(PARAMETER_TEXT, "parameter description") \
    X(CHOICE, "choice")

enum index_field {
#define INDEX_FIELD_CONSTANT(constant, name) INDEX_##constant,
    INDEX_FIELD_TABLE(INDEX_FIELD_CONSTANT)
#undef INDEX_FIELD_CONSTANT
            INDEX_FIELDS
};

/** Static text: "name", "parameter description". */
const char *index_field_name(enum index_field field);

/** NULL when out of memory. [any-thread] */
struct index *index_create(void);
/** NULL is ignored. [any-thread] */
void index_destroy(struct index *index);

/** Add a tool, or exchange the texts of the one with this id.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED at INDEX_TOOLS_MAX; TOOLRACK_E_NO_MEMORY. On failure the
 * index is as it was. A schema that is not JSON counts as none. [any-thread] */
int index_add(struct index *index, uint64_t id, const struct index_document *document,
              struct toolrack_error *err);

/** Remove a tool. @return whether it was there. [any-thread] */
bool index_remove(struct index *index, uint64_t id);

/** How many tools it has, and how many bytes they take. [any-thread] */
size_t index_count(struct index *index);
size_t index_memory(struct index *index);
