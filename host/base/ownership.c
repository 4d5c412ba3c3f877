#include "base/ownership.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/acl.h"
#include "base/error.h"
#include "base/link.h"

/* ------------------------------------------------------------------- one entry */

bool ownership_lets_others_write(const struct stat *st, const char *path, bool *ret_by_list) {
    *ret_by_list = false;
    return (st->st_mode & S_IWOTH) != 0 ||
           ((st->st_mode & S_IWGRP) != 0 && acl_lets_others_write(path, st->st_gid, ret_by_list));
}

static int judge_writers(const struct stat *st, const char *path, bool is_end,
                         struct toolrack_error *err) {
    bool is_folder = S_ISDIR(st->st_mode);
    if (S_ISLNK(st->st_mode) || (!is_end && (st->st_mode & S_ISVTX) != 0)) {
        return 0;
    }
    bool is_by_list;
    if (ownership_lets_others_write(st, path, &is_by_list)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         is_folder ? "others may write to %s (mode %04o%s) and exchange what is "
                                     "loaded from below it; chmod go-w it, or choose another folder"
                                   : "others may write to %s (mode %04o%s); chmod go-w it",
                         path, st->st_mode & 07777,
                         is_by_list ? ", with an access control list" : "");
    }
    return 0;
}

int ownership_judge(const struct stat *st, const char *path, bool is_end,
                    struct toolrack_error *err) {
    bool is_folder = S_ISDIR(st->st_mode);
    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         is_folder ? "%s belongs to user %u, who could exchange what is loaded "
                                     "from below it; choose a folder that is owned by you or root, "
                                     "as all above it"
                                   : "%s belongs to user %u, who could change it; use a copy that "
                                     "is owned by you or root",
                         path, st->st_uid);
    }
    return judge_writers(st, path, is_end, err);
}

/* --------------------------------------------------------------------- the way */

struct walk {
    struct link_walk way;
    bool any_owner; /* each owner is trusted with what is his */
};

static int walk_failed(const char *path, int why, struct toolrack_error *err) {
    return why == ENOENT || why == ENOTDIR
                   ? TOOLRACK_E_NOT_FOUND
                   : error_set(err, TOOLRACK_E_IO, "cannot follow %s: %s", path, strerror(why));
}

/* Whether others than the owner of the folder that was walked to can make entries there. */
static bool is_shared(const struct walk *walk) {
    struct stat st;
    return stat(walk->way.at[0] != '\0' ? walk->way.at : "/", &st) < 0 ||
           (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static int judge(const struct walk *walk, const struct stat *st, const char *path, bool is_end,
                 struct toolrack_error *err) {
    if (!walk->any_owner) {
        return ownership_judge(st, path, is_end, err);
    }
    if (st->st_uid != 0 && st->st_uid != geteuid() && is_shared(walk)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s belongs to user %u, and others may make files in its folder; use one "
                         "in a folder that only its owner may write",
                         path, st->st_uid);
    }
    return judge_writers(st, path, is_end, err);
}

/* Walk one name, the first `length` bytes of the rest. */
static int walk_name(struct walk *walk, size_t length, const char *path,
                     struct toolrack_error *err) {
    char next[PATH_MAX];
    struct stat st;
    int next_length =
            snprintf(next, sizeof next, "%s/%.*s", walk->way.at, (int)length, walk->way.rest);
    if (next_length < 0 || next_length >= (int)sizeof next) {
        return walk_failed(path, ENAMETOOLONG, err);
    }
    if (lstat(next, &st) < 0) {
        return walk_failed(path, errno, err);
    }
    const char *rest = walk->way.rest + length;
    memmove(walk->way.rest, rest, strlen(rest) + 1);
    bool is_end = walk->way.rest[strspn(walk->way.rest, "/")] == '\0';
    int code = judge(walk, &st, next, is_end, err);
    if (code == 0 && S_ISLNK(st.st_mode)) {
        int why = link_follow(&walk->way, next);
        return why == 0 ? 0 : walk_failed(path, why, err);
    }
    memcpy(walk->way.at, next, (size_t)next_length + 1);
    return code;
}

/* `path` is absolute. */
static int walk_all(const char *path, bool any_owner, struct toolrack_error *err) {
    struct walk walk = {.any_owner = any_owner};
    struct stat st;
    int length = snprintf(walk.way.rest, sizeof walk.way.rest, "%s", path);
    if (length < 0 || length >= (int)sizeof walk.way.rest || stat("/", &st) < 0) {
        return walk_failed(path, ENAMETOOLONG, err);
    }
    int code = judge(&walk, &st, "/", walk.way.rest[strspn(walk.way.rest, "/")] == '\0', err);
    size_t name;
    while (code == 0 && (name = link_next_name(&walk.way)) > 0) {
        code = walk_name(&walk, name, path, err);
    }
    return code;
}

int ownership_check_writers(const char *path, struct toolrack_error *err) {
    assert(path[0] == '/');
    return walk_all(path, true, err);
}

int ownership_check(const char *path, struct toolrack_error *err) {
    if (path[0] == '/') {
        return walk_all(path, false, err);
    }
    char here[PATH_MAX];
    char whole[PATH_MAX];
    if (getcwd(here, sizeof here) == NULL) {
        return walk_failed(path, errno, err);
    }
    int length = snprintf(whole, sizeof whole, "%s/%s", here, path);
    return length >= 0 && length < (int)sizeof whole ? walk_all(whole, false, err)
                                                     : walk_failed(path, ENAMETOOLONG, err);
}
