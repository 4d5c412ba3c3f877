/* source.h - where packages come from: files, folders, web servers and indexes.
 *
 * What comes is held in memory that nobody else can change, so that what is verified is what is
 * unpacked. Of an index, the signature, the number and the expiry are checked here (seen.h), and of
 * a package of an index its size and hash; the signature of a package is verified by who gets it
 * (verified.h). */
#pragma once

#include <stdbool.h>

#include "package/index.h"
#include "package/keyring.h"
#include "package/layout.h"

/* Most indexes of one request. */
#define SOURCE_INDEXES_MAX 16u

/* Longest name of a file, URL or id that a person gives. */
#define SOURCE_NAME_MAX 400u

/** What is needed to judge indexes. All borrowed. */
struct source_judge {
    const struct keyring *ring;
    const struct layout *layout; /* what was seen of indexes; open for reading */
    bool notes;                  /* what is seen is noted there: the lock is taken for that */
    const char *id;              /* of the plugin that is wanted, for messages; NULL: any */
    int64_t now_s;
};

/** An index that was fetched and verified. */
struct source_index {
    struct package_index index;
    char *location; /* its URL, or its path without links */
    char key[KEY_ID_ROOM];
};

/** Fetch an index and judge it.
 * @param name  a URL or path of an index, or of the folder that has one
 * @param ret   initialized here; to be released by source_index_finish() in any case
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_PERMISSION_DENIED: the key that signed it is not
 *         known, or another than before; TOOLRACK_E_REFUSED: it is damaged, expired or older than
 *         one that was seen; TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_TIMEOUT, TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int source_index_open(const struct source_judge *judge, const char *name, struct source_index *ret,
                      struct toolrack_error *err);
void source_index_finish(struct source_index *index);

/** The bytes of a package, and of its signature. */
struct source {
    int fd;                       /* of memory; -1: none */
    struct buf signature;         /* the text; empty: it has none */
    char name[LAYOUT_WHERE_ROOM]; /* file or URL, for messages and the record */
    char sha256[LAYOUT_HASH_ROOM];
    bool is_local;              /* a file of this machine that a person has named */
    char id[LAYOUT_ID_MAX + 1]; /* by the index; "": it came from none */
    char version[SEMVER_LENGTH_MAX + 1];
};
#define SOURCE_INIT ((struct source){.fd = -1})

void source_finish(struct source *source);

/** Append the text of the signature of an entry's package; nothing, if it has none.
 * @return as source_open_entry() */
int source_read_signature(const struct source_index *index, const struct index_entry *entry,
                          struct buf *text, struct toolrack_error *err);

/** Get the package of an entry of an index.
 * @return 0; TOOLRACK_E_REFUSED: it has another size or hash than the index says; and as
 *         source_index_open() */
int source_open_entry(const struct source_index *index, const struct index_entry *entry,
                      struct source *ret, struct toolrack_error *err);

/** A package that came otherwise, with its signature. All borrowed. */
struct source_given {
    const char *name; /* where it comes from, for messages and the record */
    const void *data;
    size_t length;
    const char *signature; /* its text */
};

/** Hold it as any other.
 * @param ret  as of source_open() @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO;
 *             TOOLRACK_E_NO_MEMORY */
int source_hold(const struct source_given *given, struct source *ret, struct toolrack_error *err);

/** What a person has named, split. */
struct source_name {
    char text[SOURCE_NAME_MAX + 1];            /* without the version */
    char version[SEMVER_RANGE_LENGTH_MAX + 1]; /* "": none */
    enum { SOURCE_FILE, SOURCE_FOLDER, SOURCE_URL, SOURCE_ID } kind;
};

/** @return 0; TOOLRACK_E_NOT_FOUND: it is no file, URL or id; TOOLRACK_E_INVALID;
 *          TOOLRACK_E_LIMIT_EXCEEDED */
int source_name_read(const char *text, struct source_name *ret, struct toolrack_error *err);

/** Get the package that a person has named, but not by its id (candidates.h).
 * @param ret  initialized here; to be released by source_finish() in any case
 * @return 0; as source_index_open(); TOOLRACK_E_INVALID: an index has several packages, and none
 *         is named */
int source_open(const struct source_judge *judge, const struct source_name *name,
                struct source *ret, struct toolrack_error *err);
