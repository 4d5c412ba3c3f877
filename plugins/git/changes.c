#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/place.h"
#include "objects.h"
#include "repository.h"
#include "work.h"

#define FILES_MAX 1000

static const char *author;

bool changes_set_author(const char *setting) {
    git_signature *parsed = NULL;
    bool is_right = setting == NULL || git_signature_from_buffer(&parsed, setting) == 0;
    git_signature_free(parsed);
    author = is_right ? setting : NULL;
    return is_right;
}

tr_status reply_text(struct tr_call *call, struct text *text) {
    tr_status status = TR_FAILED;
    if (text->failed) {
        status = tr_fail(call, TR_LIMIT_EXCEEDED, NULL,
                         "the text has more than 4 MiB; ask for a smaller part");
    } else {
        size_t length = text->length;
        length -= length > 0 && text->data[length - 1] == '\n';
        text_cut(text, length);
        status = tr_reply_text(call, text->data != NULL ? text->data : "");
    }
    text_finish(text);
    return status;
}

git_object *changes_find(struct tr_call *call, git_repository *repository, const char *field,
                         const char *revision, git_object_t type) {
    git_object *found = NULL;
    git_object *peeled = NULL;
    char what[160];
    (void)snprintf(what, sizeof what, "'%.100s' names no commit", revision);
    if (revision[0] == '-') {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "'%.100s' cannot start with '-'",
                      revision);
        return NULL;
    }
    if (git_revparse_single(&found, repository, revision) < 0 ||
        git_object_peel(&peeled, found, type) < 0) {
        (void)repository_fail(call, field, what);
    }
    git_object_free(found);
    return peeled;
}

/* ------------------------------------------------------------------- patches */

/* git ends the name of a file that has a space in it by a tab, by which patch finds its end. */
static void print_header(struct text *text, const char *header, size_t length) {
    for (const char *line = header, *end = header + length; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = stop != NULL ? (size_t)(stop - line) : (size_t)(end - line);
        bool is_name = size > 4 && (memcmp(line, "--- ", 4) == 0 || memcmp(line, "+++ ", 4) == 0);
        bool has_space = is_name && line[4] != '"' && memchr(line + 4, ' ', size - 4) != NULL;
        text_add(text, line, size);
        text_add_string(text, has_space ? "\t" : "");
        text_add_string(text, stop != NULL ? "\n" : "");
        line += size + 1;
    }
}

/* Lines as git prints them: those of content have their origin before them. */
static int print_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
                      const git_diff_line *line, void *user) {
    struct text *text = user;
    (void)delta;
    (void)hunk;
    if (line->origin == GIT_DIFF_LINE_FILE_HDR) {
        print_header(text, line->content, line->content_len);
        return text->failed ? GIT_EUSER : 0;
    }
    if (line->origin == GIT_DIFF_LINE_CONTEXT || line->origin == GIT_DIFF_LINE_ADDITION ||
        line->origin == GIT_DIFF_LINE_DELETION) {
        text_add(text, &line->origin, 1);
    }
    text_add(text, line->content, line->content_len);
    return text->failed ? GIT_EUSER : 0;
}

bool changes_print(git_diff *diff, struct text *ret) {
    git_diff_find_options options = GIT_DIFF_FIND_OPTIONS_INIT;
    options.flags = GIT_DIFF_FIND_RENAMES;
    return git_diff_find_similar(diff, &options) == 0 &&
           git_diff_print(diff, GIT_DIFF_FORMAT_PATCH, print_line, ret) == 0;
}

static int print_file(const git_diff_delta *delta, float progress, void *user) {
    struct text *text = user;
    (void)progress;
    bool is_new = delta->status == GIT_DELTA_ADDED;
    bool is_gone = delta->status == GIT_DELTA_DELETED;
    text_add_string(text, "\n--- ");
    text_add_string(text, is_new ? "/dev/null" : delta->old_file.path);
    text_add_string(text, "\n+++ ");
    text_add_string(text, is_gone ? "/dev/null" : delta->new_file.path);
    text_add_string(text, "\n");
    return text->failed ? GIT_EUSER : 0;
}

