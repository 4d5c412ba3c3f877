#include "repository.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <toolrack/plugin.h>
#include <unistd.h>

#include "../shared/place.h"
#include "objects.h"

#define CONFIG_SIZE_MAX ((off_t)1 << 20)

bool repository_begin(void) {
    static const int levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
                                 GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL};
    if (git_libgit2_init() < 0) {
        return false;
    }
    bool done = true;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        done = done && git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "") == 0;
    }
    return done && git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1) == 0;
}

void repository_end(void) {
    (void)git_libgit2_shutdown();
}

bool repository_fail(struct tr_call *call, const char *field, const char *what) {
    const git_error *error = git_error_last();
    (void)tr_fail(call, field != NULL ? TR_INVALID_ARGUMENTS : TR_FAILED, field, "%s%s%.300s", what,
                  error != NULL ? ": " : "", error != NULL ? error->message : "");
    return false;
}

static bool refuse(struct tr_call *call, const char *path, const char *why) {
    (void)tr_fail(call, TR_FAILED, "repo_path", "%.300s: %s", path, why);
    return false;
}

/* ---------------------------------------------------------- what it is made of */

/* No links in a folder of .git, which may be missing; they would be followed. */
static const char *find_link(int git, const char *name) {
    int fd = openat(git, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? NULL : "has a folder of .git that is a link or cannot be read";
    }
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        (void)close(fd);
        return "cannot be read: no memory is left";
    }
    const char *wrong = NULL;
    for (struct dirent *item; wrong == NULL && (item = readdir(folder)) != NULL;) {
        struct stat status;
        bool is_link = fstatat(dirfd(folder), item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISLNK(status.st_mode);
        wrong = is_link ? "has a symbolic link in .git, which is not followed" : NULL;
    }
    (void)closedir(folder);
    return wrong;
}

static bool exists(int folder, const char *name) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A section of a configuration, such as [include] or [includeIf "..."]; its form is git's. */
static bool has_section(const char *text, const char *section) {
    size_t length = strlen(section);
    for (const char *at = strchr(text, '['); at != NULL; at = strchr(at + 1, '[')) {
        const char *name = at + 1 + strspn(at + 1, " \t");
        char after = strncasecmp(name, section, length) == 0 ? name[length] : 'x';
        if (!isalnum((unsigned char)after) && after != '-' && after != '.') {
            return true;
        }
    }
    return false;
}

/* Also what only looks like a section, within a value, is refused: better that than missing one. */
static const char *find_include(int git) {
    const char *wrong = NULL;
    int fd = openat(git, "config", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (fd < 0) {
        return errno == ENOENT ? NULL : "has a configuration that cannot be read";
    }
    char *text = NULL;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > CONFIG_SIZE_MAX) {
        wrong = "has a configuration of more than 1 MiB, or that is no file";
    } else if ((text = calloc(1, (size_t)status.st_size + 1)) == NULL ||
               read(fd, text, (size_t)status.st_size) != status.st_size) {
        wrong = "has a configuration that cannot be read";
    } else if (memchr(text, '\0', (size_t)status.st_size) != NULL) {
        wrong = "has a configuration with a zero byte";
    } else if (has_section(text, "include") || has_section(text, "includeif")) {
        wrong = "has a configuration that includes other files, which are not read";
    }
    free(text);
    (void)close(fd);
    return wrong;
}

/* NULL if all of it is in the folder itself. */
static const char *inspect(int folder) {
    static const char *const folders[] = {".",          "info",    "logs",         "refs",
                                          "refs/heads", "objects", "objects/info", "objects/pack"};
    struct stat status;
    if (fstatat(folder, ".git", &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return "is no git repository: it has no .git; name the folder at its top";
    }
    if (S_ISREG(status.st_mode)) {
        return "has a .git that is a file, as worktrees and submodules have: what it points to is "
               "not followed";
    }
    /* libgit2 checks it too, with another code in each version. Who owns a repository says what its
     * configuration has. */
    struct stat owner;
    if (fstat(folder, &owner) < 0 || owner.st_uid != geteuid() || status.st_uid != geteuid()) {
        return "belongs to another user";
    }
    int git = openat(folder, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (git < 0) {
        return "has a .git that is a link or cannot be read";
    }
    const char *wrong = NULL;
    for (size_t i = 0; wrong == NULL && i < sizeof folders / sizeof folders[0]; i++) {
        wrong = find_link(git, folders[i]);
    }
    if (wrong == NULL && exists(git, "commondir")) {
        wrong = "is a worktree of another repository, which is not followed";
    }
    if (wrong == NULL &&
        (exists(git, "objects/info/alternates") || exists(git, "objects/info/http-alternates"))) {
        wrong = "borrows objects of another repository (alternates), which is not followed";
    }
    wrong = wrong != NULL ? wrong : find_include(git);
    (void)close(git);
    return wrong;
}

/* --------------------------------------------------------------------- opening */

static bool open_checked(struct tr_call *call, int folder, const char *path, git_repository **ret) {
    char place[PATH_MAX];
    char link[64];
    char name[PATH_MAX + 32];
    const char *wrong = inspect(folder);
    if (wrong != NULL) {
        return refuse(call, path, wrong);
    }
    /* Where the folder is that was opened, whatever the path leads to by now. */
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, place, sizeof place - 1);
    if (length < 0) {
        return refuse(call, path, strerror(errno));
    }
    place[length] = '\0';
    if (git_repository_open_ext(ret, place, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0) {
        return repository_fail(call, "repo_path", "cannot be opened");
    }
    (void)snprintf(name, sizeof name, "%s/", place);
    const char *tree = git_repository_workdir(*ret);
    if (tree == NULL || strcmp(tree, name) != 0) {
        git_repository_free(*ret);
        return refuse(call, path,
                      tree == NULL ? "has no working tree"
                                   : "has its working tree elsewhere (core.worktree), which is not "
                                     "followed");
    }
    (void)snprintf(name, sizeof name, "%s/.git/objects", place);
    if (objects_use(*ret, name) < 0) {
        git_repository_free(*ret);
        return repository_fail(call, "repo_path", "its objects cannot be read");
    }
    return true;
}

bool repository_open(struct tr_call *call, git_repository **ret) {
    char message[PLACE_MESSAGE_SIZE];
    const char *path = tr_get_string(call, "repo_path", "");
    if (!place_is_granted(call)) {
        return false;
    }
    int folder = place_at(path, O_RDONLY | O_DIRECTORY, 0, message);
    if (folder < 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "repo_path", "%s", message);
        return false;
    }
    git_error_clear();
    bool done = open_checked(call, folder, path, ret);
    (void)close(folder);
    return done;
}

void repository_close(git_repository *repository) {
    git_repository_free(repository);
}
