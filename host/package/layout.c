#include "package/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/file.h"
#include "base/own-folder.h"
#include "base/sort.h"
#include "config/places.h"
#include "package/tree.h"

/* What is installed is read from it. */
#define RECORD          "installed.json"
#define RECORD_SIZE_MAX 65536u
#define RECORD_FORMAT   1u

/* Most packages that are installed. */
#define LAYOUT_PACKAGES_MAX 4096u

/* In the order of their trust: of one id the first is meant. A package is in one of them, but for a
 * process that was killed by somebody who moved it by hand. */
static const struct {
    const char *name;
    enum trust trust;
} folders[] = {{PLACES_PACKAGES_OFFICIAL, TRUST_OFFICIAL},
               {PLACES_PACKAGES_COMMUNITY, TRUST_COMMUNITY}};

static const char *folder_of(enum trust trust) {
    return trust == TRUST_OFFICIAL ? PLACES_PACKAGES_OFFICIAL : PLACES_PACKAGES_COMMUNITY;
}

static int cannot(const struct layout *layout, const char *what, const char *name, int why,
                  struct toolrack_error *err) {
    return why == ENOMEM ? error_oom(err)
                         : error_set(err, TOOLRACK_E_IO, "cannot %s %s/%s: %s", what, layout->path,
                                     name, strerror(why));
}

/* Write a path below packages/. False: it is too long. */
static bool TOOLRACK_PRINTF(2, 3) join(char ret[LAYOUT_PATH_MAX], const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(ret, LAYOUT_PATH_MAX, format, args);
    va_end(args);
    return length > 0 && (unsigned)length < LAYOUT_PATH_MAX;
}

static int too_long(struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "a path of the package is longer than %u bytes", LAYOUT_PATH_MAX);
}

bool layout_is_id(const char *id) {
    size_t length = strlen(id);
    return length > 0 && length <= LAYOUT_ID_MAX && id[0] != '.' &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
                   length;
}

/* -------------------------------------------------------------------- open */

int layout_open(const char *path, struct layout *ret, struct toolrack_error *err) {
    *ret = LAYOUT_INIT;
    ret->path = strdup(path);
    if (ret->path == NULL) {
        return error_oom(err);
    }
    int fd = own_folder_open(path, false);
    if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR) {
        int code = error_set(err, fd == -EPERM || fd == -ELOOP ? TOOLRACK_E_REFUSED : TOOLRACK_E_IO,
                             "packages are not read from %s: %s", path, own_folder_words(fd));
        layout_finish(ret);
        return code;
    }
    ret->root = fd < 0 ? -1 : fd;
    return 0;
}

void layout_finish(struct layout *layout) {
    closep(&layout->lock);
    closep(&layout->root);
    free(layout->path);
    *layout = LAYOUT_INIT;
}

/* A link in its place would lead what is relative to it elsewhere. */
static int make_folder(const struct layout *layout, const char *name, struct toolrack_error *err) {
    if (mkdirat(layout->root, name, 0700) < 0 && errno != EEXIST) {
        return cannot(layout, "make", name, errno, err);
    }
    CLEANUP(closep)
    int fd = openat(layout->root, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "%s/%s must be a folder and no symbolic link; put back the folder "
                               "that was there",
                               layout->path, name);
}

