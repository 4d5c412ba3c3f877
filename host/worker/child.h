/* child.h - the worker program's side: one process that runs one plugin.
 *
 * Descriptors: 0 is /dev/null, 1, 2 and WORKER_NOTICES are one pipe to the host, WORKER_SOCKET is
 * the inherited socket over which the channel's memory comes first. Nothing else is open. The
 * environment holds what was granted. All requests to the worker are frames; it is single-threaded
 * until the plugin is open. While no call runs, the worker rings (notice.h) after each frame, as
 * the supervisor waits for many workers at once. Once the plugin is loaded, the host receives
 * nothing from the socket: a descriptor that a plugin sent would be the host's to close, and to
 * close some takes as long as another machine likes.
 *
 *     start: die with the host (PR_SET_PDEATHSIG, set before anything can go wrong)
 *            take the channel, read FRAME_START
 *            crash handler, sandbox, then the plugin: dlopen, compare tables, open();
 *            or the library and its one function (plugin/foreign.h)
 *            READY
 *     then:  CALL ... RESULT or FAILURE, until END: close(), exit 0 */
#pragma once

/* The inherited socket. */
#define WORKER_SOCKET  3
/* The inherited pipe once more, for notices (notice.h): a plugin may do with 1 and 2 what it
 * likes. */
#define WORKER_NOTICES 4

/* Exit statuses of a worker that exits by itself. */
enum worker_exit {
    WORKER_EXIT_DONE = 0,     /* after END */
    WORKER_EXIT_REFUSED = 10, /* REFUSED was sent */
    WORKER_EXIT_PROTOCOL = 11 /* the host sent an invalid frame or has ended */
};

/** The worker's main function; does not return. */
_Noreturn void child_main(void);
