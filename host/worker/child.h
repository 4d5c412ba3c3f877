/* child.h - the worker program's side: one process that runs one plugin.
 *
 * Descriptors: 0 is /dev/null, 1 and 2 go to the host's log, WORKER_SOCKET is the inherited
 * socket over which the channel's memory comes first. Nothing else is open. The environment holds
 * what was granted. All that the worker is to do comes as frames; it is single-threaded until
 * the plugin is open. While no call runs it writes a byte to the socket after each frame, for the
 * supervisor, which waits for many workers at once.
 *
 *     start: die with the host (PR_SET_PDEATHSIG, set before anything can go wrong)
 *            take the channel, read FRAME_START
 *            crash handler, sandbox, then the plugin: dlopen, compare tables, open();
 *            or the library and its one function (plugin/foreign.h)
 *            DESCRIBE, READY
 *     then:  CALL ... RESULT or FAILURE, until END: close(), exit 0 */
#pragma once

/* The inherited socket. */
#define WORKER_SOCKET 3

/* What a worker's exit status means, when it exits by itself. */
enum worker_exit {
    WORKER_EXIT_DONE = 0,     /* after END */
    WORKER_EXIT_REFUSED = 10, /* REFUSED was sent */
    WORKER_EXIT_PROTOCOL = 11 /* the host sent nonsense or is gone */
};

/** The worker's life; does not return. */
_Noreturn void child_main(void);
