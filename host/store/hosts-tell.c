/* Telling the hosts of a state folder that something was decided. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/object.h"
#include "base/own-folder.h"
#include "store/hosts-parts.h"

/* A temporary name that is older was left by a host that was killed while it made its socket. */
#define HIDDEN_S_MAX 60

enum link_state {
    LINK_OPEN,    /* connected; the message was sent, or will be */
    LINK_BUSY,    /* the host listens and takes no connection now */
    LINK_APPLIED, /* the host has answered */
    LINK_FAILED,
    LINK_GONE /* the host has ended */
};

struct hosts_link {
    int fd; /* or -1 */
    enum link_state state;
    bool is_repeated; /* the first connection ended without an answer */
    char name[HOSTS_NAME_ROOM];
};

static void close_link(struct hosts_link *link) {
    if (link->fd >= 0) {
        (void)close(link->fd);
    }
    link->fd = -1;
}

/* ------------------------------------------------------------------ connect */

/* A socket that another user has put there is no host of this state folder. The socket of a killed
 * host may still be open in a process that it has forked; a process of another namespace has the
 * number 0. */
static bool is_host(int fd) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid() &&
           (peer.pid == 0 || kill(peer.pid, 0) == 0 || errno != ESRCH);
}

static void connect_link(const struct hosts *hosts, int dir, struct hosts_link *link) {
    struct sockaddr_un address;
    hosts_address(dir, hosts->folder, link->name, &address);
    close_link(link);
    link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    link->state = LINK_BUSY;
    if (link->fd < 0) {
        return; /* no descriptor is free */
    }
    if (connect(link->fd, (const struct sockaddr *)&address, sizeof address) == 0) {
        link->state = is_host(link->fd) ? LINK_OPEN : LINK_GONE;
        return;
    }
    if (errno == ECONNREFUSED) { /* its host was killed */
        (void)unlinkat(dir, link->name, 0);
    }
    if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ENOMEM) {
        link->state = LINK_GONE;
    }
}

static bool is_name(const char *name) {
    size_t length = strspn(name, "0123456789abcdef");
    return length == HOSTS_NAME_ROOM - 1 && name[length] == '\0';
}

static void remove_hidden(int dir, const char *name) {
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        time(NULL) - st.st_mtime > HIDDEN_S_MAX) {
        (void)unlinkat(dir, name, 0);
    }
}

static struct hosts_link *find_link(const struct hosts_telling *telling, const char *name) {
    for (size_t i = 0; i < telling->count; i++) {
        if (strcmp(telling->links[i].name, name) == 0) {
            return &telling->links[i];
        }
    }
    return NULL;
}

