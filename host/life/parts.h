/* parts.h - the room as a struct of its parts, for the files that connect them.
 *
 *     life        the room as a whole; watcher, report, opening: who asks for a reload
 *     reload      one file has changed; rescan: those of a folder; rollback, back: to an earlier
 *                 content; release, configured, foreign
 *     isolate     workers of a generation        retire   its end        trial   its first calls
 *     copier      calls wait for copies
 *     staging     the copies that are loaded
 *     generation  a loaded plugin, and which one serves     content   rollbacks, history
 *     files       the table of plugin files                 policy    quarantine    allowance
 *
 * A part is used by the parts above it, and has pointers to the parts below it that it uses.
 *
 * Locks, in the order in which they are taken; each belongs to its part, and most are held alone:
 *
 *  (1) a file is taken by one thread at a time, before all locks;
 *  (2) generation.stage_lock, while its file is copied; then staging.use, for reading while a copy
 *      is made or found and no generation has it yet, for writing while unneeded copies are
 *      removed;
 *  (3) the locks of staging, copier, isolate, trials (then the lock of a trial) and retirement: a
 *      thread that holds one of them takes no other lock of the room;
 *  (4) the lock of the generations, then the lock of the files.
 *
 *  No lock is held while code of a plugin or a callback of the app runs, except (2), whose readers
 *  do not wait for each other. */
#pragma once

#include <stdatomic.h>

#include "life/content.h"
#include "life/copier.h"
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
    struct copier copier;
    struct isolate isolate;
    struct retirement retirement;
    struct trials trials;
    atomic_uint rounds;      /* rescans of folders, counted */
    struct watcher *watcher; /* NULL: the folders are not watched */
};
#define LIFE_MAGIC 0x6c696665u

static inline void life_tell(const struct life *life, enum toolrack_event_kind kind,
                             const char *plugin_id, const char *message) {
    life->options.event(life->options.host, kind, plugin_id, message);
}
