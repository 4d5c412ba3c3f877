/* comment.h - what a header says in words about a function. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

/* Most bytes of a description. */
#define COMMENT_TEXT_MAX 400u

enum comment_direction { COMMENT_SAYS_NOTHING, COMMENT_IN, COMMENT_OUT, COMMENT_INOUT };

/** The comment about the declaration whose name stands at `offset` of a header: that which is
 * directly above it, else that which is directly below it, as in zlib.h, else the one above if it
 * mentions the name. In the arena; NULL: there is none, or no memory. [any-thread] */
const char *comment_find(struct arena *arena, const char *text, size_t length, size_t offset,
                         const char *name);

/** Append its first paragraph, without the marks of comments, on one line. [any-thread] */
void comment_add_description(struct buf *out, const char *comment);

/** Append what "@param name" says, or with NULL "@return". Returns the direction that
 * "@param[out] name" states. [any-thread] */
enum comment_direction comment_add_param(struct buf *out, const char *comment, const char *name);

/** Whether a comment has these words; white space and marks between them do not count.
 * [any-thread] */
bool comment_says(const char *comment, const char *words);
