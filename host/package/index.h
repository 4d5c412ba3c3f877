/* index.h - the list of packages on a web server or in a folder.
 *
 * A static JSON file, index.json, signed beside it in index.json.minisig:
 *
 *     {"toolrack_index": 1, "number": 7,
 *      "created": "2026-11-28T20:00:00Z", "expires": "2027-02-26T20:00:00Z",
 *      "packages": [
 *          {"id": "acme.weather", "version": "1.2.0", "file": "acme.weather-1.2.0.trp",
 *           "size": 20480, "sha256": "9f86...", "licence": "MIT",
 *           "tools": [{"name": "weather", "description": "..."}]}]}
 *
 * As The Update Framework describes it: the number only grows, so an older index is refused (a
 * downgrade); it expires, so that nobody can show the same for ever (a freeze); it has the size and
 * hash of each package, so that what is installed is what was published together (mix and match).
 * Its signature lets nobody install anything: each package has its own, by a key for its id.
 *
 * Pure functions; source.h gets an index, seen.h knows what was seen of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#define INDEX_FILE            "index.json"
#define INDEX_SIZE_MAX        (16u * 1024u * 1024u)
#define INDEX_PACKAGES_MAX    65536u
#define INDEX_FILE_LENGTH_MAX 255u
#define INDEX_TOOLS_MAX       1024u
#define INDEX_DEPTH_MAX       8u

#define INDEX_SHA256_DIGITS 64u

/** One package of an index. Strings are borrowed from it. */
struct index_entry {
    const char *id;
    const char *version;
    const char *file; /**< its path below the folder of the index; without ".." */
    uint64_t size;
    const char *sha256;  /**< lower case hexadecimal digits */
    const char *licence; /**< or NULL */
    yyjson_val *tools;   /**< an array of objects of `name` and `description`; or NULL */
};

struct package_index {
    struct arena arena;
    yyjson_doc *doc;
    uint64_t number;
    int64_t created_s;
    int64_t expires_s;
    struct index_entry *entries; /* by id, then by version, the highest first */
    size_t count;
};

/** Read an index.
 * @param name  what messages call it
 * @return 0, release it with index_finish(); TOOLRACK_E_REFUSED with what is wrong;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int index_read(const char *text, size_t length, const char *name, struct package_index *ret,
               struct toolrack_error *err);
void index_finish(struct package_index *index);

/** The entry of an id and a version, a range or NULL: the highest release, or pre-release where
 * there is none. NULL: there is none. [any-thread] */
const struct index_entry *index_find(const struct package_index *index, const char *id,
                                     const char *version);

/** Whether all words are somewhere in the id, or the names and descriptions of tools. Letters of
 * ASCII match in either case. [any-thread] */
bool index_matches(const struct index_entry *entry, const char *words);

/** Append an index.
 * @param entries  in any order */
void index_write(struct buf *out, uint64_t number, int64_t created_s, int64_t expires_s,
                 const struct index_entry *entries, size_t count);
