/* life.h - a plugin file's life: found, tried, serving, crashed, quarantined, rolled back, retired.
 *
 *     a file of a folder --> generation --> tried --> serves --> replaced --> draining --> gone
 *                               \            \          \
 *                                `-- refused -'          `-- crashed too often: quarantined
 *
 * The room is opened in three steps (the tools of the configuration, the files of the folders, the
 * watch, which has begun before the files) and closed in three: life_stop(): nothing new begins;
 * life_end(): calls have ended, and all generations end; life_destroy(). */
#pragma once

#include <yyjson.h>

#include "life/options.h"

struct life;
struct plugin;
struct supervisor_counts;

/** Make the room; reads and starts nothing. NULL when out of memory. [any-thread] */
struct life *life_create(const struct life_options *options);
/** Register the tools that the configuration defines. A wrong definition is logged and refused.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int life_open_definitions(struct life *life, struct toolrack_error *err);
/** Scan the folders and register the plugins in them, except where a rollback or an unclean end
 * requires otherwise. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int life_open_files(struct life *life, struct toolrack_error *err);
/** Watch the folders from now on, before life_open_files(). @return 0; TOOLRACK_E_LIMIT_EXCEEDED,
 * TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. */
int life_start_watch(struct life *life, struct toolrack_error *err);
/** Follow what has changed since then, after life_open_files(). @return as above. */
int life_watch(struct life *life, struct toolrack_error *err);

/** End the trials, the watch and the copies for calls. NULL is ignored, as in the next functions.
 */
void life_stop(struct life *life);
/** Whether no thread that was given up still runs code of a plugin. [any-thread] */
bool life_is_quiet(const struct life *life);
/** Whether no worker was started and no generation has ended. [any-thread] */
bool life_has_run_none(struct life *life);
/** Make the calls end early that workers run. [any-thread] */
void life_interrupt(struct life *life);
/** End all generations: no call runs, no plugin is registered. If not `quiet`, threads that were
 * given up still use some plugins: then only the workers end.
 * @param is_left  a thread may still be in any function: what it may use stays, as do the plugins
 */
void life_end(struct life *life, bool quiet, bool is_left);
/** Release the room, which is quiet and has ended. */
void life_destroy(struct life *life);

/** The plugin with this name, or that has a tool with this name.
 * @return a reference; NULL with err set: NotFound. [any-thread] */
struct plugin *life_find_plugin(struct life *life, const char *name, struct toolrack_error *err);

/** Set the error for a name that is no plugin, tool or file: with the nearest name, or why the
 * plugin was refused. @return TOOLRACK_E_NOT_FOUND. [any-thread] */
int life_not_found(struct life *life, const char *name, struct toolrack_error *err);

/** A plugin could not be loaded at a call: its file goes back to its last good content, if it has
 * one. [any-thread] */
void life_note_failed(struct life *life, struct plugin *plugin);

/** As toolrack_reload(), toolrack_rollback() and toolrack_release(). [any-thread] */
int life_reload(struct life *life, const char *name, struct toolrack_text **ret_report,
                struct toolrack_error *err);
int life_rollback(struct life *life, const char *name, const char *who, struct toolrack_error *err);
int life_release(struct life *life, const char *name, const char *who, struct toolrack_error *err);

/** Another host has stored something: begin or end here what the store says of quarantines, of
 * loads that failed and of loads that did not end. Not while the room is stopped.
 * @return 0; TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY: read it again later. [any-thread] */
int life_follow(struct life *life, struct toolrack_error *err);
/** The same for what plugins are allowed: renew the generations that are allowed something else
 * now. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int life_follow_capabilities(struct life *life, struct toolrack_error *err);
/** The same for rollbacks and for what plugins are allowed: exchange the generations that serve.
 * May take long. */
int life_follow_contents(struct life *life, struct toolrack_error *err);
/** As toolrack_allow(), toolrack_disallow() and toolrack_allowances(). [any-thread] */
int life_allow(struct life *life, const char *name, const char *capability, const char *who,
               struct toolrack_error *err);
int life_disallow(struct life *life, const char *name, const char *capability, const char *who,
                  struct toolrack_error *err);
/** Whether the name is that of a function of an installed library: what is allowed to it is in
 * effect from the next start on. [any-thread] */
bool life_is_foreign(struct life *life, const char *name);
int life_allowances(struct life *life, struct toolrack_text **ret, struct toolrack_error *err);
/** Whether the index-th item of "allow" in the policy of a plugin names something that it declares.
 * [any-thread] */
bool life_uses_allowance(const struct plugin *plugin, size_t index);
/** Let a plugin have what a grant of one of its tools covers. Returns whether that is more than it
 * had. [any-thread] */
bool life_renew_covered(struct life *life, const char *name);

/** Packages were installed or removed: look at the files of their folders, which are only read and
 * copied, since nothing of a package is run by installing it. [any-thread] */
void life_follow_installs(struct life *life);
/** What the file of a package has may be used (or not: a person goes back from it, and it is neither
 * kept nor gone back to), in all hosts of the state folder. [any-thread] */
void life_judge_installed(struct life *life, const char *path, bool is_good);
/** Copy what the file of a package has, which is about to be exchanged: what serves now can then be
 * called as an earlier version, and gone back to. [any-thread] */
void life_keep_installed(struct life *life, const char *path);

/** As toolrack_adopt(). [any-thread] */
int life_adopt(struct life *life, const char *name, const char *who, struct toolrack_error *err);
/** Look again at files that are refused until they are adopted: another process may have adopted
 * them. [any-thread] */
void life_retry_bound(struct life *life);
/** The identity of a plugin whose tool was refused for another owner of its name, on the heap.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_NO_MEMORY. [any-thread] */
int life_find_provider(struct life *life, const char *tool, const char *version,
                       const char *plugin_id, char **ret_identity, struct toolrack_error *err);
/** Register the tools of a name that were refused for another owner of it, if they own it now.
 * NULL: of all names. [any-thread] */
void life_settle_name(struct life *life, const char *tool);

/** The program of the workers. Borrowed as long as the room. [any-thread] */
const char *life_worker_program(const struct life *life);

/** What was counted of workers (worker/supervisor.h); all 0 before the first one. [any-thread] */
void life_count_workers(struct life *life, struct supervisor_counts *ret);

/** As toolrack_add_service(). [any-thread] */
int life_add_service(struct life *life, const struct toolrack_service *service,
                     struct toolrack_error *err);
/** Add how a plugin is isolated; and the causes of its state: the content that serves, the
 * generations before it, the refusals of its file, and its crashes.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
void life_describe_isolation(struct plugin *plugin, yyjson_mut_doc *doc, yyjson_mut_val *root);
int life_describe(struct life *life, const struct plugin *plugin, yyjson_mut_doc *doc,
                  yyjson_mut_val *root, struct toolrack_error *err);
/** Describe what was refused under a name: of a tool or a plugin, or of a file, or its path.
 * @return as above; TOOLRACK_E_NOT_FOUND without a message; TOOLRACK_E_INVALID: several files have
 *         that name. [any-thread] */
int life_describe_refused(struct life *life, const char *name, yyjson_mut_doc *doc,
                          yyjson_mut_val *root, struct toolrack_error *err);
/** The plugin of a name, as life_find_plugin(); or that serves the file of that name or path.
 * @return a reference, or NULL. [any-thread] */
struct plugin *life_find_described(struct life *life, const char *name);

/** Assert the invariants of the parts; does nothing with NDEBUG. For tests, between steps.
 * [any-thread] */
void life_check(struct life *life);
