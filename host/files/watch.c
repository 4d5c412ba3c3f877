/* Events only note that something happened, and when. What it was is looked up when the file or
 * folder is due: so no order of events and no lost event can make us tell something false.
 *
 * A file is waited for in one of two states:
 *
 *      written --- closed, renamed, removed, linked ---> settling
 *         ^                                                 |
 *         +--------------- written to, or made -------------+
 *
 *   written   somebody has it open and writes: due WATCH_SETTLE_MS_MAX after the last event
 *   settling  due WATCH_DEBOUNCE_MS after the last event, but no later than WATCH_STARVE_MS_MAX
 *             after the first one that ended in this state; whoever writes to it again after
 *             that moment comes too late to stop it (`overdue`)
 *
 * Invariants:
 *
 *  (1) A step is one name on the way to a folder or to the target of a file that is followed, in a
 *      folder without links. Its inotify watch was there before the name was looked at.
 *  (2) An inotify watch exists while a step, a folder or a followed file has it, and no longer.
 *      The kernel gives the same one for the same inode and never uses a number twice.
 *  (3) pending[] has no two entries of the same folder and name. */
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
#include "files/folder.h"

/* What exchanges one thing for another under the same name. */
#define EXCHANGE_EVENTS   (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
#define SELF_EVENTS       (IN_DELETE_SELF | IN_MOVE_SELF)
/* IN_IGNORED and IN_UNMOUNT come unasked. */
#define TAKEN_AWAY_EVENTS (SELF_EVENTS | IN_IGNORED | IN_UNMOUNT)
/* IN_ATTRIB also tells of permissions, without which a folder cannot be watched. */
#define WAY_EVENTS        (EXCHANGE_EVENTS | SELF_EVENTS | IN_ATTRIB)
#define CONTENT_EVENTS    (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB)
#define FOLDER_EVENTS     (WAY_EVENTS | CONTENT_EVENTS)

/* As the kernel has it. */
#define LINKS_MAX 40u

/* One read of events, and how many of them one watch_read() makes: who sends more wakes us
 * again. */
#define EVENTS_SIZE 65536u
#define READS_MAX   64u

#define NO_WATCH (-1)

/* When something is due. */
struct wait {
    bool waiting; /* an event came; the rest means nothing without */
    bool writing;
    bool ended; /* an event came after which nobody writes, at first_ns for the first time */
    bool overdue;
    uint64_t first_ns;
    uint64_t last_ns;
};

struct watched_folder {
    char *path;     /* as it was added */
    char *absolute; /* the same from the root */
    char *real;     /* without links; NULL: it is not there */
    int watch;      /* of inotify, or NO_WATCH */
    uint64_t device;
    uint64_t inode;
    const char *trouble; /* static text, or NULL */
    bool lost_events;    /* to be told, whatever is found */
    struct wait wait;
};

/* A file that is a link or has several names. */
struct followed {
    bool used;
    bool marked; /* seen in the present listing */
    uint32_t folder;
    char *name;
    int watch; /* on the file itself when it has several names, or NO_WATCH */
};

/* Who is at the end of a way. */
struct owner {
    bool is_folder;
    uint32_t index; /* in folders[] or followed[] */
};

struct step {
    int watch;
    struct owner owner;
    uint32_t round; /* of looking for the way */
    char *name;
};

struct pending {
    uint32_t folder;
    uint32_t hash; /* of the name */
    char *name;
    struct wait wait;
};

struct watch {
    int fd;
    uint32_t debounce_ms;
    uint32_t round;
    struct watched_folder *folders;
    uint32_t folder_count;
    struct followed *followed;
    uint32_t followed_count;
    struct step *steps;
    size_t step_count;
    size_t step_room;
    struct pending *pending;
    size_t pending_count;
    size_t pending_room;
    struct arena told; /* paths of the last changes */
};

/* ----------------------------------------------------------------- waiting */

#define MS(ms) ((uint64_t)(ms)*CLOCK_NS_PER_MS)

