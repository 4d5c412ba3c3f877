/* Events only record that something happened, and when. The state of the file or folder is read
 * when it is due: so neither the order of events nor a lost event can cause a wrong report.
 *
 * Invariants:
 *
 *  (1) pending[] has no two entries of the same folder and name.
 *  (2) folders[i].watch is the watch of its step in `ways`, or WAY_NO_WATCH. */
#include "files/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/name.h"
#include "base/object.h"
#include "files/folder.h"
#include "files/wait.h"
#include "files/way.h"

/* Size of one read of events, and most reads of one watch_read(): more events make the descriptor
 * readable again. */
#define EVENTS_SIZE 65536u
#define READS_MAX   64u

struct watched_folder {
    char *path;     /* as it was added */
    char *absolute; /* the same from the root */
    char *real;     /* without links; NULL: it does not exist */
    int watch;      /* of inotify, or WAY_NO_WATCH */
    uint64_t device;
    uint64_t inode;
    const char *trouble; /* static text, or NULL */
    bool lost_events;    /* report a rescan in any case */
    struct wait wait;
};

struct pending {
    uint32_t folder;
    uint32_t hash; /* of the name */
    char *name;
    struct wait wait;
};

struct watch {
    uint32_t magic; /* WATCH_MAGIC */
    struct wait_times times;
    struct ways ways;
    struct watched_folder *folders;
    uint32_t folder_count;
    struct pending *pending;
    size_t pending_count;
    size_t pending_room;
    struct arena told; /* paths of the last reported changes */
};
#define WATCH_MAGIC 0x68637477u

/* ------------------------------------------------------------- files that are links */

/* Watch the way to a file's target if the file is a link; otherwise forget that way. */
static void look_at_file(struct watch *watch, uint32_t index, const char *name) {
    const struct watched_folder *folder = &watch->folders[index];
    const struct way_owner owner = {.folder = index, .file = name};
    char path[PATH_MAX];
    struct stat st;
    struct way way;
    int length =
            folder->real == NULL ? -1 : snprintf(path, sizeof path, "%s/%s", folder->real, name);
    if (length > 0 && length < (int)sizeof path && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        (void)ways_find(&watch->ways, owner, folder->real, name, &way);
    } else {
        ways_forget(&watch->ways, owner);
    }
}

/* Call look_at_file() for all files of a folder that may be links: most file systems say in the
 * list what an entry is. */