static int take_lock(struct layout *layout, struct toolrack_error *err) {
    layout->lock = openat(layout->root, "lock",
                          O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (layout->lock < 0) {
        int why = errno;
        int code = cannot(layout, "open", "lock", why, err);
        if (why == ELOOP || why == EISDIR || why == ENXIO) {
            error_append(err, "something else is in the place of that file: remove it");
        }
        return code;
    }
    if (flock(layout->lock, LOCK_EX | LOCK_NB) == 0) {
        return 0;
    }
    return errno == EWOULDBLOCK
                   ? error_set(err, TOOLRACK_E_EXISTS,
                               "another process installs or removes packages in %s; try again when "
                               "it has ended",
                               layout->path)
                   : cannot(layout, "lock", "lock", errno, err);
}

/* Whether somebody makes something in a folder of incoming/, and waits for a person meanwhile: he
 * holds the folder's own lock. */
static bool is_in_use(int incoming, const char *name) {
    CLEANUP(closep)
    int fd = openat(incoming, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Remove what others have left, but not what they still need. */
static void collect_incoming(const struct layout *layout) {
    int fd = openat(layout->root, "incoming", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        closep(&fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !is_in_use(dirfd(dir), entry->d_name)) {
            (void)tree_remove(dirfd(dir), entry->d_name);
        }
    }
    (void)closedir(dir);
}

static int prepare(struct layout *layout, struct toolrack_error *err) {
    static const char *const names[] = {PLACES_PACKAGES_OFFICIAL,
                                        PLACES_PACKAGES_COMMUNITY,
                                        "content",
                                        "left",
                                        "indexes",
                                        "incoming"};
    int code = take_lock(layout, err);
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(names); i++) {
        code = make_folder(layout, names[i], err);
    }
    if (code == 0) {
        collect_incoming(layout);
        layout_collect(layout);
        CLEANUP(closep) int above = openat(layout->root, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int why = folder_sync(layout->root);
        why = why < 0 ? why : above >= 0 ? folder_sync(above) : -errno;
        code = why < 0 ? cannot(layout, "sync", "", -why, err) : 0;
    }
    return code;
}

void layout_unlock(struct layout *layout) {
    closep(&layout->lock);
    layout->lock = -1; /* layout_finish() would close what another thread has opened since */
}

int layout_open_to_change(const char *path, struct layout *ret, struct toolrack_error *err) {
    *ret = LAYOUT_INIT;
    ret->path = strdup(path);
    if (ret->path == NULL) {
        return error_oom(err);
    }
    int fd = own_folder_open(path, true);
    if (fd < 0) {
        int code = error_set(err, fd == -EPERM || fd == -ELOOP ? TOOLRACK_E_REFUSED : TOOLRACK_E_IO,
                             "packages cannot be installed in %s: %s", path, own_folder_words(fd));
        layout_finish(ret);
        return code;
    }
    ret->root = fd;
    int code = prepare(ret, err);
    if (code < 0) {
        layout_finish(ret);
    }
    return code;
}

/* ------------------------------------------------------------------- files */

int layout_read(const struct layout *layout, const char *name, size_t max, struct buf *text,
                struct toolrack_error *err) {
    struct stat st;
    CLEANUP(closep)
    int fd = layout->root < 0
                     ? -1
                     : openat(layout->root, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (layout->root < 0 || errno == ENOENT || errno == ENOTDIR)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "there is no %s/%s", layout->path, name);
    }
    if (fd < 0 || fstat(fd, &st) < 0) {
        return cannot(layout, "read", name, errno, err);
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 0 || (size_t)st.st_size > max) {
        return error_set(err, TOOLRACK_E_IO, "%s/%s must be a file of at most %zu bytes",
                         layout->path, name, max);
    }
    for (size_t left = (size_t)st.st_size; left > 0;) {
        if (!buf_reserve(text, left)) {
            return error_oom(err);
        }
        ssize_t got = read(fd, text->data + text->length, left);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? cannot(layout, "read", name, errno, err)
                           : error_set(err, TOOLRACK_E_IO, "%s/%s has changed while it was read",
                                       layout->path, name);
        }
        text->length += (size_t)got;
        text->data[text->length] = '\0';
        left -= (size_t)got;
    }
    return 0;
}

/* Put the entries of the folder of a file on the disk. 0 or a negative errno. */
static int sync_folder_of(const struct layout *layout, const char *name) {
    const char *slash = strrchr(name, '/');
    char folder[LAYOUT_PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - name) : 1,
                   slash != NULL ? name : ".");
    CLEANUP(closep)
    int fd = openat(layout->root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : folder_sync(fd);
}

int layout_write(const struct layout *layout, const char *name, const struct buf *text,
                 struct toolrack_error *err) {
    static const char draft[] = "incoming/draft";
    if (text->failed) {
        return error_oom(err);
    }
    CLEANUP(closep)
    int fd = openat(layout->root, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    int code = fd < 0 ? -errno : write_all(fd, text->data, text->length);
    if (code == 0) {
        code = folder_sync(fd);
    }
    if (code == 0 && renameat(layout->root, draft, layout->root, name) < 0) {
        code = -errno;
    }
    if (code == 0) {
        code = sync_folder_of(layout, name);
    }
    return code < 0 ? cannot(layout, "write", name, -code, err) : 0;
}

/* ------------------------------------------------------------------ records */

static bool take_text(yyjson_val *root, const char *key, char *ret, size_t room) {
    const char *text = yyjson_get_str(yyjson_obj_get(root, key));
    size_t length = text != NULL ? strlen(text) : room;
    if (length >= room) {
        return false;
    }
    memcpy(ret, text, length + 1);
    return true;
}

static bool take_record(yyjson_val *root, struct installed *ret) {
    return yyjson_get_uint(yyjson_obj_get(root, "format")) == RECORD_FORMAT &&
           take_text(root, "id", ret->id, sizeof ret->id) &&
           take_text(root, "version", ret->version, sizeof ret->version) &&
           take_text(root, "key", ret->key, sizeof ret->key) &&
           take_text(root, "sha256", ret->sha256, sizeof ret->sha256) &&
           take_text(root, "plugin", ret->plugin, sizeof ret->plugin) &&
           take_text(root, "previous", ret->previous, sizeof ret->previous) &&
           take_text(root, "source", ret->source, sizeof ret->source) &&
           take_text(root, "who", ret->who, sizeof ret->who) && semver_valid(ret->version) &&
           layout_is_id(ret->id);
}

/* "content/ID/VERSION.xxxxxx": what the path of a version's folder says of it. */
static void take_path(const char *folder, struct installed *ret) {
    const char *id = strchr(folder, '/') + 1;
    const char *version = strchr(id, '/') + 1;
    const char *end = strrchr(version, '.');
    *ret = (struct installed){0};
    (void)snprintf(ret->folder, sizeof ret->folder, "%s", folder);
    (void)snprintf(ret->id, sizeof ret->id, "%.*s", (int)(version - id) - 1, id);
    (void)snprintf(ret->version, sizeof ret->version, "%.*s",
                   end != NULL ? (int)(end - version) : 0, version);
}

/* Read the record of a version's folder, whose path is of our own making.
 * @return 0; TOOLRACK_E_IO: it is damaged, and only take_path() is in `ret`;
 *         TOOLRACK_E_NO_MEMORY */
static int read_record(const struct layout *layout, const char *folder, struct installed *ret,
                       struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    take_path(folder, ret);
    if (!join(name, "%s/%s", folder, RECORD)) {
        return too_long(err);
    }
    int code = layout_read(layout, name, RECORD_SIZE_MAX, &text, err);
    if (code == TOOLRACK_E_NO_MEMORY) {
        return code;
    }
    struct installed record = {0};
    yyjson_doc *doc = code == 0 ? yyjson_read(text.data, text.length, 0) : NULL;
    record.since_s = yyjson_get_sint(yyjson_obj_get(yyjson_doc_get_root(doc), "since_s"));
    bool is_good = take_record(yyjson_doc_get_root(doc), &record);
    yyjson_doc_free(doc);
    if (is_good) {
        memcpy(record.folder, ret->folder, sizeof record.folder);
        *ret = record;
        return 0;
    }
    if (code == 0 || code == TOOLRACK_E_NOT_FOUND) {
        code = error_set(err, TOOLRACK_E_IO, "%s/%s is %s", layout->path, name,
                         code == 0 ? "damaged" : "missing");
    }
    CLEANUP(buf_finish) struct buf advice = BUF_INIT;
    buf_printf(&advice, "uninstall the package, and install it again: %s",
               COMMAND("uninstall", ret->id));
    error_append(err, advice.failed ? "install the package again" : advice.data);
    return code;
}

static int write_record(const struct layout *layout, const char *folder,
                        const struct installed *one, struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const struct {
        const char *key;
        const char *text;
    } members[] = {
            {"id", one->id},         {"version", one->version}, {"key", one->key},
            {"sha256", one->sha256}, {"plugin", one->plugin},   {"previous", one->previous},
            {"source", one->source}, {"who", one->who},         {"trust", trust_name(one->trust)}};
    buf_printf(&text, "{\"format\": %u, \"since_s\": %lld", RECORD_FORMAT, (long long)one->since_s);
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        buf_printf(&text, ", \"%s\": ", members[i].key);
        buf_add_json_string(&text, members[i].text, strlen(members[i].text));
    }
    buf_add_text(&text, "}\n");
    return join(name, "%s/%s", folder, RECORD) ? layout_write(layout, name, &text, err)
                                               : too_long(err);
}

/* -------------------------------------------------------------------- links */

static bool link_name(char ret[LAYOUT_PATH_MAX], enum trust trust, const char *id) {
    return join(ret, "%s/%s.so", folder_of(trust), id);
}

/* The folder of the version that a link leads to: "content/ID/VERSION.xxxxxx".
 * @return 0; TOOLRACK_E_NOT_FOUND: there is no link, without a message; TOOLRACK_E_IO: it is none
 *         of ours */
static int read_link(const struct layout *layout, const char *name, const char *id,
                     char ret_folder[LAYOUT_PATH_MAX], struct toolrack_error *err) {
    char target[LAYOUT_PATH_MAX];
    char begin[LAYOUT_PATH_MAX];
    ssize_t length = readlinkat(layout->root, name, target, sizeof target - 1);
    if (length < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        return TOOLRACK_E_NOT_FOUND;
    }
    if (length < 0 && errno != EINVAL) {
        return cannot(layout, "read the link", name, errno, err);
    }
    target[length < 0 ? 0 : length] = '\0';
    int begun = snprintf(begin, sizeof begin, "../content/%s/", id);
    size_t folder = begun > 0 && strncmp(target, begin, (size_t)begun) == 0
                            ? strcspn(target + begun, "/")
                            : 0;
    if (folder == 0 || target[begun] == '.' || (size_t)begun + folder >= (size_t)length) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s/%s was not put there by 'toolrack install'; remove it", layout->path,
                         name);
    }
    (void)snprintf(ret_folder, LAYOUT_PATH_MAX, "%.*s", begun + (int)folder - 3, target + 3);
    return 0;
}

