#include "life/policy-paths.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "life/data.h"
#include "life/guard-parts.h"
#include "life/guard.h"
#include "life/programs.h"

/* ---------------------------------------------------------------------- add */

/* An array with room for one more; NULL: no memory. */
static void *make_room(struct arena *arena, void *items, size_t count, size_t *room, size_t size) {
    if (count < *room) {
        return items;
    }
    size_t more = *room == 0 ? 8 : 2 * *room;
    void *grown = arena_alloc(arena, more * size);
    if (grown != NULL && count > 0) {
        memcpy(grown, items, count * size);
    }
    *room = grown != NULL ? more : *room;
    return grown;
}

static int check(struct path_grants *grants, const struct path_grant *grant,
                 struct toolrack_error *err) {
    const char *own = grants->guard->own_folder;
    const char **refusal = grant->refusal;
    if (own != NULL && strcmp(own, grant->way.end) == 0) {
        *refusal = data_make(grants->arena, grant->way.end);
    }
    return *refusal != NULL
                   ? 0
                   : guard_grant(grants->guard, grant->way.end, grant->writes, refusal, err);
}

int path_grants_add(struct path_grants *grants, const struct guard_way *way, bool writes,
                    const char **refusal, struct toolrack_error *err) {
    const struct path_grant grant = {.refusal = refusal, .way = *way, .writes = writes};
    int code = check(grants, &grant, err);
    if (code < 0 || *refusal != NULL) {
        return code;
    }
    struct path_grant *items =
            make_room(grants->ways, grants->items, grants->count, &grants->room, sizeof *items);
    if (items == NULL) {
        return error_oom(err);
    }
    grants->items = items;
    items[grants->count++] = grant;
    return 0;
}

/* ----------------------------------------------------------------- writable */

static bool add_writable(struct path_grants *grants, const char *path) {
    const char **list = make_room(grants->ways, (void *)grants->writable, grants->writable_count,
                                  &grants->writable_room, sizeof *list);
    if (list != NULL) {
        grants->writable = list;
        list[grants->writable_count++] = path;
    }
    return list != NULL;
}