static void look_at_files(struct watch *watch, uint32_t index) {
    uint32_t round = watch->ways.round;
    const char *real = watch->folders[index].real;
    DIR *dir = real == NULL ? NULL : opendir(real[0] == '\0' ? "/" : real);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        bool may_be_link = entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
        if (may_be_link && folder_takes_name(entry->d_name, strlen(entry->d_name))) {
            look_at_file(watch, index, entry->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    ways_forget_files(&watch->ways, index, round);
}

/* -------------------------------------------------------------------- folders */

static const char *trouble_of(int why) {
    switch (why) {
    case 0:
    case ENOENT: return NULL; /* it may be created later */
    case ENOTDIR: return "it is not a folder; name the folder that the plugin files are in";
    case EACCES:
        return "permission denied; let the user that runs the host read the folder (chmod a+rx)";
    case ENOSPC: return "the user has too many watches: raise fs.inotify.max_user_watches (sysctl)";
    case ENOMEM: return "out of memory";
    default: return "it cannot be watched: reload by hand";
    }
}

/* Find a folder, wherever it is now. 0 or an errno value. ret_other: whether it is another folder
 * than before, or cannot be watched for another reason. */
static int find_folder(struct watch *watch, uint32_t index, bool *ret_other) {
    struct watched_folder *folder = &watch->folders[index];
    struct way way;
    int why = ways_find(&watch->ways, (struct way_owner){.folder = index}, "", folder->absolute,
                        &way);
    int before = folder->watch;
    const char *trouble_before = folder->trouble;
    free(folder->real);
    folder->real = NULL;
    folder->watch = way.watch;
    if (why == 0 && (folder->real = strdup(way.walk.at)) == NULL) {
        why = ENOMEM;
    }
    bool same_inode = folder->device == way.st.st_dev && folder->inode == way.st.st_ino;
    folder->device = why == 0 ? way.st.st_dev : 0;
    folder->inode = why == 0 ? way.st.st_ino : 0;
    folder->trouble = trouble_of(why);
    *ret_other = before != folder->watch || (why == 0 && !same_inode) ||
                 trouble_before != folder->trouble;
    return why;
}

/* -------------------------------------------------------------------- events */

/* The entry of a file, added if needed; NULL when there is no room, or out of memory. */
static struct pending *get_pending(struct watch *watch, uint32_t folder, const char *name) {
    uint32_t hash = name_hash(name, strlen(name));
    for (size_t i = 0; i < watch->pending_count; i++) {
        struct pending *one = &watch->pending[i];
        if (one->hash == hash && one->folder == folder && strcmp(one->name, name) == 0) {
            return one;
        }
    }
    if (watch->pending_count == WATCH_PENDING_MAX) {
        return NULL;
    }
    if (watch->pending_count == watch->pending_room) {
        size_t room = watch->pending_room == 0 ? 16 : watch->pending_room * 2;
        struct pending *grown = realloc(watch->pending, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        watch->pending = grown;
        watch->pending_room = room;
    }
    char *copy = strdup(name);
    if (copy == NULL) {
        return NULL;
    }
    struct pending *added = &watch->pending[watch->pending_count++];
    *added = (struct pending){.folder = folder, .hash = hash, .name = copy};
    return added;
}

static void scan_later(const struct watch *watch, struct watched_folder *folder, uint64_t now_ns) {
    folder->lost_events = true;
    wait_ended(&folder->wait, &watch->times, now_ns);
}

/* Whether a file that was just made is still empty: a link is complete, and so is a second name, or
 * a file that got its name after it was written. */
static bool is_empty(const struct watched_folder *folder, const char *name) {
    char path[PATH_MAX];
    struct stat st;
    int length = snprintf(path, sizeof path, "%s/%s", folder->absolute, name);
    return length > 0 && length < (int)sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == 0 && st.st_nlink == 1;
}

/* An event at a file of a folder, or at the target of a link. */
static void take_file_event(struct watch *watch, uint32_t index, const char *name, uint32_t events,
                            uint64_t now_ns) {
    struct watched_folder *folder = &watch->folders[index];
    struct pending *one = get_pending(watch, index, name);
    if (one == NULL) {
        scan_later(watch, folder, now_ns);
    } else if ((events & IN_MODIFY) != 0 || ((events & IN_CREATE) != 0 && is_empty(folder, name)) ||
               ((events & IN_ATTRIB) != 0 && one->wait.writing)) {
        wait_written(&one->wait, now_ns);
    } else {
        wait_ended(&one->wait, &watch->times, now_ns);
    }
}

/* An event at the end or on the way of an owner. */
static void take_way_event(struct watch *watch, struct way_owner owner, uint32_t events,
                           uint64_t now_ns) {
    if (owner.file == NULL) {
        wait_ended(&watch->folders[owner.folder].wait, &watch->times, now_ns);
    } else {
        take_file_event(watch, owner.folder, owner.file, events, now_ns);
    }
}

/* An event at a name in a folder that is a plugin folder, on a way, or both. */
static void take_named_event(struct watch *watch, const struct inotify_event *event,
                             uint64_t now_ns) {
    bool taken = folder_takes_name(event->name, strlen(event->name));
    for (uint32_t i = 0; taken && i < watch->folder_count; i++) {
        if (watch->folders[i].watch == event->wd) {
            take_file_event(watch, i, event->name, event->mask, now_ns);
        }
    }
    bool exchanged = (event->mask & (WAY_EXCHANGE_EVENTS | IN_ATTRIB)) != 0;
    for (size_t i = 0; i < watch->ways.step_count; i++) {
        const struct step *step = &watch->ways.steps[i];
        if (step->watch == event->wd && step->name != NULL &&
            strcmp(step->name, event->name) == 0 && (exchanged || step->file != NULL)) {
            take_way_event(watch, step->owner, event->mask, now_ns);
        }
    }
}

/* An event at a folder itself. */
static void take_own_event(struct watch *watch, const struct inotify_event *event,
                           uint64_t now_ns) {
    bool taken_away = (event->mask & WAY_TAKEN_AWAY_EVENTS) != 0;
    for (size_t i = 0; i < watch->ways.step_count; i++) {
        const struct step *step = &watch->ways.steps[i];
        if (step->watch == event->wd && (taken_away || step->name == NULL)) {
            take_way_event(watch, step->owner, event->mask, now_ns);
        }
    }
    if ((event->mask & IN_IGNORED) == 0) {
        return;
    }
    /* The kernel removed the watch, with the watched folder. */
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        if (watch->folders[i].watch == event->wd) {
            watch->folders[i].watch = WAY_NO_WATCH;
            watch->folders[i].lost_events = true;
        }
    }
    ways_forget_watch(&watch->ways, event->wd);
}

static void take_events(struct watch *watch, uint64_t now_ns) {
    _Alignas(struct inotify_event) char bytes[EVENTS_SIZE];
    for (unsigned i = 0; i < READS_MAX; i++) {
        ssize_t got = read(watch->ways.fd, bytes, sizeof bytes);
        if (got <= 0) {
            return; /* no more events for now */
        }
        for (const char *at = bytes; at < bytes + got;) {
            const struct inotify_event *event = (const void *)at;
            if ((event->mask & IN_Q_OVERFLOW) != 0) {
                for (uint32_t k = 0; k < watch->folder_count; k++) {
                    scan_later(watch, &watch->folders[k], now_ns);
                }
            } else if (event->len > 0) {
                take_named_event(watch, event, now_ns);
            } else {
                take_own_event(watch, event, now_ns);
            }
            at += sizeof *event + event->len;
        }
    }
}

/* -------------------------------------------------------------------- telling */

/* Report a file that is due. False when out of memory: it is reported later. */
static bool tell_file(struct watch *watch, struct pending *one, uint64_t now_ns,
                      struct watch_change *ret) {
    const struct watched_folder *folder = &watch->folders[one->folder];
    size_t length = strlen(folder->path); /* the same path as a scan makes */
    bool has_slash = length > 0 && folder->path[length - 1] == '/';
    char *path = arena_printf(&watch->told, has_slash ? "%s%s" : "%s/%s", folder->path, one->name);
    const char *absolute = arena_printf(&watch->told, "%s/%s", folder->absolute, one->name);
    if (path == NULL || absolute == NULL) {
        wait_ended(&one->wait, &watch->times, now_ns);
        one->wait.overdue = false;
        one->wait.first_ns = now_ns;
        return false;
    }
    struct stat st;
    look_at_file(watch, one->folder, one->name); /* first: later events will be seen */
    bool there = lstat(absolute, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
    *ret = (struct watch_change){
            .kind = there ? WATCH_CHANGED : WATCH_GONE, .folder = one->folder, .path = path};
    wait_told(&one->wait);
    return true;
}

size_t watch_read(struct watch *watch, uint64_t now_ns, struct watch_change *changes, size_t room) {
    OBJECT_CHECK(watch, WATCH_MAGIC);
    size_t count = 0;
    take_events(watch, now_ns);
    arena_finish(&watch->told);
    for (uint32_t i = 0; i < watch->folder_count && count < room; i++) {
        struct watched_folder *folder = &watch->folders[i];
        if (wait_due_ns(&folder->wait, &watch->times) > now_ns) {
            continue;
        }
        bool other;
        (void)find_folder(watch, i, &other);
        bool tell = other || folder->lost_events;
        wait_told(&folder->wait);
        folder->lost_events = false;
        if (tell) {
            look_at_files(watch, i);
            changes[count++] = (struct watch_change){.kind = WATCH_RESCAN,
                                                     .folder = i,
                                                     .path = folder->path,
                                                     .trouble = folder->trouble};
        }
    }
    for (size_t i = watch->pending_count; i-- > 0 && count < room;) {
        struct pending *one = &watch->pending[i];
        if (wait_due_ns(&one->wait, &watch->times) <= now_ns) {
            count += tell_file(watch, one, now_ns, &changes[count]);
            if (!one->wait.waiting) {
                free(one->name);
                *one = watch->pending[--watch->pending_count];
            }
        }
    }
    return count;
}

uint64_t watch_next_ns(const struct watch *watch) {
    OBJECT_CHECK(watch, WATCH_MAGIC);
    uint64_t next = WATCH_NEVER;
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        uint64_t due = wait_due_ns(&watch->folders[i].wait, &watch->times);
        next = due < next ? due : next;
    }
    for (size_t i = 0; i < watch->pending_count; i++) {
        uint64_t due = wait_due_ns(&watch->pending[i].wait, &watch->times);
        next = due < next ? due : next;
    }
    return next;
}

int watch_fd(const struct watch *watch) {
    return watch->ways.fd;
}

/* ------------------------------------------------------------ life of a watch */

int watch_create(struct watch **ret, struct toolrack_error *err) {
    CLEANUP(freep) struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return error_oom(err);
    }
    watch->ways.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch->ways.fd < 0 && errno == EMFILE) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "cannot watch folders: too many open files, or raise "
                         "fs.inotify.max_user_instances (sysctl)");
    }
    if (watch->ways.fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot watch folders: %s", strerror(errno));
    }
    watch->magic = WATCH_MAGIC;
    watch_set_debounce(watch, WATCH_DEBOUNCE_MS);
    arena_init(&watch->told, NULL, 0);
    *ret = STEAL(watch);
    return 0;
}

