/* rescan.h - which plugin files a folder has now, and had. */
#pragma once

#include "files/scan.h"
#include "toolrack/toolrack.h"

struct life;
struct plugin_file;

/** Whether a folder leads to the same place as one before it, which then has its files. */
bool rescan_is_repeated(const struct life *life, const struct scan_folder *folder);

/** List the plugin files that are in a folder now, and those known that were; none of a repeated
 * one.
 * @return 0; TOOLRACK_E_IO when the folder cannot be read: then those known were visited;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int rescan_folder(struct life *life, const struct scan_folder *folder,
                  void (*visit)(void *user, struct plugin_file *file), void *user,
                  struct toolrack_error *err);
