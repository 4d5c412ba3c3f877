/* builtin.h - functions of the host itself, which a definition may name as its handler. */
#pragma once

#include "base/buf.h"
#include "run/run.h"

struct toolrack;

struct builtin {
    const char *name;
    tr_status (*run)(struct tr_call *call, void *host);
};

/** The one of that name, or NULL. [any-thread] */
const struct builtin *builtin_find(const char *name);

/** Append all names, with ", " between them. [any-thread] */
void builtin_add_names(struct buf *out);