static int print_binary(const git_diff_delta *delta, const git_diff_binary *binary, void *user) {
    struct text *text = user;
    (void)binary;
    text_add_string(text, "Binary files a/");
    text_add_string(text, delta->old_file.path);
    text_add_string(text, " and b/");
    text_add_string(text, delta->new_file.path);
    text_add_string(text, " differ\n");
    return text->failed ? GIT_EUSER : 0;
}

static int print_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *user) {
    struct text *text = user;
    (void)delta;
    text_add(text, hunk->header, hunk->header_len);
    return text->failed ? GIT_EUSER : 0;
}

bool changes_print_hunks(git_diff *diff, struct text *ret) {
    git_diff_find_options options = GIT_DIFF_FIND_OPTIONS_INIT;
    options.flags = GIT_DIFF_FIND_RENAMES;
    return git_diff_find_similar(diff, &options) == 0 &&
           git_diff_foreach(diff, print_file, print_binary, print_hunk, print_line, ret) == 0;
}

/* Submodules are repositories of their own, which may be anywhere. */
static git_diff_options options_of(struct tr_call *call) {
    git_diff_options options = GIT_DIFF_OPTIONS_INIT;
    options.context_lines = (uint32_t)tr_get_u64(call, "context_lines", 3);
    options.ignore_submodules = GIT_SUBMODULE_IGNORE_ALL;
    options.max_size = (git_off_t)OBJECTS_BLOB_MAX;
    return options;
}

static tr_status reply_diff(struct tr_call *call, git_diff *diff, const char *title) {
    struct text text = {.max = OUTPUT_MAX};
    text_add_string(&text, title);
    bool done = changes_print(diff, &text);
    git_diff_free(diff);
    if (!done && !text.failed) {
        text_finish(&text);
        (void)repository_fail(call, NULL, "the differences cannot be found");
        return TR_FAILED;
    }
    return reply_text(call, &text);
}

tr_status changes_unstaged(struct tr_call *call, git_repository *repository) {
    git_diff *diff = NULL;
    git_diff_options options = options_of(call);
    if (git_diff_index_to_workdir(&diff, repository, NULL, &options) < 0) {
        (void)repository_fail(call, NULL, "the differences cannot be found");
        return TR_FAILED;
    }
    return reply_diff(call, diff, "Unstaged changes:\n");
}

/* The tree of HEAD; NULL with 0 before the first commit. */
static int head_tree(git_repository *repository, git_tree **ret) {
    git_object *tree = NULL;
    *ret = NULL;
    if (git_repository_head_unborn(repository) == 1) {
        return 0;
    }
    int code = git_revparse_single(&tree, repository, "HEAD^{tree}");
    *ret = (git_tree *)tree;
    return code;
}

tr_status changes_staged(struct tr_call *call, git_repository *repository) {
    git_diff *diff = NULL;
    git_tree *tree = NULL;
    git_diff_options options = options_of(call);
    if (!trees_fit_head(call, repository)) {
        return TR_FAILED;
    }
    bool done = head_tree(repository, &tree) == 0 &&
                git_diff_tree_to_index(&diff, repository, tree, NULL, &options) == 0;
    git_tree_free(tree);
    if (!done) {
        (void)repository_fail(call, NULL, "the differences cannot be found");
        return TR_FAILED;
    }
    return reply_diff(call, diff, "Staged changes:\n");
}

tr_status changes_against(struct tr_call *call, git_repository *repository) {
    const char *target = tr_get_string(call, "target", "");
    git_diff *diff = NULL;
    git_diff_options options = options_of(call);
    git_object *tree = changes_find(call, repository, "target", target, GIT_OBJECT_TREE);
    if (tree == NULL || !trees_fit(call, repository, tree)) {
        git_object_free(tree);
        return TR_FAILED;
    }
    int code = git_diff_tree_to_workdir_with_index(&diff, repository, (git_tree *)tree, &options);
    git_object_free(tree);
    if (code < 0) {
        (void)repository_fail(call, NULL, "the differences cannot be found");
        return TR_FAILED;
    }
    char title[600];
    (void)snprintf(title, sizeof title, "Diff with %.500s:\n", target);
    return reply_diff(call, diff, title);
}

/* ------------------------------------------------------------------- staging */

