/* libedit.h - libedit, loaded when a chat begins.
 *
 * With the three libraries that it depends on it makes a start a seventh longer (1.4 to 1.6 ms for
 * the shortest verb); only one verb needs it. */
#pragma once

#include <histedit.h>

#include "base/error.h"

/** X(name): the functions that are used. */
#define LIBEDIT_FUNCTIONS(X) \
    X(el_deletestr)          \
    X(el_end)                \
    X(el_get)                \
    X(el_gets)               \
    X(el_init)               \
    X(el_insertstr)          \
    X(el_line)               \
    X(el_resize)             \
    X(el_set)                \
    X(history)               \
    X(history_end)           \
    X(history_init)

struct libedit {
#define LIBEDIT_MEMBER(name) __typeof__(&name) name;
    LIBEDIT_FUNCTIONS(LIBEDIT_MEMBER)
#undef LIBEDIT_MEMBER
};

/** The functions of libedit, valid after libedit_load(). */
extern struct libedit libedit;

/** Load it, unless it is loaded already; on the main thread only.
 * @return 0; TOOLRACK_E_IO: the message names what is missing. */
int libedit_load(struct toolrack_error *err);
