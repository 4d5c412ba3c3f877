/* search-tools.h - the tools that lists hold in place of all others, with "expose": "search": their
 * names and definitions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <yyjson.h>

#include "base/buf.h"
#include "serve/mcp/entry.h"

enum search_tool {
    SEARCH_SEARCH,
    SEARCH_SELECT,
    SEARCH_DESCRIBE,
    SEARCH_CALL,
    SEARCH_RUN,
    SEARCH_TOOLS,
    SEARCH_NONE
};

/* Most tools that one search gives, and how many unless it says; of a choice. */
#define SEARCH_FOUND_MAX      50u
#define SEARCH_FOUND_DEFAULT  10u
#define SEARCH_RIVALS_DEFAULT 5u

/** The tool of that name, or SEARCH_NONE. */
enum search_tool search_tools_find(const char *name);

/** Check the arguments of one of them by what its definition states. Numbers are raw. An
 * object may be JSON text, see rpc_object().
 * @param alc      for what is read of such text
 * @param problem  receives what is wrong, in words for a model
 * @return whether nothing is */
bool search_tools_check(enum search_tool tool, yyjson_val *arguments, const yyjson_alc *alc,
                        struct buf *problem);
/** How many tools a search or a choice may give, by arguments that were checked. */
uint64_t search_tools_limit(enum search_tool tool, yyjson_val *arguments);

/** Define them: the description of the first one tells what there is.
 *
 * @param entries      what they search
 * @param permissions  bit 1 << enum toolrack_permission: only such tools are told of
 * @param memory       receives the definitions; stays as long as `ret`
 * @param ret          receives SEARCH_TOOLS entries
 * @return false: out of memory */
bool search_tools_define(const struct entry *entries, size_t count, uint32_t permissions,
                         struct buf *memory, struct entry *ret);