/* In proportion to the debounce time. */
static uint64_t starve_ns(const struct watch *watch) {
    return MS(WATCH_STARVE_MS_MAX) / WATCH_DEBOUNCE_MS * watch->debounce_ms;
}

static void wait_written(struct wait *wait, uint64_t now_ns) {
    wait->waiting = true;
    wait->writing = true;
    wait->last_ns = now_ns;
}

static void wait_ended(const struct watch *watch, struct wait *wait, uint64_t now_ns) {
    if (!wait->ended) {
        wait->ended = true;
        wait->first_ns = now_ns;
    }
    wait->waiting = true;
    wait->writing = false;
    wait->overdue = now_ns - wait->first_ns >= starve_ns(watch);
    wait->last_ns = now_ns;
}

static uint64_t wait_due_ns(const struct watch *watch, const struct wait *wait) {
    if (!wait->waiting) {
        return WATCH_NEVER;
    }
    if (wait->overdue) {
        return wait->first_ns + starve_ns(watch);
    }
    if (wait->writing) {
        return wait->last_ns + MS(WATCH_SETTLE_MS_MAX);
    }
    uint64_t settled = wait->last_ns + MS(watch->debounce_ms);
    uint64_t starved = wait->first_ns + starve_ns(watch);
    return settled < starved ? settled : starved;
}

/* What is left to wait for of something that is told now: it may be written to again already. */
static void wait_told(struct wait *wait) {
    bool again = wait->overdue && wait->writing;
    *wait = (struct wait){.waiting = again, .writing = again, .last_ns = wait->last_ns};
}

/* ------------------------------------------------------------ inotify watches */

/* A watch of these events more on a path. Files that have lost their name, but are still written
 * to, do not count under it any more. -1 with errno. */
static int add_watch(const struct watch *watch, const char *path, uint32_t events) {
    return inotify_add_watch(watch->fd, path[0] == '\0' ? "/" : path,
                             events | IN_MASK_ADD | IN_EXCL_UNLINK);
}

static bool is_used(const struct watch *watch, int number) {
    for (size_t i = 0; i < watch->step_count; i++) {
        if (watch->steps[i].watch == number) {
            return true;
        }
    }
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        if (watch->folders[i].watch == number) {
            return true;
        }
    }
    for (uint32_t i = 0; i < watch->followed_count; i++) {
        if (watch->followed[i].used && watch->followed[i].watch == number) {
            return true;
        }
    }
    return false;
}

static void release_watch(const struct watch *watch, int number) {
    if (number != NO_WATCH && !is_used(watch, number)) {
        (void)inotify_rm_watch(watch->fd, number); /* it may be gone by itself */
    }
}

/* ------------------------------------------------------------------- ways */

