/* hosts.h - the running hosts of a state folder, and how they learn of each other's decisions.
 *
 * A host that follows decisions listens on a Unix socket in the folder `hosts` of the state folder,
 * whose name is a random number. A process that decides something connects to all of these sockets
 * before it stores the decision, and writes one byte to each when it is stored; each host then
 * reads the store again and answers with one byte. No message says what was decided: the store
 * does.
 *
 *     deciding process                 each host that listens
 *       hosts_begin()    connect  -->
 *       the decision is stored
 *       hosts_end()      a byte   -->  apply(), perhaps exchange()
 *                                 <--  a byte: applied, or the store could not be read
 *
 * Nothing is lost: if the deciding process is killed between storing and writing, its connections
 * end, and a connection that ends without a message is taken for a message. A host that begins to
 * listen meanwhile reads the store after that, or is found by hosts_end(), which looks into the
 * folder again. A host that is suspended finds the connections when it goes on.
 *
 * A host that lives longer than 200 ms watches its own socket: if the name or the folder is
 * removed, it makes the socket again, and applies what was decided meanwhile. Once the state folder
 * itself is gone, it says so.
 *
 * A host without a socket holds a lock on the file `unreachable` of the state folder as long as it
 * lives, so that a process that decides knows of it (hosts-unreachable.c).
 *
 * A host that listens has one thread that sleeps until a connection comes. The socket of a killed
 * host refuses connections: the next process that decides removes it. The folder is accessible to
 * its user alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"

struct hosts;

/* How long hosts_end() waits for the answers. */
#define HOSTS_ANSWER_MS 1000u

/* Most connections that a host has open at once. With more, the oldest is taken for a message and
 * closed; its process connects again. */
#define HOSTS_CONNECTIONS_MAX 64u

/* "0123456789abcdef" and a zero. */
#define HOSTS_NAME_ROOM 17u

/* What a decision is about, and so what the other hosts do. */
enum hosts_change {
    HOSTS_DECISION, /* apply() */
    HOSTS_CONTENT   /* apply(), then exchange() */
};

struct hosts_options {
    const struct log *log;
    const char *state_dir; /* borrowed; NULL: there are no other hosts */
    /* Read the decisions in the store again and apply them; false: it could not be read, nothing
     * has changed, and the next message tries again. On the listening thread. */
    bool (*apply)(void *user);
    /* The same for the contents that serve, which may take long: on a thread of its own. */
    bool (*exchange)(void *user);
    void *user;
};

/** NULL when out of memory. Nothing is made in the state folder. */
struct hosts *hosts_create(const struct hosts_options *options);

/** Make the socket. From now on connections wait until hosts_start(). Call it before the store is
 * read.
 * @return 0; TOOLRACK_E_IO: decisions of other processes do not reach this host. */
int hosts_listen(struct hosts *hosts, struct toolrack_error *err);

/** Start the thread, if hosts_listen() succeeded. Call it when everything can be applied.
 * @return 0; TOOLRACK_E_IO. */
int hosts_start(struct hosts *hosts, struct toolrack_error *err);

/** End the threads and remove the socket; apply() and exchange() are not called any more. NULL is
 * ignored. */
void hosts_stop(struct hosts *hosts);

/** Stop and release it; NULL is ignored. */
void hosts_destroy(struct hosts *hosts);

/* The connections of one decision. */
struct hosts_telling {
    struct hosts_link *links; /* owned */
    size_t count;
    size_t room;
};

/** Connect to the hosts that listen, without waiting, before a decision is stored. hosts_end() or
 * hosts_cancel() must follow. Failures only cost hosts their answer. Caller holds no lock.
 * [any-thread] */
void hosts_begin(struct hosts *hosts, struct hosts_telling *ret);

/** The decision was stored: tell the hosts, and wait for their answers, at most HOSTS_ANSWER_MS. A
 * thread that calls apply() or exchange() does not wait, since the other host may be waiting for
 * it. [any-thread] */
void hosts_end(struct hosts *hosts, struct hosts_telling *telling, enum hosts_change change);

/** Nothing was stored. [any-thread] */
void hosts_cancel(struct hosts_telling *telling);

/** Tell the hosts, without waiting, of a change that is stored already and that no person waits
 * for. [any-thread] */
void hosts_tell(struct hosts *hosts, enum hosts_change change);

/** Whether this host learns of each decision of another process, at once. If not, what it has read
 * may be out of date at any time. [any-thread] */
bool hosts_learns(const struct hosts *hosts);

/* The other hosts that a decision reached. */
struct hosts_count {
    size_t applied;     /* answered that it is in effect */
    size_t silent;      /* did not answer in time, or could not read the store */
    size_t unreachable; /* have no socket, and must be started again */
};

/** Of the last hosts_end(), on any thread. [any-thread] */
void hosts_last(struct hosts *hosts, struct hosts_count *ret);
