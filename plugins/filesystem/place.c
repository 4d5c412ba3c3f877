#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <toolrack/ext/paths.h>
#include <unistd.h>

/* Set by place_open_roots(), constant until place_close_roots(). */
static struct root roots[PLACE_ROOTS_MAX];
static size_t root_count;

/* openat2() is done again where a rename elsewhere made it unsure. */
#define TRIES_MAX 16

/* ------------------------------------------------------------------- roots */

size_t place_root_count(void) {
    return root_count;
}

const struct root *place_root(size_t index) {
    return &roots[index];
}

void place_close_roots(void) {
    while (root_count > 0) {
        (void)close(roots[--root_count].fd);
    }
}

static void add_root(struct tr_host *host, const struct tr_path *granted) {
    struct root *root = &roots[root_count];
    size_t length = strlen(granted->path);
    if (root_count == PLACE_ROOTS_MAX || length >= sizeof root->path) {
        tr_host_log(host, TR_LOG_WARNING, "%s is left out: the plugin takes %u folders",
                    granted->path, PLACE_ROOTS_MAX);
        return;
    }
    int fd = open(granted->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        tr_host_log(host, TR_LOG_WARNING, "%s is left out: %s; grant a folder that is there",
                    granted->path, strerror(errno));
        return;
    }
    *root = (struct root){.fd = fd, .writes = (granted->flags & TR_PATH_WRITES) != 0};
    root->length =
            length == 1 ? 0 : length; /* of "/" nothing is before the slash of what is below */
    memcpy(root->path, granted->path, length + 1);
    root_count++;
}

tr_status place_open_roots(struct tr_host *host) {
    const struct tr_paths_host *paths = tr_host_get_extension(host, TR_EXT_PATHS);
    struct tr_path granted;
    root_count = 0;
    for (uint64_t i = 0; tr_path_get(paths, i, &granted); i++) {
        add_root(host, &granted);
    }
    return TR_OK; /* without one, each call says so */
}

/* The part of a path that is below a root, without a slash before it; NULL: it is not below. */
static const char *below(const struct root *root, const char *path) {
    if (strncmp(path, root->path, root->length) != 0) {
        return NULL;
    }
    const char *rest = path + root->length;
    return *rest == '\0' ? rest : *rest == '/' ? rest + 1 : NULL;
}

/* Of several the innermost, and one to write before one to read. */
static const struct root *find_root(const char *path) {
    const struct root *found = NULL;
    for (size_t i = 0; i < root_count; i++) {
        if (below(&roots[i], path) != NULL && (found == NULL || roots[i].length > found->length)) {
            found = &roots[i];
        }
    }
    return found;
}

/* ------------------------------------------------------------------ opening */

/* The same where the kernel has no openat2(), or the sandbox must refuse it (Landlock before its
 * version 3): folder by folder, none of which may be a link. */
