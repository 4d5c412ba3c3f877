/* work.h - what the files of the plugin have in common. */
#pragma once

#include <git2.h>

#include "../shared/text.h"
#include "tools.h"

/** Most bytes of a result's text. */
#define OUTPUT_MAX ((size_t)4 << 20)

/** Add the differences as git prints them, or each file as git_show has it. False: libgit2 failed,
 * which is also so if the text is full. */
bool changes_print(git_diff *diff, struct text *ret);
bool changes_print_hunks(git_diff *diff, struct text *ret);

/** The object that a text names, at last of a kind; NULL: the call has failed. */
git_object *changes_find(struct tr_call *call, git_repository *repository, const char *field,
                         const char *revision, git_object_t type);

/** Whether all that is in a commit or tree, or in the commit of HEAD, can be walked: a few trees
 * that contain each other many times stand for more files than there is memory for, and libgit2
 * neither has a limit nor can be stopped. False: the call has failed. What cannot be read fits.
 * (trees.c) */
bool trees_fit(struct tr_call *call, git_repository *repository, const git_object *object);
bool trees_fit_head(struct tr_call *call, git_repository *repository);

/** Reply with a text, which is freed; the line break at its end is left out, as the reference
 * server does. */
tr_status reply_text(struct tr_call *call, struct text *text);
