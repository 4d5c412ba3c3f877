/* git - the tools of a repository, by libgit2, with the names, arguments and texts of the reference
 * server of MCP. Repositories are in one granted folder, and what they say is not trusted:
 * repository.h says what is refused. */
#include <stdlib.h>
#include <string.h>
#include <toolrack/plugin.h>

#include "../shared/place.h"
#include "repository.h"
#include "tools.h"

static char *author; /* the setting, owned */

static void close_git(void) {
    place_close();
    repository_end();
    (void)changes_set_author(NULL);
    free(author);
    author = NULL;
}

static tr_status open_git(struct tr_host *host) {
    const char *who = tr_host_config(host, "author", NULL);
    if (!repository_begin()) {
        repository_end();
        return tr_host_fail(host, "libgit2 cannot be used");
    }
    author = who != NULL ? strdup(who) : NULL;
    if (!changes_set_author(author)) {
        close_git();
        return tr_host_fail(
                host, "author must be such as \"Ada <ada@example.org>\", not \"%.100s\"", who);
    }
    if (!place_open(host)) {
        close_git();
        return TR_FAILED;
    }
    return TR_OK;
}

static bool texts_are_whole(struct tr_call *call) {
    static const char *const names[] = {"repo_path",       "message",      "branch_name",
                                        "base_branch",     "target",       "revision",
                                        "contains",        "not_contains", "branch_type",
                                        "start_timestamp", "end_timestamp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!place_is_whole(call, names[i])) {
            return false;
        }
    }
    return true;
}

static tr_status with_repository(struct tr_call *call,
                                 tr_status (*work)(struct tr_call *call,
                                                   struct git_repository *repository)) {
    struct git_repository *repository = NULL;
    if (!texts_are_whole(call) || !repository_open(call, &repository)) {
        return TR_FAILED;
    }
    tr_status status = work(call, repository);
    repository_close(repository);
    return status;
}

/* clang-format off */
static tr_status git_status(struct tr_call *call) {
    return with_repository(call, status_reply);
}
TR_JSON_TOOL(git_status,
    ("Show the state of a repository's working tree: the branch, what is staged, what is "
     "changed, and files that git does not know. The text is that of git status.",
     .title = "Repository status", .category = "development", .tags = "git,version control,repository",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"}
        },
        "required": ["repo_path"],
        "additionalProperties": false
    }))

static tr_status git_diff_unstaged(struct tr_call *call) {
    return with_repository(call, changes_unstaged);
}
TR_JSON_TOOL(git_diff_unstaged,
    ("Show the unstaged changes of a repository, those of the working tree that are not staged yet, as "
     "a patch.",
     .title = "Unstaged changes", .category = "development", .tags = "git,version control,repository,show,diff,unstaged",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "context_lines": {"type": "integer", "minimum": 0, "maximum": 10000, "default": 3,
                              "description": "How many lines around a change are shown"}
        },
        "required": ["repo_path"],
        "additionalProperties": false
    }))

static tr_status git_diff_staged(struct tr_call *call) {
    return with_repository(call, changes_staged);
}
TR_JSON_TOOL(git_diff_staged,
    ("Show the changes that are staged for the next commit, as a patch.",
     .title = "Staged changes", .category = "development", .tags = "git,version control,repository,diff,staged",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "context_lines": {"type": "integer", "minimum": 0, "maximum": 10000, "default": 3,
                              "description": "How many lines around a change are shown"}
        },
        "required": ["repo_path"],
        "additionalProperties": false
    }))

static tr_status git_diff(struct tr_call *call) {
    return with_repository(call, changes_against);
}
TR_JSON_TOOL(git_diff,
    ("Show the differences (diff) of the working tree against a branch or commit, as a patch.",
     .title = "Difference from a branch or commit", .category = "development", .tags = "git,version control,repository,diff,compare,branch,commit",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "target": {"type": "string", "minLength": 1, "maxLength": 1000,
                       "description": "The branch, tag or commit to compare with: its name or id"},
            "context_lines": {"type": "integer", "minimum": 0, "maximum": 10000, "default": 3,
                              "description": "How many lines around a change are shown"}
        },
        "required": ["repo_path", "target"],
        "additionalProperties": false
    }))

static tr_status git_commit(struct tr_call *call) {
    return with_repository(call, changes_commit);
}
TR_JSON_TOOL(git_commit,
    ("Record what is staged as a commit. Hooks are not run.",
     .title = "Commit", .category = "development", .tags = "git,version control,repository",
     .permission = TR_CONFIRM),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "message": {"type": "string", "minLength": 1, "maxLength": 65536,
                        "description": "The message of the commit"}
        },
        "required": ["repo_path", "message"],
        "additionalProperties": false
    }))