static int find_in(const struct layout *layout, size_t at, const char *id, struct installed *ret,
                   struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    char folder[LAYOUT_PATH_MAX];
    ret->folder[0] = '\0';
    if (!link_name(name, folders[at].trust, id)) {
        return too_long(err);
    }
    int code = read_link(layout, name, id, folder, err);
    if (code == 0) {
        code = read_record(layout, folder, ret, err);
    }
    if (code == 0 && strcmp(ret->id, id) != 0) {
        code = error_set(err, TOOLRACK_E_IO, "%s/%s leads to the package '%s'; remove it",
                         layout->path, name, ret->id);
        take_path(folder, ret);
    }
    ret->trust = folders[at].trust; /* that of its folder is in effect */
    return code;
}

int layout_find(const struct layout *layout, const char *id, struct installed *ret,
                struct toolrack_error *err) {
    int code = TOOLRACK_E_NOT_FOUND;
    ret->folder[0] = '\0';
    bool may_be = layout->root >= 0 && layout_is_id(id);
    for (size_t i = 0; may_be && code == TOOLRACK_E_NOT_FOUND && i < ARRAY_LENGTH(folders); i++) {
        code = find_in(layout, i, id, ret, err);
    }
    return code == TOOLRACK_E_NOT_FOUND
                   ? error_set(err, code, "no package '%.128s' is installed", id)
                   : code;
}