static bool add_step(struct watch *watch, int number, struct owner owner, const char *name,
                     size_t length) {
    if (watch->step_count == watch->step_room) {
        size_t room = watch->step_room == 0 ? 64 : watch->step_room * 2;
        struct step *grown = realloc(watch->steps, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        watch->steps = grown;
        watch->step_room = room;
    }
    char *copy = strndup(name, length);
    if (copy == NULL) {
        return false;
    }
    watch->steps[watch->step_count++] =
            (struct step){.watch = number, .owner = owner, .round = watch->round, .name = copy};
    return true;
}

static bool same_owner(struct owner a, struct owner b) {
    return a.is_folder == b.is_folder && a.index == b.index;
}

/* Forget the steps of an owner but those of the present round. */
static void forget_steps(struct watch *watch, struct owner owner, bool all) {
    for (size_t i = watch->step_count; i-- > 0;) {
        struct step step = watch->steps[i];
        if (same_owner(step.owner, owner) && (all || step.round != watch->round)) {
            watch->steps[i] = watch->steps[--watch->step_count];
            free(step.name);
            release_watch(watch, step.watch);
        }
    }
}

/* A path on the way to its end. */
struct way {
    char at[PATH_MAX];   /* where we are, without links; "" is the root */
    char rest[PATH_MAX]; /* what is to be walked from there */
    unsigned links;
    struct stat st; /* of `at`, once there is a name in it */
};

/* Put what a link says in front of the rest. 0 or an errno value. */
static int follow_link(struct way *way, const char *link, const char *rest) {
    char target[PATH_MAX];
    char joined[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) {
        return errno;
    }
    target[length] = '\0';
    if (++way->links > LINKS_MAX) {
        return ELOOP;
    }
    int joined_length = snprintf(joined, sizeof joined, "%s/%s", target, rest);
    if (joined_length < 0 || joined_length >= (int)sizeof joined) {
        return ENAMETOOLONG;
    }
    if (target[0] == '/') {
        way->at[0] = '\0';
    }
    memcpy(way->rest, joined, (size_t)joined_length + 1);
    return 0;
}

/* Walk one name, of `length`, at the beginning of the rest. 0 or an errno value. */
static int walk_name(struct watch *watch, struct way *way, struct owner owner, size_t length) {
    char next[PATH_MAX];
    int next_length = snprintf(next, sizeof next, "%s/%.*s", way->at, (int)length, way->rest);
    if (next_length < 0 || next_length >= (int)sizeof next) {
        return ENAMETOOLONG;
    }
    /* A folder that may be passed but not read cannot be watched: its names are not seen. */
    int number = add_watch(watch, way->at, WAY_EVENTS | IN_ONLYDIR);
    if (number >= 0 && !add_step(watch, number, owner, way->rest, length)) {
        return ENOMEM;
    }
    if (lstat(next, &way->st) < 0) {
        return errno;
    }
    const char *rest = way->rest + length;
    if (S_ISLNK(way->st.st_mode)) {
        return follow_link(way, next, rest);
    }
    if (!owner.is_folder && !S_ISDIR(way->st.st_mode)) {
        (void)add_watch(watch, way->at, FOLDER_EVENTS | IN_ONLYDIR);
    }
    memmove(way->rest, rest, strlen(rest) + 1);
    memcpy(way->at, next, (size_t)next_length + 1);
    return 0;
}

/* Walk to the end, watching each step. 0 or an errno value. */
static int walk(struct watch *watch, struct way *way, struct owner owner) {
    for (;;) {
        const char *name = way->rest + strspn(way->rest, "/");
        size_t length = strcspn(name, "/");
        memmove(way->rest, name, strlen(name) + 1);
        if (length == 0) {
            return 0;
        }
        if (length <= 2 && strncmp(way->rest, "..", length) == 0) {
            char *slash = length == 2 ? strrchr(way->at, '/') : NULL;
            if (slash != NULL) {
                *slash = '\0';
            }
            memmove(way->rest, way->rest + length, strlen(way->rest + length) + 1);
            continue;
        }
        int why = walk_name(watch, way, owner, length);
        if (why != 0) {
            return why;
        }
    }
}

/* Find the way from `at` along `rest` anew, and forget the steps of the old one. */
static int find_way(struct watch *watch, struct owner owner, const char *at, const char *rest,
                    struct way *ret) {
    ret->links = 0;
    ret->st = (struct stat){0};
    (void)snprintf(ret->at, sizeof ret->at, "%s", at);
    int length = snprintf(ret->rest, sizeof ret->rest, "%s", rest);
    watch->round++;
    int why = length >= (int)sizeof ret->rest ? ENAMETOOLONG : walk(watch, ret, owner);
    forget_steps(watch, owner, false);
    return why;
}

/* --------------------------------------------------------------- followed files */

static struct followed *find_followed(const struct watch *watch, uint32_t folder,
                                      const char *name) {
    for (uint32_t i = 0; i < watch->followed_count; i++) {
        struct followed *one = &watch->followed[i];
        if (one->used && one->folder == folder && strcmp(one->name, name) == 0) {
            return one;
        }
    }
    return NULL;
}

static struct owner owner_of(const struct watch *watch, const struct followed *one) {
    return (struct owner){.is_folder = false, .index = (uint32_t)(one - watch->followed)};
}

static void unfollow(struct watch *watch, struct followed *one) {
    int number = one->watch;
    free(one->name);
    one->name = NULL;
    one->used = false;
    release_watch(watch, number);
    forget_steps(watch, owner_of(watch, one), true);
}

/* A place for one more; NULL when there is none, or no memory. */
static struct followed *add_followed(struct watch *watch, uint32_t folder, const char *name) {
    uint32_t at = 0;
    while (at < watch->followed_count && watch->followed[at].used) {
        at++;
    }
    if (at == WATCH_FOLLOWED_MAX) {
        return NULL;
    }
    if (at == watch->followed_count) {
        struct followed *grown = realloc(watch->followed, (at + 1) * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        watch->followed = grown;
        watch->followed[at] = (struct followed){.used = false};
        watch->followed_count++;
    }
    char *copy = strdup(name);
    if (copy == NULL) {
        return NULL;
    }
    struct followed *one = &watch->followed[at];
    *one = (struct followed){.used = true, .folder = folder, .name = copy, .watch = NO_WATCH};
    return one;
}

/* Follow a file, if there is something to follow, or no longer. */
static void look_at_file(struct watch *watch, uint32_t folder_index, const char *name) {
    const struct watched_folder *folder = &watch->folders[folder_index];
    struct followed *one = find_followed(watch, folder_index, name);
    char path[PATH_MAX];
    struct stat st;
    int length =
            folder->real == NULL ? -1 : snprintf(path, sizeof path, "%s/%s", folder->real, name);
    bool worth = length > 0 && length < (int)sizeof path && lstat(path, &st) == 0 &&
                 (S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink > 1));
    if (!worth) {
        if (one != NULL) {
            unfollow(watch, one);
        }
        return;
    }
    one = one != NULL ? one : add_followed(watch, folder_index, name);
    if (one == NULL) {
        return;
    }
    one->marked = true;
    struct way way;
    int why = find_way(watch, owner_of(watch, one), folder->real, name, &way);
    int before = one->watch;
    bool many = why == 0 && S_ISREG(way.st.st_mode) && way.st.st_nlink > 1;
    one->watch = many ? add_watch(watch, way.at, CONTENT_EVENTS) : NO_WATCH;
    if (before != one->watch) {
        release_watch(watch, before);
    }
}

/* Follow what there is to follow in a folder. */
static void look_at_files(struct watch *watch, uint32_t folder_index) {
    for (uint32_t i = 0; i < watch->followed_count; i++) {
        watch->followed[i].marked = false;
    }
    const char *real = watch->folders[folder_index].real;
    DIR *dir = real == NULL ? NULL : opendir(real[0] == '\0' ? "/" : real);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (folder_takes_name(entry->d_name, strlen(entry->d_name))) {
            look_at_file(watch, folder_index, entry->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    for (uint32_t i = 0; i < watch->followed_count; i++) {
        struct followed *one = &watch->followed[i];
        if (one->used && one->folder == folder_index && !one->marked) {
            unfollow(watch, one);
        }
    }
}

/* -------------------------------------------------------------------- folders */

static const char *trouble_of(int why) {
    switch (why) {
    case 0:
    case ENOENT: return NULL; /* it may come */
    case ENOTDIR: return "it is not a folder: name the folder that the plugin files are in";
    case EACCES:
        return "permission denied: let the user that runs the host read the folder (chmod a+rx)";
    case ENOSPC: return "the user has too many watches: raise fs.inotify.max_user_watches (sysctl)";
    case ENOMEM: return "out of memory";
    default: return "it cannot be watched: reload by hand";
    }
}

/* Find a folder, wherever it is now. 0 or an errno value.
 * ret_other: whether it is another than it was, or cannot be watched for another reason. */
static int find_folder(struct watch *watch, uint32_t index, bool *ret_other) {
    struct watched_folder *folder = &watch->folders[index];
    struct way way;
    int why = find_way(watch, (struct owner){.is_folder = true, .index = index}, "",
                       folder->absolute, &way);
    int before = folder->watch;
    const char *trouble_before = folder->trouble;
    free(folder->real);
    folder->real = NULL;
    folder->watch = NO_WATCH;
    if (why == 0) {
        folder->watch = add_watch(watch, way.at, FOLDER_EVENTS | IN_ONLYDIR);
        why = folder->watch < 0 ? errno : 0;
    }
    if (why == 0 && (folder->real = strdup(way.at)) == NULL) {
        why = ENOMEM;
    }
    bool same_inode = folder->device == way.st.st_dev && folder->inode == way.st.st_ino;
    folder->device = why == 0 ? way.st.st_dev : 0;
    folder->inode = why == 0 ? way.st.st_ino : 0;
    folder->trouble = trouble_of(why);
    *ret_other = before != folder->watch || (why == 0 && !same_inode) ||
                 trouble_before != folder->trouble;
    if (before != folder->watch) {
        release_watch(watch, before);
    }
    return why;
}

/* -------------------------------------------------------------------- events */

static struct pending *find_pending(const struct watch *watch, uint32_t folder, const char *name,
                                    uint32_t hash) {
    for (size_t i = 0; i < watch->pending_count; i++) {
        struct pending *one = &watch->pending[i];
        if (one->hash == hash && one->folder == folder && strcmp(one->name, name) == 0) {
            return one;
        }
    }
    return NULL;
}

/* The entry of a file; NULL when there is no room, or no memory. */
static struct pending *get_pending(struct watch *watch, uint32_t folder, const char *name) {
    uint32_t hash = name_hash(name, strlen(name));
    struct pending *found = find_pending(watch, folder, name, hash);
    if (found != NULL || watch->pending_count == WATCH_PENDING_MAX) {
        return found;
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
    found = &watch->pending[watch->pending_count++];
    *found = (struct pending){.folder = folder, .hash = hash, .name = copy};
    return found;
}

static void forget_pending(struct watch *watch, size_t at) {
    free(watch->pending[at].name);
    watch->pending[at] = watch->pending[--watch->pending_count];
}

static void scan_later(const struct watch *watch, struct watched_folder *folder, uint64_t now_ns) {
    folder->lost_events = true;
    wait_ended(watch, &folder->wait, now_ns);
}

/* Whether a file that was just made is still to be filled: a link is complete as it is, and so is
 * a second name or a file that was given its name late. */
static bool is_empty(const struct watched_folder *folder, const char *name) {
    char path[PATH_MAX];
    struct stat st;
    int length = snprintf(path, sizeof path, "%s/%s", folder->absolute, name);
    return length > 0 && length < (int)sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == 0 && st.st_nlink == 1;
}

/* Something happened to a file of a folder, or to what it leads to. */
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
        wait_ended(watch, &one->wait, now_ns);
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
    for (size_t i = 0; i < watch->step_count; i++) {
        const struct step *step = &watch->steps[i];
        if (step->watch != event->wd || strcmp(step->name, event->name) != 0) {
            continue;
        }
        if (!step->owner.is_folder) {
            const struct followed *one = &watch->followed[step->owner.index];
            take_file_event(watch, one->folder, one->name, event->mask, now_ns);
        } else if ((event->mask & (EXCHANGE_EVENTS | IN_ATTRIB)) != 0) {
            wait_ended(watch, &watch->folders[step->owner.index].wait, now_ns);
        }
    }
}

/* An event at something itself: a folder that goes, or a file with several names. */
static void take_own_event(struct watch *watch, const struct inotify_event *event,
                           uint64_t now_ns) {
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        if (watch->folders[i].watch == event->wd) {
            wait_ended(watch, &watch->folders[i].wait, now_ns);
        }
    }
    for (size_t i = 0; i < watch->step_count; i++) {
        const struct step *step = &watch->steps[i];
        if (step->watch != event->wd || (event->mask & TAKEN_AWAY_EVENTS) == 0) {
            continue;
        }
        if (step->owner.is_folder) {
            wait_ended(watch, &watch->folders[step->owner.index].wait, now_ns);
        } else {
            const struct followed *one = &watch->followed[step->owner.index];
            take_file_event(watch, one->folder, one->name, event->mask, now_ns);
        }
    }
    for (uint32_t i = 0; i < watch->followed_count; i++) {
        const struct followed *one = &watch->followed[i];
        if (one->used && one->watch == event->wd) {
            take_file_event(watch, one->folder, one->name, event->mask, now_ns);
        }
    }
}

/* The kernel took a watch away, with what it was on. */
static void forget_watch(struct watch *watch, int number) {
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        if (watch->folders[i].watch == number) {
            watch->folders[i].watch = NO_WATCH;
            watch->folders[i].lost_events = true;
        }
    }
    for (uint32_t i = 0; i < watch->followed_count; i++) {
        if (watch->followed[i].watch == number) {
            watch->followed[i].watch = NO_WATCH;
        }
    }
    for (size_t i = 0; i < watch->step_count; i++) {
        if (watch->steps[i].watch == number) {
            watch->steps[i].watch = NO_WATCH;
        }
    }
}

static void take_event(struct watch *watch, const struct inotify_event *event, uint64_t now_ns) {
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        for (uint32_t i = 0; i < watch->folder_count; i++) {
            scan_later(watch, &watch->folders[i], now_ns);
        }
    } else if (event->len > 0) {
        take_named_event(watch, event, now_ns);
    } else {
        take_own_event(watch, event, now_ns);
        if ((event->mask & IN_IGNORED) != 0) {
            forget_watch(watch, event->wd);
        }
    }
}

