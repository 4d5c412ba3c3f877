/* changes.h - what changes in the host, told to the clients that want to know.
 *
 * Many changes at once (a reload, a profile of tools that is disabled) are told as one. */
#pragma once

struct mcp;

struct changes;

/** Listen to the host. NULL: out of memory. */
struct changes *changes_create(struct mcp *mcp);
/** Stop listening: nothing is told from then on, but what is being told. */
void changes_stop(struct changes *changes);
/** Stopped, and after the timers; NULL is ignored. */
void changes_destroy(struct changes *changes);
