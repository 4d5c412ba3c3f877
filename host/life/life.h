/* life.h - a plugin file's life: found, tried, serving, crashed, quarantined, rolled back, retired.
 *
 *     a file of a folder --> generation --> tried --> serves --> replaced --> draining --> gone
 *                               \            \          \
 *                                `-- refused -'          `-- crashed too often: quarantined
 *
 * It is opened in three steps (what the configuration defines, the files of the folders, the watch)
 * and ended in three: nothing new begins; calls have ended and all generations end; it is released.
 */
#pragma once

#include <yyjson.h>

#include "life/options.h"

struct life;
struct plugin;

/** Neither reads nor starts anything yet. NULL when out of memory. [any-thread] */
struct life *life_create(const struct life_options *options);
/** Register the tools that the configuration defines. What is wrong with one of them is logged and
 * refused. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int life_open_definitions(struct life *life, struct toolrack_error *err);
/** Scan the folders and register what is in them, but for what a rollback or an unclean end says
 * otherwise of. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int life_open_files(struct life *life, struct toolrack_error *err);
/** Watch the folders from now on. @return 0; TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO,
 * TOOLRACK_E_NO_MEMORY. */
int life_watch(struct life *life, struct toolrack_error *err);

/** Nothing is tried out, and nothing noticed any more. NULL is ignored, as in the next ones. */
void life_stop(struct life *life);
/** Whether no thread is in code of a plugin that was given up. [any-thread] */
bool life_is_quiet(const struct life *life);
/** End all generations: no call runs, no plugin is registered. When it is not `quiet`, some plugins
 * are still used, in threads that were given up: then only the workers end. */
void life_end(struct life *life, bool quiet);
/** Release it, quiet and ended. */
void life_destroy(struct life *life);

/** The plugin that is called so, or has a tool that is called so.
 * @return a reference; NULL with err set: NotFound. [any-thread] */
struct plugin *life_find_plugin(struct life *life, const char *name, struct toolrack_error *err);

/** Have a copy of a plugin's file before its first call. Where the file was exchanged since it was
 * read, what was read cannot be called any more: then the file is reloaded, if it is there until
 * `until_ns` (0: for as long as it takes).
 * @return whether it was reloaded: another plugin may be registered now. [any-thread] */
bool life_refresh(struct life *life, struct plugin *plugin, uint64_t until_ns);

/** As toolrack_reload(), toolrack_rollback() and toolrack_release(). [any-thread] */
int life_reload(struct life *life, const char *name, struct toolrack_text **ret_report,
                struct toolrack_error *err);
int life_rollback(struct life *life, const char *name, struct toolrack_error *err);
int life_release(struct life *life, const char *name, struct toolrack_error *err);

/** As toolrack_add_service(). [any-thread] */
int life_add_service(struct life *life, const struct toolrack_service *service,
                     struct toolrack_error *err);
/** Add how a plugin is isolated; and why it is as it is: the content that serves, the generations
 * before it, what is refused of its file, and its crashes.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
void life_describe_isolation(struct plugin *plugin, yyjson_mut_doc *doc, yyjson_mut_val *root);
int life_describe(struct life *life, const struct plugin *plugin, yyjson_mut_doc *doc,
                  yyjson_mut_val *root, struct toolrack_error *err);

/** Assert the invariants of its parts, which a build with NDEBUG does not. For tests, between
 * steps. [any-thread] */
void life_check(struct life *life);
