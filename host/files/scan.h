/* scan.h - which plugin files are in the folders, and what they say.
 *
 * Each file is looked at with stat; one that is as the cache knows it is not
 * opened, any other is read by descriptor_read(). Nothing is loaded. A folder or
 * file that cannot be used is a row with a reason, never a failed scan.
 *
 * What the cache does:
 *
 *  - It keeps what was read, findings included, of every file that was not
 *    changed during the two seconds before the scan (SCAN_SETTLE_NS, by ctime): the
 *    times of a younger file might not show one more change. Such a file is read
 *    again by each scan until it has settled.
 *  - It keeps nothing of what lies outside the file's content: dangling links,
 *    permissions, I/O errors, files that change while they are read.
 *  - A scan replaces the entries of the folders that it has listed; those of gone
 *    files go. Entries of other folders stay, up to CACHE_FOLDERS_MAX folders
 *    in all, the ones listed last first. So several programs may share a cache, and
 *    a folder that is away for a while is remembered.
 *  - It is written only when it would say something new. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "plugin/descriptor.h"
#include "plugin/identity.h"
#include "plugin/pin.h"
#include "plugin/trust.h"

/** In whose process the plugins of a folder run, and what holds for tools whose text changes after
 * they were approved; as the administrator says. */
enum isolation { ISOLATION_UNSTATED, ISOLATION_PROCESS, ISOLATION_NONE };

struct scan_folder {
    const char *path;
    enum trust trust;
    bool optional; /* a default folder: that it does not exist is no news */
    enum isolation isolation;
    enum pin_policy pin;
};

/** One file whose name ends in .so and does not begin with a dot. */
struct scan_file {
    const char *path; /* folder, slash, name; as given, links not resolved */
    size_t folder;    /* which of the folders given */
    enum trust trust;
    enum isolation isolation; /* as its folder says, likewise trust and pin */
    enum pin_policy pin;
    struct file_identity identity; /* of what the path leads to */
    struct descriptor *descriptor; /* a reference of the scan; never NULL */
    bool cached;                   /* taken from the cache, not read */
};

/** One folder that could not be read. */
struct scan_trouble {
    const char *path;
    const char *reason; /* what and what to do, one line */
};

struct scan {
    struct scan_file *files; /* by folder as given, then by name in byte order */
    size_t file_count;
    struct scan_trouble *troubles;
    size_t trouble_count;
    struct arena arena; /* holds all of the above */
};

struct scan_options {
    const struct scan_folder
            *folders; /* a folder given twice is scanned once, at its first place */
    size_t folder_count;
    const char *cache_path; /* NULL: no cache; a missing, damaged or foreign one is written again */
    struct descriptor_options descriptor;
    const struct log *log;
    int64_t time_ns; /* what CLOCK_REALTIME says; 0: the scan asks it (tests look from later) */
};

/* How long a file must have been left alone to be cached; no file system tells times apart that
 * are further from each other. */
#define SCAN_SETTLE_NS (2 * (int64_t)CLOCK_NS_PER_S)

/** Scan. @return 0 with the result, to be released by scan_destroy(); TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int scan_run(const struct scan_options *options, struct scan **ret, struct toolrack_error *err);
void scan_destroy(struct scan *scan);
