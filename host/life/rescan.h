/* rescan.h - the plugin files that a folder has now, and those it had. */
#pragma once

#include "files/scan.h"
#include "toolrack/toolrack.h"

struct life;
struct plugin_file;

/** Whether a folder is the same directory as a folder before it, which then has its files. */
bool rescan_is_repeated(const struct life *life, const struct scan_folder *folder);

/** Visit the plugin files that are in a folder now, and the known ones that were. For a repeated
 * folder nothing is visited.
 * @return 0; TOOLRACK_E_IO when the folder cannot be read: then the known files were visited;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int rescan_folder(struct life *life, const struct scan_folder *folder,
                  void (*visit)(void *user, struct plugin_file *file), void *user,
                  struct toolrack_error *err);
