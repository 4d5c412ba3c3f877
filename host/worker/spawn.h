/* spawn.h - a process of the worker program and the host's descriptors for it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

/** A process of the worker program; the descriptors are the host's ends, -1: none. */
struct process {
    pid_t pid;
    int pidfd;
    int socket;   /* over which the worker gets descriptors, and sends one while it starts; closed
                   * once it needs no more of them */
    int output;   /* pipe */
    int leash[2]; /* if it may start other processes; see spawn.c */
};
#define PROCESS_NONE \
    ((struct process){.pid = -1, .pidfd = -1, .socket = -1, .output = -1, .leash = {-1, -1}})

/** Start a process. `may_start_others`: the processes that it starts also end with the host.
 * [supervisor] */
int process_spawn(const char *program, char *const *environment, bool may_start_others,
                  struct process *ret, struct toolrack_error *err);
/** Whether a process that was given nothing to do yet has not ended. [supervisor] */
bool process_is_alive(const struct process *process);
/** End such a process and forget it; one that is none is ignored. [supervisor] */
void process_discard(struct process *process);
/** Start a program in a session of its own, with no signal blocked or handled.
 * @param fds  become its descriptors 0 to count - 1, and it has no others. Each is `count` or more,
 * or the one that it becomes
 * @return 0, or the number of an error as errno has them. [any-thread] */
int process_start(const char *program, char *const *arguments, char *const *environment,
                  const int *fds, int count, pid_t *ret);
/** Let the kernel kill the group of a process, which has its own session, when this host ends.
 * False with errno. */
bool process_put_on_leash(struct process *process);
/** Close the leash: the remaining processes of its group are killed. */
void process_end_group(struct process *process);

/** The environment of a worker, in the arena: granted variables and those that every program
 * expects. NULL: no memory. */
char *const *process_environment(struct arena *arena, const char *const *granted);
