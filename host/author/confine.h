/* confine.h - a process that may only write below one folder.
 *
 * A plugin that runs in this process has all its rights, and is called with arguments that nobody
 * has thought of: what it would do to the files of its author must not happen. */
#pragma once

#include <stdbool.h>

/** Confine this process, its threads to come and its children: they write below `folder` only,
 * change mode, owner, times and attributes of no file, make no sockets and nothing in the kernel
 * that outlives them, and neither signal nor limit other processes, as far as the kernel can
 * (Landlock, seccomp).
 * @return false: the kernel cannot keep it from writing; nothing changed. */
bool confine(const char *folder);
