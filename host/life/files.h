/* files.h - the plugin files that a host knows, and what it knows about each.
 *
 * A file is known from the moment it is seen in a folder. A thread takes a file before it looks at
 * it, copies, checks or exchanges it: one thread at a time, the file's taker. Files do not wait for
 * each other. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/lock.h"
#include "files/scan.h"

struct generation;
struct retired;

/* All files of a host. */
struct plugin_files {
    struct lock lock; /* guards the members below, and those of struct plugin_file that say so */
    pthread_cond_t changed; /* a file was given back, or queued */
    struct plugin_file *first;
    struct plugin_file **end; /* where the next file is appended */
    struct plugin_file **slots;
    uint32_t slot_count; /* a power of two, or 0 */
    uint32_t count;
    struct arena arena; /* of keys, and of folders that lead elsewhere than at first */
    struct moved_folder *moved;
    bool has_links; /* some keys are not the paths */
};

/* A worker crashed: perhaps an earlier content is to serve (back.h). */
struct file_crash {
    uint8_t sha256[32]; /* of the content that crashed */
    int64_t time_s;
    char reason[];
};

struct plugin_file {
    struct plugin_file *next;      /* in the order in which they became known */
    struct plugin_file *hash_next; /* the next file in the same slot */
    uint32_t hash;                 /* of the path */
    const char *path;              /* as a scan gives it; NULL: files_create_apart() */

    /* Changed by the file's taker only, in files_locate(); what they point to lives as long as the
     * files. */
    _Atomic(const struct scan_folder *) folder; /* one of the places' folders, as it was then */
    _Atomic(const char *)
            key; /* what the store knows the file by: the folder without symbolic
                    links, slash, name; of a library's function its identity; NULL: not known yet */

    /* Guarded by the lock of the files. */
    bool taken;
    pthread_t taker;
    bool queued;              /* the watcher is to look at it */
    uint64_t due_ns;          /* not before this */
    uint32_t tries;           /* how many looks in a row found it changing */
    bool goes_back;           /* what serves could not be loaded: an earlier content is to serve */
    struct file_crash *crash; /* that nobody has looked at, on the heap; or NULL */
    uint32_t round;           /* the last rescan of its folder that found it */

    /* Used only by the file's taker. */
    bool exists;
    struct file_identity identity; /* when it was last looked at */
    bool settled;                  /* a later change will show in the identity */
    bool exposure_told;            /* the log has a warning that others could change it */
    bool is_refused; /* its present content does not serve, or some of its tools were refused */
    uint64_t told;   /* which refusal was told last (reload_tell_refused()); 0: none */
    uint32_t newest; /* number of the last generation that was made */

    atomic_bool has_failure; /* the store has one of its contents that could not be loaded */

    /* Used by generation.c, guarded by its lock. */
    struct generation *serving; /* whose tools are registered; NULL: none, or its plugin is gone */
    char *previous_path; /* the copy of the content that served before, kept for a rollback */

    /* Used by retire.c, guarded by its lock. */
    struct retired *retired; /* the newest first */
};

void files_init(struct plugin_files *files);
/** Release all files. No other thread may use them. */
void files_finish(struct plugin_files *files);

/** The file at a path, or NULL. [any-thread] */
struct plugin_file *files_find(struct plugin_files *files, const char *path);
/** The file at a path; added if it is not known. NULL when out of memory. [any-thread] */
struct plugin_file *files_add(struct plugin_files *files, const char *path,
                              const struct scan_folder *folder);
/** The file that the store knows by a key, or NULL. [any-thread] */
struct plugin_file *files_find_key(struct plugin_files *files, const char *key);
/** See where the folder of a file leads now. A symbolic link that leads to another folder than
 * before makes another file of it, of another origin, as it would be for a host that starts now.
 * @return false: out of memory. [the file's taker] */
bool files_locate(struct plugin_files *files, struct plugin_file *file);
/** A placeholder for a generation that has no file: it has no path and is in no list. NULL when out
 * of memory. [any-thread] */
struct plugin_file *files_create_apart(const struct scan_folder *folder);
void files_destroy_apart(struct plugin_file *file); /* NULL is ignored */
/** The next file in the order in which they became known; the first for NULL. [any-thread] */
struct plugin_file *files_next(struct plugin_files *files, const struct plugin_file *file);

/** Take a file, waiting until `until_ns` of the monotonic clock at most (0: without limit). False:
 * not by then, or this thread has it already. [any-thread] */
bool files_take(struct plugin_files *files, struct plugin_file *file, uint64_t until_ns);
void files_give(struct plugin_files *files, struct plugin_file *file);

/** Note the number of the rescan that found a file in its folder. [any-thread] */
void files_set_round(struct plugin_files *files, struct plugin_file *file, uint32_t round);
/** Whether it is a file of that folder and that rescan did not find it. [any-thread] */
bool files_was_missed(struct plugin_files *files, const struct plugin_file *file,
                      const struct scan_folder *folder, uint32_t round);

/** Assert the invariants of files.c. [any-thread] */
void files_check(struct plugin_files *files);
