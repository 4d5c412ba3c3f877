/* The text of `git status`, as git 2.39 has it in English. */
#include <stdio.h>
#include <string.h>

#include "quote.h"
#include "repository.h"
#include "work.h"

struct counts {
    unsigned staged;
    unsigned unstaged;
    unsigned deleted; /* of those that are not staged */
    unsigned untracked;
    unsigned unmerged;
};

#define STAGED                                                                     \
    (GIT_STATUS_INDEX_NEW | GIT_STATUS_INDEX_MODIFIED | GIT_STATUS_INDEX_DELETED | \
     GIT_STATUS_INDEX_RENAMED | GIT_STATUS_INDEX_TYPECHANGE)
#define UNSTAGED                                                                 \
    (GIT_STATUS_WT_MODIFIED | GIT_STATUS_WT_DELETED | GIT_STATUS_WT_TYPECHANGE | \
     GIT_STATUS_WT_RENAMED)

static void add(struct text *ret, const char *before, const char *name, const char *after) {
    text_add_string(ret, before);
    text_add_string(ret, name);
    text_add_string(ret, after);
}

/* ----------------------------------------------------------------- the branch */

/* Where HEAD was moved to last, by its log: the name that was asked for, and what it was then. */
static bool last_checkout(git_repository *repository, char *ret_name, size_t size,
                          git_oid *ret_id) {
    git_reflog *log = NULL;
    bool is_found = false;
    if (git_reflog_read(&log, repository, "HEAD") < 0) {
        return false;
    }
    for (size_t i = 0; !is_found && i < git_reflog_entrycount(log); i++) {
        const git_reflog_entry *entry = git_reflog_entry_byindex(log, i);
        const char *message = git_reflog_entry_message(entry);
        bool is_move = message != NULL && strncmp(message, "checkout: moving from ", 22) == 0;
        const char *to = is_move ? strstr(message, " to ") : NULL;
        is_found = to != NULL && (size_t)snprintf(ret_name, size, "%s", to + 4) < size;
        git_oid_cpy(ret_id, git_reflog_entry_id_new(entry));
    }
    git_reflog_free(log);
    return is_found;
}

static void add_detached(struct text *ret, git_repository *repository) {
    git_reference *head = NULL;
    git_reference *named = NULL;
    git_oid then;
    char name[256];
    if (git_repository_head(&head, repository) < 0 ||
        !last_checkout(repository, name, sizeof name, &then)) {
        text_add_string(ret, "Not currently on any branch.\n");
        git_reference_free(head);
        return;
    }
    if (git_reference_dwim(&named, repository, name) < 0) { /* no branch or tag: the number */
        (void)git_oid_tostr(name, 8, &then);
    }
    bool is_there = git_oid_equal(git_reference_target(head), &then);
    add(ret, is_there ? "HEAD detached at " : "HEAD detached from ", name, "\n");
    git_reference_free(named);
    git_reference_free(head);
}

static void add_distance(struct text *ret, const char *name, size_t ahead, size_t behind) {
    char line[512];
    const char *hint = "";
    if (ahead == 0 && behind == 0) {
        (void)snprintf(line, sizeof line, "Your branch is up to date with '%.200s'.\n", name);
    } else if (behind == 0) {
        (void)snprintf(line, sizeof line, "Your branch is ahead of '%.200s' by %zu commit%s.\n",
                       name, ahead, ahead == 1 ? "" : "s");
        hint = "  (use \"git push\" to publish your local commits)\n";
    } else if (ahead == 0) {
        (void)snprintf(
                line, sizeof line,
                "Your branch is behind '%.200s' by %zu commit%s, and can be fast-forwarded.\n",
                name, behind, behind == 1 ? "" : "s");
        hint = "  (use \"git pull\" to update your local branch)\n";
    } else {
        (void)snprintf(line, sizeof line,
                       "Your branch and '%.200s' have diverged,\nand have %zu and %zu different "
                       "commits each, respectively.\n",
                       name, ahead, behind);
        hint = "  (use \"git pull\" to merge the remote branch into yours)\n";
    }
    text_add_string(ret, line);
    text_add_string(ret, hint);
    text_add_string(ret, "\n");
}