static void take_events(struct watch *watch, uint64_t now_ns) {
    _Alignas(struct inotify_event) char bytes[EVENTS_SIZE];
    for (unsigned i = 0; i < READS_MAX; i++) {
        ssize_t got = read(watch->fd, bytes, sizeof bytes);
        if (got <= 0) {
            return; /* no more, for now */
        }
        for (const char *at = bytes; at < bytes + got;) {
            const struct inotify_event *event = (const void *)at;
            take_event(watch, event, now_ns);
            at += sizeof *event + event->len;
        }
    }
}

/* -------------------------------------------------------------------- telling */

/* Tell of a folder that is due. True when there is something to tell. */
static bool tell_folder(struct watch *watch, uint32_t index, struct watch_change *ret) {
    struct watched_folder *folder = &watch->folders[index];
    bool other;
    (void)find_folder(watch, index, &other);
    bool tell = other || folder->lost_events;
    wait_told(&folder->wait);
    folder->lost_events = false;
    if (tell) {
        look_at_files(watch, index);
        *ret = (struct watch_change){.kind = WATCH_RESCAN,
                                     .folder = index,
                                     .path = folder->path,
                                     .trouble = folder->trouble};
    }
    return tell;
}

/* Tell of a file that is due. False when out of memory: it is told later. */
static bool tell_file(struct watch *watch, struct pending *one, uint64_t now_ns,
                      struct watch_change *ret) {
    const struct watched_folder *folder = &watch->folders[one->folder];
    size_t length = strlen(folder->path); /* put together as a scan does it */
    bool has_slash = length > 0 && folder->path[length - 1] == '/';
    char *path = arena_printf(&watch->told, has_slash ? "%s%s" : "%s/%s", folder->path, one->name);
    const char *absolute = arena_printf(&watch->told, "%s/%s", folder->absolute, one->name);
    if (path == NULL || absolute == NULL) {
        wait_ended(watch, &one->wait, now_ns);
        one->wait.overdue = false;
        one->wait.first_ns = now_ns;
        return false;
    }
    struct stat st;
    look_at_file(watch, one->folder, one->name); /* first: what comes after it will be seen */
    bool there = lstat(absolute, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
    *ret = (struct watch_change){
            .kind = there ? WATCH_CHANGED : WATCH_GONE, .folder = one->folder, .path = path};
    wait_told(&one->wait);
    return true;
}

size_t watch_read(struct watch *watch, uint64_t now_ns, struct watch_change *changes, size_t room) {
    size_t count = 0;
    take_events(watch, now_ns);
    arena_finish(&watch->told);
    for (uint32_t i = 0; i < watch->folder_count && count < room; i++) {
        if (wait_due_ns(watch, &watch->folders[i].wait) <= now_ns) {
            count += tell_folder(watch, i, &changes[count]);
        }
    }
    for (size_t i = watch->pending_count; i-- > 0 && count < room;) {
        struct pending *one = &watch->pending[i];
        if (wait_due_ns(watch, &one->wait) <= now_ns) {
            count += tell_file(watch, one, now_ns, &changes[count]);
            if (!one->wait.waiting) {
                forget_pending(watch, i);
            }
        }
    }
    return count;
}

uint64_t watch_next_ns(const struct watch *watch) {
    uint64_t next = WATCH_NEVER;
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        uint64_t due = wait_due_ns(watch, &watch->folders[i].wait);
        next = due < next ? due : next;
    }
    for (size_t i = 0; i < watch->pending_count; i++) {
        uint64_t due = wait_due_ns(watch, &watch->pending[i].wait);
        next = due < next ? due : next;
    }
    return next;
}

