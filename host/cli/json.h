/* json.h - JSON output of the verbs. */
#pragma once

#include <yyjson.h>

#include "base/cleanup.h"
#include "cli/cli.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

/** A new document. Adding to it need not be checked: json_print() knows when memory ran out. */
yyjson_mut_doc *json_new(void);

/** Add a string, copied, or null for NULL. Bytes that are not UTF-8, as in a file name, are
 * replaced. */
void json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text);

/** Add the members with which every verb shows a tool: id, uid, name and so on up to state and
 * reason. */
void json_add_tool(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct toolrack_tool *tool);

/** Append the document, whose root is `root`, and a newline to what is printed: on one line, or
 * for a person, on a terminal, indented. @return an exit code. */
int json_print(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root);

/** The same with JSON from the host. */
int json_print_text(struct cli *cli, const struct toolrack_text *text);

/** The same for a decision about a tool: {"name": NAME, KEY: VALUE}, and cli_add_reached(). */
int json_print_done(struct cli *cli, const char *name, const char *key, bool value);

/** Parse JSON from the host.
 * @return to be released by yyjson_doc_free(); NULL when out of memory. */
yyjson_doc *json_read(const struct toolrack_text *text);
/** The same with all numbers as they are written, of yyjson's type raw: 1e3 stays 1e3. */
yyjson_doc *json_read_exact(const struct toolrack_text *text);

/** "safe", "confirm" or "dangerous". */
const char *json_permission(enum toolrack_permission permission);
