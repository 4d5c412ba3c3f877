/* rows.h - show JSON from the host to people: an array as a table, an object as labelled lines. */
#pragma once

#include <stdbool.h>

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
    bool exact;          /**< numbers are read as they are written: of yyjson's type raw */
};

/** Print an array from the host: unchanged with --json, else as the view says.
 * @return an exit code. */
int rows_print(struct cli *cli, const struct toolrack_text *text, const struct rows_view *view);

/** The text of a member; NULL when it has none. */
const char *rows_text(yyjson_val *object, const char *key);

/** The same, or `otherwise`. */
const char *rows_member(yyjson_val *object, const char *key, const char *otherwise);

/** The state that people are shown. Whether a tool may run is more important than that it is a kept
 * version. */
const char *rows_state(const char *state, bool is_enabled, bool is_kept);

/** The whole number of a member, raw ones too; 0 when it is missing. */
uint64_t rows_number(yyjson_val *object, const char *key);

/** Room for a moment, such as "2026-01-31 18:00:00". */
#define ROWS_TIME_ROOM 32u

/** Format a moment, in seconds since 1970, as local time. */
const char *rows_time(int64_t seconds, char text[ROWS_TIME_ROOM]);

/** Add a cell with a moment; a second has `per_s` of its units. `otherwise` when it is null. */
void rows_add_time(struct table *table, yyjson_val *time, int64_t per_s, const char *otherwise);

/** Append the label of a line about one object, padded to the column of the texts. */
void rows_add_label(struct buf *out, const char *label);

/** Append a whole line: label and text. NULL and "" append nothing. */
void rows_add_line(struct buf *out, const char *label, const char *text);