static int open_by_steps(int folder, const char *path, uint64_t flags) {
    int at = dup(folder);
    while (at >= 0) {
        char name[NAME_MAX + 1];
        size_t length = strcspn(path, "/");
        if (length >= sizeof name) {
            (void)close(at);
            errno = ENAMETOOLONG;
            return -1;
        }
        (void)snprintf(name, sizeof name, "%.*s", (int)length, path);
        path += length + (path[length] == '/');
        bool is_last = *path == '\0';
        int next = openat(at, name,
                          is_last ? (int)flags | O_NOFOLLOW | O_CLOEXEC
                                  : O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        int number = next < 0 ? errno : 0;
        if (next >= 0 && fstat(next, &st) == 0 && S_ISLNK(st.st_mode) &&
            (!is_last || (flags & O_NOFOLLOW) == 0)) {
            number = ELOOP;
        } else if (next >= 0 && !is_last && !S_ISDIR(st.st_mode)) {
            number = ENOTDIR;
        }
        (void)close(at);
        if (number != 0) {
            if (next >= 0) {
                (void)close(next);
            }
            errno = number;
            return -1;
        }
        if (is_last) {
            return next;
        }
        at = next;
    }
    return -1;
}

/* Open what is below a folder, by a relative path without "." and ".."; "" is the folder. */
static int open_below(int folder, const char *path, int flags) {
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                           .resolve =
                                   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    path = *path == '\0' ? "." : path;
    long fd = -1;
    for (int i = 0; i < TRIES_MAX && fd < 0; i++) {
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (fd < 0 && errno == ENOSYS) {
            return open_by_steps(folder, path, how.flags);
        }
        if (fd < 0 && errno != EAGAIN && errno != EINTR) {
            return -1;
        }
    }
    return (int)fd;
}

const char *place_below(const struct place *place) {
    return below(place->root, place->path);
}

const char *place_name(const struct place *place) {
    const char *path = place_below(place);
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

int place_open(const struct place *place, int flags) {
    return open_below(place->root->fd, place_below(place), flags);
}

int place_open_parent(const struct place *place) {
    char folder[PATH_MAX];
    const char *path = place_below(place);
    const char *name = place_name(place);
    if (*name == '\0') {
        errno = EBUSY;
        return -1;
    }
    size_t length = name == path ? 0 : (size_t)(name - path) - 1;
    memcpy(folder, path, length);
    folder[length] = '\0';
    return open_below(place->root->fd, folder, O_PATH | O_DIRECTORY);
}

int place_open_in(int folder, const char *name, int flags) {
    return open_below(folder, name, flags);
}

int place_open_file(const struct place *place) {
    struct stat st;
    int fd = place_open(place, O_PATH);
    if (fd < 0) {
        return -1;
    }
    bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    int number = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    (void)close(fd);
    if (!is_file) {
        errno = number;
        return -1;
    }
    /* What was exchanged since is not waited for, and looked at again. */
    fd = place_open(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        (void)close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/* ------------------------------------------------------------------ finding */

static bool fail(struct place_fault *fault, tr_status code, const char *what, const char *path,
                 const char *why) {
    fault->code = code;
    (void)snprintf(fault->message, sizeof fault->message, "%s %.400s: %s", what, path, why);
    return false;
}

void place_say(struct place_fault *fault, const char *what, const char *path, int number) {
    const char *why =
            number == ELOOP    ? "a symbolic link came in its way meanwhile; try again"
            : number == EXDEV  ? "the two are on different file systems; write a copy and "
                                 "remove what was copied"
            : number == EINVAL ? "it is no regular file"
            : number == EBUSY  ? "it is a granted folder itself"
            : number == EROFS || number == EACCES
                    ? "permission denied; list_allowed_directories says what may be written"
                    : strerrordesc_np(number);
    (void)fail(fault, TR_FAILED, what, path, why != NULL ? why : "it failed");
}

static bool fail_outside(struct place_fault *fault, const char *path, bool is_link) {
    char list[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < root_count && used + 1 < sizeof list; i++) {
        int more =
                snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", roots[i].path);
        used += more > 0 ? (size_t)more : 0;
    }
    fault->code = TR_INVALID_ARGUMENTS;
    (void)snprintf(fault->message, sizeof fault->message,
                   "access denied: %s%.300s%s is outside of the allowed directories: %s",
                   is_link ? "the symbolic link leads to " : "", path, is_link ? ", which" : "",
                   list);
    return false;
}

/* A path that is walked by its parts. */
struct walk {
    char done[PATH_MAX];  /* absolute, without links, ends without a slash; "" is "/" */
    char ahead[PATH_MAX]; /* what is left of it, relative */
    unsigned links;
    size_t given;   /* how much at its end the caller gave; what is before is from a link */
    bool is_linked; /* the last name of what is done is from a link */
};

static bool append(char path[PATH_MAX], const char *name, size_t length) {
    size_t used = strlen(path);
    if (used + length + 1 >= PATH_MAX) {
        return false;
    }
    path[used] = '/';
    memcpy(path + used + 1, name, length);
    path[used + 1 + length] = '\0';
    return true;
}

/* The target of a link goes before what is ahead. */
static bool follow(struct walk *walk, const char *target) {
    char ahead[PATH_MAX];
    int length = snprintf(ahead, sizeof ahead, "%s/%s", target, walk->ahead);
    if (length < 0 || (size_t)length >= sizeof ahead) {
        return false;
    }
    size_t rest = strlen(walk->ahead);
    walk->given = rest < walk->given ? rest : walk->given;
    if (target[0] == '/') {
        walk->done[0] = '\0';
    }
    memcpy(walk->ahead, ahead, (size_t)length + 1);
    return true;
}

/* Whether a granted folder is below: what leads there is a folder, and real. */
static bool leads_to_root(const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < root_count; i++) {
        if (strncmp(roots[i].path, path, length) == 0 && roots[i].path[length] == '/') {
            return true;
        }
    }
    return false;
}

enum step { STEP_DONE, STEP_MISSING, STEP_FAILED };

/* Go on by one name, which is appended to what is done. */
static enum step take_step(struct walk *walk, const char *given, struct place_fault *fault) {
    struct place place = {.root = find_root(walk->done)};
    struct stat st;
    char target[PATH_MAX];
    if (place.root == NULL) {
        if (leads_to_root(walk->done)) {
            return STEP_DONE;
        }
        (void)fail_outside(fault, walk->done, walk->links > 0);
        return STEP_FAILED;
    }
    memcpy(place.path, walk->done, sizeof place.path);
    int fd = place_open(&place, O_PATH | O_NOFOLLOW);
    if (fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG)) {
        bool is_long = errno == ENAMETOOLONG;
        if (is_long || walk->is_linked) {
            (void)fail(fault, TR_FAILED, "cannot use", given,
                       is_long ? "a name in it is too long" : "its symbolic link leads to nothing");
            return STEP_FAILED;
        }
        return STEP_MISSING;
    }
    int number = fd < 0 ? errno : 0;
    ssize_t length = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
        length = readlinkat(fd, "", target, sizeof target - 1);
        number = length < 0 ? errno : ++walk->links > PLACE_LINKS_MAX ? ELOOP : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (number == 0 && length > 0) {
        target[length] = '\0';
        *strrchr(walk->done, '/') = '\0';
        number = follow(walk, target) ? 0 : ENAMETOOLONG;
    }
    if (number != 0) {
        place_say(fault, "cannot use", given, number);
        if (number == ELOOP && walk->links > PLACE_LINKS_MAX) {
            (void)fail(fault, TR_FAILED, "cannot use", given,
                       "its symbolic links go round in a circle");
        }
        return STEP_FAILED;
    }
    return STEP_DONE;
}

/* From `walk->ahead` to a path without links. */
static bool walk_all(struct walk *walk, const char *given, struct place *ret,
                     struct place_fault *fault) {
    bool is_missing = false;
    while (walk->ahead[0] != '\0') {
        char name[PATH_MAX];
        size_t length = strcspn(walk->ahead, "/");
        size_t next = length + strspn(walk->ahead + length, "/");
        memcpy(name, walk->ahead, length);
        name[length] = '\0';
        walk->is_linked = strlen(walk->ahead) > walk->given;
        memmove(walk->ahead, walk->ahead + next, strlen(walk->ahead + next) + 1);
        if (length == 0 || strcmp(name, ".") == 0) {
            continue;
        }
        if (strcmp(name, "..") == 0) {
            char *slash = strrchr(walk->done, '/');
            *(slash != NULL ? slash : walk->done) = '\0';
            continue;
        }
        if (!append(walk->done, name, length)) {
            return fail(fault, TR_INVALID_ARGUMENTS, "cannot use", given, "it is too long");
        }
        enum step step = is_missing ? STEP_MISSING : take_step(walk, given, fault);
        if (step == STEP_FAILED) {
            return false;
        }
        is_missing = step == STEP_MISSING;
    }
    const char *path = walk->done[0] != '\0' ? walk->done : "/";
    ret->root = find_root(path);
    ret->exists = !is_missing;
    memcpy(ret->path, path, strlen(path) + 1);
    return ret->root != NULL ? true : fail_outside(fault, path, walk->links > 0);
}

/* Take "." and ".." out of an absolute path, by its text alone. */
static void normalize(char path[PATH_MAX]) {
    char *to = path;
    for (const char *at = path; *at != '\0';) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            while (to > path && *--to != '/') {
            }
        } else if (length > 0 && !(length == 1 && *at == '.')) {
            *to++ = '/';
            memmove(to, at, length);
            to += length;
        }
        at += length;
    }
    if (to == path) {
        *to++ = '/';
    }
    *to = '\0';
}

