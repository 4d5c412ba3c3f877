/* decision.h - a decision of one host as the others of its group get it.
 *
 * In the bucket, each decision has a key of its own, KIND.SELECTOR.DIGEST.HOST, each a token
 * (subject.h): what is decided, the name that it is about, the digest of the tool (announce.h), and
 * the public key of the host. So no two tools, and no two hosts, share a key. The first three are
 * the thing. The value is a JSON object:
 *
 *     {"v":1, "signature": "...", "decision": "{...}"}
 *
 * The signature is by the host's key, over the group and the text of the decision, again a JSON
 * object:
 *
 *     {"v":1, "kind", "selector", "digest", "host", "stamp", "value", "name", "who", "why",
 *      "seen": {HOST: STAMP, ...}}
 *
 * Both come from whoever may publish to the bucket. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "remote/nats/announce.h"
#include "remote/nats/key.h"
#include "remote/nats/merge.h"
#include "remote/nats/subject.h"
#include "store/shared.h"

/* Longest value in the bucket; and most hosts that a decision has seen. */
#define DECISION_SIZE_MAX  16384u
#define DECISION_SEEN_MAX  64u
/* Longest name of who decided, and why; longer ones are cut when a decision is written. */
#define DECISION_WHO_MAX   120u
#define DECISION_WHY_MAX   500u
/* Greatest stamp: a number that JSON readers keep. */
#define DECISION_STAMP_MAX ((INT64_C(1) << 53) - 1)

struct decision {
    enum store_shared_kind kind;
    const char *selector; /* "name" or "name@version" */
    const char *digest;   /* of the tool; of a default, which is about all versions, zeros */
    const char *host;     /* public key */
    int64_t stamp;
    const char *value; /* "true", "false"; a priority; "VERSION DIGEST" of the default; when a grant
                          ends, in seconds since 1970, 0 for never; "blacklist", "whitelist". NULL:
                          nothing is set, revoked, by the rule, on no list */
    const char *name;  /* of the host, for people */
    const char *who;   /* or NULL */
    const char *why;   /* or NULL */
    const struct merge_seen *seen;
    size_t seen_count;
};

/** The name of a kind, as in keys; and the kind of a name. [any-thread] */
const char *decision_kind_name(enum store_shared_kind kind);
bool decision_kind_find(const char *name, enum store_shared_kind *ret);

/** The thing, as the first three tokens of a key, appended. [any-thread] */
void decision_add_thing(struct buf *out, enum store_shared_kind kind, const char *selector,
                        const char *digest);
/** The whole key, appended. [any-thread] */
void decision_add_key(struct buf *out, const struct decision *decision);

/** Sign it and append the value for the bucket. What is too large makes `out` fail. [any-thread] */
void decision_seal(const struct decision *decision, const char *group, const struct key *key,
                   struct buf *out);

/** Read a value of the bucket, and check that it has the key, and its host's signature. All in the
 * arena, which must outlive `ret`. Whether its host is trusted is not looked at.
 * @param err  not NULL
 * @return 0; TOOLRACK_E_INVALID: what is wrong; TOOLRACK_E_PERMISSION_DENIED: the signature;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int decision_open(const char *value, size_t length, const char *group, const char *key,
                  struct arena *arena, struct decision *ret, struct toolrack_error *err);

/** The same for the text that is signed alone. */
int decision_read(const char *text, size_t length, struct arena *arena, struct decision *ret,
                  struct toolrack_error *err);

/** As merge.h takes it. [any-thread] */
void decision_weigh(const struct decision *decision, const char *text, struct merge_decision *ret);
