/* launch.h - the worker program starts a foreign program, such as an MCP server.
 *
 *     toolrack-worker launch [--folder DIR] [--read PATH]... [--write PATH]... [--network]
 *                            [--file MB] [--memory MB] -- PROGRAM [ARGUMENT]...
 *
 * Foreign programs are not made for the sandbox of plugins: they start threads, compile code while
 * they run and reserve much address space. So they get another one: no-new-privs; Landlock (the
 * system's programs, libraries and settings may be read and executed, what is granted read or
 * written, no TCP without --network and never a server, no signals to processes outside); without
 * --network no sockets but pairs; no io_uring, which can make sockets too; setsid() and setpgid()
 * do nothing, so that all it starts stays in its process group. The size of a file is limited for
 * each process, and its memory to more than twice of what is said: what the whole group uses is
 * measured (worker/group.h). What the kernel does not have is said on standard error, and the
 * program is started. Descriptors 0 to 2 are the program's; the environment is passed on. */
#pragma once

#include <stdbool.h>

/* The first argument, by which the worker program knows that it is to launch. */
#define LAUNCH_WORD        "launch"
/* Most paths of a kind. */
#define LAUNCH_PATHS_MAX   64u
/* Exit status when the program cannot be started, as the shell has it; standard error says why. */
#define LAUNCH_EXIT_FAILED 127

/** Whether any foreign program may read what is at a path, which is real. [any-thread] */
bool launch_reads(const char *path);

/** Replace this process by the program; does not return.
 * @param arguments  of the process, with its name and LAUNCH_WORD; NULL-terminated. [worker] */
_Noreturn void launch_main(char **arguments);
