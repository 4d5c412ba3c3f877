/* serving.h - a `toolrack serve` that runs while a test looks at it. */
#pragma once

#include <sys/types.h>

struct serving {
    pid_t pid;
    int out;
    char line[256]; /* its first */
};

/** Start it with the configuration "", the state folder ./state and the good fixtures, and these
 * arguments behind `serve`, up to NULL; and read its first line. */
struct serving serving_start(const char *const *more);
/** The same without these three: with the folders of the environment. */
struct serving serving_start_bare(const char *const *more);

/** The port of its first line. */
unsigned serving_port(const struct serving *serving);

/** Let it end by a signal. Its exit code; -1: the signal ended it. */
int serving_end(struct serving *serving, int number);
