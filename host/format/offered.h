/* offered.h - what plugins offer beside tools, as MCP has it: checked and written again.
 *
 * Pure functions. What a plugin says is not trusted: members that are not known are dropped, and an
 * item with a wrong one is left out. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/buf.h"

enum offered_kind { OFFERED_RESOURCE, OFFERED_TEMPLATE, OFFERED_PROMPT, OFFERED_KIND_COUNT };

/* Most items of one plugin. */
#define OFFERED_ITEMS_MAX     10000u
/* Most values of a completion, by the specification. */
#define OFFERED_VALUES_MAX    100u
/* Longest name, in bytes. */
#define OFFERED_NAME_MAX      256u
#define OFFERED_ARGUMENTS_MAX 128u

/** The name of the member that holds a list: "resources", "resourceTemplates", "prompts". */
const char *offered_list_name(enum offered_kind kind);

/** What identifies an item that was taken: its URI, template or name. */
const char *offered_key(enum offered_kind kind, yyjson_mut_val *item);

/** Copy the sound items of a list into an array of `doc`.
 * @param root       the object with the list
 * @param ret_wrong  what is wrong with the first of those that are left out, or with the list;
 * NULL: nothing. Static text
 * @return how many were left out. [any-thread] */
size_t offered_take(enum offered_kind kind, yyjson_val *root, yyjson_mut_doc *doc,
                    yyjson_mut_val *ret_items, const char **ret_wrong);

/* The reply of a function to one request. */
enum offered_reply {
    OFFERED_DONE,
    OFFERED_NOTHING, /* it has no such thing */
    OFFERED_WRONG    /* it cannot be used; *ret_wrong says why, in static text */
};

/** Write a reply as the result of MCP's method. `is_content`: the JSON is content blocks.
 * [any-thread] */
enum offered_reply offered_read(yyjson_val *reply, bool is_content, struct buf *out,
                                const char **ret_wrong);
enum offered_reply offered_prompt(yyjson_val *reply, bool is_content, struct buf *out,
                                  const char **ret_wrong);
enum offered_reply offered_completion(yyjson_val *reply, struct buf *out, const char **ret_wrong);
