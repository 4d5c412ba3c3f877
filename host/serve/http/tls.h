/* tls.h - the certificate of a server, from files that may change while it runs. */
#pragma once

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "serve/http/settings.h"

struct tls;

/** Read the files that the settings name. `*ret` is NULL if they name none.
 * @return 0; TOOLRACK_E_INVALID: they are no certificate and its key, with the member that names
 *         what is wrong in the error's field; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY */
int tls_create(const struct http_settings *settings, struct tls **ret, struct toolrack_error *err);
void tls_destroy(struct tls *tls);

/** Read them again: new connections get what they have now. On failure all stays as it was. */
int tls_reload(struct tls *tls, struct toolrack_error *err);

/** What libmicrohttpd asks for each connection. */
int tls_certificate(gnutls_session_t session, const gnutls_datum_t *issuers, int issuer_count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                    gnutls_pcert_st **ret_certificates, unsigned *ret_count,
                    gnutls_privkey_t *ret_key);