int layout_find_previous(const struct layout *layout, const struct installed *of,
                         struct installed *ret, struct toolrack_error *err) {
    struct stat st;
    char begin[LAYOUT_PATH_MAX];
    if (!join(begin, "content/%s/", of->id)) {
        return too_long(err);
    }
    const char *version = of->previous + strlen(begin);
    if (strncmp(of->previous, begin, strlen(begin)) != 0 || strchr(version, '/') != NULL ||
        version[0] == '.' || fstatat(layout->root, of->previous, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "no version of '%s' before %s is kept; install the file of that version "
                         "after 'toolrack uninstall'",
                         of->id, of->version);
    }
    int code = read_record(layout, of->previous, ret, err);
    if (code == 0) {
        ret->trust = of->trust;
    }
    return code;
}

/* -------------------------------------------------------------------- visit */

struct ids {
    char (*items)[LAYOUT_ID_MAX + 1];
    size_t count;
};

static void free_ids(struct ids *ids) {
    free(ids->items);
}

static int compare_ids(const void *a, const void *b) {
    return strcmp(a, b);
}

/* The ids of the links in one folder; those of the folder before it are not repeated. */
static int list_ids(const struct layout *layout, const char *folder, struct ids *ids,
                    struct toolrack_error *err) {
    int fd = openat(layout->root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        int why = errno;
        closep(&fd);
        return why == ENOENT ? 0 : cannot(layout, "read", folder, why, err);
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length <= 3 || length - 3 > LAYOUT_ID_MAX ||
            strcmp(entry->d_name + length - 3, ".so") != 0 || ids->count == LAYOUT_PACKAGES_MAX) {
            continue;
        }
        char *id = ids->items[ids->count];
        memcpy(id, entry->d_name, length - 3);
        id[length - 3] = '\0';
        ids->count += layout_is_id(id);
    }
    (void)closedir(dir);
    return 0;
}

