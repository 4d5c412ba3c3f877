/* objects.h - the database of objects of one repository, and of no other one. */
#pragma once

#include <stddef.h>

/** Most bytes of a file that a commit has: a larger one counts as binary, and is not written. */
#define OBJECTS_BLOB_MAX ((size_t)128 << 20)

struct git_repository;

/** Let a repository use the loose objects and the packs of its own folder only, whatever its
 * alternates say. New objects are written by this plugin: libgit2 sets the mode of a file after it
 * made it, which the sandbox of a worker refuses. An object that says it is larger than is needed
 * is refused before it is unpacked. A negative code of libgit2, or 0. */
int objects_use(struct git_repository *repository, const char *objects_folder);
