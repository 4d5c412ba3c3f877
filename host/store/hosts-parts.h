/* hosts-parts.h - shared by hosts-listen.c, hosts-tell.c, hosts-unreachable.c and hosts-watch.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/lock.h"
#include "store/hosts.h"

/* Messages, one byte each. */
#define MESSAGE_DECISION '1'
#define MESSAGE_CONTENT  '2'
#define MESSAGE_NOTHING  '0' /* the decision was not stored */
#define ANSWER_APPLIED   '1'
#define ANSWER_FAILED    '0'

/* A connection to a host that listens. */
struct connection {
    int fd;
    bool is_due; /* `change` was said, or it ended */
    enum hosts_change change;
};

/* Which file or folder has a name. */
struct hosts_inode {
    dev_t device;
    ino_t number;
};

struct hosts {
    uint32_t magic; /* HOSTS_MAGIC */
    struct hosts_options options;
    char *folder;               /* NULL: without a state folder */
    char name[HOSTS_NAME_ROOM]; /* of the own socket; "" when it does not listen */
    int listener;               /* or -1 */
    atomic_bool learns;         /* hosts_learns() of a host with a state folder */
    int wake;                   /* an eventfd: the thread is to end; or -1 */
    bool started;
    pthread_t thread;

    /* Of the listening thread, once there is one. */
    uint64_t watch_due_ns;           /* when it begins to watch the folder; 0: it has */
    int watch;                       /* inotify on the folder; or -1 */
    int watched;                     /* the folder's number in it; or -1 */
    struct hosts_inode state_inode;  /* of the state folder, when the host began to listen */
    struct hosts_inode socket_inode; /* of the own socket */
    bool is_lost;                    /* no process finds the socket; it is made again */
    struct connection connections[HOSTS_CONNECTIONS_MAX]; /* in the order in which they came */
    size_t connection_count;

    struct lock lock; /* guards the members below */
    struct hosts_count last;
    int mark; /* the file with the locks of hosts without a socket, with the own one; or -1 */
    bool stopping;
    bool exchange_due;
    bool exchanging; /* the second thread runs; while not, it may have to be joined */
    bool exchange_started;
    pthread_t exchange_thread;
    struct connection exchange_for[HOSTS_CONNECTIONS_MAX]; /* to be answered after it */
    size_t exchange_count;
};
#define HOSTS_MAGIC 0x74736f68u

/* Whether this thread calls apply() or exchange() of a host of this process. */
extern _Thread_local bool hosts_is_applying;

/** The address of a socket in the folder `dir` (its descriptor and path). */
void hosts_address(int dir, const char *folder, const char *name, struct sockaddr_un *ret);

/** Watch the folder, which may be another one than before. False: errno says why. */
bool hosts_watch(struct hosts *hosts);

/** Whether processes find the socket, and its loss will be noticed. Notes which socket and state
 * folder are the host's own. */
bool hosts_is_findable(struct hosts *hosts);

/** Something was removed from the folder: if it was the own socket, make it again.
 * @return whether the host was out of reach: something may have been decided meanwhile. */
bool hosts_find_again(struct hosts *hosts);

int hosts_make_folder(struct hosts *hosts, struct toolrack_error *err);
/** Make the socket, and the folder if there is none. */
int hosts_make_socket(struct hosts *hosts, struct toolrack_error *err);

/** Say or take back that no process finds this host. Caller holds no lock. */
void hosts_set_unreachable(struct hosts *hosts, bool is_unreachable);
/** How many other hosts no process finds. Caller holds no lock. */
size_t hosts_count_unreachable(struct hosts *hosts);
