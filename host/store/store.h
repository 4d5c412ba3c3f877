/* store.h - what must survive the process; in this header, the settings made at run time.
 *
 * One SQLite database in the state folder. It is opened for reading when the host opens, and
 * created at the first write; a decision is on the disk before the function returns. The file is
 * never deleted: a file that is damaged or written by a newer toolrack is not changed, and the host
 * runs without it; a file of an older toolrack is upgraded at the first write. Without a state
 * folder the database is in memory, created at the first write, and ends with the store.
 *
 * Other data has its own headers: grants.h, approvals.h and pins.h (changed together by consent.h),
 * pending.h, quarantine.h, crashes.h, failures.h, generations.h, decisions.h, calls.h,
 * statistics.h, marks.h, feedback.h, health.h, selections.h, vectors.h, runs.h, defaults.h,
 * identities.h, and loading.h, which keeps files beside the database. writer.h is the thread that
 * writes data that need not be on the disk at once; hosts.h tells the other hosts of the state
 * folder what was stored. For the others:
 *
 *  - Structs and strings passed in are borrowed; those passed to a visitor are valid until it
 *    returns. Strings are UTF-8 and at most STORE_TEXT_SIZE_MAX bytes unless noted otherwise; else
 *    TOOLRACK_E_LIMIT_EXCEEDED names the one that is longer.
 *  - A function that stores or removes something returns 0 when that is on the disk. When it fails,
 *    nothing has changed: TOOLRACK_E_IO with the reason (a full disk, a folder without write
 *    permission, a damaged file, a file of a newer toolrack), TOOLRACK_E_NO_MEMORY. Earlier data
 *    can still be read.
 *  - A function that reads visits all rows, or none when it fails: TOOLRACK_E_IO,
 *    TOOLRACK_E_NO_MEMORY. A visitor may call the store.
 *  - The caller gives the time: seconds since 1970. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store;
struct store_shared_order; /* shared.h */

/* Longest string that people or programs give: names, paths, reasons. */
#define STORE_TEXT_SIZE_MAX 4096u

/* Room for a person's name, or a version, with its final zero; longer ones are cut. */
#define STORE_WHO_SIZE 128u

/* Bytes of a SHA-256; all zero means "unknown" where that is allowed. */
#define STORE_SHA256_SIZE 32u

/** Open the store of a state folder, which need not exist yet.
 *
 * @param state_dir  copied; NULL: the store is in memory
 * @param err        set when the file exists and cannot be used. The store is returned
 * nevertheless; it has no settings, and every attempt to store one fails with the same error.
 * @return a store, to be released with store_close(); NULL when out of memory. [any-thread] */
struct store *store_open(const char *state_dir, struct toolrack_error *err);
/** The host is open: what it has read so far of a store_open() is kept for the next one
 * (start-cache.h), and from now on the file is read. [any-thread] */
void store_has_started(struct store *store);
/** store_open() for a host that will most likely store something: the file is opened only once. */
struct store *store_open_to_write(const char *state_dir, struct toolrack_error *err);

/** Whether the file of a state folder is there, has no byte and has been so for more than
 * STORE_BLANK_S: it was cut off, or the process that made it has ended. A younger one is being
 * begun by another process. [any-thread] */
#define STORE_BLANK_S 10
bool store_is_blank(const char *state_dir);
void store_close(struct store *store);

/** The settings of a "name" or "name@version"; `has_` says which of the two are set. A tool is
 * disabled whoever provides the name; it is enabled, and has its priority, for the plugin that
 * provided it. */
struct store_setting {
    const char *selector;
    const char *plugin; /**< its identity (identities.h); "": whoever provides the name. Set when
                             read; ignored when stored */
    bool has_enabled;
    bool enabled;
    bool has_priority;
    int32_t priority;
    bool clears; /**< when stored: those that are set are set no more, for this selector alone */
    const struct store_shared_order *order; /**< when stored; NULL: a person's decision */
};

/** Call `visit` for each stored setting, in the order in which they apply.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int store_read_settings(struct store *store,
                        void (*visit)(void *user, const struct store_setting *setting), void *user,
                        struct toolrack_error *err);

/** Store a setting; a member without its `has_` is not changed. A setting by name alone replaces
 * those of single versions. What disables a tool replaces what enabled it, for all plugins. Durable
 * on return.
 * @param plugins  the identities that provide the tool
 * @return 0; TOOLRACK_E_IO: nothing was stored. [any-thread] */
int store_keep_setting(struct store *store, const struct store_setting *setting,
                       const char *const *plugins, size_t plugin_count, struct toolrack_error *err);