/* False: no memory. */
static bool find_writable(struct path_grants *grants) {
    const struct guard_mounts *mounts = NULL;
    grants->writable_count = 0;
    for (size_t i = 0; i < grants->count; i++) {
        const struct path_grant *grant = &grants->items[i];
        if (grant->writes && mounts == NULL) {
            mounts = guard_mounts_read(grants->ways);
        }
        const char *const *alias = grant->writes && mounts != NULL
                                           ? guard_aliases(grants->ways, mounts, grant->way.end)
                                           : NULL;
        if (grant->writes && (alias == NULL || !add_writable(grants, grant->way.end))) {
            return false;
        }
        for (; grant->writes && *alias != NULL; alias++) {
            if (!add_writable(grants, *alias)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether the worker cannot replace a name: its folder is read-only or hidden there, or something
 * is mounted upon it. */
static bool is_in_place(const struct guard *guard, const char *path, const char *folder) {
    const struct guard_list *const lists[] = {&guard->hidden, &guard->frozen, &guard->kept};
    if (guard_is_protected(guard, folder)) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        for (size_t j = 0; j < lists[i]->count; j++) {
            if (strcmp(lists[i]->paths[j], path) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* In which of the writable folders the plugin could replace a name, or write the file that is there
 * if `counts_itself`. NULL: in none. */
static const char *where_writable(const struct path_grants *grants, const char *path,
                                  bool counts_itself) {
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    bool is_free = guard_may_write(folder) || (counts_itself && guard_may_write(path));
    for (size_t i = 0; is_free && i < grants->writable_count; i++) {
        const char *below = guard_below(path, grants->writable[i]);
        if (below != NULL && (below[0] != '\0' || counts_itself) &&
            !is_in_place(grants->guard, path, folder)) {
            return grants->writable[i];
        }
    }
    return NULL;
}

/* The first such name on a way; what does not exist yet is one too. */
static const char *find_loose(const struct path_grants *grants, const struct guard_way *way,
                              bool counts_itself, const char **ret_where) {
    for (size_t i = 0; i < way->step_count; i++) {
        bool is_end = strcmp(way->steps[i].path, way->end) == 0;
        *ret_where = where_writable(grants, way->steps[i].path, counts_itself && is_end);
        if (*ret_where != NULL) {
            return way->steps[i].path;
        }
    }
    *ret_where = way->missing != NULL ? where_writable(grants, way->missing, false) : NULL;
    return *ret_where != NULL ? way->missing : NULL;
}

/* ------------------------------------------------------------------- settle */

/* Whether another grant of writing gives all that this one does: one of a folder above, or an
 * earlier one of the same path. */
static bool is_covered(const struct path_grants *grants, size_t at) {
    for (size_t i = 0; i < grants->count; i++) {
        const struct path_grant *other = &grants->items[i];
        const char *below = guard_below(grants->items[at].way.end, other->way.end);
        if (i != at && other->writes && below != NULL && (below[0] != '\0' || i < at)) {
            return true;
        }
    }
    return false;
}

static void drop_refused(struct path_grants *grants) {
    size_t count = 0;
    for (size_t i = 0; i < grants->count; i++) {
        if (*grants->items[i].refusal == NULL) {
            grants->items[count++] = grants->items[i];
        }
    }
    grants->count = count;
}

/* Take out again what is the host's, of what is left. */
static int check_again(struct path_grants *grants, struct toolrack_error *err) {
    struct guard *guard = grants->guard;
    int code = 0;
    guard->hidden = guard->frozen = guard->kept = (struct guard_list){0};
    for (size_t i = 0; code == 0 && i < grants->count; i++) {
        code = check(grants, &grants->items[i], err);
    }
    return code;
}

/* Refuse one that leads to elsewhere. */
static int refuse_one(struct path_grants *grants, bool *ret_refused, struct toolrack_error *err) {
    *ret_refused = false;
    if (!find_writable(grants)) {
        return error_oom(err);
    }
    for (size_t i = 0; i < grants->count && !*ret_refused; i++) {
        const struct path_grant *grant = &grants->items[i];
        const char *where;
        const char *loose = find_loose(grants, &grant->way, false, &where);
        if (loose == NULL || is_covered(grants, i)) {
            continue;
        }
        *grant->refusal =
                arena_printf(grants->arena,
                             "the way to %s is by %s, which the plugin could make a link to "
                             "anywhere, as it may write in %s; allow the one or the other",
                             grant->way.end, loose, where);
        *ret_refused = true;
        if (*grant->refusal == NULL) {
            return error_oom(err);
        }
    }
    return 0;
}

static void drop_covered(struct path_grants *grants) {
    for (size_t i = grants->count; i-- > 0;) {
        const char *where;
        if (find_loose(grants, &grants->items[i].way, false, &where) != NULL &&
            is_covered(grants, i)) {
            grants->count--;
            memmove(&grants->items[i], &grants->items[i + 1],
                    (grants->count - i) * sizeof grants->items[i]);
        }
    }
}

int path_grants_settle(struct path_grants *grants, struct toolrack_error *err) {
    bool refused;
    do {
        int code = refuse_one(grants, &refused, err);
        if (code == 0 && refused) {
            drop_refused(grants);
            code = check_again(grants, err);
            drop_refused(grants);
        }
        if (code < 0) {
            return code;
        }
    } while (refused);
    drop_covered(grants);
    return 0;
}

/* ----------------------------------------------------------------- programs */

/* A second name of the file may be where the plugin writes. Images of systems have such programs,
 * in their own folders. */
static bool has_loose_name(const struct path_grants *grants, const char *path, const char **ret) {
    struct stat file;
    struct stat folder;
    bool is_system = guard_is_library_path(path);
    for (const char *const *at = program_folders(); *at != NULL; at++) {
        is_system = is_system || guard_below(path, *at) != NULL;
    }
    if (is_system || lstat(path, &file) < 0 || !S_ISREG(file.st_mode) || file.st_nlink < 2 ||
        !guard_may_write(path)) {
        return false;
    }
    for (size_t i = 0; i < grants->writable_count; i++) {
        if (stat(grants->writable[i], &folder) == 0 && folder.st_dev == file.st_dev) {
            *ret = grants->writable[i];
            return true;
        }
    }
    return false;
}

int path_grants_judge_program(const struct path_grants *grants, const struct guard_way *way,
                              const char **ret_refusal, struct toolrack_error *err) {
    const char *where;
    const char *loose = find_loose(grants, way, true, &where);
    *ret_refusal = NULL;
    if (loose != NULL) {
        bool is_other = strcmp(loose, way->end) != 0;
        *ret_refusal = arena_printf(grants->arena,
                                    "%s%s%s%s could become anything, as the plugin may write in "
                                    "%s; allow a program elsewhere, or no writing there",
                                    way->end, is_other ? " (by way of " : "", is_other ? loose : "",
                                    is_other ? ")" : "", where);
    } else if (has_loose_name(grants, way->end, &where)) {
        *ret_refusal = arena_printf(grants->arena,
                                    "%s has several names (hard links), and one of them may be in "
                                    "%s, where the plugin may write; remove its other names, or "
                                    "put a copy in its place (cp FILE NEW, mv NEW FILE)",
                                    way->end, where);
    } else {
        return 0;
    }
    return *ret_refusal != NULL ? 0 : error_oom(err);
}
