/* history.h - what happened to a plugin file and its plugin, in order, for `toolrack why`. */
#pragma once

#include <yyjson.h>

#include "base/error.h"

struct life;
struct plugin;
struct plugin_file;

/* Most decisions that are shown. */
#define HISTORY_DECISIONS_MAX 64u

/* Whose history it is. Each may be NULL: then nothing of that kind is added. */
struct history_subject {
    const char *key;      /* of the file (files.h): its contents */
    const char *identity; /* of the plugin (plugin/origin.h): its crashes */
    const char *plugin;   /* the id: the decisions about it, by whatever version; of `origin` */
    const char *origin;   /* NULL: of every origin */
};

/** Add "history", the oldest first: contents, crashes, decisions.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int history_add(struct life *life, const struct history_subject *subject, yyjson_mut_doc *doc,
                yyjson_mut_val *root, struct toolrack_error *err);

/** Note what the host did with a file: "reloaded", "refused", "removed". What is refused for the
 * same reason again is noted once. Nothing is noted of a file of which no plugin is known
 * (`plugin_id` NULL). [the file's taker] */
void history_note(struct life *life, const struct plugin_file *file, const char *plugin_id,
                  const char *version, const char *what, const char *why);

/** The same of a plugin that came or went with a file: once, though each host of the state folder
 * finds that. [the file's taker] */
void history_note_once(struct life *life, const struct plugin_file *file,
                       const struct plugin *plugin, const char *what, const char *why);
