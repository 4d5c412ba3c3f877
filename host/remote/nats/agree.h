/* agree.h - the parts of the decisions that the group shares, for their files.
 *
 *   agree.c         the thread, and its rounds
 *   agree-tell.c    what people have decided here
 *   agree-bucket.c  what comes from the bucket, and what is put into it
 *   agree-judge.c   what is kept, and what of it is in effect */
#pragma once

#include <stdio.h>
#include <string.h>

#include "remote/nats/bucket.h"
#include "remote/nats/parts.h"

/* What there is of a group's decisions. */
struct agreement {
    struct member *member;
    pthread_t thread;
    bool runs;
    size_t prefix; /* of the bucket's subject, before a key */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stops; /* guarded by `lock`, as are the next */
    bool is_woken;
    bool have_tools_changed;
    bool is_to_be_read;                                        /* the bucket as a whole */
    struct buf came;                                           /* see add_entry() */
    enum { AGREE_ASKED, AGREE_NOBODY, AGREE_ANSWERED } server; /* whether it has JetStream */

    /* The thread's own. */
    struct bucket *bucket; /* NULL: not open */
    bool is_missed;        /* that it is not open was logged */
    int64_t dropped;       /* messages that libnats had no room for */
    natsSubscription *subscription;
    uint64_t bad; /* how many bad values came */
    unsigned again;
};

/* What one round is about. */
struct round {
    struct agreement *agreement;
    struct buf things;  /* to be judged, each with its zero */
    struct buf keys;    /* to be published, likewise */
    struct buf present; /* keys that the bucket has, likewise; only where it was read as a whole */
    bool is_again;
};

/* A decision that is kept and obeyed. */
struct kept {
    struct kept *next;
    struct store_shared_row row; /* texts in the arena */
    struct decision decision;
    struct merge_decision weighed;
};

struct reading {
    const struct agreement *agreement;
    struct arena *arena;
    struct kept *first;
    size_t count;
    bool failed;
};

static inline const struct log *agree_log(const struct agreement *agreement) {
    return agreement->member->options.log;
}

static inline const char *agree_own_key(const struct agreement *agreement) {
    return key_public(agreement->member->key);
}

static inline const char *agree_group(const struct agreement *agreement) {
    return agreement->member->options.group;
}

/** The subject that the answer of JetStream comes to. */
static inline void agree_answers(const struct agreement *agreement, char ret[SUBJECT_ROOM]) {
    (void)snprintf(ret, SUBJECT_ROOM, "%s.bucket", agreement->member->inbox);
}

static inline struct store *agree_store(const struct agreement *agreement) {
    return agreement->member->options.store;
}

/** Add a text with its zero, unless it is the last one. */
void agree_note(struct buf *texts, const char *text);

/* ---- agree-tell.c */

/** Sign and keep what people have decided here since the last time. */
int agree_tell(struct round *round, struct toolrack_error *err);

/* ---- agree-bucket.c */

/** A message of the bucket: it is kept for the thread. */
void agree_came(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                void *member);
/** The answer of JetStream, or of the server that it has none. */
void agree_server_answered(natsConnection *connection, natsSubscription *subscription,
                           natsMsg *message, void *member);
/** Check what came, and keep what is later than what there is of its host. */
int agree_take_all(struct round *round, const struct buf *came, struct toolrack_error *err);
/** Open the bucket, if it is not, and read it, if it was not or something may be missing. What is
 * wrong is logged. */
void agree_read_bucket(struct round *round, bool is_to_be_read);
/** Put into the bucket what it lacks of the round's keys. */
void agree_publish_all(struct round *round);

/* ---- agree-judge.c */

/** Whether the decisions of a host, by its key, count here. */
bool agree_obeys(const struct agreement *agreement, const char *host);
/** A value of the bucket, or one that is kept. */
int agree_open(const struct agreement *agreement, const char *key, const char *value, size_t length,
               struct arena *arena, struct decision *ret, struct toolrack_error *err);
/** The obeyed decisions about a thing, or (NULL) all; in the arena. */
int agree_read_kept(const struct agreement *agreement, const char *thing, struct arena *arena,
                    struct reading *ret, struct toolrack_error *err);
/** The one of a host among them, or NULL. */
const struct kept *agree_kept_of(const struct reading *reading, const char *host);
/** Things to be judged, again, when tools have changed: those that were not yet, or all. */
int agree_note_things(struct round *round, bool all, struct toolrack_error *err);
/** Carry out what should be in effect of the round's things. What fails is logged. */
void agree_judge_all(struct round *round);