static tr_status git_add(struct tr_call *call) {
    return with_repository(call, changes_add);
}
TR_JSON_TOOL(git_add,
    ("Stage (add) files for the next commit: new ones, changed ones, and those that were removed.",
     .title = "Stage files", .category = "development", .tags = "git,version control,repository,add,stage,file",
     .permission = TR_CONFIRM,
     .flags = TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "files": {"type": "array", "minItems": 1, "maxItems": 1000,
                      "items": {"type": "string", "minLength": 1, "maxLength": 4095},
                      "description": "Files and folders, relative to the repository; \".\" is all of it"}
        },
        "required": ["repo_path", "files"],
        "additionalProperties": false
    }))

static tr_status git_reset(struct tr_call *call) {
    return with_repository(call, changes_reset);
}
TR_JSON_TOOL(git_reset,
    ("Unstage all changes: take everything out of the next commit. The working tree stays as it is.",
     .title = "Unstage all changes", .category = "development", .tags = "git,version control,repository,unstage,everything,reset",
     .permission = TR_CONFIRM,
     .flags = TR_DESTRUCTIVE | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"}
        },
        "required": ["repo_path"],
        "additionalProperties": false
    }))

static tr_status git_log(struct tr_call *call) {
    return with_repository(call, history_log);
}
TR_JSON_TOOL(git_log,
    ("Show the log, or history: the last commits of the current branch, the newest first, perhaps "
     "only those between two times.",
     .title = "Last commits", .category = "development", .tags = "git,version control,repository,log,history,commits",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "max_count": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10,
                          "description": "How many commits are shown at most"},
            "start_timestamp": {"type": "string", "maxLength": 100,
                                "description": "Only commits from then on: 2024-01-15T14:30:25, 2024-01-15, Jan 15 2024, yesterday, 2 weeks ago"},
            "end_timestamp": {"type": "string", "maxLength": 100,
                              "description": "Only commits until then, in the same forms"}
        },
        "required": ["repo_path"],
        "additionalProperties": false
    }))

static tr_status git_create_branch(struct tr_call *call) {
    return with_repository(call, history_create_branch);
}
TR_JSON_TOOL(git_create_branch,
    ("Create a branch at another one or at the current one, without switching to it.",
     .title = "Create a branch", .category = "development", .tags = "git,version control,repository",
     .permission = TR_CONFIRM),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "branch_name": {"type": "string", "minLength": 1, "maxLength": 250,
                            "description": "The name of the new branch"},
            "base_branch": {"type": "string", "maxLength": 1000,
                            "description": "The branch to begin at; the current one if it is left out"}
        },
        "required": ["repo_path", "branch_name"],
        "additionalProperties": false
    }))

static tr_status git_checkout(struct tr_call *call) {
    return with_repository(call, history_checkout);
}
TR_JSON_TOOL(git_checkout,
    ("Switch to a branch, tag or commit. Local changes that would be overwritten are an error.",
     .title = "Switch to a branch", .category = "development", .tags = "git,version control,repository,branch,switch,checkout",
     .permission = TR_CONFIRM),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "branch_name": {"type": "string", "minLength": 1, "maxLength": 1000,
                            "description": "The branch, tag or commit to switch to"}
        },
        "required": ["repo_path", "branch_name"],
        "additionalProperties": false
    }))

static tr_status git_show(struct tr_call *call) {
    return with_repository(call, history_show);
}
TR_JSON_TOOL(git_show,
    ("Show one commit: who made it and when, its message, and what it changed.",
     .title = "Show a commit", .category = "development", .tags = "git,version control,show,commit",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "revision": {"type": "string", "minLength": 1, "maxLength": 1000,
                         "description": "The commit, branch or tag to show"}
        },
        "required": ["repo_path", "revision"],
        "additionalProperties": false
    }))

static tr_status git_branch(struct tr_call *call) {
    return with_repository(call, history_branch);
}
TR_JSON_TOOL(git_branch,
    ("List the branches that a repository has, perhaps only those that have a commit, or that do not.",
     .title = "List branches", .category = "development", .tags = "git,version control,repository,branches,list",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "repo_path": {"type": "string", "minLength": 1, "maxLength": 4095,
                          "description": "The repository: a path in the granted folder, or relative to it"},
            "branch_type": {"type": "string", "enum": ["local", "remote", "all"],
                            "description": "Which branches are listed"},
            "contains": {"type": "string", "maxLength": 1000,
                         "description": "A commit that the branches must have"},
            "not_contains": {"type": "string", "maxLength": 1000,
                             "description": "A commit that the branches must not have"}
        },
        "required": ["repo_path", "branch_type"],
        "additionalProperties": false
    }))

TR_PLUGIN(("git", .description = "Works with git repositories in one granted folder",
           .vendor = "toolrack", .license = "MIT", .flags = TR_THREAD_SAFE | TR_NEEDS_WORKER, .open = open_git,
           .close = close_git,
           TR_CAPABILITIES(TR_READS("${workspace}"), TR_WRITES("${workspace}"))),
          "1.0.0", git_status, git_diff_unstaged, git_diff_staged, git_diff, git_commit, git_add, git_reset, git_log, git_create_branch, git_checkout, git_show, git_branch)
