/* actions.h - what is to be done, as words say it: "delete", 打开, the "list" of "list_users".
 *
 * Tools of one subject often differ in nothing else. The kinds of actions are the values of
 * lexicon/actions.txt. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "choose/words.h"

/** X(constant, value in the lexicon) */
#define ACTION_TABLE(X)   \
    X(READ, "read")       \
    X(SEARCH, "search")   \
    X(CREATE, "create")   \
    X(UPDATE, "update")   \
    X(DELETE, "delete")   \
    X(START, "start")     \
    X(STOP, "stop")       \
    X(SEND, "send")       \
    X(CONVERT, "convert") \
    X(COMPUTE, "compute") \
    X(ASK, "ask")         \
    X(AGAIN, "again")

enum action {
#define ACTION_CONSTANT(constant, name) ACTION_##constant,
    ACTION_TABLE(ACTION_CONSTANT)
#undef ACTION_CONSTANT
};

/** The actions that the words at `at` name: a bit for each enum action; 0: none. A word may name
 * several. [any-thread] */
uint32_t actions_at(const struct words *words, size_t at);