/* How far the branch is from the one that it follows. */
static void add_upstream(struct text *ret, git_repository *repository, git_reference *branch) {
    git_buf name = GIT_BUF_INIT;
    git_reference *upstream = NULL;
    size_t ahead = 0;
    size_t behind = 0;
    if (git_branch_upstream_name(&name, repository, git_reference_name(branch)) < 0) {
        return;
    }
    const char *shown = strncmp(name.ptr, "refs/remotes/", 13) == 0 ? name.ptr + 13
                        : strncmp(name.ptr, "refs/heads/", 11) == 0 ? name.ptr + 11
                                                                    : name.ptr;
    if (git_reference_lookup(&upstream, repository, name.ptr) < 0) {
        add(ret, "Your branch is based on '", shown, "', but the upstream is gone.\n");
        text_add_string(ret, "  (use \"git branch --unset-upstream\" to fixup)\n\n");
    } else if (git_reference_target(upstream) != NULL && git_reference_target(branch) != NULL &&
               git_graph_ahead_behind(&ahead, &behind, repository, git_reference_target(branch),
                                      git_reference_target(upstream)) == 0) {
        add_distance(ret, shown, ahead, behind);
    }
    git_reference_free(upstream);
    git_buf_dispose(&name);
}

static void add_branch(struct text *ret, git_repository *repository) {
    git_reference *head = NULL;
    git_reference *branch = NULL;
    if (git_repository_head_detached(repository) == 1) {
        add_detached(ret, repository);
        return;
    }
    if (git_reference_lookup(&head, repository, "HEAD") == 0 &&
        git_reference_symbolic_target(head) != NULL) {
        const char *target = git_reference_symbolic_target(head);
        add(ret, "On branch ", strncmp(target, "refs/heads/", 11) == 0 ? target + 11 : target,
            "\n");
        if (git_reference_lookup(&branch, repository, target) == 0) {
            add_upstream(ret, repository, branch);
        }
    }
    git_reference_free(branch);
    git_reference_free(head);
}

/* ------------------------------------------------------------------ the files */

static const char *label_of(unsigned status) {
    return (status & (GIT_STATUS_INDEX_NEW)) != 0                               ? "new file:   "
           : (status & (GIT_STATUS_INDEX_RENAMED | GIT_STATUS_WT_RENAMED)) != 0 ? "renamed:    "
           : (status & (GIT_STATUS_INDEX_DELETED | GIT_STATUS_WT_DELETED)) != 0 ? "deleted:    "
           : (status & (GIT_STATUS_INDEX_TYPECHANGE | GIT_STATUS_WT_TYPECHANGE)) != 0
                   ? "typechange: "
                   : "modified:   ";
}

static void add_line(struct text *ret, const char *label, const git_diff_delta *delta) {
    text_add_string(ret, "\t");
    text_add_string(ret, label);
    if (delta->status == GIT_DELTA_RENAMED) {
        quote_path(ret, delta->old_file.path);
        text_add_string(ret, " -> ");
    }
    quote_path(ret, delta->new_file.path != NULL ? delta->new_file.path : delta->old_file.path);
    text_add_string(ret, "\n");
}

static void add_files(struct text *ret, git_status_list *list, unsigned wanted) {
    for (size_t i = 0; i < git_status_list_entrycount(list); i++) {
        const git_status_entry *entry = git_status_byindex(list, i);
        unsigned status = entry->status & wanted;
        if (status != 0) {
            bool is_untracked = (status & GIT_STATUS_WT_NEW) != 0;
            bool is_staged = (wanted & GIT_STATUS_INDEX_NEW) != 0;
            add_line(ret, is_untracked ? "" : label_of(status),
                     is_staged ? entry->head_to_index : entry->index_to_workdir);
        }
    }
    text_add_string(ret, "\n");
}

/* What both sides of a merge did to a file, by which of its three versions the index has. */
static const char *conflict_label(const git_index_entry *base, const git_index_entry *ours,
                                  const git_index_entry *theirs) {
    return base == NULL     ? ours == NULL     ? "added by them:   "
                              : theirs == NULL ? "added by us:     "
                                               : "both added:      "
           : ours == NULL   ? theirs == NULL ? "both deleted:    " : "deleted by us:   "
           : theirs == NULL ? "deleted by them: "
                            : "both modified:   ";
}

static void add_conflicts(struct text *ret, git_index *index) {
    git_index_conflict_iterator *iterator = NULL;
    const git_index_entry *base;
    const git_index_entry *ours;
    const git_index_entry *theirs;
    text_add_string(ret, "Unmerged paths:\n  (use \"git add <file>...\" to mark resolution)\n");
    if (git_index_conflict_iterator_new(&iterator, index) == 0) {
        while (git_index_conflict_next(&base, &ours, &theirs, iterator) == 0) {
            const git_index_entry *any = ours != NULL ? ours : theirs != NULL ? theirs : base;
            text_add_string(ret, "\t");
            text_add_string(ret, conflict_label(base, ours, theirs));
            quote_path(ret, any->path);
            text_add_string(ret, "\n");
        }
        git_index_conflict_iterator_free(iterator);
    }
    text_add_string(ret, "\n");
}

