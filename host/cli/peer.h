/* peer.h - the process of a command, as the daemon that runs the command sees it.
 *
 * One thread of the daemon runs the verb, and is the only one that waits for messages; threads of
 * the host ask the person, and wait until that one has the answer. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"
#include "cli/message.h"
#include "toolrack/toolrack.h"

struct peer {
    int fd;
    int wake;          /* an eventfd: the work has ended, or an answer may be there */
    const char *input; /* of standard input; NULL: none was read */
    size_t input_length;
    bool asks;            /* there is a person */
    int drain;            /* can be read when the daemon ends: for a verb that would last longer */
    int cut;              /* can be read when it waits for no verb any more */
    atomic_bool stopped;  /* Ctrl-C was pressed there, or the process is gone */
    bool gone;            /* no more messages come; of the thread of the verb */
    uint64_t deadline_ns; /* of the call, for questions; 0: none */
    uint32_t call_ms;
    struct lock lock; /* guards what follows, and what is sent */
    pthread_cond_t changed;
    bool no_questions;
    bool asking; /* a question is open */
    bool answered;
    int32_t answer;
    struct buf content;
};

/** @return 0, or a negative errno */
int peer_init(struct peer *peer, int fd);
void peer_finish(struct peer *peer);

/** Send a line for standard error. */
void peer_note(struct peer *peer, const char *text, size_t length);

/** The work has ended. [any-thread] */
void peer_wake(struct peer *peer);
/** Wait for that, for Ctrl-C or the end of the process. */
void peer_wait(struct peer *peer);

/** As those of person.h. peer_ask() and peer_approve(): [any-thread] */
void peer_set_deadline(struct peer *peer, uint32_t call_ms);
int peer_ask(struct peer *peer, const char *tool, const char *message, const char *schema,
             char **ret_content);
int peer_approve(struct peer *peer, const struct toolrack_approval_request *request);
/** End the question that is open, and put no more: after the call was cancelled, which a tool that
 * learns first that nobody answers may end before. [any-thread] */
void peer_stop_questions(struct peer *peer);
