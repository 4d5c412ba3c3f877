/* shares.h - how much of the limits of the whole server each principal takes.
 *
 * A principal may take as much as it leaves free: alone a half, beside others less. So nobody takes
 * all that there is, and who asks for the first time gets some. Clients that nobody knows are one
 * principal here, however many sessions or connections they have; the client at a pipe is alone,
 * and may take all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum share_kind {
    SHARE_QUESTIONS, /* calls that wait for an answer */
    SHARE_SESSIONS,  /* counted only: see clients.c */
    SHARE_WATCHED,   /* bytes of subscriptions */
    SHARE_KINDS
};

struct shares;

/** NULL when out of memory. */
struct shares *shares_create(void);
/** NULL is ignored. */
void shares_destroy(struct shares *shares);

/** Take of a limit. @return false: it would be more than the share of the principal */
bool shares_take(struct shares *shares, const char *principal, enum share_kind kind, size_t amount,
                 size_t max);
/** Give back what was taken. */
void shares_give(struct shares *shares, const char *principal, enum share_kind kind, size_t amount);

/** How much a principal has taken. */
size_t shares_taken(struct shares *shares, const char *principal, enum share_kind kind);