/* A path of the argument `files`, relative to the top of the working tree; NULL: the call has
 * failed. `folder` is the top. */
static const char *check_file(struct tr_call *call, git_repository *repository, git_index *index,
                              int folder, const char *field, const char *path) {
    const char *top = git_repository_workdir(repository);
    char message[PLACE_MESSAGE_SIZE];
    size_t length = strlen(top);
    if (path[0] == '/') {
        if (strncmp(path, top, length) != 0) {
            (void)tr_fail(call, TR_INVALID_ARGUMENTS, field,
                          "Path '%.200s' is outside the repository '%.200s'", path, top);
            return NULL;
        }
        path += length;
    }
    while (path[0] == '.' && path[1] == '/' && path[2] != '\0') {
        path += 2;
    }
    struct stat status;
    size_t position;
    int file = place_below(folder, path, O_PATH, 0, message);
    bool is_there = file >= 0;
    if (file >= 0) {
        (void)close(file);
    } else if (fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISLNK(status.st_mode)) {
        is_there = strchr(path, '/') == NULL; /* a link itself is a file for git */
    }
    bool is_known = git_index_get_bypath(index, path, 0) != NULL ||
                    git_index_find_prefix(&position, index, path) == 0;
    if (!is_there && !is_known) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "%s; the path must be in the repository",
                      message);
        return NULL;
    }
    int is_ignored = 0;
    if (!is_known && git_ignore_path_is_ignored(&is_ignored, repository, path) == 0 && is_ignored) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "'%.300s' is ignored by a .gitignore",
                      path);
        return NULL;
    }
    return path;
}

/* Paths of the argument, all of them checked before any is staged; their number, -1: failed. */
static int gather_files(struct tr_call *call, git_repository *repository, git_index *index,
                        const char *paths[FILES_MAX]) {
    char message[PLACE_MESSAGE_SIZE];
    int folder = place_at(git_repository_workdir(repository), O_RDONLY | O_DIRECTORY, 0, message);
    if (folder < 0) {
        folder = place_at(tr_get_string(call, "repo_path", ""), O_RDONLY | O_DIRECTORY, 0, message);
    }
    if (folder < 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "repo_path", "%s", message);
        return -1;
    }
    int count = 0;
    for (; count < FILES_MAX; count++) {
        char field[32];
        (void)snprintf(field, sizeof field, "files/%d", count);
        const char *path = tr_get_string(call, field, NULL);
        if (path == NULL) {
            count = place_is_whole(call, field) ? count : -1;
            break;
        }
        bool is_all = strcmp(path, ".") == 0;
        paths[count] = is_all ? "*" : check_file(call, repository, index, folder, field, path);
        if (paths[count] == NULL) {
            count = -1;
            break;
        }
    }
    (void)close(folder);
    return count;
}

tr_status changes_add(struct tr_call *call, git_repository *repository) {
    const char **paths = tr_alloc(call, sizeof *paths * FILES_MAX);
    git_index *index = NULL;
    if (paths == NULL) {
        return TR_LIMIT_EXCEEDED;
    }
    if (git_repository_index(&index, repository) < 0) {
        (void)repository_fail(call, NULL, "the index cannot be read");
        return TR_FAILED;
    }
    int count = gather_files(call, repository, index, paths);
    tr_status status = TR_FAILED;
    bool is_all = count > 0 && strcmp(paths[0], "*") == 0;
    git_strarray list = {.strings = (char **)(uintptr_t)paths,
                         .count = (size_t)(count > 0 ? count : 0)};
    unsigned flags = is_all ? GIT_INDEX_ADD_DEFAULT : GIT_INDEX_ADD_DISABLE_PATHSPEC_MATCH;
    if (count > 0 &&
        (git_index_add_all(index, &list, flags, NULL, NULL) < 0 || git_index_write(index) < 0)) {
        (void)repository_fail(call, NULL, "the files cannot be staged");
    } else if (count >= 0) {
        status = tr_reply_text(call, "Files staged successfully");
    }
    git_index_free(index);
    return status;
}

