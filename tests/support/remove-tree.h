/* remove-tree.h - remove a folder of a test with all that is in it. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int remove_tree_one(const char *path, const struct stat *status, int kind,
                                  struct FTW *at) {
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Links are removed, not followed. @return 0; -1: errno says why. */
static inline int remove_tree(const char *path) {
    return nftw(path, remove_tree_one, 16, FTW_DEPTH | FTW_PHYS);
}
