#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "date.h"
#include "objects.h"
#include "quote.h"
#include "repository.h"
#include "work.h"

/* ------------------------------------------------------------------- commits */

static void add_commit(struct text *ret, const git_commit *commit) {
    char name[GIT_OID_HEXSZ + 1];
    char date[DATE_SIZE];
    const git_signature *author = git_commit_author(commit);
    const char *message = git_commit_message(commit);
    date_write(author->when.time, author->when.offset, date);
    text_add_string(ret, "Commit: '");
    text_add_string(ret, git_oid_tostr(name, sizeof name, git_commit_id(commit)));
    text_add_string(ret, "'\nAuthor: <git.Actor \"");
    text_add_string(ret, author->name);
    text_add_string(ret, " <");
    text_add_string(ret, author->email);
    text_add_string(ret, ">\">\nDate: ");
    text_add_string(ret, date);
    text_add_string(ret, "\nMessage: ");
    quote_python(ret, message != NULL ? message : "");
    text_add_string(ret, "\n");
}

/* As `git log` with a format of lines has it, which is what the reference server shows between
 * dates. */
static void add_commit_short(struct text *ret, git_commit *commit) {
    char name[GIT_OID_HEXSZ + 1];
    char date[DATE_SIZE];
    const git_signature *author = git_commit_author(commit);
    const char *summary = git_commit_summary(commit);
    date_write_git(author->when.time, author->when.offset, date);
    text_add_string(ret, "Commit: ");
    text_add_string(ret, git_oid_tostr(name, sizeof name, git_commit_id(commit)));
    text_add_string(ret, "\nAuthor: ");
    text_add_string(ret, author->name);
    text_add_string(ret, "\nDate: ");
    text_add_string(ret, date);
    text_add_string(ret, "\nMessage: ");
    text_add_string(ret, summary != NULL ? summary : "");
    text_add_string(ret, "\n");
}

struct range {
    bool is_given;
    int64_t since;
    int64_t until;
};

static bool read_date(struct tr_call *call, const char *field, int64_t *ret, bool *ret_is_given) {
    const char *text = tr_get_string(call, field, NULL);
    if (text == NULL || text[0] == '\0') {
        return true;
    }
    *ret_is_given = true;
    if (!date_read(text, (int64_t)time(NULL), ret)) {
        (void)tr_fail(
                call, TR_INVALID_ARGUMENTS, field,
                "'%.100s' is no time; write it such as 2024-01-15T14:30:25, 2024-01-15, Jan 15 "
                "2024, yesterday or 2 weeks ago",
                text);
        return false;
    }
    return true;
}

static bool add_log(struct tr_call *call, git_repository *repository, const struct range *range,
                    struct text *ret) {
    git_revwalk *walk = NULL;
    git_oid id;
    int64_t left = tr_get_i64(call, "max_count", 10);
    bool is_first = true;
    /* In the order of git, which is the default. */
    int code = git_revwalk_new(&walk, repository);
    if (code == 0) {
        code = git_revwalk_push_head(walk);
    }
    while (code == 0 && left != 0 && (code = git_revwalk_next(&id, walk)) == 0) {
        git_commit *commit = NULL;
        code = git_commit_lookup(&commit, repository, &id);
        int64_t at = code == 0 ? git_commit_time(commit) : 0;
        if (code == 0 && at >= range->since && at <= range->until) {
            text_add_string(ret, is_first ? "" : "\n");
            if (range->is_given) {
                add_commit_short(ret, commit);
            } else {
                add_commit(ret, commit);
            }
            is_first = false;
            left--;
        }
        git_commit_free(commit);
        if (code == 0 && (ret->failed || tr_cancelled(call))) {
            code = GIT_EUSER;
        }
    }
    git_revwalk_free(walk);
    return code == 0 || code == GIT_ITEROVER || ret->failed ||
           repository_fail(call, NULL, "the history cannot be read");
}

tr_status history_log(struct tr_call *call, git_repository *repository) {
    struct range range = {.since = INT64_MIN, .until = INT64_MAX};
    struct text text = {.max = OUTPUT_MAX};
    if (!read_date(call, "start_timestamp", &range.since, &range.is_given) ||
        !read_date(call, "end_timestamp", &range.until, &range.is_given)) {
        return TR_FAILED;
    }
    text_add_string(&text, "Commit history:\n");
    if (!add_log(call, repository, &range, &text)) {
        text_finish(&text);
        return TR_FAILED;
    }
    text_add_string(&text, "\n"); /* what reply_text() leaves out */
    return reply_text(call, &text);
}

