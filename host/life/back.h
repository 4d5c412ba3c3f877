/* back.h - a file goes back by itself to its last good content. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct life;
struct plugin;
struct plugin_file;

/** From a content that ended the process which loaded it. False: there is no good content before
 * it. [the file's taker] */
bool back_from_crash(struct life *life, struct plugin_file *file, int64_t since_s);

/** A plugin that serves could not be loaded: go back from its content soon, on another thread.
 * [any-thread] */
void back_soon(struct life *life, struct plugin *plugin);
/** The work of that thread. */
void back_now(void *life);
