/* inside.h - the struct choose, for its own files. */
#pragma once

#include "base/object.h"
#include "choose/choose.h"

struct asking;
struct indexed;
struct past;
struct profiles;
struct scenes;
struct vectors;

struct choose {
    uint32_t magic; /* CHOOSE_MAGIC */
    struct choose_options options;
    struct indexed *indexed;
    struct vectors *vectors; /* NULL: no model is named for them */
    struct past *past;
    struct profiles *profiles;
    struct asking *asking; /* for a model that is asked too */
    struct scenes *scenes; /* NULL: those of the host alone */
};
#define CHOOSE_MAGIC 0x736f6863u