tr_status changes_reset(struct tr_call *call, git_repository *repository) {
    git_index *index = NULL;
    git_tree *tree = NULL;
    if (!trees_fit_head(call, repository)) {
        return TR_FAILED;
    }
    bool done = git_repository_index(&index, repository) == 0 &&
                head_tree(repository, &tree) == 0 &&
                (tree != NULL ? git_index_read_tree(index, tree) : git_index_clear(index)) == 0 &&
                git_index_write(index) == 0;
    git_tree_free(tree);
    git_index_free(index);
    if (!done) {
        (void)repository_fail(call, NULL, "the index cannot be reset");
        return TR_FAILED;
    }
    return tr_reply_text(call, "All staged changes reset");
}

/* ----------------------------------------------------------------- committing */

/* Who commits: the setting, or what the repository's own configuration says. */
static int make_signature(git_signature **ret, git_repository *repository) {
    git_signature *parsed = NULL;
    if (author == NULL) {
        return git_signature_default(ret, repository);
    }
    int code = git_signature_from_buffer(&parsed, author);
    if (code == 0) {
        code = git_signature_now(ret, parsed->name, parsed->email);
    }
    git_signature_free(parsed);
    return code;
}

static bool write_tree(struct tr_call *call, git_repository *repository, git_tree **ret) {
    git_index *index = NULL;
    git_oid id;
    bool done = git_repository_index(&index, repository) == 0;
    if (done && git_index_has_conflicts(index)) {
        (void)tr_fail(call, TR_FAILED, NULL,
                      "there are conflicts: resolve them and stage the files first");
        git_index_free(index);
        return false;
    }
    done = done && git_index_write_tree(&id, index) == 0 &&
           git_tree_lookup(ret, repository, &id) == 0;
    git_index_free(index);
    return done || repository_fail(call, NULL, "the tree cannot be written");
}

/* Whether a tree is that of HEAD, or has nothing before the first commit. */
static bool changes_nothing(git_repository *repository, const git_tree *tree) {
    git_tree *before = NULL;
    bool is_same = head_tree(repository, &before) == 0 &&
                   (before != NULL ? git_oid_equal(git_tree_id(before), git_tree_id(tree))
                                   : git_tree_entrycount(tree) == 0);
    git_tree_free(before);
    return is_same;
}

static tr_status commit_tree(struct tr_call *call, git_repository *repository, git_tree *tree) {
    git_signature *signature = NULL;
    git_object *parent = NULL;
    git_oid id;
    bool is_first = git_repository_head_unborn(repository) == 1;
    if (make_signature(&signature, repository) < 0) {
        return tr_fail(call, TR_FAILED, NULL,
                       "nobody is known who commits: set \"author\" of the plugin, such as \"Ada "
                       "<ada@example.org>\", or user.name and user.email of the repository");
    }
    bool done = is_first || git_revparse_single(&parent, repository, "HEAD^{commit}") == 0;
    const git_commit *parents[] = {(const git_commit *)parent};
    done = done && git_commit_create(&id, repository, "HEAD", signature, signature, NULL,
                                     tr_get_string(call, "message", ""), tree, is_first ? 0 : 1,
                                     is_first ? NULL : parents) == 0;
    git_object_free(parent);
    git_signature_free(signature);
    if (!done) {
        (void)repository_fail(call, NULL, "the commit cannot be made");
        return TR_FAILED;
    }
    char name[GIT_OID_HEXSZ + 1];
    return tr_reply_textf(call, "Changes committed successfully with hash %s",
                          git_oid_tostr(name, sizeof name, &id));
}

tr_status changes_commit(struct tr_call *call, git_repository *repository) {
    git_tree *tree = NULL;
    if (git_repository_state(repository) != GIT_REPOSITORY_STATE_NONE) {
        return tr_fail(call, TR_FAILED, NULL,
                       "a merge, rebase or the like is going on in the repository: finish it with "
                       "git first");
    }
    if (!write_tree(call, repository, &tree)) {
        return TR_FAILED;
    }
    tr_status status =
            changes_nothing(repository, tree)
                    ? tr_fail(call, TR_FAILED, NULL,
                              "nothing is staged, so there is nothing to commit: stage the changed "
                              "files with git_add first; git_status names them")
                    : commit_tree(call, repository, tree);
    git_tree_free(tree);
    return status;
}
