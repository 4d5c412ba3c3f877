/* missing.h - what a plugin declares and has not, in words for who calls it.
 *
 * The kernel refuses a worker with the same error codes that a file's mode or a closed port has, so
 * the host does not know why a tool has failed. What the tool says of it narrows that down:
 *
 *  - it gives a cause that no grant would remove, such as "Connection refused", or none and has no
 *    words of an access: nothing is told;
 *  - it names what is missing, such as a path of a declared folder, with a cause that this has,
 *    such as "Permission denied": that alone is told, as a fact;
 *  - it names it without a cause, or has words of a kind, such as "cannot connect" or "no folder is
 *    granted", or only a cause: what fits best is told as what may be why. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* A declared capability that is not granted. */
struct missing_capability {
    uint32_t kind;
    const char *value;
    const char *path;      /* of a file, folder or program: the real one; or NULL */
    const char *allowance; /* the item of "allow" that grants it and no more */
    const char *refusal;   /* why it is not granted, allowed or not; NULL: it is not allowed */
    bool is_needed;        /* tools are of no use without it, */
    bool is_for_change;    /* but for those that only read */
};

struct missing;

/** Copies all. NULL when out of memory. Release with missing_free(); NULL is ignored. */
struct missing *missing_create(const char *plugin_id, const struct missing_capability *items,
                               size_t count);
void missing_free(struct missing *missing);
CLEANUP_DEFINE(struct missing, missing_free)

/** All of it: "its plugin declares read:/srv, which is not allowed: toolrack allow currency
 * 'read:/srv'". NULL for NULL. [any-thread] */
const char *missing_text(const struct missing *missing);

/** Write the kinds that a tool is of no use without, "read, network". `read_only`: the tool changes
 * nothing. Nothing is written where it has what it needs; `missing`
 * may be NULL. [any-thread] */
void missing_needs(const struct missing *missing, bool read_only, struct buf *out);
/** Whether there is such a kind. [any-thread] */
bool missing_is_needed(const struct missing *missing, bool read_only);

/** Likewise in full, as missing_text(). [any-thread] */
void missing_explain_needs(const struct missing *missing, bool read_only, struct buf *out);

/** What may be why a call, or a start, failed with a message; nothing where no capability fits.
 * [any-thread] */
void missing_explain(const struct missing *missing, const char *message, struct buf *out);
