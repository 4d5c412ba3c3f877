/* parts.h - the room as those of its files see it that tie its parts together.
 *
 *     life        the room as a whole; watcher, report, opening: who asks for a reload
 *     reload      one file has changed; rescan: those of a folder; release, configured, foreign
 *     isolate     workers of a generation        retire   its end        trial   its first calls
 *     staging     the copies that are loaded
 *     generation  a loaded plugin, and which one serves     content   rollbacks, history
 *     files       the table of plugin files                 policy    quarantine
 *
 * A part is used by those above it, and has pointers to those below it that it uses.
 *
 * Locks, in the order in which they are taken; each is its part's own, and most are held alone:
 *
 *  (1) a file is taken, before all locks, by one thread at a time;
 *  (2) generation.stage_lock, while its file is copied; then staging.use, for reading while a copy
 *      is made or found and no generation has it yet, for writing while unneeded ones are removed;
 *  (3) the locks of staging, isolate, trials (then that of a trial) and retirement: no lock of the
 *      room is taken by who holds one of them;
 *  (4) that of the generations, then that of the files.
 *
 *  No lock is held while code of a plugin runs, or the app is told of something; but for (2), whose
 *  readers do not wait for each other. */
#pragma once

#include <stdatomic.h>

#include "life/content.h"
#include "life/files.h"
#include "life/generation.h"
#include "life/isolate.h"
#include "life/options.h"
#include "life/quarantine.h"
#include "life/retire.h"
#include "life/staging.h"
#include "life/trial.h"

struct watcher;

struct life {
    uint32_t magic; /* LIFE_MAGIC */
    struct life_options options;
    struct plugin_files files;
    struct generations generations;
    struct staging staging;
    struct isolate isolate;
    struct retirement retirement;
    struct trials trials;
    atomic_uint rounds;      /* of looking through folders */
    struct watcher *watcher; /* NULL: the folders are not watched */
};
#define LIFE_MAGIC 0x6c696665u

static inline void life_tell(const struct life *life, enum toolrack_event_kind kind,
                             const char *plugin_id, const char *message) {
    life->options.event(life->options.host, kind, plugin_id, message);
}
