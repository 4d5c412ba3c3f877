/* cache.h - the file that spares a scan from reading what it has read before.
 *
 * One file, read in one piece, written in one piece under another name and
 * renamed: readers see the old one or the new one. It is only ever a copy of
 * what the plugin files say; whatever is wrong with it, it is written again.
 *
 * It is bound to the build of the host that wrote it, because another build may
 * judge the same plugin otherwise. A checksum guards against damage. Against
 * malice guard the permissions of the file: a cache that another user owns is
 * not read. Still no bytes in it lead outside of it (pack.h). */
#pragma once

#include "base/log.h"
#include "files/pack.h"

struct cache;

/** Read the cache file; NULL when there is none or none of use, which is logged.
 *
 * @param options_tag  what the descriptors depend on besides files and build; another one than it
 *                     was written with makes it unusable
 * @param ret_stale    set when there was a file, but not a usable one: to be written again
 * @return to be given up with cache_unref(). [any-thread] */
struct cache *cache_load(const char *path, uint32_t options_tag, const struct log *log,
                         bool *ret_stale);

/** Give up the cache; NULL is ignored. Its memory stays until the last descriptor taken from it
 * is released. [any-thread] */
void cache_unref(struct cache *cache);

/** What it knows: borrowed from the cache. */
const struct cache_index *cache_index(const struct cache *cache);

/** A new reference on a descriptor of this cache; NULL when the file has none. [any-thread] */
struct descriptor *cache_take(struct cache *cache, const struct cache_file *file);

/** Write the cache file, and its folder if that is missing. Failure is logged, no more: the next
 * scan reads the files instead. [any-thread] */
void cache_save(const char *path, uint32_t options_tag, const struct cache_index *index,
                const struct log *log);
