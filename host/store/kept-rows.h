/* kept-rows.h - rows of statements, as bytes: for each statement struct entry, its key (its text
 * and parameters) and its rows.
 *
 * What is read is believed to have the right form as little as any file is: it leads nowhere
 * outside of it, and has as many values as a reader of its rows looks at. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "store/database.h"

/* Of the rows together; what is longer is not kept. */
#define KEPT_ROWS_SIZE_MAX (256u * 1024)

/** Find the rows of a statement.
 * @param ret_rows  initialised with ROWS_INIT; unchanged if they are not there, are not whole, or
 *                  memory runs out */
bool kept_rows_find(const char *bytes, size_t length, const char *sql, const struct value *values,
                    struct rows *ret_rows);

/** Append the rows of a statement. `bytes` has failed when memory runs out, or they are too many.
 * @return false: they are there already */
bool kept_rows_add(struct buf *bytes, const char *sql, const struct value *values,
                   const struct rows *rows);
