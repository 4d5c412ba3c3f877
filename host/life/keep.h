/* keep.h - which earlier versions of a plugin stay callable when its file is updated.
 *
 * A kept version is an earlier content of the file, of the same plugin id and with another version.
 * A content with the version that serves is not kept: it would have the same names and versions;
 * it is there for a rollback only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "files/stage.h"
#include "life/options.h"
#include "store/generations.h"

/* Good contents of each file that have a copy, so that rollbacks reach them; beside those of the
 * kept versions. A plugin's file is copied whole, and a disk is not for every build of it. */
#define KEEP_CONTENTS 4u

struct generations;
struct plugin;
struct plugin_file;

/* What becomes of the generations of a file when another takes their place. */
struct keep_choice {
    bool keeps; /* the generation that served becomes a kept version */
    struct plugin *dropped[CONFIG_KEEP_MAX + 1]; /* kept versions that end; a reference to each */
    size_t dropped_count;
};

/** Choose.
 * @param old            what serves; may be NULL
 * @param new            what will serve; NULL: the file is gone
 * @param is_going_back  `new` is an earlier content, because `old` is not to be used [the file's
 *                       taker] */
void keep_choose(struct generations *generations, const struct plugin_file *file,
                 const struct plugin *old, const struct plugin *new, bool is_going_back,
                 struct keep_choice *ret);
void keep_choice_finish(struct keep_choice *choice);

/** Choose the kept versions among the contents that a file has had, the newest first: of each other
 * version the newest content that is good.
 * @return how many, at most `keep`; their indices. */
size_t keep_select(const struct store_generation *rows, size_t count, const char *plugin_id,
                   const char *version, uint32_t keep, size_t ret_chosen[CONFIG_KEEP_MAX]);

/** The contents of all files that may serve again, for stage_collect(), in the arena: of each file
 * the last one that has worked, the last KEEP_CONTENTS good ones and those of the kept versions;
 * and what rollbacks use. False: the store cannot be read, or out of memory. [any-thread] */
bool keep_needed(const struct life_options *options, struct arena *arena, struct stage_needs *ret);

/** Whether an earlier content of a plugin may be a kept version beside another content. */
bool keep_fits(const char *plugin_id, const char *version, const char *now_plugin_id,
               const char *now_version);
