#include "remote/nats/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "remote/nats/nkey.h"

/* Files of credentials are some kilobytes. */
#define CREDENTIALS_MAX 65536u

static bool begins(const char *url, const char *scheme) {
    return strncasecmp(url, scheme, strlen(scheme)) == 0;
}

/* An address may have a password, so no more than the scheme is told. */
static int check_urls(const char *urls, struct toolrack_error *err) {
    CLEANUP(freep) char *copy = strdup(urls);
    char *rest = NULL;
    unsigned count = 0;
    if (copy == NULL) {
        return error_oom(err);
    }
    for (char *url = strtok_r(copy, ",", &rest); url != NULL; url = strtok_r(NULL, ",", &rest)) {
        const char *end = strstr(url, "://");
        if (end != NULL && !begins(url, "nats://") && !begins(url, "tls://")) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "the \"url\" of \"nats\" begins with \"%.*s\"; begin each of its "
                             "addresses with nats:// or tls://",
                             (int)(end + 3 - url), url);
        }
        count++;
    }
    if (count == 0 || count > ACCESS_SERVERS_MAX) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the \"url\" of \"nats\" names %u servers; name 1 to %u", count,
                         ACCESS_SERVERS_MAX);
    }
    return 0;
}

/* Whether a file can be read and has a text.
 * @param ret_has  NULL: its content does not matter */
static int look_for(const char *path, const char *member, const char *wanted, bool *ret_has,
                    struct toolrack_error *err) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CLEANUP(freep) char *text = calloc(1, CREDENTIALS_MAX + 1);
    if (text == NULL) {
        return error_oom(err);
    }
    ssize_t got = fd < 0 ? -1 : read(fd, text, CREDENTIALS_MAX);
    if (got < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read %s, which \"%s\" of \"nats\" names: %s",
                         path, member, strerror(errno));
    }
    *ret_has = memmem(text, (size_t)got, wanted, strlen(wanted)) != NULL;
    explicit_bzero(text, (size_t)got);
    return 0;
}

static int check_content(const char *path, const char *member, const char *wanted, const char *what,
                         struct toolrack_error *err) {
    bool has = true;
    int code = path != NULL ? look_for(path, member, wanted, &has, err) : 0;
    if (code == 0 && !has) {
        code = error_set(err, TOOLRACK_E_INVALID,
                         "%s, which \"%s\" of \"nats\" names, has no line with \"%s\"; name a file "
                         "of %s",
                         path, member, wanted, what);
    }
    return code;
}

int access_check(const struct access_options *options, struct toolrack_error *err) {
    char public[NKEY_ROOM];
    int code = options->url != NULL ? check_urls(options->url, err) : 0;
    if (code == 0 && (options->certificate == NULL) != (options->key == NULL)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "\"nats\" has \"%s\" without \"%s\"; name both, or neither",
                         options->certificate != NULL ? "certificate" : "key",
                         options->certificate != NULL ? "key" : "certificate");
    }
    if (code == 0 && options->credentials != NULL) {
        code = nkey_check_file(options->credentials, err);
        code = code < 0 ? code
                        : check_content(options->credentials, "credentials", "BEGIN NATS USER JWT",
                                        "credentials, as `nsc generate creds` writes it", err);
    }
    code = code == 0 && options->nkey != NULL ? nkey_read(options->nkey, public, err) : code;
    static const char certificate[] = "CERTIFICATE-----";
    code = code < 0 ? code
                    : check_content(options->ca, "ca", certificate, "certificates in PEM", err);
    code = code < 0 ? code
                    : check_content(options->certificate, "certificate", certificate,
                                    "a certificate in PEM", err);
    return code < 0 ? code
                    : check_content(options->key, "key", "PRIVATE KEY", "its private key in PEM",
                                    err);
}

bool access_is_secure(const struct access_options *options) {
    bool is_tls = options->ca != NULL || options->certificate != NULL;
    for (const char *at = options->url; !is_tls && at != NULL && *at != '\0';
         at = strchr(at, ',')) {
        at += *at == ',';
        is_tls = begins(at, "tls://");
    }
    return is_tls;
}
