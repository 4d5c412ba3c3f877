/* start-cache.h - what a host reads of the store when it is opened, kept beside it.
 *
 * A command that lists tools reads a dozen short tables. To load SQLite, have it read the schema
 * and prepare the statements took 4.7 of the 20.8 million instructions of `toolrack list --json`
 * with 1,000 tools. So the rows are kept in a file of their own, with the stamp of the file that
 * they are of, and SQLite is loaded only when something else is read or stored.
 *
 * The rows are used while the store's file has the same stamp (device, inode, size, and the times
 * of its last change, in ns) and there is no log beside it. They are kept only if that was so
 * before the first of them was read and after the last, and the last change was some seconds
 * before: a change within one tick of the clock would not show. A file of another user, or that
 * others may write to, is not used. What is wrong with the file of rows, or that it cannot be
 * written, is told nobody: then SQLite is asked. */
#pragma once

#include <stdbool.h>

struct rows;
struct start_cache;
struct store;
struct value;

/** For a store that is only read, whose file is there and was checked. NULL: out of memory, or
 * there is nothing that can be kept.
 * @return to be released by start_cache_destroy() */
struct start_cache *start_cache_load(const struct store *store);
void start_cache_destroy(struct start_cache *cache);

/** Whether there are rows of the file as it is. */
bool start_cache_is_valid(const struct start_cache *cache);
/** From now on the rows are only to be saved: SQLite is open. */
void start_cache_end_use(struct start_cache *cache);

/** The schema version of the file; 0 before start_cache_add(). */
int start_cache_schema(const struct start_cache *cache);

/** Find the rows of a statement.
 * @param ret_rows  unchanged if they are not there, or memory runs out */
bool start_cache_find(const struct start_cache *cache, const char *sql, const struct value *values,
                      struct rows *ret_rows);
/** Keep rows that SQLite has read. */
void start_cache_add(struct start_cache *cache, int schema, const char *sql,
                     const struct value *values, const struct rows *rows);
/** Write the file, if something was added and the store's file is still the same. */
void start_cache_save(const struct start_cache *cache, const struct store *store);
