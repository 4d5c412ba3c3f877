/* back.h - a file goes back by itself to its last good content: from one that cannot be loaded, or
 * ended the process that loaded it, or crashes when it is new. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct generation;
struct life;
struct plugin;
struct plugin_file;

/** From a content that ended the process which loaded it. False: there is no good content before
 * it. [the file's taker] */
bool back_from_crash(struct life *life, struct plugin_file *file, int64_t since_s);

/** A plugin that serves could not be loaded: go back from its content soon, on another thread.
 * [any-thread] */
void back_soon(struct life *life, struct plugin *plugin);
/* How long a content is new. A crash in that time is taken as the fault of the content: the one
 * before it is used again. A later crash only counts for the quarantine. */
#define BACK_NEW_S 60

/** A worker of a generation crashed: if its content is new in place of a good one, and the policy
 * does not forbid it, go back from it soon, on another thread. [any-thread] */
void back_note_crash(struct life *life, struct generation *generation, const char *reason);

/** The work of that thread. */
void back_now(void *life);
/** All generations have ended: store what that thread has not done, for the next start. */
void back_at_end(struct life *life);
