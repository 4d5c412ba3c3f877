/* access.h - how a NATS server is reached, as its options say: addresses, and files of secrets and
 * certificates. Nothing here needs libnats or the network. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* Most servers that one host knows. */
#define ACCESS_SERVERS_MAX 16u

/* All borrowed; NULL is none. The files are as "nats" of the configuration names them. */
struct access_options {
    const char *url;         /* "nats://..." or "tls://..."; several with commas between them */
    const char *credentials; /* file of a user's JWT and seed */
    const char *nkey;        /* file of a user's seed */
    const char *ca;          /* file of certificates */
    const char *certificate; /* file of a certificate, with `key` */
    const char *key;
};

/** Whether these can be used, as far as that can be known without the server.
 * @return 0; TOOLRACK_E_INVALID, TOOLRACK_E_REFUSED or TOOLRACK_E_IO with what is wrong, where and
 *         what to do, without a secret of an address; TOOLRACK_E_NO_MEMORY. [any-thread] */
int access_check(const struct access_options *options, struct toolrack_error *err);

/** Whether only connections by TLS are made: an address or a file of certificates says so. libnats
 * takes "tls://" for "nats://", and would log in over an open connection. */
bool access_is_secure(const struct access_options *options);
