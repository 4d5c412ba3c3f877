/* repository.h - opening a repository whose own words are not trusted.
 *
 * libgit2 runs no hooks, no filters that are programs, and nothing that a configuration names. What
 * is left are places that a repository may name: a .git that is a file or a link, a working tree
 * elsewhere, a common folder, alternates, files that its configuration includes. Each of them is
 * refused with its reason. The configuration of the machine and of the user is not read. */
#pragma once

#include <stdbool.h>

struct git_repository;
struct tr_call;

/** Prepare libgit2; false: it cannot be used. */
bool repository_begin(void);
void repository_end(void);

/** Open the repository that the argument `repo_path` names. False: the call has failed. Close
 * it with repository_close(). */
bool repository_open(struct tr_call *call, struct git_repository **ret);

void repository_close(struct git_repository *repository);

/** Fail the call with libgit2's message about what was tried. Always false. */
bool repository_fail(struct tr_call *call, const char *field, const char *what);