/* NULL: out of memory; the host learns of it with the next decision. */
static struct hosts_link *add_link(struct hosts_telling *telling, const char *name) {
    if (telling->count == telling->room) {
        size_t room = telling->room == 0 ? 4 : telling->room * 2;
        struct hosts_link *grown = realloc(telling->links, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        telling->links = grown;
        telling->room = room;
    }
    struct hosts_link *link = &telling->links[telling->count++];
    *link = (struct hosts_link){.fd = -1, .state = LINK_BUSY};
    memcpy(link->name, name, sizeof link->name);
    return link;
}

/* Connect to all hosts of the folder that are not connected yet. Returns the folder; or -1: there
 * is none, or it cannot be used. */
static int connect_all(struct hosts *hosts, struct hosts_telling *telling) {
    int dir = hosts->folder != NULL ? own_folder_open(hosts->folder, false) : -ENOENT;
    int listed = dir >= 0 ? openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *entries = listed >= 0 ? fdopendir(listed) : NULL;
    if (dir == -EPERM || dir == -EACCES) {
        log_line(hosts->options.log, LOG_WARNING, "store",
                 "no running host learns of this: the folder %s must belong to this user, and no "
                 "other may write to it",
                 hosts->folder);
    }
    if (entries == NULL && listed >= 0) {
        (void)close(listed);
    }
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.' && is_name(entry->d_name + 1)) {
            remove_hidden(dir, entry->d_name);
        } else if (is_name(entry->d_name) && strcmp(entry->d_name, hosts->name) != 0) {
            struct hosts_link *link = find_link(telling, entry->d_name);
            link = link != NULL ? link : add_link(telling, entry->d_name);
            if (link != NULL && link->state == LINK_BUSY) {
                connect_link(hosts, dir, link);
            }
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return dir >= 0 ? dir : -1;
}

/* --------------------------------------------------------------------- tell */

static void say(struct hosts_link *link, char message) {
    if (link->state == LINK_OPEN) {
        (void)send(link->fd, &message, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* Read an answer. A host ends a connection without one when it closes, is killed, or has too many:
 * then it is tried once more. */
static void read_answer(struct hosts *hosts, int dir, struct hosts_link *link, char message) {
    char byte;
    ssize_t got = recv(link->fd, &byte, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got == 1) {
        link->state = byte == ANSWER_APPLIED ? LINK_APPLIED : LINK_FAILED;
        close_link(link);
    } else if (link->is_repeated) {
        link->state = LINK_FAILED;
        close_link(link);
    } else {
        link->is_repeated = true;
        connect_link(hosts, dir, link);
        say(link, message);
    }
}

static size_t count_links(const struct hosts_telling *telling, enum link_state state) {
    size_t count = 0;
    for (size_t i = 0; i < telling->count; i++) {
        count += telling->links[i].state == state;
    }
    return count;
}

static void wait_for_answers(struct hosts *hosts, int dir, struct hosts_telling *telling,
                             char message) {
    uint64_t until_ns = clock_now_ns() + (uint64_t)HOSTS_ANSWER_MS * CLOCK_NS_PER_MS;
    CLEANUP(freep) struct pollfd *polled = calloc(telling->count + 1, sizeof *polled);
    while (polled != NULL && count_links(telling, LINK_OPEN) > 0) {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= until_ns) {
            return;
        }
        for (size_t i = 0; i < telling->count; i++) {
            const struct hosts_link *link = &telling->links[i];
            polled[i] = (struct pollfd){.fd = link->state == LINK_OPEN ? link->fd : -1,
                                        .events = POLLIN};
        }
        (void)poll(polled, telling->count, (int)((until_ns - now_ns) / CLOCK_NS_PER_MS) + 1);
        for (size_t i = 0; i < telling->count; i++) {
            if (polled[i].revents != 0) {
                read_answer(hosts, dir, &telling->links[i], message);
            }
        }
    }
}

static void finish(struct hosts_telling *telling) {
    for (size_t i = 0; i < telling->count; i++) {
        close_link(&telling->links[i]);
    }
    free(telling->links);
    *telling = (struct hosts_telling){0};
}

void hosts_begin(struct hosts *hosts, struct hosts_telling *ret) {
    OBJECT_CHECK(hosts, HOSTS_MAGIC);
    *ret = (struct hosts_telling){0};
    int dir = connect_all(hosts, ret);
    closep(&dir);
}

/* Returns the folder, or -1. */
static int tell(struct hosts *hosts, struct hosts_telling *telling, char message) {
    int dir = connect_all(hosts, telling);
    for (size_t i = 0; i < telling->count; i++) {
        say(&telling->links[i], message);
    }
    return dir;
}

static char message_of(enum hosts_change change) {
    return change == HOSTS_CONTENT ? MESSAGE_CONTENT : MESSAGE_DECISION;
}

void hosts_end(struct hosts *hosts, struct hosts_telling *telling, enum hosts_change change) {
    char message = message_of(change);
    CLEANUP(closep) int dir = tell(hosts, telling, message);
    if (!hosts_is_applying) {
        wait_for_answers(hosts, dir, telling, message);
    }
    size_t unreachable = hosts_count_unreachable(hosts);
    lock_take(&hosts->lock);
    hosts->last.unreachable = unreachable;
    hosts->last.applied = count_links(telling, LINK_APPLIED);
    hosts->last.silent = telling->count - hosts->last.applied - count_links(telling, LINK_GONE);
    lock_release(&hosts->lock);
    finish(telling);
}

void hosts_cancel(struct hosts_telling *telling) {
    for (size_t i = 0; i < telling->count; i++) {
        say(&telling->links[i], MESSAGE_NOTHING);
    }
    finish(telling);
}

void hosts_tell(struct hosts *hosts, enum hosts_change change) {
    struct hosts_telling telling = {0};
    OBJECT_CHECK(hosts, HOSTS_MAGIC);
    int dir = tell(hosts, &telling, message_of(change));
    finish(&telling);
    closep(&dir);
}

void hosts_last(struct hosts *hosts, struct hosts_count *ret) {
    OBJECT_CHECK(hosts, HOSTS_MAGIC);
    LOCK_SCOPE(&hosts->lock);
    *ret = hosts->last;
}