void watch_set_debounce(struct watch *watch, uint32_t debounce_ms) {
    OBJECT_CHECK(watch, WATCH_MAGIC);
    watch->times = (struct wait_times){
            .debounce_ns = (uint64_t)debounce_ms * CLOCK_NS_PER_MS,
            .starve_ns = (uint64_t)WATCH_STARVE_MS_MAX * CLOCK_NS_PER_MS / WATCH_DEBOUNCE_MS *
                         debounce_ms,
            .settle_ns = (uint64_t)WATCH_SETTLE_MS_MAX * CLOCK_NS_PER_MS,
    };
}

static void free_folder(struct watched_folder *folder) {
    free(folder->path);
    free(folder->absolute);
    free(folder->real);
}

void watch_destroy(struct watch *watch) {
    if (watch == NULL) {
        return;
    }
    OBJECT_WIPE(watch, WATCH_MAGIC);
    (void)close(watch->ways.fd);
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        free_folder(&watch->folders[i]);
    }
    for (size_t i = 0; i < watch->pending_count; i++) {
        free(watch->pending[i].name);
    }
    free(watch->folders);
    ways_finish(&watch->ways);
    free(watch->pending);
    arena_finish(&watch->told);
    free(watch);
}

/* Absolute, since the host may change its working folder. */
static char *make_absolute(const char *path) {
    if (path[0] == '/') {
        return strdup(path);
    }
    CLEANUP(freep) char *here = realpath(".", NULL);
    char *absolute;
    return here != NULL && asprintf(&absolute, "%s/%s", here, path) >= 0 ? absolute : NULL;
}

