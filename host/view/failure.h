/* failure.h - what became of a request, the same for every front end: errors, unknown tools, and
 * whom a decision reached. */
#pragma once

#include <yyjson.h>

#include "base/error.h"
#include "toolrack/toolrack.h"

/** Copy an error of the library to one of the program's own base/, which may be of another version.
 * NULL is out of memory, as everywhere. */
void view_take_error(struct toolrack_error *own, const struct toolrack_error *from);

/** Who asks for a tool, and what of the tools is told. */
struct view_asker {
    /* toolrack_suggest(), or toolrack_suggest_call() for who calls; NULL: no name is suggested. */
    char *(*suggest)(struct toolrack *host, const char *name);
    /* Whether a tool is shown at all; NULL: each one is. */
    bool (*shows)(void *user, const struct toolrack_tool *tool);
    void *user;
    bool hides_refused; /* that a tool was refused is not told either */
    const char *list;   /* what shows the tools that there are; NULL: the command */
};

/** Say of a name, perhaps with a version or range, why no tool has it: it has other versions, it
 * was refused, or there is none, with the nearest name.
 *
 * @param ret_near  NULL, or receives that nearest name, to be released by free(), where there is
 *                  one; else it is left as it was
 * @param err       of base/; TOOLRACK_E_NOT_FOUND with the tool's name */
void view_not_found(struct toolrack *host, const char *name, const struct view_asker *asker,
                    char **ret_near, struct toolrack_error *err);

/** Add how many other hosts the last decision reached. */
void view_add_reached(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root);
