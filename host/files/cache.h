/* cache.h - the file that lets a scan skip files that it has read before.
 *
 * The file is read in one piece, and written in one piece under another name and then renamed:
 * readers see the old file or the new one. It only repeats what the plugin files state; if anything
 * is wrong with it, it is written again.
 *
 * It is bound to the build of the host that wrote it, because another build may judge the same
 * plugin differently. A checksum protects against damage; file permissions protect against attacks:
 * a cache that another user (except root) owns is not read. Whatever its bytes are, no pointer in
 * it leads outside it (pack.h). */
#pragma once

#include "base/log.h"
#include "files/pack.h"

struct cache;

/** Read the cache file; NULL when there is none, or when it is unusable, which is logged.
 *
 * @param options_tag  what the descriptors depend on besides files and build; the cache is unusable
 *                     if it was written with another tag
 * @param ret_stale    set when the file exists but is unusable: it is to be written again
 * @return to be released with cache_unref(). [any-thread] */
struct cache *cache_load(const char *path, uint32_t options_tag, const struct log *log,
                         bool *ret_stale);

/** Release the cache; NULL is ignored. Its memory is freed when the last descriptor taken from it
 * is released. [any-thread] */
void cache_unref(struct cache *cache);

/** Its index: borrowed from the cache. */
const struct cache_index *cache_index(const struct cache *cache);

/** A new reference to a descriptor of this cache; NULL when the file has none. [any-thread] */
struct descriptor *cache_take(struct cache *cache, const struct cache_file *file);

/** Write the cache file, and create its folder if missing. Failure is only logged: the next scan
 * reads the files instead. [any-thread] */
void cache_save(const char *path, uint32_t options_tag, const struct cache_index *index,
                const struct log *log);
