#include "serve/http/tls.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/library.h"
#include "base/lock.h"
#include "serve/http/whole.h"

/* Certificates of one chain; bytes of a file. */
#define CHAIN_MAX 16u
#define FILE_MAX  (1024u * 1024)

/* libmicrohttpd has GnuTLS loaded already, when this is. X(name), for gnutls_<name>. */
#define GNUTLS_FUNCTIONS(X)             \
    X(certificate_allocate_credentials) \
    X(certificate_free_credentials)     \
    X(certificate_set_x509_key_mem2)    \
    X(pcert_deinit)                     \
    X(pcert_list_import_x509_raw)       \
    X(privkey_deinit)                   \
    X(privkey_import_x509_raw)          \
    X(privkey_init)                     \
    X(strerror)

static struct {
#define GNUTLS_MEMBER(name) __typeof__(&gnutls_##name) name;
    GNUTLS_FUNCTIONS(GNUTLS_MEMBER)
#undef GNUTLS_MEMBER
} gnutls;

/* A certificate with its chain and key, as the files once had it. */
struct pair {
    struct pair *before;
    struct buf certificate; /* what the files had */
    struct buf key;
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t private_key;
};

/* Handshakes that run use what tls_certificate() lent them, so a pair stays until the end; only
 * files that have changed make another. */
struct tls {
    const char *certificate; /* paths */
    const char *key;
    struct pair *now; /* under the lock */
};

/* What tls_certificate() gets has no room for more: one server of a process has TLS. */
static struct lock lock = LOCK_INIT;
static struct tls *serving;

static int load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define GNUTLS_FUNCTION(name) "gnutls_" #name,
            GNUTLS_FUNCTIONS(GNUTLS_FUNCTION)
#undef GNUTLS_FUNCTION
    };
    static const struct library library = {.name = "GnuTLS",
                                           .file = "libgnutls.so.30",
                                           .package = "libgnutls30",
                                           .oldest = "3.7",
                                           .who_needs_it = "TLS needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    return gnutls.strerror != NULL ? 0 : library_load(&library, &gnutls, err);
}

static void pair_destroy(struct pair *pair) {
    if (pair == NULL) {
        return;
    }
    for (unsigned i = 0; i < pair->count; i++) {
        gnutls.pcert_deinit(&pair->chain[i]);
    }
    if (pair->private_key != NULL) {
        gnutls.privkey_deinit(pair->private_key);
    }
    buf_finish(&pair->certificate);
    if (pair->key.data != NULL) {
        explicit_bzero(pair->key.data, pair->key.length);
    }
    buf_finish(&pair->key);
    free(pair);
}
CLEANUP_DEFINE(struct pair, pair_destroy)

/* The members of the configuration that name the files. */
#define CERTIFICATE "/serve/tls/certificate"
#define KEY         "/serve/tls/key"

/* Whether they belong together, which nothing below says. */
static int check(const gnutls_datum_t *certificate, const gnutls_datum_t *key) {
    gnutls_certificate_credentials_t credentials;
    int code = gnutls.certificate_allocate_credentials(&credentials);
    if (code == 0) {
        code = gnutls.certificate_set_x509_key_mem2(credentials, certificate, key,
                                                    GNUTLS_X509_FMT_PEM, NULL, 0);
        gnutls.certificate_free_credentials(credentials);
    }
    return code < 0 ? code : 0;
}

static int refuse(const char *member, const char *path, const char *what, const char *fix, int why,
                  struct toolrack_error *err) {
    return error_set_field(err, TOOLRACK_E_INVALID, member, "%s %s (%s); %s", path, what,
                           gnutls.strerror(why), fix);
}

static int import(const struct tls *tls, struct pair *pair, struct toolrack_error *err) {
    gnutls_datum_t certificate = {.data = (unsigned char *)pair->certificate.data,
                                  .size = (unsigned)pair->certificate.length};
    gnutls_datum_t key = {.data = (unsigned char *)pair->key.data,
                          .size = (unsigned)pair->key.length};
    unsigned count = CHAIN_MAX;
    int code = gnutls.pcert_list_import_x509_raw(pair->chain, &count, &certificate,
                                                 GNUTLS_X509_FMT_PEM, 0);
    if (code < 0) {
        return refuse(CERTIFICATE, tls->certificate, "has no certificate in PEM form",
                      "write the certificate and its chain there, or name another file", code, err);
    }
    pair->count = count;
    code = gnutls.privkey_init(&pair->private_key);
    code = code < 0 ? code
                    : gnutls.privkey_import_x509_raw(pair->private_key, &key, GNUTLS_X509_FMT_PEM,
                                                     NULL, 0);
    if (code < 0) {
        return refuse(KEY, tls->key, "has no private key in PEM form",
                      "write the key of the certificate there, without a password, or name another "
                      "file",
                      code, err);
    }
    code = check(&certificate, &key);
    return code < 0 ? refuse(KEY, tls->key, "has not the key of the certificate",
                             "name the key that the certificate was made for", code, err)
                    : 0;
}

static bool is_same(const struct buf *a, const struct buf *b) {
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

int tls_reload(struct tls *tls, struct toolrack_error *err) {
    CLEANUP(pair_destroyp) struct pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL) {
        return error_oom(err);
    }
    int code = whole_read(CERTIFICATE, tls->certificate, FILE_MAX, &pair->certificate, err);
    code = code < 0 ? code : whole_read(KEY, tls->key, FILE_MAX, &pair->key, err);
    if (code < 0) {
        return code;
    }
    LOCK_SCOPE(&lock);
    if (tls->now != NULL && is_same(&tls->now->certificate, &pair->certificate) &&
        is_same(&tls->now->key, &pair->key)) {
        return 0;
    }
    code = import(tls, pair, err);
    if (code < 0) {
        return code;
    }
    pair->before = tls->now;
    tls->now = STEAL(pair);
    return 0;
}

int tls_create(const struct http_settings *settings, struct tls **ret, struct toolrack_error *err) {
    *ret = NULL;
    if (settings->certificate == NULL) {
        return 0;
    }
    int code = load(err);
    struct tls *tls = code < 0 ? NULL : calloc(1, sizeof *tls);
    if (tls == NULL) {
        return code < 0 ? code : error_oom(err);
    }
    tls->certificate = settings->certificate;
    tls->key = settings->key;
    code = tls_reload(tls, err);
    if (code < 0) {
        tls_destroy(tls);
        return code;
    }
    LOCK_SCOPE(&lock);
    serving = tls;
    *ret = tls;
    return 0;
}

void tls_destroy(struct tls *tls) {
    if (tls == NULL) {
        return;
    }
    lock_take(&lock);
    serving = serving == tls ? NULL : serving;
    lock_release(&lock);
    while (tls->now != NULL) {
        struct pair *before = tls->now->before;
        pair_destroy(tls->now);
        tls->now = before;
    }
    free(tls);
}

int tls_certificate(gnutls_session_t session, const gnutls_datum_t *issuers, int issuer_count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                    gnutls_pcert_st **ret_certificates, unsigned *ret_count,
                    gnutls_privkey_t *ret_key) {
    (void)session;
    (void)issuers;
    (void)issuer_count;
    (void)algorithms;
    (void)algorithm_count;
    LOCK_SCOPE(&lock);
    if (serving == NULL) {
        return -1;
    }
    *ret_certificates = serving->now->chain;
    *ret_count = serving->now->count;
    *ret_key = serving->now->private_key;
    return 0;
}