int layout_visit(const struct layout *layout,
                 int (*visit)(void *user, const struct installed *one, struct toolrack_error *err),
                 void (*damaged)(void *user, const char *id, const char *reason), void *user,
                 struct toolrack_error *err) {
    CLEANUP(free_ids) struct ids ids = {.items = NULL};
    int code = 0;
    if (layout->root < 0) {
        return 0;
    }
    ids.items = calloc(LAYOUT_PACKAGES_MAX, sizeof *ids.items);
    if (ids.items == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(folders); i++) {
        code = list_ids(layout, folders[i].name, &ids, err);
    }
    sort(ids.items, ids.count, sizeof *ids.items, compare_ids);
    for (size_t i = 0; code == 0 && i < ids.count; i++) {
        struct installed one;
        struct toolrack_error why;
        if (i > 0 && strcmp(ids.items[i], ids.items[i - 1]) == 0) {
            continue;
        }
        int found = layout_find(layout, ids.items[i], &one, &why);
        if (found == 0) {
            code = visit(user, &one, err);
        } else if (found == TOOLRACK_E_NO_MEMORY) {
            code = error_oom(err);
        } else if (damaged != NULL) {
            damaged(user, ids.items[i], why.message);
        }
    }
    return code;
}

/* ------------------------------------------------------------------- change */

int layout_begin(const struct layout *layout, char ret_name[LAYOUT_PATH_MAX], int *ret_folder,
                 struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    buf_printf(&path, "%s/incoming/XXXXXX", layout->path);
    if (path.failed) {
        return error_oom(err);
    }
    if (mkdtemp(path.data) == NULL) {
        return cannot(layout, "make a folder in", "incoming", errno, err);
    }
    const char *name = path.data + strlen(layout->path) + 1;
    (void)snprintf(ret_name, LAYOUT_PATH_MAX, "%s", name);
    CLEANUP(closep)
    int fd = openat(layout->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
        return cannot(layout, "lock", name, errno, err);
    }
    *ret_folder = fd;
    fd = -1;
    return 0;
}

/* Let a link lead to a version's plugin file, in one step. */
static int exchange_link(const struct layout *layout, const struct installed *one, const char *name,
                         struct toolrack_error *err) {
    static const char draft[] = "incoming/link";
    char target[LAYOUT_PATH_MAX * 2 + 8];
    (void)snprintf(target, sizeof target, "../%s/%s", one->folder, one->plugin);
    if (strlen(target) >= LAYOUT_PATH_MAX) {
        return too_long(err);
    }
    (void)unlinkat(layout->root, draft, 0);
    return symlinkat(target, layout->root, draft) == 0 &&
                           renameat(layout->root, draft, layout->root, name) == 0
                   ? 0
                   : cannot(layout, "make the link", name, errno, err);
}

/* The same, on the disk. If it cannot be put there, the link leads to what it led to before.
 * @param before  NULL: there was no link */
static int set_link(const struct layout *layout, const struct installed *one,
                    const struct installed *before, struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    struct toolrack_error unheard;
    int code = link_name(name, one->trust, one->id) ? exchange_link(layout, one, name, err)
                                                    : too_long(err);
    if (code < 0) {
        return code;
    }
    int why = sync_folder_of(layout, name);
    if (why < 0 && before != NULL) {
        (void)exchange_link(layout, before, name, &unheard);
    } else if (why < 0) {
        (void)unlinkat(layout->root, name, 0);
    }
    return why < 0 ? cannot(layout, "sync the folder of", name, -why, err) : 0;
}

/* Move what is whole below content/, under a name that nothing had. */
static int place(const struct layout *layout, const char *incoming, struct installed *new,
                 struct toolrack_error *err) {
    char parent[LAYOUT_PATH_MAX];
    const char *unique = strrchr(incoming, '/') + 1;
    int length = snprintf(new->folder, sizeof new->folder, "content/%s/%s.%s", new->id,
                          new->version, unique);
    if (!join(parent, "content/%s", new->id) || length >= (int)sizeof new->folder) {
        return too_long(err);
    }
    int code = make_folder(layout, parent, err);
    if (code < 0) {
        return code;
    }
    int why = tree_sync(layout->root, incoming);
    if (why == 0 && renameat(layout->root, incoming, layout->root, new->folder) < 0) {
        why = -errno;
    }
    why = why < 0 ? why : sync_folder_of(layout, new->folder);
    why = why < 0 ? why : sync_folder_of(layout, parent);
    return why < 0 ? cannot(layout, "put the package into", new->folder, -why, err) : 0;
}

