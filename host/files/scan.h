/* scan.h - which plugin files are in the folders, and their descriptors.
 *
 * The scan calls stat() for each file. A file that matches the cache is not opened; any other is
 * read by descriptor_read(). Nothing is loaded. An unusable folder or file becomes a row with a
 * reason; the scan does not fail.
 *
 * What the cache does:
 *
 *  - It keeps the descriptor, findings included, of every file that was not changed during the two
 *    seconds before the scan (SCAN_SETTLE_NS, by ctime): the times of a younger file might not show
 *    a further change. Each scan reads such a file again until it has settled.
 *  - It does not keep problems outside the file's content: dangling links, permissions, I/O errors,
 *    files that change while they are read.
 *  - A scan replaces the entries of the folders that it has listed; entries of removed files are
 *    dropped. Entries of other folders stay, up to CACHE_FOLDERS_MAX folders in all, the most
 *    recently listed first. So several programs may share a cache, and a folder that is missing for
 *    a while is remembered.
 *  - It is written only when its content would change. */
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

/** In whose process the plugins of a folder run; set by the administrator. */
enum isolation { ISOLATION_UNSTATED, ISOLATION_PROCESS, ISOLATION_NONE };

struct scan_folder {
    const char *path;
    const char *real; /* the same without symbolic links, when it was last looked at */
    enum trust trust;
    bool optional; /* a default folder: not reported when it does not exist */
    bool installs; /* of installed packages: what comes there is not tried out (life/installs.c) */
    enum isolation isolation;
    enum pin_policy pin;
    const char
            *origin; /* of its plugins (plugin/origin.h); the scan uses neither origin nor real */
};

/** One file whose name ends in .so and does not begin with a dot. */
struct scan_file {
    const char *path; /* folder, slash, name; as passed, links not resolved */
    size_t folder;    /* index of its folder in the options */
    enum trust trust;
    enum isolation isolation; /* isolation, trust and pin are those of its folder */
    enum pin_policy pin;
    struct file_identity identity; /* of the file, links followed */
    struct descriptor *descriptor; /* a reference of the scan; never NULL */
    const char *exposure;          /* how other users could change it (ownership.h), or NULL */
    bool cached;                   /* taken from the cache, not read */
};

/** One folder that could not be read, or that other users may change. */
struct scan_trouble {
    const char *path;
    const char *reason; /* cause and fix, one line */
};

struct scan {
    struct scan_file *files; /* by folder as passed, then by name in byte order */
    size_t file_count;
    struct scan_trouble *troubles;
    size_t trouble_count;
    struct arena arena; /* holds all of the above */
};

struct scan_options {
    const struct scan_folder
            *folders; /* a folder listed twice is scanned once, at its first place */
    size_t folder_count;
    const char *cache_path; /* NULL: no cache; an unusable one is written again */
    struct descriptor_options descriptor;
    const struct log *log;
    int64_t time_ns; /* the present CLOCK_REALTIME; 0: the scan reads it (tests set it) */
};

/* How long a file must be unchanged to be cached; every file system distinguishes times that are
 * further apart. */
#define SCAN_SETTLE_NS (2 * (int64_t)CLOCK_NS_PER_S)

/** Scan. @return 0 with the result, to be released by scan_destroy(); TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int scan_run(const struct scan_options *options, struct scan **ret, struct toolrack_error *err);
void scan_destroy(struct scan *scan);
