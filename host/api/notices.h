/* notices.h - what plugins report outside of calls: merged, limited, and told on a thread of its
 * own.
 *
 * A plugin may report from any thread, while it is in a call or not, and as often as it likes. What
 * is waiting to be told is in a list, each thing once; the thread tells all of it, and then rests
 * for NOTICES_PAUSE_MS. So a thing is told soon after it was reported, and never more often than
 * that. */
#pragma once

#include "base/cleanup.h"
#include "base/log.h"
#include "plugin/image-host.h"

/* Rest between two rounds. */
#define NOTICES_PAUSE_MS    50u
/* Most resources of one plugin that wait to be told as updated; when there are more, its list is
 * told as changed instead. */
#define NOTICES_UPDATED_MAX 256u
/* Most things that wait at once; more are dropped. */
#define NOTICES_MAX         4096u

struct notices;

struct notices_options {
    const struct log *log;
    /* Tell one thing; `text` is valid and never too long. On the thread of the notices, no lock
     * held. */
    void (*tell)(void *user, const char *plugin_id, enum plugin_notice notice, const char *text);
    void *user;
};

/** NULL when out of memory. */
struct notices *notices_create(const struct notices_options *options);
/** Tell nothing more, and end the thread. What is reported from now on is dropped. NULL is ignored.
 */
void notices_stop(struct notices *notices);
/** Nobody may report any more. NULL is ignored. */
void notices_destroy(struct notices *notices);

/** A plugin reports something; NOTICE_COUNT: too much, and some was dropped. A text that is no URI,
 * or no name of a tool, is dropped. [any-thread] */
void notices_add(struct notices *notices, const char *plugin_id, enum plugin_notice notice,
                 const char *text);
