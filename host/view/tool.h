/* tool.h - a tool as JSON, the same for every front end. */
#pragma once

#include <yyjson.h>

#include "base/buf.h"
#include "toolrack/toolrack.h"

/** "safe", "confirm" or "dangerous". */
const char *view_permission(enum toolrack_permission permission);

/** Whether the row is of a tool that is registered, and shares its name. */
bool view_is_shared(const struct toolrack_refusal *refusal);
/** Whether it is of a bundled plugin that is not installed, which is no problem. */
bool view_is_absent(const struct toolrack_refusal *refusal);

/** The annotations, under their names in MCP and for people. */
struct view_annotation {
    const char *key;
    const char *word;
    bool (*holds)(const struct toolrack_tool *tool);
};
#define VIEW_ANNOTATIONS 4u
extern const struct view_annotation view_annotations[VIEW_ANNOTATIONS];

/** Append the object with which every list shows a tool: id, uid, name and so on up to state and
 * reason. */
void view_write_tool(struct buf *out, const struct toolrack_tool *tool);
/** Add the members of that object. */
void view_add_tool(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct toolrack_tool *tool);
/** The same and all other members of one tool: schemas, examples, isolation, statistics ... Reads
 * the store.
 * @param shows_file  false: the member is null, for who is not told where the host's files are */
void view_add_tool_page(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root,
                        const struct toolrack_tool *tool, bool shows_file);

/** All versions of the tool's name, in registry order; NULL when out of memory. */
struct toolrack_tools *view_versions(struct toolrack *host, const struct toolrack_tool *tool);
/** The statistics of this version from toolrack_statistics(); to be released. NULL: no calls, or
 * the statistics cannot be read. */
yyjson_doc *view_read_statistics(struct toolrack *host, const struct toolrack_tool *tool);
/** Where its plugin runs and what it may do, as JSON from the host; NULL on failure. */
yyjson_doc *view_read_isolation(struct toolrack *host, const struct toolrack_tool *tool);