/* Memory for one more folder, not counted yet. */
static struct watched_folder *reserve_folder(struct watch *watch, const char *path) {
    struct watched_folder *grown =
            realloc(watch->folders, (watch->folder_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    watch->folders = grown;
    struct watched_folder *folder = &watch->folders[watch->folder_count];
    *folder = (struct watched_folder){.watch = WAY_NO_WATCH};
    folder->path = strdup(path);
    folder->absolute = make_absolute(path);
    if (folder->path == NULL || folder->absolute == NULL) {
        free_folder(folder);
        return NULL;
    }
    return folder;
}

int watch_add(struct watch *watch, const char *path, uint32_t *ret_folder,
              struct toolrack_error *err) {
    OBJECT_CHECK(watch, WATCH_MAGIC);
    if (watch->folder_count == WATCH_FOLDERS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "cannot watch %s: %u folders are watched already, which is the limit",
                         path, WATCH_FOLDERS_MAX);
    }
    struct watched_folder *folder = reserve_folder(watch, path);
    if (folder == NULL) {
        return error_oom(err);
    }
    uint32_t index = watch->folder_count++;
    bool other;
    int why = find_folder(watch, index, &other);
    const char *trouble = folder->trouble;
    if (trouble != NULL) {
        ways_forget(&watch->ways, (struct way_owner){.folder = index});
        free_folder(&watch->folders[--watch->folder_count]);
        return why == ENOMEM
                       ? error_oom(err)
                       : error_set(err, why == ENOSPC ? TOOLRACK_E_LIMIT_EXCEEDED : TOOLRACK_E_IO,
                                   "cannot watch %s: %s", path, trouble);
    }
    look_at_files(watch, index);
    if (ret_folder != NULL) {
        *ret_folder = index;
    }
    return 0;
}
