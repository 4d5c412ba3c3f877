/* load.h - one loaded image of a plugin file in this process: a generation.
 *
 * Code of the plugin first runs when it is loaded. Before that, the identity of the file is
 * compared with that of the scan; after it, the table in memory with the table that was read: a
 * plugin whose tables differ is refused. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"
#include "plugin/image-host.h"
#include "plugin/offer.h"

struct image;

/** Load a file and call its open().
 *
 * @param path      the file
 * @param identity  the identity of the file when `desc` was read
 * @param desc      the descriptor that was read; borrowed during the call
 * @param host      borrowed during the call
 * @return 0 with an image, to be released by image_unload(); TOOLRACK_E_REFUSED when the file has
 *         changed, cannot be loaded or differs from `desc`; TOOLRACK_E_EXECUTION_FAILED when its
 *         open() failed; TOOLRACK_E_NO_MEMORY. [any-thread, one at a time for one file] */
int image_load(const char *path, const struct file_identity *identity,
               const struct descriptor *desc, const struct image_host *host, struct image **ret,
               struct toolrack_error *err);

/** The same for a descriptor in this process's own memory, from which `desc` was copied: only
 * open() is called. `plugin` is borrowed during the call; its functions must stay valid. */
int image_adopt(const struct tr_plugin *plugin, const struct descriptor *desc,
                const struct image_host *host, struct image **ret, struct toolrack_error *err);

/** Whether the loader has an image of that path in this process. [any-thread] */
bool image_is_mapped(const char *path);

/* The state of an image after unloading. It is checked, since dlclose() does not unmap every
 * library. */
enum unload_verdict {
    UNLOAD_GONE,
    UNLOAD_PENDING, /* still mapped, may be unmapped later: see unload_recheck() */
    UNLOAD_RESIDENT /* stays mapped as long as the process lives */
};

/* Longest cause, with the terminating zero; a longer one is cut. */
#define UNLOAD_CAUSE_MAX 128

/* A plain value: it needs no release; without it the image stays as it is. */
struct unload {
    enum unload_verdict verdict;
    char cause[UNLOAD_CAUSE_MAX]; /* if not gone: "NODELETE", "GNU_UNIQUE symbol NAME", "a thread of
                                     the plugin still runs" and so on; else "" */

    /* For unload_recheck(). */
    void *handle;      /* not closed yet, since a thread runs in it; or NULL */
    uintptr_t address; /* where it is loaded */
    uint64_t loaded;   /* when it was loaded: threads_moment() */
    bool has_thread_locals;
    bool starts_threads;
    char resident_reason[UNLOAD_CAUSE_MAX]; /* why it stays, if the file showed it; or "" */
    char path[PATH_MAX];                    /* as the loader knows it */
};

/** Call close() and unload; NULL is ignored. No call may be running.
 *
 * A library in which a thread still runs is not closed: that would crash the process. A pending
 * image stays pending until unload_recheck() finds that it can be unloaded.
 *
 * @return its state; memory of the app is never unloaded, and counts as gone. [any-thread, where it
 *         may wait some milliseconds for a running thread] */
struct unload image_unload(struct image *image);

/** Check an image again that was not gone, and unload it if that is possible now. The file may have
 * been removed meanwhile, but not replaced by another file. [any-thread] */
void unload_recheck(struct unload *unload);

/** The functions of one tool of the descriptor that the image was made with, or of what it offers
 * (offer.h); one of them is set.
 * They are valid as long as the image. [any-thread] */
void image_entry(const struct image *image, const struct descriptor_tool *tool,
                 void (**ret_function)(void), tr_status (**ret_run)(struct tr_call *call));