int watch_fd(const struct watch *watch) {
    return watch->fd;
}

/* ------------------------------------------------------------ life of a watch */

int watch_create(struct watch **ret, struct toolrack_error *err) {
    CLEANUP(freep) struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return error_oom(err);
    }
    watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch->fd < 0 && errno == EMFILE) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "cannot watch folders: too many open files, or raise "
                         "fs.inotify.max_user_instances (sysctl)");
    }
    if (watch->fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot watch folders: %s", strerror(errno));
    }
    watch->debounce_ms = WATCH_DEBOUNCE_MS;
    arena_init(&watch->told, NULL, 0);
    *ret = STEAL(watch);
    return 0;
}

void watch_set_debounce(struct watch *watch, uint32_t debounce_ms) {
    watch->debounce_ms = debounce_ms;
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
    (void)close(watch->fd);
    for (uint32_t i = 0; i < watch->folder_count; i++) {
        free_folder(&watch->folders[i]);
    }
    for (uint32_t i = 0; i < watch->followed_count; i++) {
        free(watch->followed[i].name);
    }
    for (size_t i = 0; i < watch->step_count; i++) {
        free(watch->steps[i].name);
    }
    for (size_t i = 0; i < watch->pending_count; i++) {
        free(watch->pending[i].name);
    }
    free(watch->folders);
    free(watch->followed);
    free(watch->steps);
    free(watch->pending);
    arena_finish(&watch->told);
    free(watch);
}

