/* inside.h - the struct choose, for its own files. */
#pragma once

#include "base/object.h"
#include "choose/choose.h"

struct choose {
    uint32_t magic; /* CHOOSE_MAGIC */
    struct choose_options options;
};
#define CHOOSE_MAGIC 0x736f6863u
