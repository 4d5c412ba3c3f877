/* Loads one library that is in both lists, and one that is in none. */
#include "base/library.h"

static const struct library known = {.file = "libknown2.so.3"};
static const struct library unknown = {.file = "libunknown.so.1"};
