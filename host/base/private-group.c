#include "base/private-group.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/lock.h"

/* Memory for one line. In a file with a longer one, no group is private. */
#define LINE_BYTES 65536u

static const struct private_group_files system_files = {
        .users = "/etc/passwd", .groups = "/etc/group", .sources = "/etc/nsswitch.conf"};

static void fclosep(FILE **file) {
    if (*file != NULL) {
        (void)fclose(*file);
    }
}

/* ------------------------------------------------------------------- sources */

/* Whether the sources of one line are known to have no more users than the files. What is to happen
 * after one of them, "[...]", does not matter. */
static bool are_local(char *sources) {
    sources[strcspn(sources, "#\n")] = '\0';
    for (char *at = sources; *(at += strspn(at, " \t")) != '\0';) {
        size_t length = *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, " \t[");
        bool is_known = *at == '[' || (length == 5 && memcmp(at, "files", 5) == 0) ||
                        (length == 7 && memcmp(at, "systemd", 7) == 0);
        if (!is_known || strnlen(at, length) < length) {
            return false;
        }
        at += length;
    }
    return true;
}

static bool sources_are_local(const char *path) {
    static const char *const lists[] = {"passwd:", "group:", "initgroups:"};
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    CLEANUP(freep) char *line = NULL;
    size_t room = 0;
    if (file == NULL) {
        return errno == ENOENT;
    }
    while (getline(&line, &room, file) >= 0) {
        char *at = line + strspn(line, " \t");
        for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
            size_t length = strlen(lists[i]);
            if (strncmp(at, lists[i], length) == 0 && !are_local(at + length)) {
                return false;
            }
        }
    }
    return feof(file) != 0;
}

/* ----------------------------------------------------------- groups and users */

/* The name of the only group of this number, if it lists nobody but a user of that name; or NULL.
 * The name is in memory that the caller frees. */
static char *find_group(const char *path, gid_t gid, char *line) {
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    CLEANUP(freep) char *name = NULL;
    struct group group;
    struct group *found;
    int why = 0;
    while (file != NULL && (why = fgetgrent_r(file, &group, line, LINE_BYTES, &found)) == 0) {
        if (group.gr_gid != gid) {
            continue;
        }
        if (name != NULL || (name = strdup(group.gr_name)) == NULL) {
            return NULL;
        }
        for (char *const *member = group.gr_mem; *member != NULL; member++) {
            if (strcmp(*member, name) != 0) {
                return NULL;
            }
        }
    }
    return why == ENOENT && name != NULL ? STEAL(name) : NULL; /* the end of the file */
}

/* Whether the group is the primary one of a user of this number and name, and of nobody else. */
static bool is_of_one_user(const char *path, uid_t uid, const char *name, gid_t gid, char *line) {
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    struct passwd user;
    struct passwd *found;
    bool is_own = false;
    int why = 0;
    while (file != NULL && (why = fgetpwent_r(file, &user, line, LINE_BYTES, &found)) == 0) {
        if (user.pw_gid == gid && user.pw_uid != uid) {
            return false;
        }
        is_own |= user.pw_gid == gid && strcmp(user.pw_name, name) == 0;
    }
    return is_own && why == ENOENT;
}

bool private_group_in(const struct private_group_files *files, uid_t uid, gid_t gid) {
    CLEANUP(freep) char *line = malloc(LINE_BYTES);
    if (line == NULL || !sources_are_local(files->sources)) {
        return false;
    }
    CLEANUP(freep) char *name = find_group(files->groups, gid, line);
    return name != NULL && is_of_one_user(files->users, uid, name, gid, line);
}

/* -------------------------------------------------------------- of the system */

/* Which state of the three files an answer was read from. */
struct version {
    ino_t inode[3];
    struct timespec changed[3];
};

static void read_version(struct version *ret) {
    const char *const paths[] = {system_files.users, system_files.groups, system_files.sources};
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        struct stat st;
        if (stat(paths[i], &st) == 0) {
            ret->inode[i] = st.st_ino;
            ret->changed[i] = st.st_ctim;
        }
    }
}

static bool is_same_version(const struct version *a, const struct version *b) {
    bool same = true;
    for (size_t i = 0; i < ARRAY_LENGTH(a->inode); i++) {
        same &= a->inode[i] == b->inode[i] && a->changed[i].tv_sec == b->changed[i].tv_sec &&
                a->changed[i].tv_nsec == b->changed[i].tv_nsec;
    }
    return same;
}

bool private_group_is_own(gid_t gid) {
    static struct lock lock = LOCK_INIT; /* guards `last` */
    static struct {
        bool is_known;
        uid_t uid;
        gid_t gid;
        struct version version;
        bool is_private;
    } last;
    uid_t uid = geteuid();
    struct version version;
    if (gid != getegid()) {
        return false;
    }
    read_version(&version);
    LOCK_SCOPE(&lock);
    if (!last.is_known || last.uid != uid || last.gid != gid ||
        !is_same_version(&last.version, &version)) {
        last.is_private = private_group_in(&system_files, uid, gid);
        last.uid = uid;
        last.gid = gid;
        last.version = version;
        last.is_known = true;
    }
    return last.is_private;
}