int layout_install(const struct layout *layout, const char *incoming, struct installed *new,
                   struct toolrack_error *err) {
    struct installed before;
    int code = layout_find(layout, new->id, &before, err);
    new->previous[0] = '\0';
    bool has_before = code == 0;
    if (has_before) {
        (void)snprintf(new->previous, sizeof new->previous, "%s", before.folder);
    } else if (code == TOOLRACK_E_NO_MEMORY) {
        return code;
    }
    code = write_record(layout, incoming, new, err);
    if (code == 0) {
        code = place(layout, incoming, new, err);
    }
    if (code == 0) {
        code = set_link(layout, new, has_before ? &before : NULL, err);
    }
    return code;
}

/* --------------------------------------------------------------------- left */

/* Versions a line; a file that grows with each rollback of one package alone. */
#define LEFT_SIZE_MAX 65536u

bool layout_was_left(const struct layout *layout, const char *id, const char *version) {
    char name[LAYOUT_PATH_MAX];
    struct toolrack_error unheard;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (!layout_is_id(id) || !join(name, "left/%s", id) ||
        layout_read(layout, name, LEFT_SIZE_MAX, &text, &unheard) < 0 || text.length == 0) {
        return false;
    }
    char *rest = text.data;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strcmp(line, version) == 0) {
            return true;
        }
    }
    return false;
}

static int note_left(const struct layout *layout, const struct installed *one,
                     struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (layout_was_left(layout, one->id, one->version)) {
        return 0;
    }
    if (!join(name, "left/%s", one->id)) {
        return too_long(err);
    }
    int code = layout_read(layout, name, LEFT_SIZE_MAX / 2, &text, err);
    if (code < 0) {
        buf_clear(&text); /* there is none, or what it says is of no use */
    }
    buf_printf(&text, "%s\n", one->version);
    return layout_write(layout, name, &text, err);
}

int layout_go_back(const struct layout *layout, const struct installed *now, struct installed *ret,
                   struct toolrack_error *err) {
    int code = layout_find_previous(layout, now, ret, err);
    if (code == 0) {
        code = note_left(layout, now, err);
    }
    if (code == 0) {
        code = set_link(layout, ret, now, err);
    }
    return code;
}

int layout_remove(const struct layout *layout, const struct installed *one,
                  struct toolrack_error *err) {
    char name[LAYOUT_PATH_MAX];
    char left[LAYOUT_PATH_MAX];
    if (!link_name(name, one->trust, one->id) || !join(left, "left/%s", one->id)) {
        return too_long(err);
    }
    if (unlinkat(layout->root, name, 0) < 0 && errno != ENOENT) {
        return cannot(layout, "remove", name, errno, err);
    }
    int why = sync_folder_of(layout, name);
    if (why < 0) {
        struct toolrack_error unheard;
        (void)exchange_link(layout, one, name, &unheard);
        return cannot(layout, "sync the folder of", name, -why, err);
    }
    (void)unlinkat(layout->root, left, 0);
    layout_collect(layout);
    return 0;
}

/* ------------------------------------------------------------------ collect */

/* Whether a version's folder is what serves, or one of those before it that are kept. */
static bool is_needed(const struct layout *layout, const char *id, const char *folder) {
    struct installed at;
    struct toolrack_error why;
    int code = layout_find(layout, id, &at, &why);
    if (code < 0) {
        return code != TOOLRACK_E_NOT_FOUND; /* what cannot be read now may be readable later */
    }
    for (unsigned i = 0; i <= LAYOUT_KEEP_MAX; i++) {
        struct installed previous;
        if (strcmp(at.folder, folder) == 0) {
            return true;
        }
        if (layout_find_previous(layout, &at, &previous, &why) < 0) {
            return false;
        }
        at = previous;
    }
    return false;
}

static void collect_versions(const struct layout *layout, const char *id) {
    char parent[LAYOUT_PATH_MAX];
    if (!layout_is_id(id) || !join(parent, "content/%s", id)) {
        return;
    }
    int fd = openat(layout->root, parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char folder[LAYOUT_PATH_MAX];
        if (entry->d_name[0] != '.' && join(folder, "%s/%s", parent, entry->d_name) &&
            !is_needed(layout, id, folder)) {
            (void)tree_remove(dirfd(dir), entry->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    } else {
        closep(&fd);
    }
    (void)unlinkat(layout->root, parent, AT_REMOVEDIR); /* if nothing is left in it */
}

void layout_collect(const struct layout *layout) {
    int fd = openat(layout->root, "content", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        closep(&fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        collect_versions(layout, entry->d_name);
    }
    (void)closedir(dir);
}
