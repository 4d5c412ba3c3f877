/* crash-bundle.h - what is stored of a crash, for `toolrack why`.
 *
 * One JSON object with all that a plugin's author needs and no data of the user: the arguments are
 * stored as a hash only, which shows whether two crashes had the same arguments. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "plugin/build_id.h"

/** All borrowed. Strings are zero-terminated; bytes that are not UTF-8 are replaced. */
struct crash_bundle {
    const char *plugin_id;
    const char *version;
    const char *tool; /* NULL: no call was inside */
    int signal;       /* or 0 */
    int exit_status;  /* or -1 */
    const char *reason;
    const char *backtrace;                /* lines, or "" */
    unsigned char build_id[BUILD_ID_MAX]; /* of the plugin's file: build_id_read() */
    size_t build_id_length;               /* 0: it has none */
    uint64_t generation;
    const char *arguments_hash; /* crash_arguments_hash(); NULL: no call was inside */
    int64_t time_ms;            /* since the epoch */
    bool stopped;               /* the host ended it: no crash */
    const char *const *last_lines;
    size_t last_line_count;
};

/** Append the bundle as one JSON object without line breaks: members "plugin", "version", "tool",
 * "signal" (a name), "exit_status", "reason", "backtrace", "build_id" (hex), "generation",
 * "arguments_hash", "time" (ISO 8601, UTC), "last_lines" (an array), "time_ms" (since the epoch)
 * and "stopped", in this order, `null` for a value that is not known. [any-thread] */
void crash_bundle_write(const struct crash_bundle *bundle, struct buf *out);

/** A hash of a call's arguments, 64 bits as hexadecimal digits. It keeps no secret: a guess of the
 * arguments can be checked with it. Returns `room`. [any-thread] */
#define CRASH_HASH_ROOM 17
const char *crash_arguments_hash(const char *arguments, size_t length, char room[CRASH_HASH_ROOM]);