static struct counts count(git_status_list *list) {
    struct counts counts = {0};
    for (size_t i = 0; i < git_status_list_entrycount(list); i++) {
        unsigned status = git_status_byindex(list, i)->status;
        counts.staged += (status & STAGED) != 0;
        counts.unstaged += (status & UNSTAGED) != 0;
        counts.deleted += (status & GIT_STATUS_WT_DELETED) != 0;
        counts.untracked += (status & GIT_STATUS_WT_NEW) != 0;
        counts.unmerged += (status & GIT_STATUS_CONFLICTED) != 0;
    }
    return counts;
}

static void add_state(struct text *ret, git_repository *repository, const struct counts *counts) {
    int state = git_repository_state(repository);
    if (state == GIT_REPOSITORY_STATE_MERGE && counts->unmerged > 0) {
        text_add_string(ret, "You have unmerged paths.\n  (fix conflicts and run \"git commit\")\n"
                             "  (use \"git merge --abort\" to abort the merge)\n\n");
    } else if (state == GIT_REPOSITORY_STATE_MERGE) {
        text_add_string(ret, "All conflicts fixed but you are still merging.\n"
                             "  (use \"git commit\" to conclude merge)\n\n");
    } else if (state != GIT_REPOSITORY_STATE_NONE) {
        text_add_string(ret, "A rebase, cherry-pick or the like is going on.\n\n");
    }
}

static void add_end(struct text *ret, const struct counts *counts, bool is_first) {
    if (counts->staged > 0) {
        return;
    }
    text_add_string(
            ret, counts->unstaged + counts->unmerged > 0
                         ? "no changes added to commit (use \"git add\" and/or \"git commit -a\")\n"
                 : counts->untracked > 0
                         ? "nothing added to commit but untracked files present (use "
                           "\"git add\" to track)\n"
                 : is_first ? "nothing to commit (create/copy files and use \"git add\" to track)\n"
                            : "nothing to commit, working tree clean\n");
}

static void add_sections(struct text *ret, git_repository *repository, git_index *index,
                         git_status_list *list) {
    struct counts counts = count(list);
    bool is_first = git_repository_head_unborn(repository) == 1;
    add_branch(ret, repository);
    if (is_first) {
        text_add_string(ret, "\nNo commits yet\n\n");
    }
    add_state(ret, repository, &counts);
    if (counts.staged > 0) {
        text_add_string(ret, "Changes to be committed:\n");
        text_add_string(ret, git_repository_state(repository) != GIT_REPOSITORY_STATE_NONE ? ""
                             : is_first
                                     ? "  (use \"git rm --cached <file>...\" to unstage)\n"
                                     : "  (use \"git restore --staged <file>...\" to unstage)\n");
        add_files(ret, list, STAGED);
    }
    if (counts.unmerged > 0) {
        add_conflicts(ret, index);
    }
    if (counts.unstaged > 0) {
        text_add_string(ret, "Changes not staged for commit:\n");
        text_add_string(ret, counts.deleted > 0 ? "  (use \"git add/rm <file>...\" to update what "
                                                  "will be committed)\n"
                                                : "  (use \"git add <file>...\" to update what "
                                                  "will be committed)\n");
        text_add_string(ret, "  (use \"git restore <file>...\" to discard changes in working "
                             "directory)\n");
        add_files(ret, list, UNSTAGED);
    }
    if (counts.untracked > 0) {
        text_add_string(ret, "Untracked files:\n  (use \"git add <file>...\" to include in what "
                             "will be committed)\n");
        add_files(ret, list, GIT_STATUS_WT_NEW);
    }
    add_end(ret, &counts, is_first);
}

tr_status status_reply(struct tr_call *call, git_repository *repository) {
    git_status_options options = GIT_STATUS_OPTIONS_INIT;
    git_status_list *list = NULL;
    git_index *index = NULL;
    struct text text = {.max = OUTPUT_MAX};
    if (!trees_fit_head(call, repository)) {
        return TR_FAILED;
    }
    options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
    options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_EXCLUDE_SUBMODULES |
                    GIT_STATUS_OPT_RENAMES_HEAD_TO_INDEX | GIT_STATUS_OPT_SORT_CASE_SENSITIVELY;
    text_add_string(&text, "Repository status:\n");
    bool done = git_repository_index(&index, repository) == 0 &&
                git_status_list_new(&list, repository, &options) == 0;
    if (done) {
        add_sections(&text, repository, index, list);
    }
    git_status_list_free(list);
    git_index_free(index);
    if (!done) {
        text_finish(&text);
        (void)repository_fail(call, NULL, "the status cannot be found");
        return TR_FAILED;
    }
    return reply_text(call, &text);
}