/* False: the call has failed. */
static bool diff_of(struct tr_call *call, git_repository *repository, git_commit *commit,
                    git_diff **ret) {
    git_tree *tree = NULL;
    git_tree *before = NULL;
    git_commit *parent = NULL;
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    options.ignore_submodules = GIT_SUBMODULE_IGNORE_ALL;
    options.max_size = (git_off_t)OBJECTS_BLOB_MAX;
    int code = git_commit_tree(&tree, commit);
    if (code == 0 && git_commit_parentcount(commit) > 0 &&
        (code = git_commit_parent(&parent, commit, 0)) == 0) {
        code = git_commit_tree(&before, parent);
    }
    bool fit = trees_fit(call, repository, (const git_object *)tree) &&
               trees_fit(call, repository, (const git_object *)before);
    if (code == 0 && fit) {
        code = git_diff_tree_to_tree(ret, repository, before, tree, &options);
    }
    if (code < 0 && fit) {
        (void)repository_fail(call, NULL, "the commit cannot be shown");
    }
    git_commit_free(parent);
    git_tree_free(before);
    git_tree_free(tree);
    return code == 0 && fit;
}

tr_status history_show(struct tr_call *call, git_repository *repository) {
    struct text text = {.max = OUTPUT_MAX};
    git_diff *diff = NULL;
    git_object *commit = changes_find(call, repository, "revision",
                                      tr_get_string(call, "revision", ""), GIT_OBJECT_COMMIT);
    if (commit == NULL) {
        return TR_FAILED;
    }
    if (!diff_of(call, repository, (git_commit *)commit, &diff)) {
        git_object_free(commit);
        return TR_FAILED;
    }
    add_commit(&text, (const git_commit *)commit);
    bool done = changes_print_hunks(diff, &text);
    git_diff_free(diff);
    git_object_free(commit);
    if (!done && !text.failed) {
        text_finish(&text);
        (void)repository_fail(call, NULL, "the commit cannot be shown");
        return TR_FAILED;
    }
    text_add_string(&text, "\n");
    return reply_text(call, &text);
}

/* ------------------------------------------------------------------- branches */

#define BRANCHES_MAX 100000

struct listing {
    struct tr_call *call;
    git_repository *repository;
    git_reference *head; /* HEAD itself, or NULL; owned */
    git_object *with;    /* a commit that a branch must have, or NULL */
    git_object *without; /* one that it must not have */
    bool is_all;
    char **lines; /* owned */
    size_t count;
    size_t capacity;
    size_t seen; /* branches, also those that are not wanted */
};

static bool has_commit(const struct listing *listing, const git_oid *tip,
                       const git_object *commit) {
    return git_oid_equal(tip, git_object_id(commit)) ||
           git_graph_descendant_of(listing->repository, tip, git_object_id(commit)) == 1;
}

static bool is_wanted(const struct listing *listing, git_reference *branch) {
    git_object *tip = NULL;
    if (listing->with == NULL && listing->without == NULL) {
        return true;
    }
    bool is_in =
            git_reference_peel(&tip, branch, GIT_OBJECT_COMMIT) == 0 &&
            (listing->with == NULL || has_commit(listing, git_object_id(tip), listing->with)) &&
            (listing->without == NULL ||
             !has_commit(listing, git_object_id(tip), listing->without));
    git_object_free(tip);
    return is_in;
}

/* By name, behind what marks the current one. */
static int compare_lines(const void *a, const void *b) {
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left + 2, *right + 2);
}

static bool keep_line(struct listing *listing, char *line) {
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity * 2 + 16;
        char **lines = realloc(listing->lines, capacity * sizeof *lines);
        if (lines == NULL) {
            free(line);
            return false;
        }
        listing->lines = lines;
        listing->capacity = capacity;
    }
    listing->lines[listing->count++] = line;
    return true;
}

/* The branch that HEAD names. git_branch_is_head() reads HEAD again for each branch. */
static bool is_current(const struct listing *listing, git_reference *branch) {
    const char *name = listing->head != NULL ? git_reference_symbolic_target(listing->head) : NULL;
    return name != NULL && strcmp(name, git_reference_name(branch)) == 0;
}

