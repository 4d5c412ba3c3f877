/* builtin.h - functions of the host itself, which a definition may name as its handler. */
#pragma once

#include "config/definition.h"

extern const struct builtin builtins[];
extern const size_t builtin_count;
