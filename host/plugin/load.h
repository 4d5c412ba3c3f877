/* load.h - one loaded image of a plugin file in this process: a generation.
 *
 * Loading is the first moment at which code of the plugin runs. Before it, the
 * file is compared with what the scan saw; after it, the table in memory with the table that was
 * read: a plugin that shows one face to the reader and another to the loader is refused. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"

struct image;

/* What a plugin may ask of its host while it opens. */
struct image_host {
    const struct log *log;
    /* The plugin's setting at a path as JSON or plain text, or NULL; lives until open() returned.
     */
    const char *(*config)(void *user, const char *plugin_id, const char *path);
    void *user;
};

/** Load a file and call its open().
 *
 * @param path      the file
 * @param identity  what the file was when `desc` was read
 * @param desc      what was read; borrowed during the call
 * @param host      borrowed during the call
 * @return 0 with an image, to be released by image_unload(); TOOLRACK_E_REFUSED when the file has
 *         changed, cannot be loaded or differs from `desc`; TOOLRACK_E_EXECUTION_FAILED when its
 *         open() failed; TOOLRACK_E_NO_MEMORY. [any-thread, one at a time for one file] */
int image_load(const char *path, const struct file_identity *identity,
               const struct descriptor *desc, const struct image_host *host, struct image **ret,
               struct toolrack_error *err);

/** The same for a descriptor in this process's own memory, from which `desc` was copied: only
 * open() is called. `plugin` is borrowed during the call, its functions must stay. */
int image_adopt(const struct tr_plugin *plugin, const struct descriptor *desc,
                const struct image_host *host, struct image **ret, struct toolrack_error *err);

/** Whether the loader has an image of that path in this process. [any-thread] */
bool image_is_mapped(const char *path);

/* What became of an image that was unloaded: looked up, not believed, for a closed library goes
 * only if nothing in it says otherwise. */
enum unload_verdict {
    UNLOAD_GONE,
    UNLOAD_PENDING, /* still mapped, and may go later: see unload_recheck() */
    UNLOAD_RESIDENT /* stays mapped as long as the process lives */
};

/* Longest cause, with its final zero; what is longer is cut. */
#define UNLOAD_CAUSE_MAX 128

/* A plain value: it may be forgotten, and the image then stays as it is. */
struct unload {
    enum unload_verdict verdict;
    char cause[UNLOAD_CAUSE_MAX]; /* of what is not gone: "NODELETE", "GNU_UNIQUE symbol NAME",
                                   * "a thread of the plugin still runs" and so on; else "" */

    /* For unload_recheck(). */
    void *handle;      /* not closed yet: a thread runs in it; or NULL */
    uintptr_t address; /* where it is loaded */
    uint64_t loaded;   /* when: threads_moment() */
    bool has_thread_locals;
    bool starts_threads;
    char resident_reason[UNLOAD_CAUSE_MAX]; /* why it stays, as far as the file showed; or "" */
    char path[PATH_MAX];                    /* as the loader knows it */
};

/** Call close() and unload; NULL is ignored. No call may be running.
 *
 * A library in which a thread still runs is not closed: that would crash the process. What is
 * pending stays so until unload_recheck() finds that it may go.
 *
 * @return what became of it; memory of the app is never ours to unload, and counts as gone.
 * [any-thread, where it may wait some milliseconds for a thread to hold still] */
struct unload image_unload(struct image *image);

/** Look again at what was not gone, and let go of what may be unloaded by now. The path may have
 * been removed meanwhile, but not given to another file. [any-thread] */
void unload_recheck(struct unload *unload);

/** The functions of one tool of the descriptor that the image was made with; one of them is set.
 * They live as long as the image. [any-thread] */
void image_entry(const struct image *image, const struct descriptor_tool *tool,
                 void (**ret_function)(void), tr_status (**ret_run)(struct tr_call *call));