static bool add_branch(struct listing *listing, git_reference *branch, git_branch_t type) {
    const char *name = git_reference_name(branch);
    const char *target = git_reference_symbolic_target(branch);
    char *line = NULL;
    if (!is_wanted(listing, branch)) {
        return true;
    }
    bool is_local = type == GIT_BRANCH_LOCAL;
    name += strlen(is_local ? "refs/heads/" : "refs/remotes/");
    bool is_remote = target != NULL && strncmp(target, "refs/remotes/", 13) == 0;
    int length = asprintf(&line, "%s %s%s%s%s", is_local && is_current(listing, branch) ? "*" : " ",
                          is_local || !listing->is_all ? "" : "remotes/", name,
                          target != NULL ? " -> " : "",
                          target == NULL ? ""
                          : is_remote    ? target + 13
                                         : target);
    return length >= 0 && keep_line(listing, line);
}

/* One more branch is looked at; false: the call has failed. */
static bool count_branch(struct listing *listing) {
    if (++listing->seen > BRANCHES_MAX) {
        (void)tr_fail(listing->call, TR_LIMIT_EXCEEDED, "repo_path",
                      "the repository has more than %d branches, the most that are listed; use git "
                      "itself",
                      BRANCHES_MAX);
        return false;
    }
    if (tr_cancelled(listing->call)) {
        (void)tr_fail(listing->call, TR_CANCELLED, NULL, "cancelled");
        return false;
    }
    return true;
}

/* False: the call has failed. */
static bool gather_branches(struct listing *listing, git_branch_t type) {
    git_branch_iterator *iterator = NULL;
    git_reference *branch;
    git_branch_t of;
    size_t before = listing->count;
    bool done = git_branch_iterator_new(&iterator, listing->repository, type) == 0 ||
                repository_fail(listing->call, NULL, "the branches cannot be listed");
    while (done && git_branch_next(&branch, &of, iterator) == 0) {
        done = count_branch(listing) &&
               (add_branch(listing, branch, of) ||
                repository_fail(listing->call, NULL, "no memory is left for the branches"));
        git_reference_free(branch);
    }
    git_branch_iterator_free(iterator);
    if (listing->count > before) {
        qsort(listing->lines + before, listing->count - before, sizeof *listing->lines,
              compare_lines);
    }
    return done;
}

static tr_status reply_branches(struct tr_call *call, struct listing *listing, git_branch_t type) {
    struct text text = {.max = OUTPUT_MAX};
    git_reference *head = NULL;
    bool is_detached = type != GIT_BRANCH_REMOTE &&
                       git_repository_head_detached(listing->repository) == 1 &&
                       git_repository_head(&head, listing->repository) == 0;
    if (is_detached && is_wanted(listing, head)) {
        char name[8];
        text_add_string(&text, "* (HEAD detached at ");
        text_add_string(&text, git_oid_tostr(name, sizeof name, git_reference_target(head)));
        text_add_string(&text, ")\n");
    }
    git_reference_free(head);
    (void)git_reference_lookup(&listing->head, listing->repository, "HEAD");
    bool done = (type == GIT_BRANCH_REMOTE || gather_branches(listing, GIT_BRANCH_LOCAL)) &&
                (type == GIT_BRANCH_LOCAL || gather_branches(listing, GIT_BRANCH_REMOTE));
    for (size_t i = 0; i < listing->count; i++) {
        text_add_string(&text, listing->lines[i]);
        text_add_string(&text, "\n");
        free(listing->lines[i]);
    }
    free(listing->lines);
    git_reference_free(listing->head);
    if (!done) {
        text_finish(&text);
        return TR_FAILED;
    }
    return reply_text(call, &text);
}

tr_status history_branch(struct tr_call *call, git_repository *repository) {
    const char *kind = tr_get_string(call, "branch_type", "local");
    const char *with = tr_get_string(call, "contains", NULL);
    const char *without = tr_get_string(call, "not_contains", NULL);
    struct listing listing = {
            .call = call, .repository = repository, .is_all = strcmp(kind, "all") == 0};
    git_branch_t type = listing.is_all                ? GIT_BRANCH_ALL
                        : strcmp(kind, "remote") == 0 ? GIT_BRANCH_REMOTE
                                                      : GIT_BRANCH_LOCAL;
    if (with != NULL) {
        listing.with = changes_find(call, repository, "contains", with, GIT_OBJECT_COMMIT);
    }
    if (without != NULL && (with == NULL || listing.with != NULL)) {
        listing.without =
                changes_find(call, repository, "not_contains", without, GIT_OBJECT_COMMIT);
    }
    bool is_found =
            (with == NULL || listing.with != NULL) && (without == NULL || listing.without != NULL);
    tr_status status = is_found ? reply_branches(call, &listing, type) : TR_FAILED;
    git_object_free(listing.with);
    git_object_free(listing.without);
    return status;
}

