/* key.h - the key of a host, and what is signed with it.
 *
 * A host has an Ed25519 key in its state folder. Whoever may reach the NATS server can publish to
 * every subject, so what asks for more than any client may have is signed: a request by its time
 * and a nonce too, and a host takes each signed request once. A host obeys only the keys that its
 * configuration trusts. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

/* A public key and a signature as text: base64, with the terminating zero. */
#define KEY_TEXT_ROOM      45u
#define KEY_SIGNATURE_ROOM 89u
#define KEY_NONCE_ROOM     33u
/* How far the clocks of two hosts may differ, and so how long a nonce is remembered. */
#define KEY_SKEW_MS_MAX    30000
/* Most nonces remembered; beyond these requests are refused until some have become old. */
#define KEY_NONCES_MAX     65536u

struct key;

/** The key of a state folder, made when there is none yet.
 * @param folder  NULL: a new key, which is kept nowhere
 * @param ret     to be released by key_destroy()
 * @return 0; TOOLRACK_E_INVALID for a file that holds no key; TOOLRACK_E_REFUSED for one that other
 *         users may read; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int key_open(const char *folder, struct key **ret, struct toolrack_error *err);
void key_destroy(struct key *key);
CLEANUP_DEFINE(struct key, key_destroy)

/** Its public part as text; valid as long as the key. [any-thread] */
const char *key_public(const struct key *key);

/** Whether a text is a public key as key_public() gives it. [any-thread] */
bool key_is_public(const char *text);

/* What is signed. */
struct key_statement {
    const char *purpose;  /* "call", "tools": a signature for one is none for another */
    const char *group;    /* of the hosts */
    const char *instance; /* of the host that a request is for, or that an answer is from */
    const char *time;     /* ms since 1970 as text; "": an answer, which has none */
    const char *nonce;    /* likewise */
    const void *data;     /* the message */
    size_t length;
    const char *reply; /* the subject that the answers go to; NULL: it is not a part */
};

/** Sign. [any-thread] */
void key_sign(const struct key *key, const struct key_statement *statement,
              char ret[static KEY_SIGNATURE_ROOM]);

/** Whether a signature is that of a public key. [any-thread] */
bool key_verify(const char *public, const char *signature, const struct key_statement *statement);

/* The secret that two hosts have together. */
struct key_secret {
    unsigned char bytes[32];
};

/** The secret of this host and another one. Each of the two derives it from its own key and the
 * public key of the other (X25519), and nobody else can. False: the text is no public key.
 * [any-thread] */
bool key_agree(const struct key *key, const char *public, struct key_secret *ret);

/** The code of a statement that one of the two makes to the other: as good as a signature for the
 * other one, who could make it too, and much cheaper.
 * @param maker  the public key of the one that makes the statement
 * [any-thread] */
void key_code(const struct key_secret *secret, const char *maker,
              const struct key_statement *statement, char ret[static KEY_TEXT_ROOM]);

/** Whether it is the code of that statement. [any-thread] */
bool key_code_fits(const struct key_secret *secret, const char *maker,
                   const struct key_statement *statement, const char *code);

/** A new nonce. [any-thread] */
void key_nonce(char ret[static KEY_NONCE_ROOM]);

/* The nonces that were seen, so that a request is taken once. */
struct nonces;
/** NULL: out of memory. */
struct nonces *nonces_create(void);
void nonces_destroy(struct nonces *nonces);

/** Take a request by its time and nonce, both as text of the sender.
 * @param now_ms  this host's clock
 * @return 0; TOOLRACK_E_PERMISSION_DENIED for a time too far from this host's clock, a nonce that
 *         is none and one that was taken; TOOLRACK_E_LIMIT_EXCEEDED at KEY_NONCES_MAX. [any-thread]
 */
int nonces_take(struct nonces *nonces, const char *time, const char *nonce, int64_t now_ms,
                struct toolrack_error *err);
