/* files.h - the plugin files that a host knows, and what it knows of each.
 *
 * A file is known from the moment it is seen in a folder. What is done to one of them (look,
 * copy, check, exchange) is done by one thread at a time, which has taken it; files do not wait
 * for each other. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "files/scan.h"

struct generation;
struct retired;

/* All files of a host. */
struct plugin_files {
    struct lock lock;       /* guards what follows, and what struct plugin_file says so of */
    pthread_cond_t changed; /* a file was given back, or queued */
    struct plugin_file *first;
    struct plugin_file **end; /* where the next one goes; NULL while there is none */
    struct plugin_file **slots;
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t count;
};

struct plugin_file {
    struct plugin_file *next;         /* in the order in which they became known */
    struct plugin_file *hash_next;    /* with the same hash, as far as it is used */
    uint32_t hash;                    /* of the path */
    char *path;                       /* as a scan gives it; NULL: files_create_apart() */
    const struct scan_folder *folder; /* of the places */

    /* Guarded by the lock of the files. */
    bool taken;
    pthread_t taker;
    bool queued;     /* to be looked at by the watcher */
    uint64_t due_ns; /* not before this */
    uint32_t tries;  /* how often it was found changing */
    uint32_t round;  /* of looking through its folder, in which it was there */

    /* Who has taken it. */
    bool exists;
    struct file_identity identity; /* when it was last looked at */
    bool settled;                  /* a change since then would show in the identity */
    bool is_refused; /* what is in it now does not serve, or not all that is known of it */
    uint32_t newest; /* number of the last generation that was made */

    /* generation.c's, guarded by its lock. */
    struct generation *serving; /* whose tools are registered, while anybody uses it; or NULL */
    char *previous_path; /* the copy of the content that served before, kept for going back */

    /* retire.c's, guarded by its lock. */
    struct retired *retired; /* the newest first */
};

void files_init(struct plugin_files *files);
/** Release all. Nobody uses them any more. */
void files_finish(struct plugin_files *files);

/** The file at a path, or NULL. [any-thread] */
struct plugin_file *files_find(struct plugin_files *files, const char *path);
/** The same, made when it is not known; NULL when out of memory. [any-thread] */
struct plugin_file *files_add(struct plugin_files *files, const char *path,
                              const struct scan_folder *folder);
/** What takes the place of a file for a generation that does not come of one: without a path, in no
 * list; NULL when out of memory. [any-thread] */
struct plugin_file *files_create_apart(const struct scan_folder *folder);
void files_destroy_apart(struct plugin_file *file); /* NULL is ignored */
/** The one after it, or the first for NULL: in the order in which they became known. [any-thread]
 */
struct plugin_file *files_next(struct plugin_files *files, const struct plugin_file *file);

/** Take a file, waiting until `until_ns` of the monotonic clock at most (0: for as long as it
 * takes). False: not by then, or this very thread has it. [any-thread] */
bool files_take(struct plugin_files *files, struct plugin_file *file, uint64_t until_ns);
void files_give(struct plugin_files *files, struct plugin_file *file);

/** Note in which round of looking through its folder a file was there. [any-thread] */
void files_set_round(struct plugin_files *files, struct plugin_file *file, uint32_t round);
/** Whether it is a file of that folder and was not there in that round. [any-thread] */
bool files_was_missed(struct plugin_files *files, const struct plugin_file *file,
                      const struct scan_folder *folder, uint32_t round);

/** Assert the invariants of files.c. [any-thread] */
void files_check(struct plugin_files *files);
