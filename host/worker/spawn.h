/* spawn.h - a process of the worker program, and the descriptors that lead to it. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "worker/output.h"

/** A process of the worker program; descriptors of the host's ends, -1 where there is none. */
struct process {
    pid_t pid;
    int pidfd;
    int socket;
    int streams[STREAM_COUNT];
    int leash[2]; /* of one that may start others; see spawn.c */
};
#define PROCESS_NONE \
    ((struct process){.pid = -1, .pidfd = -1, .socket = -1, .streams = {-1, -1}, .leash = {-1, -1}})

/** Start one; `may_start_others`: what it starts ends with this process as well. [supervisor] */
int process_spawn(const char *program, char *const *environment, bool may_start_others,
                  struct process *ret, struct toolrack_error *err);
/** Close the leash: what is left of its group is killed. */
void process_end_group(struct process *process);

/** The environment of a worker in the arena: what is granted, and what every program expects. NULL:
 * no memory. */
char *const *process_environment(struct arena *arena, const char *const *granted);
