/* jwt.h - the text of a JSON Web Token: what it says, without proof that it is true.
 *
 * Only what is read here is compared later, and it is read once: the library that proves the
 * signature gets the same bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

#include "base/error.h"

/* Longest token; those of large organisations have some kilobytes. */
#define JWT_LENGTH_MAX 16384u

/** X(name, type of key, curve or NULL): the algorithms that may ever be used. `none` and those with
 * a shared secret (HS...) are not among them. */
#define JWT_ALGORITHMS(X)     \
    X("RS256", "RSA", NULL)   \
    X("RS384", "RSA", NULL)   \
    X("RS512", "RSA", NULL)   \
    X("PS256", "RSA", NULL)   \
    X("PS384", "RSA", NULL)   \
    X("PS512", "RSA", NULL)   \
    X("ES256", "EC", "P-256") \
    X("ES384", "EC", "P-384") \
    X("ES512", "EC", "P-521") \
    X("EdDSA", "OKP", "Ed25519")

struct jwt {
    yyjson_doc *header;
    yyjson_doc *claims;
    const char *algorithm; /* static: a name of the table */
    const char *key_type;
    const char *curve;  /* or NULL */
    const char *key_id; /* or NULL */
};

/** Read a token in its compact form.
 * @return NULL, or what is wrong: a static text. Release with jwt_finish() either way. */
const char *jwt_read(const char *text, size_t length, struct jwt *ret);
void jwt_finish(struct jwt *jwt);

/** What a token must say. */
struct jwt_rules {
    const char *issuer;
    const char *audience;   /* it must name this ... */
    const char *audience_2; /* ... or this; NULL: only the first */
    int64_t now_s;          /* since 1970 */
    int64_t skew_s;         /* by which clocks may differ */
};

/** Check issuer, audience and times.
 * @return NULL, or what is wrong: a static text that continues "the token ". */
const char *jwt_check(const struct jwt *jwt, const struct jwt_rules *rules);

/** Whether its scopes ("scope" as text, or "scp" as text or array) have one. */
bool jwt_has_scope(const struct jwt *jwt, const char *scope);
const char *jwt_subject(const struct jwt *jwt);
/** Since 1970. */
int64_t jwt_expires_s(const struct jwt *jwt);
