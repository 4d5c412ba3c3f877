/* past.h - earlier contents of plugin files that serve when a host is opened: in place of a content
 * that cannot serve, and as kept versions beside one that does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct content_rollback;
struct life;
struct plugin;
struct plugin_file;

/** Find the last good content of a file that has no plugin any more, the newest that has worked if
 * there is one, and make its generation serve.
 * The refusal of the file stays, and says so.
 * @param ret  a reference; NULL: the file has no good content before
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [the file's taker] */
int past_serve_last_good(struct life *life, struct plugin_file *file, const char *reason,
                         struct plugin **ret, struct toolrack_error *err);

/** Store that the content that a file has cannot be used, by a rule, and that the last good content
 * before it is, which is a decision of the host; the caller then reloads the file with
 * RELOAD_OPENING. False: there is no such content. [the file's taker] */
bool past_go_back(struct life *life, struct plugin_file *file, const uint8_t bad_sha256[],
                  const char *rule, const char *reason);

/** Whether another content is used in place of this one already. [the file's taker] */
bool past_has_gone_back(const struct life *life, const struct plugin_file *file,
                        const uint8_t bad_sha256[]);

/** Register the kept versions of all files that serve, and forget the contents of files that were
 * removed while no host was there.
 * @return as above. [while the host is opened] */
int past_open_kept(struct life *life, struct toolrack_error *err);

/** Register the kept versions of a file that serves which are missing: a tool's name, which another
 * plugin had, may be free again, or the version before was not registered because of that. What
 * is missing afterwards is logged. [the file's taker] */
void past_complete_kept(struct life *life, struct plugin_file *file);

/** The refusal of what a file has, in whose place a content of this plugin serves. It borrows the
 * texts of its parameters, and `room`, which is set to what to do about it. */
struct toolrack_refusal past_refusal(const struct plugin_file *file, const char *plugin_id,
                                     const struct content_rollback *rollback,
                                     char room[ERROR_MESSAGE_MAX]);

/** Tell that the content of a file is refused and another one serves in its place, with a warning.
 * [the file's taker] */
void past_tell_refused(struct life *life, const struct plugin_file *file,
                       const struct plugin *serving, const char *reason);
