/* files.h - the plugin files that a host knows, and what it knows of each.
 *
 * A file is known from the moment it is seen in a folder. What is done to one of them (look,
 * copy, check, exchange) is done by one thread at a time, which has taken it; files do not wait
 * for each other. */
#pragma once

#include <pthread.h>

#include "api/generation.h"
#include "store/generations.h"

/* In-process generations of one file that stay mapped for ever, before the next one has to run
 * isolated: memory that nothing gives back must have an end. */
#define RESIDENT_GENERATIONS_MAX 3u

/* What became of a generation that was replaced or removed. */
enum retired_state {
    RETIRED_DRAINING, /* calls of it still run, or its workers are ending */
    RETIRED_GONE,
    RETIRED_PENDING, /* its image may go later */
    RETIRED_RESIDENT /* its image stays */
};

struct retired {
    struct retired *next; /* older */
    uint32_t generation;
    enum retired_state state;
    char cause[UNLOAD_CAUSE_MAX];
    struct unload *unload; /* of one that is PENDING: to look at it again. Its file's taker's */
};

/* A content that a file has had. */
struct file_content {
    uint8_t sha256[STAGE_HASH_SIZE];
};

/* All files of a host; guarded by host->generations_lock, as are what their structs say so of. */
struct plugin_files {
    struct plugin_file *first;
    struct plugin_file **end; /* where the next one goes; NULL while there is none */
    struct plugin_file **slots;
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t count;
    pthread_cond_t changed; /* a file was given back, queued, or one of its generations ended */
};

void files_init(struct plugin_files *files);

struct plugin_file {
    struct plugin_file *next;         /* in the order in which they became known */
    struct plugin_file *hash_next;    /* with the same hash, as far as it is used */
    uint32_t hash;                    /* of the path */
    char *path;                       /* as a scan gives it */
    const struct scan_folder *folder; /* of host->places */

    /* Guarded by host->generations_lock. */
    bool taken;
    pthread_t taker;
    struct generation *serving; /* whose tools are registered, while anybody uses it; or NULL */
    struct retired *retired;    /* the newest first */
    bool queued;                /* to be looked at by the watcher */
    uint64_t due_ns;            /* not before this */
    uint32_t tries;             /* how often it was found changing */
    uint32_t round;             /* of looking through its folder, in which it was there */

    /* Who has taken it. */
    bool exists;
    struct file_identity identity; /* when it was last looked at */
    bool settled;                  /* a change since then would show in the identity */
    bool is_refused;     /* what is in it now does not serve, or not all that is known of it */
    uint32_t newest;     /* number of the last generation that was made */
    char *previous_path; /* the copy of the content that served before, kept for going back; it is
                          * written under host->generations_lock */

    /* Guarded by host->contents.lock. */
    struct file_content *contents; /* what it has had, the newest first; room for all that the
                                    * store keeps, or NULL: not read yet */
    size_t content_count;
};

/** The file at a path, or NULL. [any-thread] */
struct plugin_file *files_find(struct toolrack *host, const char *path);
/** The same, made when it is not known; NULL when out of memory. [any-thread] */
struct plugin_file *files_add(struct toolrack *host, const char *path,
                              const struct scan_folder *folder);
/** A file that is none, without a path: what a generation has that does not come of one. It is in
 * no list; NULL when out of memory. [any-thread] */
struct plugin_file *files_create_apart(const struct scan_folder *folder);
void files_destroy_apart(struct plugin_file *file);
/** The one after it, or the first for NULL: in the order in which they became known. [any-thread]
 */
struct plugin_file *files_next(struct toolrack *host, const struct plugin_file *file);

/** Take a file, waiting until `until_ns` of the monotonic clock at most (0: for as long as it
 * takes). False: not by then, or this very thread has it. [any-thread] */
bool files_take(struct toolrack *host, struct plugin_file *file, uint64_t until_ns);
void files_give(struct toolrack *host, struct plugin_file *file);

/** The generation that serves, with a reference on its plugin; or NULL. [any-thread] */
struct plugin *files_serving(struct toolrack *host, struct plugin_file *file);
/** Say which one serves from now on; NULL is none. [the file's taker] */
void files_serve(struct toolrack *host, struct plugin_file *file, struct plugin *plugin);

/** Whether a folder leads to the same place as one before it, which then has its files. */
bool files_folder_is_repeated(const struct toolrack *host, const struct scan_folder *folder);

/** Release all. Nobody uses them any more. */
void files_finish(struct toolrack *host);
