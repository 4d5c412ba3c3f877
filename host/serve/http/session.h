/* session.h - sessions of pages: what an administrator's token was traded for.
 *
 * A session has two secrets. A browser keeps the first as a cookie, which no script can read and
 * which it sends along also where another page has caused the request; and, since cookies know no
 * ports, to every server of the same host. The second is the page's own: it sends it in the header
 * X-CSRF-Token. Neither is worth anything without the other. Only hashes of both are kept, in
 * memory: all sessions end with the server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sessions;
struct session;
struct toolrack_token_grant;

/* 256 bits as hexadecimal digits, and a zero. */
#define SESSION_SECRET_ROOM 65u
/* Sessions at once: of one token, of all. One more ends that which was used least recently. */
#define SESSIONS_OF_TOKEN   8u
#define SESSIONS_MAX        64u
/* How long one lasts, at most: as its token. */
#define SESSION_S           (12u * 3600)
/* Cookies of a request that are compared, at most, of those that have the name. */
#define SESSION_COOKIES_MAX 8u

/** @return NULL: out of memory */
struct sessions *sessions_create(void);
/** NULL is ignored. A session to which there is a reference stays, and does not hold. */
void sessions_destroy(struct sessions *sessions);

/** Begin a session of a token; `now_s` by a clock that only goes forward. The secrets are unlike
 * those of any session before: a client cannot choose them.
 * @return false: out of memory */
bool sessions_begin(struct sessions *sessions, struct toolrack_token_grant *grant, uint64_t now_s,
                    char ret_cookie[static SESSION_SECRET_ROOM],
                    char ret_csrf[static SESSION_SECRET_ROOM]);

/** The session of a Cookie header (or NULL) and an X-CSRF-Token header. How long it takes does not
 * depend on how much of a secret is right. More than one cookie of the name may be there, as other
 * servers of the host can set them: that counts which belongs to the header.
 * @return a reference, to be released by session_unref(); NULL: there is none that holds */
struct session *sessions_find(struct sessions *sessions, const char *cookies, const char *name,
                              const char *csrf, uint64_t now_s);

void session_unref(struct session *session);
/** It does not hold from now on. */
void session_end(struct session *session);
/** Whether it was not ended, and its token was neither revoked nor has expired. */
bool session_holds(const struct session *session);
/** Borrowed, as long as there is a reference to the session. */
struct toolrack_token_grant *session_grant(const struct session *session);
/** When it ends, by the clock of `now_s`. */
uint64_t session_end_s(const struct session *session);
