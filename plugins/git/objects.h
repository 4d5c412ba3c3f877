/* objects.h - the database of objects of one repository, and of no other one. */
#pragma once

struct git_repository;

/** Let a repository use the loose objects and the packs of its own folder only, whatever its
 * alternates say. New objects are written by this plugin: libgit2 sets the mode of a file after it
 * made it, which the sandbox of a worker refuses. A negative code of libgit2, or 0. */
int objects_use(struct git_repository *repository, const char *objects_folder);
