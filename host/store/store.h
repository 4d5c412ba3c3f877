/* store.h - what must survive: the settings that were made at run time.
 *
 * One SQLite database in the state folder. It is opened for reading when the host
 * opens, and made when there is first something to keep; a decision is on disk
 * before the function returns. The user's file is never deleted: one that is
 * damaged or of a newer toolrack is left alone, and the host serves without it; one
 * of an older toolrack is upgraded when it is first written to. Without a state folder the
 * database is in memory, made when there is first something to keep, and ends with the store.
 *
 * What else survives has a header of its own: grants.h, approvals.h and pins.h, which
 * consent.h ties together, pending.h, quarantine.h, crashes.h, generations.h, decisions.h,
 * calls.h, statistics.h, marks.h, feedback.h, health.h, defaults.h, and loading.h, which keeps
 * files beside the database. writer.h is the thread that writes what need not be on the disk at
 * once. All have this in common:
 *
 *  - Structs and texts given are borrowed; those given to a visitor live until it
 *    returns. Texts are UTF-8 and at most STORE_TEXT_SIZE_MAX bytes where nothing else
 *    is said, or TOOLRACK_E_LIMIT_EXCEEDED says which is longer.
 *  - A function that keeps or removes something has done it on the disk when it returns
 *    0, and has done nothing when it fails: TOOLRACK_E_IO says why (a full disk, a folder
 *    that may not be written to, a damaged file, a newer one), TOOLRACK_E_NO_MEMORY.
 *    What was kept before can still be read.
 *  - A function that reads visits all or, when it fails, nothing: TOOLRACK_E_IO,
 *    TOOLRACK_E_NO_MEMORY. A visitor may call the store.
 *  - The time is the caller's: seconds since 1970. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store;

/* Longest text of those that people and programs give: names, paths, reasons. */
#define STORE_TEXT_SIZE_MAX 4096u

/* Room for the name of who decided, or a version, with its final zero; more is cut. */
#define STORE_WHO_SIZE 128u

/* Bytes of a SHA-256; all zero stands for "unknown" where that is allowed. */
#define STORE_SHA256_SIZE 32u

/** Open the store of a state folder, which need not exist yet.
 *
 * @param state_dir  copied; NULL: the store is in memory
 * @param err        when the file is there and cannot be used: says so. The store is returned all
 *                   the same; it has no settings and every attempt to keep one fails likewise.
 * @return a store, to be released with store_close(); NULL when out of memory. [any-thread] */
struct store *store_open(const char *state_dir, struct toolrack_error *err);
void store_close(struct store *store);

/** One setting, by "name" or "name@version"; `has_` says which of the two were made. */
struct store_setting {
    const char *selector;
    bool has_enabled;
    bool enabled;
    bool has_priority;
    int32_t priority;
};

/** Call `visit` for each setting kept.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int store_read_settings(struct store *store,
                        void (*visit)(void *user, const struct store_setting *setting), void *user,
                        struct toolrack_error *err);

/** Keep a setting; what has_ leaves out stays as it was kept. One by name alone takes the place of
 * those of single versions. Durable on return.
 * @return 0; TOOLRACK_E_IO: nothing was kept. [any-thread] */
int store_keep_setting(struct store *store, const struct store_setting *setting,
                       struct toolrack_error *err);