static bool is_windows(const char *path) {
    bool is_drive = ((path[0] | 32) >= 'a' && (path[0] | 32) <= 'z') && path[1] == ':';
    return is_drive && (path[2] == '\0' || path[2] == '/' || path[2] == '\\');
}

/* The absolute path that is meant: a relative one is below the first granted folder of which it
 * does not lead out. */
static bool make_absolute(const char *given, char ret[PATH_MAX], struct place_fault *fault) {
    if (is_windows(given)) {
        return fail(fault, TR_INVALID_ARGUMENTS, "access denied:", given,
                    "a path of Windows; list_allowed_directories has those of this machine");
    }
    if (given[0] == '~' && (given[1] == '/' || given[1] == '\0')) {
        return fail(fault, TR_INVALID_ARGUMENTS, "access denied:", given,
                    "write an absolute path, or one relative to an allowed directory, for ~");
    }
    for (size_t i = 0; i < root_count + 1; i++) {
        const char *base = given[0] == '/' ? "" : roots[i < root_count ? i : 0].path;
        if ((size_t)snprintf(ret, PATH_MAX, "%s/%s", base, given) >= PATH_MAX) {
            return fail(fault, TR_INVALID_ARGUMENTS, "cannot use", given, "it is too long");
        }
        normalize(ret);
        if (given[0] == '/' || find_root(ret) != NULL) {
            break;
        }
    }
    return find_root(ret) != NULL ? true : fail_outside(fault, ret, false);
}

bool place_find(const char *given, struct place *ret, struct place_fault *fault) {
    if (root_count == 0) {
        fault->code = TR_FAILED;
        (void)snprintf(fault->message, sizeof fault->message,
                       "Permission denied: no directory is granted to the plugin; in the "
                       "configuration, \"paths\" says what ${workspace} is");
        return false;
    }
    if (*given == '\0') {
        return fail(fault, TR_INVALID_ARGUMENTS, "cannot use", "\"\"", "give a path");
    }
    if (!make_absolute(given, ret->path, fault)) {
        return false;
    }
    ret->root = find_root(ret->path);
    int fd = place_open(ret, O_PATH);
    if (fd >= 0) {
        (void)close(fd);
        ret->exists = true;
        return true;
    }
    struct walk walk = {.given = SIZE_MAX};
    memcpy(walk.ahead, ret->path + 1, strlen(ret->path));
    return walk_all(&walk, given, ret, fault);
}
