/* file.h - reading and writing whole files of a place. */
#pragma once

#include <toolrack/plugin.h>

#include "place.h"
#include "text.h"

/** Read a file as it is. Longer than TEXT_SIZE_MAX is a failure. `call` may end it. */
bool file_read(struct tr_call *call, const struct place *place, struct text *ret,
               struct place_fault *fault);
/** The last lines: bytes from where they begin, at the earliest `count` lines and one before the
 * end. */
bool file_read_tail(struct tr_call *call, const struct place *place, uint64_t count,
                    struct text *ret, struct place_fault *fault);
/** The first `count` lines, with their ends. */
bool file_read_head(struct tr_call *call, const struct place *place, uint64_t count,
                    struct text *ret, struct place_fault *fault);

/** Write a file: a new one, or in place of one that is there, all at once. */
bool file_write(struct tr_call *call, const struct place *place, const char *data, size_t length,
                struct place_fault *fault);
/** Make a folder and those above it. */
bool file_make_folder(const struct place *place, struct place_fault *fault);
/** Give it another name, which nothing has. */
bool file_move(const struct place *from, const struct place *to, struct place_fault *fault);
