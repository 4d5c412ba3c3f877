/* cache-walk.h - touches all that a cache index leads to, so that a sanitizer sees what is wrong.
 */
#pragma once

#include "files/pack.h"

/** Follow every pointer, read every text to its end. Aborts where something that every reader
 * relies on is missing. @return a number that depends on all of it. */
size_t cache_walk(const struct cache_index *index);