/* From the root, for the host may go elsewhere. */
static char *make_absolute(const char *path) {
    if (path[0] == '/') {
        return strdup(path);
    }
    CLEANUP(freep) char *here = realpath(".", NULL);
    char *absolute;
    return here != NULL && asprintf(&absolute, "%s/%s", here, path) >= 0 ? absolute : NULL;
}

/* A place for one folder more, not counted yet. */
static struct watched_folder *reserve_folder(struct watch *watch, const char *path) {
    struct watched_folder *grown =
            realloc(watch->folders, (watch->folder_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    watch->folders = grown;
    struct watched_folder *folder = &watch->folders[watch->folder_count];
    *folder = (struct watched_folder){.watch = NO_WATCH};
    folder->path = strdup(path);
    folder->absolute = make_absolute(path);
    if (folder->path == NULL || folder->absolute == NULL) {
        free_folder(folder);
        return NULL;
    }
    return folder;
}

static void remove_last_folder(struct watch *watch) {
    uint32_t index = --watch->folder_count;
    int number = watch->folders[index].watch;
    forget_steps(watch, (struct owner){.is_folder = true, .index = index}, true);
    release_watch(watch, number);
    free_folder(&watch->folders[index]);
}

int watch_add(struct watch *watch, const char *path, uint32_t *ret_folder,
              struct toolrack_error *err) {
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
        remove_last_folder(watch);
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
