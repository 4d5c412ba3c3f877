#include <git2.h>

#include "work.h"

#define ENTRIES_MAX 1000000u
#define DEPTH_MAX   1000u

struct counter {
    struct tr_call *call;
    git_repository *repository;
    size_t entries;
};

static bool fits(struct counter *counter, const git_tree *tree, unsigned depth) {
    size_t count = git_tree_entrycount(tree);
    counter->entries += count;
    if (counter->entries > ENTRIES_MAX || depth > DEPTH_MAX) {
        (void)tr_fail(counter->call, TR_LIMIT_EXCEEDED, NULL,
                      "the commit has more than %u files and folders, or more than %u folders in "
                      "each other, as no honest repository has",
                      ENTRIES_MAX, DEPTH_MAX);
        return false;
    }
    if (tr_cancelled(counter->call)) {
        (void)tr_fail(counter->call, TR_CANCELLED, NULL, "cancelled");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        git_tree *child = NULL;
        /* What is missing is found out, and told, by what the tree is wanted for. */
        if (git_tree_entry_type(entry) != GIT_OBJECT_TREE ||
            git_tree_lookup(&child, counter->repository, git_tree_entry_id(entry)) < 0) {
            continue;
        }
        bool is_small = fits(counter, child, depth + 1);
        git_tree_free(child);
        if (!is_small) {
            return false;
        }
    }
    return true;
}

bool trees_fit(struct tr_call *call, git_repository *repository, const git_object *object) {
    struct counter counter = {.call = call, .repository = repository};
    git_object *tree = NULL;
    if (object == NULL || git_object_peel(&tree, object, GIT_OBJECT_TREE) < 0) {
        return true;
    }
    bool is_small = fits(&counter, (const git_tree *)tree, 0);
    git_object_free(tree);
    return is_small;
}

bool trees_fit_head(struct tr_call *call, git_repository *repository) {
    git_object *head = NULL;
    if (git_revparse_single(&head, repository, "HEAD") < 0) {
        return true; /* no commit yet, or what is wanted of it says why it cannot be read */
    }
    bool is_small = trees_fit(call, repository, head);
    git_object_free(head);
    return is_small;
}
