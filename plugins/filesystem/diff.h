/* diff.h - the differences of two texts as a unified diff, with four lines of context. */
#pragma once

#include "text.h"

/* Most lines that are inserted and removed; beyond it the diff replaces the whole that differs. The
 * search takes time and memory that grow with the square of it. */
#define DIFF_EDITS_MAX 2000u

/** Add a diff of `before` and `after`, both with LF as the ends of lines. Of several shortest ones
 * it is the one of the npm package `diff`, which the MCP reference server uses: first removed, then
 * inserted. False: no memory. */
bool diff_add(struct text *out, const char *name, const char *before, size_t before_length,
              const char *after, size_t after_length);
