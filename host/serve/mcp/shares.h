/* shares.h - how much of the limits of the whole server each party takes.
 *
 * A party is a token, a subject, a user or the client at a pipe, however many sessions or
 * connections it has; all of whom nobody knows who they are are one. It may take as much as it
 * leaves free: alone a half, beside others less. So nobody takes all that there is, and who asks
 * for the first time gets some. The client at a pipe is alone, and may take all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum share_kind {
    SHARE_QUESTIONS, /* calls that wait for an answer */
    SHARE_SESSIONS,  /* counted only: see clients.c */
    SHARE_APPROVALS, /* counted only: see approve.c */
    SHARE_CHOICES,   /* searches and choices that run, or wait for a thread */
    SHARE_RUNS,      /* plans that run */
    SHARE_WATCHED,   /* bytes of subscriptions */
    SHARE_KINDS
};

struct shares;

/** NULL when out of memory. */
struct shares *shares_create(void);
/** NULL is ignored. */
void shares_destroy(struct shares *shares);

/** Take of a limit. @return false: it would be more than the share of the party */
bool shares_take(struct shares *shares, const char *party, enum share_kind kind, size_t amount,
                 size_t max);
/** Give back what was taken. */
void shares_give(struct shares *shares, const char *party, enum share_kind kind, size_t amount);

/** How much a party has taken. */
size_t shares_taken(struct shares *shares, const char *party, enum share_kind kind);
