/* rows.h - what the host gives as a JSON array, as a table for people. */
#pragma once

#include <yyjson.h>

#include "cli/cli.h"
#include "cli/table.h"

/** How the objects of an array are shown. */
struct rows_view {
    const char *const *headings;
    size_t columns;
    /** Add the cells of one object: a row, or several. */
    void (*add)(struct table *table, yyjson_val *object);
    const char *nothing; /**< the note in place of an empty table */
};

/** Print the array that the host gave: as it is with --json, else as the view has it.
 * @return an exit code. */
int rows_print(struct cli *cli, const struct toolrack_text *text, const struct rows_view *view);

/** The array, read; NULL when there is no memory. To be released by yyjson_doc_free(). */
yyjson_doc *rows_read(const struct toolrack_text *text);

/** The text of a member, or `otherwise`. */
const char *rows_member(yyjson_val *object, const char *key, const char *otherwise);

/** Room for a moment, such as "2026-01-31 18:00:00". */
#define ROWS_TIME_ROOM 32u

/** A moment in seconds since 1970 as people read it, in the time of this place. */
const char *rows_time(int64_t seconds, char text[ROWS_TIME_ROOM]);
