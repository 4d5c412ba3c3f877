/* rhonabwy.h - librhonabwy, which proves signatures, loaded when a server accepts OAuth.
 *
 * It stands on GnuTLS, as libmicrohttpd does, and knows EdDSA, which libcjose does not. */
#pragma once

#include <rhonabwy.h>

#include "base/error.h"

/** X(name), for r_<name>. */
#define RHONABWY_FUNCTIONS(X)   \
    X(global_init)              \
    X(jwk_free)                 \
    X(jwk_import_from_json_str) \
    X(jwk_init)                 \
    X(jwk_key_type)             \
    X(jwt_advanced_parsen)      \
    X(jwt_free)                 \
    X(jwt_init)                 \
    X(jwt_verify_signature)

struct rhonabwy {
#define RHONABWY_MEMBER(name) __typeof__(&r_##name) name;
    RHONABWY_FUNCTIONS(RHONABWY_MEMBER)
#undef RHONABWY_MEMBER
};

/** The functions of librhonabwy, valid after rhonabwy_load(). */
extern struct rhonabwy rhonabwy;

/** Load it, unless it is loaded already. Call this before there are other threads.
 * @return 0; TOOLRACK_E_IO: the message names what is missing. */
int rhonabwy_load(struct toolrack_error *err);
