/* json.h - JSON output of the verbs. */
#pragma once

#include <yyjson.h>

#include "cli/cli.h"
#include "view/json.h"
#include "view/tool.h"

/** A new document, as json_new(): json_print() knows when memory ran out. */
yyjson_mut_doc *json_begin(void);

/** Forget that memory ran out for an earlier command on this thread. */
void json_reset(void);

/** Append the document, whose root is `root`, to a text on one line, which fails when memory runs
 * out. */
void json_add_document(struct buf *out, yyjson_mut_doc *doc, yyjson_mut_val *root);

/** Append the document, whose root is `root`, and a newline to what is printed: on one line, or
 * for a person, on a terminal, indented. @return an exit code. */
int json_print(struct cli *cli, yyjson_mut_doc *doc, yyjson_mut_val *root);

/** The same with a text that was written on one line. */
int json_print_written(struct cli *cli, const struct buf *text);

/** The same with JSON from the host. */
int json_print_text(struct cli *cli, const struct toolrack_text *text);

/** The same for a decision about a tool: {"name": NAME, KEY: VALUE}, and cli_add_reached(). */
int json_print_done(struct cli *cli, const char *name, const char *key, bool value);