/* The branch to begin at: the one that is named, or the current one. */
static bool find_base(struct tr_call *call, git_repository *repository, git_reference **ret) {
    const char *base = tr_get_string(call, "base_branch", NULL);
    if (base != NULL && base[0] != '\0') {
        return (base[0] != '-' && git_reference_dwim(ret, repository, base) == 0) ||
               repository_fail(call, "base_branch", "there is no such branch");
    }
    if (git_repository_head_detached(repository) == 1) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "base_branch",
                      "must be given, since HEAD is detached and no branch is the current one");
        return false;
    }
    return git_repository_head(ret, repository) == 0 ||
           repository_fail(call, NULL, "there is no commit yet to begin a branch at");
}

tr_status history_create_branch(struct tr_call *call, git_repository *repository) {
    const char *name = tr_get_string(call, "branch_name", "");
    git_reference *base = NULL;
    git_reference *made = NULL;
    git_object *commit = NULL;
    int is_valid = 0;
    if (git_branch_name_is_valid(&is_valid, name) < 0 || !is_valid) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "branch_name", "'%.100s' is no name of a branch",
                       name);
    }
    if (!find_base(call, repository, &base)) {
        return TR_FAILED;
    }
    bool done = git_reference_peel(&commit, base, GIT_OBJECT_COMMIT) == 0 &&
                git_branch_create(&made, repository, name, (const git_commit *)commit, 0) == 0;
    tr_status status =
            done ? tr_reply_textf(call, "Created branch '%s' from '%s'", name,
                                  git_reference_shorthand(base))
                 : (repository_fail(call, NULL, "the branch cannot be created"), TR_FAILED);
    git_object_free(commit);
    git_reference_free(made);
    git_reference_free(base);
    return status;
}

/* ------------------------------------------------------------------- checkout */

static int note_conflict(git_checkout_notify_t why, const char *path, const git_diff_file *baseline,
                         const git_diff_file *target, const git_diff_file *workdir, void *user) {
    struct text *text = user;
    (void)why;
    (void)baseline;
    (void)target;
    (void)workdir;
    if (text->length < 400) {
        text_add_string(text, text->length == 0 ? "" : ", ");
        quote_path(text, path);
    }
    return 0;
}

static bool write_files(struct tr_call *call, git_repository *repository, git_object *commit) {
    struct text conflicts = {.max = OUTPUT_MAX};
    git_checkout_options options = GIT_CHECKOUT_OPTIONS_INIT;
    options.checkout_strategy = GIT_CHECKOUT_SAFE;
    options.notify_flags = GIT_CHECKOUT_NOTIFY_CONFLICT;
    options.notify_cb = note_conflict;
    options.notify_payload = &conflicts;
    int code = git_checkout_tree(repository, commit, &options);
    if (code == GIT_ECONFLICT) {
        (void)tr_fail(call, TR_FAILED, NULL,
                      "local changes to these files would be overwritten by the checkout: %.500s; "
                      "commit them first",
                      conflicts.data != NULL ? conflicts.data : "");
    } else if (code < 0) {
        (void)repository_fail(call, NULL, "the files cannot be written");
    }
    text_finish(&conflicts);
    return code == 0;
}

tr_status history_checkout(struct tr_call *call, git_repository *repository) {
    const char *name = tr_get_string(call, "branch_name", "");
    git_reference *branch = NULL;
    git_object *commit = changes_find(call, repository, "branch_name", name, GIT_OBJECT_COMMIT);
    tr_status status = TR_FAILED;
    if (commit == NULL) {
        return TR_FAILED;
    }
    if (trees_fit_head(call, repository) && trees_fit(call, repository, commit) &&
        write_files(call, repository, commit)) {
        int code = git_branch_lookup(&branch, repository, name, GIT_BRANCH_LOCAL) == 0
                           ? git_repository_set_head(repository, git_reference_name(branch))
                           : git_repository_set_head_detached(repository, git_object_id(commit));
        status = code == 0 ? tr_reply_textf(call, "Switched to branch '%s'", name)
                           : (repository_fail(call, NULL, "HEAD cannot be set"), TR_FAILED);
    }
    git_reference_free(branch);
    git_object_free(commit);
    return status;
}
