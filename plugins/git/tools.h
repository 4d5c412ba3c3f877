/* tools.h - what the tools do with a repository that is open. Each replies, or fails the call. */
#pragma once

#include <stdbool.h>
#include <toolrack/plugin.h>

/* git2.h has functions of the names of tools, so git.c does without it. */
struct git_repository;

/* status.c */
tr_status status_reply(struct tr_call *call, struct git_repository *repository);

/* changes.c */
tr_status changes_unstaged(struct tr_call *call, struct git_repository *repository);
tr_status changes_staged(struct tr_call *call, struct git_repository *repository);
tr_status changes_against(struct tr_call *call, struct git_repository *repository);
tr_status changes_add(struct tr_call *call, struct git_repository *repository);
tr_status changes_reset(struct tr_call *call, struct git_repository *repository);
tr_status changes_commit(struct tr_call *call, struct git_repository *repository);

/** The setting of who commits, as "Name <address>"; borrowed, NULL: that of the repository. False:
 * it has another form. */
bool changes_set_author(const char *author);

/* history.c */
tr_status history_log(struct tr_call *call, struct git_repository *repository);
tr_status history_show(struct tr_call *call, struct git_repository *repository);
tr_status history_branch(struct tr_call *call, struct git_repository *repository);
tr_status history_create_branch(struct tr_call *call, struct git_repository *repository);
tr_status history_checkout(struct tr_call *call, struct git_repository *repository);
